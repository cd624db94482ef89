/** The SQLite file goes away under a running server: that is noticed and said, and no write is lost in it. */
import { once } from 'node:events';
import fs from 'node:fs';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import type { ReadProgram } from '../../src/sql/dialect.js';
import { serveInProcess } from '../world/process.js';
import { newRelationsWorld, type RelationsWorld, relationsProjectDir } from '../world/relations/world.js';

const withWorld = async (work: (world: RelationsWorld, file: string) => Promise<void>): Promise<void> => {
  const world = await newRelationsWorld('sqlite');
  try {
    await work(world, world.env['DATABASE_FILENAME']!);
  } finally {
    await world.close();
  }
};

const ways: readonly (readonly [string, (file: string) => void])[] = [
  ['moved away', () => undefined],
  ['replaced by a copy', (file) => fs.copyFileSync(`${file}.old`, file)],
];

describe('the database file under a running server', () => {
  it.each(ways)(
    '%s: writes and health are 503, the log says so once, and all is well when it is back',
    (_way, replace) =>
      withWorld(async (world, file) => {
        const shelf = await world.create('shelves', { name: 'before' });
        const { url, child, log } = await serveInProcess(relationsProjectDir, { ...world.env, LOG_LEVEL: 'warn' });
        const put = (name: string): Promise<Response> =>
          fetch(`${url}/shelves/${shelf}`, {
            method: 'PUT',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ data: { name } }),
          });
        const health = async (): Promise<number> => (await fetch(url.replace(/api$/, '_health'))).status;
        try {
          expect((await put('first')).status).toBe(200);
          expect(await health()).toBe(204);
          fs.renameSync(file, `${file}.old`);
          replace(file);
          for (let i = 0; i < 3; i++) expect((await put('lost')).status).toBe(503);
          expect(await health()).toBe(503);
          fs.renameSync(`${file}.old`, file);
          expect(await health()).toBe(204);
          expect(await (await fetch(`${url}/shelves/${shelf}`)).json()).toMatchObject({
            data: { attributes: { name: 'first' } },
          });
          expect((await put('after')).status).toBe(200);
          const lines = log().split('\n');
          expect(lines.filter((it) => it.includes('was replaced or removed while it was open'))).toHaveLength(1);
        } finally {
          child.kill('SIGKILL');
          await once(child, 'exit');
        }
        expect((await world.read(`/api/shelves/${shelf}`)).attributes['name']).toBe('after');
      }),
  );

  it('connections that cannot be opened take no place from those that can', () =>
    withWorld(async ({ db }, file) => {
      const slow = db.dialect.compile(
        sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000) select count(*) from n`,
      );
      function* program(): ReadProgram<number> {
        for (let i = 0; i < 5; i++) yield [slow];
        return 1;
      }
      const readAtOnce = () =>
        Promise.allSettled(Array.from({ length: 4 * limits.sqliteReadersMax }, () => db.read(program)));
      fs.renameSync(file, `${file}.old`);
      expect(new Set((await readAtOnce()).map((it) => it.status))).toContain('rejected');
      fs.renameSync(`${file}.old`, file);
      expect(new Set((await readAtOnce()).map((it) => it.status))).toEqual(new Set(['fulfilled']));
    }));
});
