/** The commands `export` and `import`: what they refuse, where they say it, and what an import leaves. */
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { refusalMessage } from '../../src/cli/refusal.js';
import { exportContent } from '../../src/cli/transfer/export.js';
import { importContent } from '../../src/cli/transfer/import.js';
import type { Refusal } from '../../src/errors.js';
import { type Changing, newChanging } from '../world/changed.js';
import { printed } from '../world/printed.js';
import { contentType, type Files, typeFile } from '../world/schemas.js';
import { dialects } from '../world/world.js';

const files: Files = {
  [typeFile('note')]: contentType('note', {
    title: { type: 'string', unique: true },
    count: { type: 'integer' },
    data: { type: 'json' },
    next: { type: 'relation', relation: 'oneToOne', target: 'api::note.note', useJoinTable: false },
    tags: { type: 'relation', relation: 'manyToMany', target: 'api::tag.tag', inversedBy: 'notes' },
    owner: { type: 'relation', relation: 'manyToOne', target: 'plugin::users-permissions.user' },
  }),
  [typeFile('tag')]: contentType('tag', {
    name: { type: 'string' },
    notes: { type: 'relation', relation: 'manyToMany', target: 'api::note.note', mappedBy: 'tags' },
  }),
};

describe.each(dialects)('export and import on %s', (dialect) => {
  let source: Changing;
  let target: Changing;
  beforeEach(async () => {
    [source, target] = [await newChanging(dialect, files), await newChanging(dialect, files)];
    await source.run(
      "insert into tags (id, name) values (5, 'red'), (7, 'blue')",
      "insert into notes (id, title, count, data) values (3, 'three', 1, '{\"b\": 1.50, \"a\": [12345678901234567890]}'), (9, 'nine', null, null)",
      'update notes set next_id = 9 where id = 3',
      'update notes set next_id = 3 where id = 9',
      'insert into notes_tags_links (note_id, tag_id, tag_order, note_order) values (3, 7, 1, 1), (3, 5, 2, 1), (9, 7, 1, 2)',
      "insert into up_users (id, username, email) values (1, 'ann', 'ann@example.org')",
      'insert into notes_owner_links (note_id, user_id) values (3, 1)',
    );
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await source.close();
    await target.close();
  });

  const at = (changing: Changing): string => {
    for (const name of ['DATABASE_CLIENT', 'DATABASE_FILENAME', 'DATABASE_URL'])
      vi.stubEnv(name, changing.database.env[name]);
    return changing.dir;
  };
  const exported = async (changing = source, scope: 'content' | 'users' = 'content') => {
    const file = path.join(changing.dir, `${scope}-${Math.random()}.ndjson`);
    const { said } = await printed(() => exportContent(at(changing), file, { scope }));
    return { file, said, lines: fs.readFileSync(file, 'utf8').split('\n') };
  };
  const imported = (file: string, replace = false) =>
    printed(() => importContent(at(target), file, { replace })).then(({ said }) => said);
  const written = (lines: readonly string[]): string => {
    const file = path.join(target.dir, `changed-${Math.random()}.ndjson`);
    fs.writeFileSync(file, lines.join('\n'));
    return file;
  };
  const fault = (file: string): Promise<string> => imported(file).catch((it: Error) => it.message);

  it('entries keep their ids, their order from both sides, and what refers to later rows; new ones get other ids', async () => {
    const { file, said } = await exported();
    expect(said).toMatch(/^7 rows of \d+ tables\n$/);
    await imported(file);
    const { body } = await target.server.send('GET', '/api/notes?populate=*&sort=id');
    expect(body).toMatchObject({
      data: [
        { id: 3, attributes: { next: { data: { id: 9 } }, tags: { data: [{ id: 7 }, { id: 5 }] } } },
        { id: 9, attributes: { next: { data: { id: 3 } }, tags: { data: [{ id: 7 }] } } },
      ],
    });
    const tag = await target.server.send('GET', '/api/tags/7?populate=notes');
    expect(tag.body).toMatchObject({ data: { attributes: { notes: { data: [{ id: 3 }, { id: 9 }] } } } });
    const made = await target.server.send('POST', '/api/notes', { body: { data: { title: 'ten', tags: [5] } } });
    expect((made.body as { data: { id: number } }).data.id).toBeGreaterThan(9);
  });

  it('users are exported if they are asked for, and links to them', async () => {
    expect((await exported()).lines.join('\n')).not.toMatch(/ann@example|notes_owner_links|up_permissions/);
    const { file, lines } = await exported(source, 'users');
    expect(fs.statSync(file).mode & 0o777, 'it holds password hashes').toBe(0o600);
    expect(lines.join('\n')).toMatch(/notes_owner_links/);
    await imported(file);
    expect(await target.rows('select user_id from notes_owner_links')).toEqual([[1]]);
  });

  it('links that lead nowhere, or that are repeated, are left out and counted', async () => {
    await source.run(
      dialect === 'sqlite'
        ? 'drop index notes_tags_links_unique'
        : 'alter table notes_tags_links drop constraint notes_tags_links_unique',
      'insert into notes_tags_links (note_id, tag_id) values (3, 7)',
      'insert into notes_tags_links (note_id, tag_id) values (3, null)',
    );
    const { file, said } = await exported();
    expect(said).toContain('2 links left out');
    await imported(file);
    expect((await target.rows('select note_id, tag_id from notes_tags_links order by id')).join(' ')).toBe(
      '3,7 3,5 9,7',
    );
  });

  it('texts keep characters that some programs take for the end of a line', async () => {
    await source.run("update tags set name = 'a\u2028b\u2029c\u0085d\r\ne\rf' where id = 5");
    await imported((await exported()).file);
    expect(await target.rows('select name from tags where id = 5')).toEqual([['a\u2028b\u2029c\u0085d\r\ne\rf']]);
  });

  it('an export of any size leaves no listener at the stream that it writes to', async () => {
    const long = JSON.stringify('x'.repeat(200_000));
    const notes = Array.from({ length: 40 }, (_none, i) => `(${i + 10}, '${long}')`);
    await source.run(`insert into notes (id, data) values ${notes.join()}`);
    const warnings: Error[] = [];
    const warned = (it: Error): void => void warnings.push(it);
    process.on('warning', warned);
    try {
      await exported();
      await new Promise(setImmediate);
    } finally {
      process.off('warning', warned);
    }
    expect(warnings.map((it) => it.message)).toEqual([]);
  });

  it('a database with content is refused, unless it is to be replaced', async () => {
    const { file } = await exported();
    await target.run("insert into tags (id, name) values (1, 'here')");
    expect(await fault(file)).toMatch(/--replace would delete:\n {2}tags: 1 row$/);
    await imported(file, true);
    expect(await target.rows('select id from tags order by id')).toEqual([[5], [7]]);
  });

  it('files of the replaced library that are in no row any more are named', async () => {
    const file = (name: string, formats: string) =>
      `insert into files (name, url, formats, provider) values ('${name}', '/uploads/${name}', '${formats}', 'local')`;
    await source.run(file('kept.png', 'null'));
    await target.run(
      file('kept.png', 'null'),
      file('old.png', '{"small":{"url":"/uploads/small_old.png"}}'),
      file('gone.png', 'null'),
    );
    const uploads = path.join(target.dir, 'public/uploads');
    fs.mkdirSync(uploads, { recursive: true });
    for (const name of ['kept.png', 'old.png', 'small_old.png', 'other.txt'])
      fs.writeFileSync(path.join(uploads, name), name);
    const { file: exportedFile } = await exported();
    expect(await imported(exportedFile, true)).toMatch(
      /2 files of the replaced library are in no row any more, and left in public\/uploads; remove what you do not need:\n {2}old\.png\n {2}small_old\.png\n$/,
    );
    expect(fs.readdirSync(uploads)).toHaveLength(4);
  });

  it('a fault names the line, and leaves the database as it was', async () => {
    const { lines } = await exported();
    const changed = (find: string, give: string) => written(lines.map((it) => (it.includes(find) ? give : it)));
    const note = '"title":"nine"';
    const place = lines.findIndex((it) => it.includes(note)) + 1;
    const row = (members: string) => `{"table":"notes","row":{${members}}}`;
    expect(await fault(changed(note, '{"table":'))).toMatch(new RegExp(`line ${place}: not valid JSON$`));
    expect(await fault(changed(note, '[1]'))).toMatch(new RegExp(`line ${place}: expected `));
    expect(await fault(changed(note, row('"id":9,"count":"x"')))).toMatch(
      new RegExp(`line ${place}: notes.count is of the kind integer, and cannot be "x"$`),
    );
    for (const text of ['"\\u0000"', '"\\ud800"'])
      expect(await fault(changed(note, row(`"id":9,"title":${text}`)))).toMatch(
        new RegExp(`line ${place}: notes.title is of the kind string, and cannot be `),
      );
    expect(await fault(changed(note, row('"id":9,"titel":"x"')))).toMatch(
      new RegExp(`line ${place}: there is no column notes.titel`),
    );
    expect(await fault(changed(note, '{"table":"nots","row":{"id":9}}'))).toMatch(
      new RegExp(`line ${place}: there is no table nots`),
    );
    if (dialect === 'postgres')
      expect(await fault(changed(note, row(`"id":9,"count":2,"title":"${'x'.repeat(300)}"`)))).toMatch(
        new RegExp(`line ${place}: notes.title: value too long`),
      );
    expect(await fault(changed(note, row('"id":3')))).toMatch(new RegExp(`line ${place}: notes: unique constraint`));
    expect(await fault(written(lines.slice(0, -2)))).toMatch(/ends before its last line/);
    expect(await fault(written(lines.filter((it) => !it.includes(note))))).toMatch(/the file had 7 rows, and has 6/);
    expect(await fault(written([...lines.slice(0, -1), row('"id":30')]))).toMatch(/nothing may follow the last line/);
    expect(await fault(written(['{}']))).toMatch(/line 1: this is no export/);
    expect(await fault(written([lines[0]!.replace('"version":1', '"version":2')]))).toMatch(/version 2 of the format/);
    expect(await target.rows('select id from notes')).toEqual([]);
  });

  if (dialect === 'postgres')
    it('a connection that is lost on the way is no fault of a line: nothing is imported, and the command says so', async () => {
      const { file } = await exported();
      await target.run(
        `create function leave() returns trigger language plpgsql as 'begin perform pg_terminate_backend(pg_backend_pid()); return new; end'`,
        'create trigger leave before insert on notes for each row execute function leave()',
      );
      const said = await imported(file).catch((it: Refusal) => refusalMessage(it));
      expect(said).toMatch(/^The database is unavailable: .*\. Nothing was changed; try again later\.$/);
      expect(await target.rows('select id from notes')).toEqual([]);
    });

  it('a file of another model is refused by what differs, and nothing is added to the database', async () => {
    const { file } = await exported();
    target.write({
      [typeFile('tag')]: contentType('tag', {
        name: { type: 'string' },
        colour: { type: 'string' },
        notes: { type: 'relation', relation: 'manyToMany', target: 'api::note.note', mappedBy: 'tags' },
      }),
    });
    expect(await fault(file)).toMatch(/is of another model:\n {2}tags\.colour is in the model only$/);
    await expect(target.rows('select colour from tags')).rejects.toThrow(/colour/);
  });

  it('an export that cannot be written says nothing of rows', async () => {
    const file = path.join(source.dir, 'content.ndjson');
    fs.symlinkSync('/dev/full', `${file}.part`);
    const { said } = await printed(() =>
      expect(exportContent(at(source), file, { scope: 'content' })).rejects.toMatchObject({ code: 'ENOSPC' }),
    );
    expect(said).toBe('');
  });

  it('two exports of one state are the same bytes; an existing file stays', async () => {
    const [one, another] = [await exported(), await exported()];
    expect(one.lines).toEqual(another.lines);
    expect(one.lines.find((it) => it.includes('three'))).toContain('"data":{"a":[12345678901234567890],"b":1.5}');
    await expect(exportContent(at(source), one.file, { scope: 'content' })).rejects.toThrow(/exists already/);
  });
});
