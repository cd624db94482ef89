/** Guarantees of transactions that the code above them relies on, on both databases. */
import net, { type AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { readRows } from '../../src/sql/dialect.js';
import { pipeline } from '../../src/sql/pipeline.js';
import { openPostgres } from '../../src/sql/postgres/open.js';
import { savepoint } from '../../src/sql/savepoint.js';
import { dialects, newDatabase } from '../world/databases.js';

describe.each(dialects)('a transaction on %s', (dialect) => {
  it('runs the batches of pipelined steps in order, however long each takes', async () => {
    const { db, drop } = await newDatabase(dialect);
    const statement = (text: string) => db.dialect.compile(sql`${sql.raw(text)}`);
    // long enough for a batch on SQLite to yield to other requests
    const long = statement(
      'with recursive c(n) as (select 1 union all select n + 1 from c where n < 200000) select count(*) from c',
    );
    try {
      await db.write((tx) => tx.run(statement('create table seen (n integer)')));
      const counts = await db.write(async (tx) => {
        const [, counted] = await pipeline(
          () =>
            tx.runAll([long, statement('insert into seen values (1)'), long, statement('insert into seen values (2)')]),
          () => tx.run(statement('select count(*) from seen')),
        );
        return counted;
      });
      expect(counts.map(([count]) => Number(count))).toEqual([2]);
    } finally {
      await drop();
    }
  });

  it('does not run what is sent behind a statement that fails, and runs it later', async () => {
    const { db, drop } = await newDatabase(dialect);
    const statement = (text: string) => db.dialect.compile(sql`${sql.raw(text)}`);
    const insert = (n: number) => statement(`insert into seen values (${n})`);
    const failing = statement('insert into seen values (null)');
    const rows = async () =>
      (await db.write((tx) => tx.run(statement('select n from seen order by n')))).map(([n]) => n);
    try {
      await db.write((tx) => tx.run(statement('create table seen (n integer not null)')));
      await expect(db.write((tx) => tx.runAll([insert(1), failing, insert(2)]))).rejects.toThrow('not-null');
      expect(await rows()).toEqual([]);
      // also where the work goes on as if nothing had happened
      const careless = db.write(async (tx) => {
        await tx.runAll([insert(1), failing, insert(2)]).catch(() => undefined);
        await tx.run(insert(3)).catch(() => undefined);
      });
      // SQLite undoes only the statement that has failed
      if (dialect === 'sqlite') await careless;
      else await expect(careless).rejects.toThrow('not-null');
      expect(await rows()).toEqual(dialect === 'sqlite' ? [1, 3] : []);
      await db.write(async (tx) => {
        await tx.run(insert(4));
        const part = savepoint(tx, () => tx.runAll([insert(5), failing, insert(6)]));
        await expect(part).rejects.toThrow('not-null');
        await tx.runAll([insert(6), insert(7)]);
      });
      expect((await rows()).slice(-3)).toEqual([4, 6, 7]);
    } finally {
      await drop();
    }
  });
});

describe('pipelined steps', () => {
  it('all have settled when one that throws before it waits is told of', async () => {
    let isSettled = false;
    const steps = pipeline(
      async () => {
        await setImmediate();
        isSettled = true;
      },
      () => {
        throw new Error('at once');
      },
    );
    await expect(steps).rejects.toThrow('at once');
    expect(isSettled).toBe(true);
  });
});

/** Forwards to a server. Once armed it spoils the next `begin`, so that the server refuses it. */
const newSpoiler = async (url: string) => {
  const server = new URL(url);
  let isArmed = false;
  const proxy = net.createServer((client) => {
    const upstream = net.connect(Number(server.port), server.hostname);
    client.on('data', (chunk) => {
      const at = isArmed ? chunk.indexOf('begin\0') : -1;
      if (at >= 0) {
        isArmed = false;
        chunk.write('bogus', at);
      }
      upstream.write(chunk);
    });
    upstream.pipe(client);
    for (const socket of [client, upstream])
      socket
        .on('error', () => undefined)
        .on('close', () => {
          client.destroy();
          upstream.destroy();
        });
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String((proxy.address() as AddressInfo).port);
  return {
    url: through.href,
    arm: () => {
      isArmed = true;
    },
    close: () => proxy.close(),
  };
};

describe.runIf(dialects.includes('postgres'))('a transaction that PostgreSQL does not begin', () => {
  it('writes nothing, although its first statements are sent before the server has answered', async () => {
    const { db: direct, env, drop } = await newDatabase('postgres');
    const spoiler = await newSpoiler(env['DATABASE_URL']!);
    // so that the text of every `begin` is sent
    const db = await openPostgres(spoiler.url, { prepared: 'never' });
    const statement = (text: string) => db.dialect.compile(sql`${sql.raw(text)}`);
    const seen = async () => {
      const [[count] = []] = await direct.write((tx) => tx.run(statement('select count(*)::int4 from seen')));
      return count;
    };
    const look = statement('select count(*)::int4 from seen');
    const insert = statement('insert into seen values (1)');
    try {
      await direct.write((tx) => tx.run(statement('create table seen (n integer)')));
      const works: Parameters<typeof db.write>[0][] = [
        (tx) =>
          pipeline(
            () => tx.run(look),
            () => tx.run(insert),
            () => tx.run(look),
          ),
        (tx) => tx.runAll([insert, look]),
        async (tx) => {
          await tx.run(look).catch(() => undefined);
          await tx.run(insert);
        },
        async (tx) => {
          await tx.run(look).catch(() => undefined);
        },
        async () => undefined,
      ];
      for (const work of works) {
        spoiler.arm();
        await expect(db.write(work)).rejects.toThrow(/syntax error/);
        expect(await seen()).toBe(0);
        // the connection, or another one, is as good as before
        expect(await db.write((tx) => tx.run(look))).toEqual([[0]]);
      }
      await db.write((tx) => tx.runAll([insert, look]));
      expect(await seen()).toBe(1);
    } finally {
      await db.close();
      spoiler.close();
      await drop();
    }
  });
});

describe.runIf(dialects.includes('postgres'))('writes that wait on PostgreSQL, as for a hook', () => {
  it.each([2, 4])('leave connections for reads, of %i, and are all done in turn', async (connectionsMax) => {
    const { env, drop } = await newDatabase('postgres');
    const db = await openPostgres(env['DATABASE_URL']!, { connectionsMax });
    const statement = (text: string) => db.dialect.compile(sql`${sql.raw(text)}`);
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const count = async () => {
      const [[found] = []] = await db.read(() => readRows(statement('select count(*)::int4 from seen')));
      return found;
    };
    try {
      await db.write((tx) => tx.run(statement('create table seen (n integer)')));
      const writes = Array.from({ length: 12 }, () =>
        db.write(async (tx) => {
          await tx.run(statement('insert into seen values (1)'));
          await gate;
        }),
      );
      expect(await Promise.all([count(), count(), count()])).toEqual([0, 0, 0]);
      open();
      await Promise.all(writes);
      expect(await count()).toBe(12);
    } finally {
      open();
      await db.close();
      await drop();
    }
  });
});
