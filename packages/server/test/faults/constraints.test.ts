/** What only the database knows of: constraints that a project has added, and a full disk of the server. */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dialects } from '../world/databases.js';
import { newSmallWorld, type SmallProject, type SmallWorld } from '../world/small.js';

const project: SmallProject = { types: { note: { attributes: { text: { type: 'string' } } } } };

describe.each(dialects)('faults that the database finds on %s', (dialect) => {
  let world: SmallWorld;
  const run = (text: string): Promise<unknown> =>
    world.db.write((tx) => tx.run(world.db.dialect.compile(sql`${sql.raw(text)}`)));
  /** Runs the statements before each note is stored. */
  const beforeNote = async (name: string, statements: string): Promise<void> => {
    if (dialect === 'sqlite') {
      await run(`create trigger ${name} before insert on notes begin ${statements} end`);
      return;
    }
    await run(
      `create function ${name}() returns trigger language plpgsql as $$ begin ${statements} return new; end $$`,
    );
    await run(`create trigger ${name} before insert on notes for each row execute function ${name}()`);
  };

  beforeAll(async () => {
    world = await newSmallWorld(dialect, project);
    await run("create table words (word varchar(255) primary key, check (word <> 'never'))");
    await beforeNote('keep_words', 'insert into words (word) values (new.text);');
  });
  afterAll(() => world.close());

  const post = (text: string) => world.send('POST', '/api/notes', { data: { text } });
  const codes = (body: unknown): readonly string[] =>
    (body as { error: { details: { errors: { code: string }[] } } }).error.details.errors.map((it) => it.code);

  it('a violated CHECK constraint is a 400, and nothing is stored', async () => {
    const { status, body } = await post('never');
    expect([status, codes(body)]).toEqual([400, ['body.check']]);
    expect(await world.rows('notes')).toEqual([]);
  });

  it('a conflict of primary keys is a 400', async () => {
    expect((await post('twice')).status).toBe(200);
    const { status, body } = await post('twice');
    expect([status, codes(body)]).toEqual([400, ['body.unique']]);
    expect(world.logged).toEqual([]);
  });

  // SQLite's own full disk is filled in sqlite-disk.test.ts
  if (dialect === 'postgres')
    it('a full disk of the PostgreSQL server is a 503 that says so', async () => {
      const full = "raise exception 'no space' using errcode = '53100'";
      await beforeNote('fill_disk', `if new.text = 'large' then ${full}; end if;`);
      const { status, body, headers } = await post('large');
      expect([status, codes(body), String(headers['retry-after'])]).toEqual([503, ['database.full'], '1']);
      expect((await post('small')).status).toBe(200);
    });
});
