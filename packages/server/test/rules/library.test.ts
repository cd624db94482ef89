/** The media library for administrators: folders (UP17) and where files are used (UP18). */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { readRows } from '../../src/sql/dialect.js';
import { useAdmins } from '../world/administrators.js';
import { bearer, tokens } from '../world/people.js';
import { dialects } from '../world/world.js';

interface Folder {
  readonly id: number;
  readonly name: string;
  readonly path: string;
  readonly pathId: number;
  readonly parent: number | null;
  readonly files: number;
}

describe.each(dialects)('the library on %s', (dialect) => {
  const world = useAdmins(dialect, { permissions: { editor: [{ action: 'plugin::upload.read' }] } });
  const ask = (method: string, url: string, body?: unknown) => world().askAs('ada', method, url, { body });
  const folders = async () => ((await ask('GET', '/_dovetail/folders')).body as { data: Folder[] }).data;
  const create = async (name: string, parent: number | null = null): Promise<Folder> => {
    const { status, body, text } = await ask('POST', '/_dovetail/folders', { name, parent });
    expect(status, text).toBe(201);
    return (body as { data: Folder }).data;
  };
  const insertFile = async (id: number): Promise<void> => {
    const { world: own } = world();
    await own.insert('files', [
      {
        id,
        name: `${id}.png`,
        hash: `h${id}`,
        ext: '.png',
        mime: 'image/png',
        size: 1,
        url: `/uploads/${id}.png`,
        provider: 'local',
        folder_path: '/',
      },
    ]);
  };
  const place = async (file: number, folder: number | null) =>
    (await ask('POST', `/api/upload?id=${file}`, { fileInfo: { folder } })).status;
  const pathOf = async (file: number): Promise<unknown> => {
    const { db } = world().world;
    const statement = db.dialect.compile(sql`select folder_path from files where id = ${sql.lit(file)}`);
    return (await db.read(() => readRows(statement)))[0]?.[0];
  };
  const fault = (answer: { readonly body: unknown }): unknown =>
    (answer.body as { error: { message: string } }).error.message;

  it('UP17: folders are created inside of each other, and listed with their numbers', async () => {
    const first = await create('Harbours');
    const inner = await create('Winter 2026', first.id);
    expect(inner).toMatchObject({ parent: first.id, path: `${first.path}/${inner.pathId}`, files: 0 });
    expect((await folders()).map((it) => it.name)).toEqual(expect.arrayContaining(['Harbours', 'Winter 2026']));
    // the same name elsewhere is another folder
    expect((await create('Harbours', first.id)).parent).toBe(first.id);
  });

  it.each([
    [{}, 'name must be defined.'],
    [{ name: '' }, 'name must be a text'],
    [{ name: ' a' }, 'name must be a text'],
    [{ name: 'a/b' }, 'name must be a text'],
    [{ name: 7 }, 'name must be a text'],
    [{ name: 'x', parent: 999 }, 'parent: there is no folder 999'],
    [{ name: 'x', parent: 'y' }, 'parent must be a `integer` type'],
    [{ nmae: 'x' }, 'folder has no attribute "nmae"'],
    [[], 'must be a `object` type'],
  ])('UP17: %j is refused', async (body, message) => {
    const answer = await ask('POST', '/_dovetail/folders', body);
    expect([answer.status, fault(answer)]).toEqual([400, expect.stringContaining(message)]);
  });

  it('UP17: two folders of one place have different names', async () => {
    const one = await create('Taken');
    const answer = await ask('POST', '/_dovetail/folders', { name: 'Taken' });
    expect([answer.status, fault(answer)]).toEqual([400, expect.stringContaining('"Taken"')]);
    // its own name is not another's
    expect((await ask('PUT', `/_dovetail/folders/${one.id}`, { name: 'Taken' })).status).toBe(200);
  });

  it('UP17: a folder moves with all that it holds, and never into itself', async () => {
    const [from, to] = [await create('From'), await create('To')];
    const inner = await create('Inner', from.id);
    await insertFile(501);
    expect(await place(501, inner.id)).toBe(200);
    expect(await pathOf(501)).toBe(inner.path);
    const moved = await ask('PUT', `/_dovetail/folders/${from.id}`, { parent: to.id });
    expect(moved.body).toMatchObject({ data: { parent: to.id, path: `${to.path}/${from.pathId}` } });
    const path = `${to.path}/${from.pathId}/${inner.pathId}`;
    expect((await folders()).find((it) => it.id === inner.id)).toMatchObject({ path, files: 1 });
    expect(await pathOf(501)).toBe(path);
    for (const parent of [from.id, inner.id]) {
      const answer = await ask('PUT', `/_dovetail/folders/${from.id}`, { parent });
      expect([answer.status, fault(answer)]).toEqual([400, expect.stringContaining('into itself')]);
    }
    expect((await ask('PUT', `/_dovetail/folders/${from.id}`, { parent: null })).body).toMatchObject({
      data: { parent: null, path: `/${from.pathId}` },
    });
  });

  it('UP17: a folder is deleted only when it is empty', async () => {
    const folder = await create('Full');
    await insertFile(502);
    await place(502, folder.id);
    const refused = await ask('DELETE', `/_dovetail/folders/${folder.id}`);
    expect([refused.status, fault(refused)]).toEqual([
      400,
      'The folder is not empty: it holds 1 file(s) and 0 folder(s)',
    ]);
    expect(await place(502, null)).toBe(200);
    expect(await pathOf(502)).toBe('/');
    expect((await ask('DELETE', `/_dovetail/folders/${folder.id}`)).status).toBe(200);
    expect((await ask('DELETE', `/_dovetail/folders/${folder.id}`)).status).toBe(404);
    expect((await ask('PUT', '/_dovetail/folders/x', { name: 'y' })).status).toBe(404);
  });

  it('UP17: files are found and counted by folder, by administrators', async () => {
    const folder = await create('Found');
    await insertFile(503);
    await place(503, folder.id);
    const query = `filters[folder][id]=${folder.id}`;
    expect((await ask('GET', `/api/upload/files?${query}&fields=name`)).body).toEqual([{ id: 503, name: '503.png' }]);
    expect((await ask('GET', `/api/upload/files/count?${query}`)).body).toBe(1);
    expect((await ask('GET', '/api/upload/files/503?populate=folder')).body).toMatchObject({
      folder: { id: folder.id },
    });
    expect((await ask('POST', '/api/upload?id=503', { fileInfo: { folder: 999 } })).status).toBe(400);
    expect((await ask('POST', '/api/upload?id=503', { fileInfo: { folder: 'x' } })).status).toBe(400);
  });

  it('UP17: to others folders say nothing, and are closed', async () => {
    await insertFile(504);
    const headers = bearer(tokens.full.text);
    const { server } = world();
    expect((await server.get('/_dovetail/folders', headers)).status).toBe(403);
    expect((await server.get('/_dovetail/folders')).status).toBe(403);
    const body = { fileInfo: { folder: 1 } };
    expect((await server.send('POST', '/api/upload?id=504', { body, headers })).status).toBe(200);
    expect(await pathOf(504)).toBe('/');
    // an editor who may look, and no more
    expect((await world().askAs('bea', 'GET', '/_dovetail/folders')).status).toBe(200);
    expect((await world().askAs('bea', 'POST', '/_dovetail/folders', { body: { name: 'x' } })).status).toBe(403);
  });

  it('UP18: a file is used in entries, and in components of entries, at any depth', async () => {
    await insertFile(505);
    const uses = async () => (await ask('GET', '/_dovetail/files/505/uses')).body;
    expect(await uses()).toEqual({ data: [], meta: { total: 0 } });
    const data = {
      title: 'Used',
      poster: 505,
      credit: { portrait: 505, awards: [{}, { citation: { scan: 505 } }] },
      body: [{ __component: 'blocks.quote' }, { __component: 'blocks.gallery', images: [505] }],
    };
    const created = await ask('POST', '/api/films', { data });
    expect(created.status, created.text).toBe(200);
    const { id } = (created.body as { data: { id: number } }).data;
    const type = 'api::film.film';
    expect(await uses()).toEqual({
      data: expect.arrayContaining(
        ['poster', 'credit.portrait', 'credit.awards.citation.scan', 'body.images'].map((attribute) => ({
          type,
          id,
          attribute,
        })),
      ),
      meta: { total: 4 },
    });
    expect((await ask('GET', '/_dovetail/files/99999/uses')).status).toBe(404);
    expect((await world().server.get('/_dovetail/files/505/uses')).status).toBe(403);
  });
});
