/** `migrate plan` and `migrate apply` as commands: what they say, the files they write, and when they refuse. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ApplyOptions, applyMigration, type PlanOptions, planMigration } from '../../src/cli/commands/migrate.js';
import { ensureOutbox } from '../../src/events/outbox.js';
import { nothingAsked } from '../../src/migrate/asked.js';
import { plansIn } from '../../src/migrate/file.js';
import { deliveriesTable } from '../../src/model/storage.js';
import { claimFile } from '../../src/sql/sqlite/claim.js';
import { type Changing, newChanging } from '../world/changed.js';
import { dialects } from '../world/databases.js';
import { printed } from '../world/printed.js';
import { contentType, type Json, typeFile } from '../world/schemas.js';

const post = (attributes: Json) => ({ [typeFile('post')]: contentType('post', attributes) });
const titel: Json = { titel: { type: 'string' }, views: { type: 'string' }, legacy: { type: 'text' } };
const title: Json = { title: { type: 'string' }, views: { type: 'integer' } };

const plan = (
  dir: string,
  options: Partial<Omit<PlanOptions, 'asked'>> & { asked?: Partial<PlanOptions['asked']> } = {},
) =>
  printed(() =>
    planMigration(dir, {
      out: null,
      check: false,
      json: false,
      ...options,
      asked: { ...nothingAsked, ...options.asked },
    }),
  );
const apply = (dir: string, files: readonly string[] = [], options: Partial<ApplyOptions> = {}) =>
  // the test itself has the database open
  printed(() => applyMigration(dir, files, { force: true, ...options }));

describe.each(dialects)('on %s', (dialect) => {
  let changing: Changing;
  beforeEach(async () => {
    changing = await newChanging(dialect, post(titel));
    for (const [name, value] of Object.entries(changing.database.env)) vi.stubEnv(name, value);
    for (const views of ['1', '2', 'many']) {
      const data = { titel: `title ${views}`, views, legacy: 'old' };
      expect((await changing.server.send('POST', '/api/posts', { body: { data } })).status).toBe(200);
    }
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    process.exitCode = undefined;
    await changing.close();
  });

  it('plan says what was renamed, what would be lost and what is left over, and changes nothing', async () => {
    changing.write(post(title));
    const { out, said } = await plan(changing.dir);
    const string = dialect === 'sqlite' ? 'varchar(255)' : 'character varying(255)';
    expect(out).toBe(`Not done, because values would be lost; to do it all the same:
  api::post.post.views: from ${string} to integer; of 3 values 1 would be lost (id 3)
    --convert post.views

Perhaps renamed; if so:
  api::post.post: title is new, and titel (string, 3 values) is gone
    --rename post.titel=title

In no schema file, kept; to drop it:
  api::post.post.titel (string, 3 values; posts.titel)
    --drop post.titel
  api::post.post.legacy (text, 3 values; posts.legacy)
    --drop post.legacy

Added by the next start or sync:
  column posts.title
`);
    expect(said).toBe('');
    expect((await changing.rows('select titel from posts order by id')).flat()).toEqual([
      'title 1',
      'title 2',
      'title many',
    ]);
  });

  it('the table of webhook deliveries is Dovetail’s own: plan does not list it, and it cannot be dropped', async () => {
    await ensureOutbox(changing.database.db);
    const { out } = await plan(changing.dir);
    expect(out).not.toContain('dovetail_');
    await expect(plan(changing.dir, { asked: { dropTable: [deliveriesTable.name] } })).rejects.toThrow(
      'nothing of this name is left over',
    );
  });

  it('--out writes a plan, apply runs it once, and --check tells CI whether something is to be done', async () => {
    const check = async (): Promise<unknown> => {
      process.exitCode = undefined;
      await plan(changing.dir, { check: true });
      return process.exitCode;
    };
    expect(await check()).toBeUndefined();
    changing.write(post(title));
    expect(await check()).toBe(1);
    const asked = { rename: ['post.titel=title'], convert: ['post.views'], drop: ['post.legacy'] };
    const { said } = await plan(changing.dir, { asked, out: '' });
    const [written] = plansIn(changing.dir);
    expect(path.relative(changing.dir, written!.file)).toMatch(
      /^database\/plans\/\d{8}-\d{6}-rename-attribute-api-post-post-titel-title\.json$/,
    );
    expect(said).toContain('written: dovetail migrate apply ');
    expect(written!.plan.changes).toEqual([
      { change: 'rename attribute', type: 'api::post.post', from: 'titel', to: 'title' },
      expect.objectContaining({
        change: 'convert attribute',
        attribute: 'views',
        values: 3,
        lost: 1,
        altered: 0,
        ids: [3],
      }),
      { change: 'drop attribute', type: 'api::post.post', attribute: 'legacy', values: 3 },
    ]);
    expect(written!.plan.needs).toEqual(['posts.titel: string', 'posts.views: string', 'posts.legacy: text']);
    expect(await check()).toBe(1);

    const first = await apply(changing.dir);
    expect(first.out).toMatch(/api::post\.post\.titel becomes title\n.*applied after \d+ ms\n$/s);
    expect(first.said).toMatch(dialect === 'sqlite' ? /^Have a backup .*dovetail backup/ : /^Have a backup .*pg_dump/);
    expect(await check()).toBeUndefined();
    expect((await apply(changing.dir)).said).toBe('There is no plan in database/plans that was not applied yet.\n');
    expect((await apply(changing.dir, [written!.file])).out).toMatch(/applied before: nothing to do\n$/);
    await changing.start({});
    expect((await changing.server.get('/api/posts?fields[0]=title&fields[1]=views&sort=id')).body).toMatchObject({
      data: [
        { attributes: { title: 'title 1', views: 1 } },
        { attributes: { title: 'title 2', views: 2 } },
        { attributes: { title: 'title many', views: null } },
      ],
    });
  });

  it('a start warns of what looks renamed, and values that were written since then are kept', async () => {
    await changing.start(post({ ...titel, title: { type: 'string' }, titel: undefined }));
    expect(changing.warnings).toEqual([
      'api::post.post: title is new, and titel (string, 3 values) is gone. If it was renamed, stop the server and run: dovetail migrate plan --rename post.titel=title --out',
    ]);
    await changing.start({});
    expect(changing.warnings).toEqual([]);
    await changing.server.send('POST', '/api/posts', { body: { data: { title: 'since then' } } });
    await plan(changing.dir, { asked: { rename: ['post.titel=title'] }, out: '' });
    await apply(changing.dir);
    await changing.start({});
    const { body } = await changing.server.get('/api/posts?fields=title&sort=id');
    expect((body as { data: { attributes: { title: string } }[] }).data.map((it) => it.attributes.title)).toEqual([
      'title 1',
      'title 2',
      'title many',
      'since then',
    ]);
  });

  it('on a terminal, plan asks what was renamed', async () => {
    changing.write(post(title));
    const answered = async (answer: string) => {
      const terminal = Object.assign(new PassThrough(), { isTTY: true });
      const stdin = vi.spyOn(process, 'stdin', 'get').mockReturnValue(terminal as never);
      const { isTTY } = process.stdout;
      process.stdout.isTTY = true;
      terminal.write(`${answer}\n`);
      try {
        return (await plan(changing.dir)).out;
      } finally {
        stdin.mockRestore();
        process.stdout.isTTY = isTTY;
      }
    };
    const question = 'api::post.post: title is new, and titel (string, 3 values) is gone. Was it renamed? [y/N] ';
    const yes = await answered('y');
    expect(yes).toContain(question);
    expect(yes).toMatch(/\nTo be done:\n {2}api::post\.post\.titel becomes title\n/);
    const no = await answered('');
    expect(no).toContain(question);
    expect(no).not.toContain('To be done');
  });

  it('an entry with values under both names is not guessed about', async () => {
    await changing.start(post({ ...titel, title: { type: 'string' }, titel: undefined }));
    await changing.server.send('PUT', '/api/posts/1', { body: { data: { title: 'new' } } });
    await plan(changing.dir, { asked: { rename: ['post.titel=title'] }, out: '' });
    await expect(apply(changing.dir)).rejects.toThrow(
      'posts.titel cannot become title: 1 row has a value under both names. Empty one or the other first; nothing was changed.',
    );
  });

  it('a plan is refused where the database is not in the state that it was made for', async () => {
    changing.write(post(title));
    await plan(changing.dir, { asked: { rename: ['post.titel=title'] }, out: '' });
    await changing.run('alter table posts rename column titel to heading');
    await expect(apply(changing.dir)).rejects.toThrow(
      /The plan was made for another state of the database: there is no column posts\.titel\. Make a new plan; nothing was changed\./,
    );
  });

  it('a new database has been through all plans of the project', async () => {
    changing.write(post(title));
    await plan(changing.dir, { asked: { rename: ['post.titel=title'], drop: ['post.legacy'] }, out: '' });
    const fresh = await newChanging(dialect, post(title));
    try {
      fs.cpSync(path.join(changing.dir, 'database'), path.join(fresh.dir, 'database'), { recursive: true });
      const another = await newChanging(dialect, {
        ...post(title),
        [path.join('database/plans', path.basename(plansIn(fresh.dir)[0]!.file))]: fs.readFileSync(
          plansIn(fresh.dir)[0]!.file,
          'utf8',
        ),
      });
      try {
        for (const [name, value] of Object.entries(another.database.env)) vi.stubEnv(name, value);
        expect((await apply(another.dir)).said).toBe('There is no plan in database/plans that was not applied yet.\n');
      } finally {
        await another.close();
      }
    } finally {
      await fresh.close();
    }
  });

  it('wrong words are refused with what was meant', async () => {
    changing.write(post(title));
    const refused = async (asked: Partial<PlanOptions['asked']>) => {
      const fault: unknown = await plan(changing.dir, { asked }).catch((it: unknown) => it);
      return (fault as Error).message;
    };
    expect(await refused({ rename: ['post.titel'] })).toMatch(/^--rename post\.titel: expected an old and a new name/);
    expect(await refused({ rename: ['pots.titel=title'] })).toBe(
      '--rename: there is no type "pots"; did you mean "post"?',
    );
    expect(await refused({ rename: ['post.titel=titl'] })).toMatch(/has no attribute "titl"; did you mean "title"\?/);
    expect(await refused({ rename: ['post.titl=title'] })).toMatch(
      /the database has no posts\.titl; did you mean "titel"\?/,
    );
    expect(await refused({ rename: ['post.views=title'] })).toMatch(/the schema file still has an attribute "views"/);
    expect(await refused({ drop: ['post.views'] })).toMatch(
      /^--drop api::post\.post\.views: nothing of this name is left over/,
    );
    expect(await refused({ drop: ['post.legasy'] })).toMatch(/did you mean "api::post\.post\.legacy"\?/);
    expect(await refused({ convert: ['post.vews'] })).toMatch(/did you mean "views"\?/);
    expect(await refused({ renameType: ['api::old.old=api::post.post'] })).toMatch(
      /the database does not remember api::old\.old/,
    );
    expect(await refused({ dropTable: ['posts'] })).toMatch(/nothing of this name is left over/);
  });

  it('apply refuses while the database is served', async () => {
    changing.write(post(title));
    await plan(changing.dir, { asked: { rename: ['post.titel=title'] }, out: '' });
    const claim = dialect === 'sqlite' ? claimFile(changing.database.env['DATABASE_FILENAME']!) : null;
    // the sessions of this test are those of a server
    const command = (...more: readonly string[]) =>
      spawnSync(process.execPath, [bin, 'migrate', 'apply', '--project', changing.dir, ...more], {
        encoding: 'utf8',
        env: { ...process.env, ...changing.database.env },
      });
    const refused = command();
    expect(refused.stderr).toMatch(/ is being served, by a process that knows the old names only\. Stop it, /);
    expect(refused.status).toBe(1);
    claim?.release();
    expect(command('--force')).toMatchObject({ status: 0, stdout: expect.stringContaining('applied after') });
  });
});

const bin = path.join(import.meta.dirname, '../../bin/dovetail.js');
