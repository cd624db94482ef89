/**
 * Refine's data provider for Strapi v4, unchanged, against the recorded museum on a port. It writes filters, sort and
 * locale in the query string itself, and its forms attach uploads by id.
 */
import fs from 'node:fs';
import path from 'node:path';
import { AuthHelper, axiosInstance, DataProvider, mediaUploadMapper, normalizeData } from '@refinedev/strapi-v4';
import { describe, expect, it } from 'vitest';
import { kitFiles, password } from '../conformance/cases.js';
import { loadProject, newRecordedServer } from '../conformance/recorded.js';
import { openForTests } from '../world/opening.js';
import { dialects } from '../world/world.js';

describe.each(dialects)('@refinedev/strapi-v4 on %s', (dialect) => {
  const museum = openForTests(async () => newRecordedServer(dialect, await loadProject('museum')));
  const apiUrl = () => `${museum().base}/api`;
  const provider = () => DataProvider(apiUrl());
  const idsOf = ({ data }: { readonly data: readonly { readonly id?: unknown }[] }): readonly unknown[] =>
    data.map(({ id }) => id);

  describe('lists', () => {
    it('a page in an order, with populated relations and the total', async () => {
      const { data, total } = await provider().getList({
        resource: 'exhibits',
        pagination: { currentPage: 2, pageSize: 2 },
        sorters: [
          { field: 'title', order: 'asc' },
          { field: 'id', order: 'desc' },
        ],
        meta: { fields: ['title'], populate: ['room'] },
      });
      expect(data.map(({ title }) => title)).toEqual(['River Lantern', 'River Lantern, small']);
      expect(data[0]).toMatchObject({ id: 1, room: { id: 1, name: 'Lamp Room' } });
      expect(total).toBe(5);
    });

    it('without a page the default one', async () => {
      const { data, total } = await provider().getList({ resource: 'rooms', pagination: { mode: 'off' } });
      expect([data.length, total]).toEqual([4, 4]);
    });

    it.each([
      ['eq', 'code', 'A1', [1]],
      ['ne', 'code', 'A1', [4, 6, 9]],
      ['lt', 'floor', 1, [1, 4]],
      ['gte', 'floor', 1, [6, 9]],
      ['in', 'code', ['A1', 'C3'], [1, 6]],
      ['nin', 'code', ['A1', 'C3'], [4, 9]],
      ['contains', 'name', 'ROOM', [1, 9]],
      ['containss', 'name', 'ROOM', []],
      ['ncontains', 'name', 'ROOM', [4, 6]],
      ['ncontainss', 'name', 'Room', [4, 6]],
      ['between', 'floor', [-1, 0], [1, 4]],
      ['null', 'nickname', true, [6]],
      ['nnull', 'nickname', true, [1, 4, 9]],
      ['startswith', 'name', 'Lamp', [1]],
      ['endswith', 'name', 'Room', [1, 9]],
      ['eq', 'steward.name', 'Ilse Varnhagen', [1]],
    ] as const)('the filter %s on %s', async (operator, field, value, ids) => {
      const answer = await provider().getList({
        resource: 'rooms',
        sorters: [{ field: 'id', order: 'asc' }],
        filters: [{ field, operator, value }],
      });
      expect(idsOf(answer)).toEqual(ids);
    });

    it('filters joined by or, inside and', async () => {
      const answer = await provider().getList({
        resource: 'rooms',
        sorters: [{ field: 'id', order: 'asc' }],
        filters: [
          {
            operator: 'or',
            value: [
              { field: 'code', operator: 'eq', value: 'B2' },
              {
                operator: 'and',
                value: [
                  { field: 'floor', operator: 'gte', value: 1 },
                  { field: 'exhibits.title', operator: 'contains', value: 'tile' },
                ],
              },
            ],
          },
        ],
      });
      expect(idsOf(answer)).toEqual([4, 9]);
    });

    it('in a locale, and with drafts', async () => {
      const german = await provider().getList({ resource: 'rooms', meta: { locale: 'de' } });
      expect(german.data.map(({ locale }) => locale)).toEqual(['de', 'de', 'de']);
      const preview = await provider().getList({ resource: 'exhibits', meta: { publicationState: 'preview' } });
      expect(idsOf(preview)).toContain(7);
    });
  });

  it('several entries by their ids, and one in a locale with its siblings', async () => {
    expect(idsOf(await provider().getMany({ resource: 'guides', ids: [1, 3] }))).toEqual([1, 3]);
    const { data } = await provider().getOne({
      resource: 'rooms',
      id: 2,
      meta: { locale: 'de', populate: { localizations: { fields: ['locale'] } } },
    });
    expect(data).toMatchObject({ id: 2, name: 'Lampenzimmer', localizations: expect.any(Array) });
    expect(data['localizations']).toHaveLength(2);
  });

  it('entries are created, changed and deleted, one and many', async () => {
    const { data: one } = await provider().create({ resource: 'guides', variables: { name: 'Ada', rooms: [9] } });
    const made = normalizeData(one) as { readonly id: number; readonly name: string };
    expect(made.name).toBe('Ada');
    const many = await provider().createMany({ resource: 'guides', variables: [{ name: 'Ben' }, { name: 'Cid' }] });
    const ids = [made.id, ...many.data.map((it) => (normalizeData(it) as { readonly id: number }).id)];
    await provider().update({ resource: 'guides', id: made.id, variables: { name: 'Ada Plum' } });
    await provider().updateMany({ resource: 'guides', ids, variables: { bio: 'New here.' } });
    const changed = await provider().getMany({ resource: 'guides', ids, meta: { populate: '*' } });
    expect(changed.data).toMatchObject([
      { name: 'Ada Plum', bio: 'New here.', rooms: [{ id: 9 }] },
      { bio: 'New here.' },
      { bio: 'New here.' },
    ]);
    await provider().deleteOne({ resource: 'guides', id: made.id });
    await provider().deleteMany({ resource: 'guides', ids: ids.slice(1) });
    expect((await provider().getMany({ resource: 'guides', ids })).data).toEqual([]);
  });

  it('an upload is attached by the id in its answer, as the forms do', async () => {
    const form = new FormData();
    const bytes = fs.readFileSync(path.join(kitFiles('museum').dir, 'files/send/plum.png'));
    form.append('files', new Blob([bytes], { type: 'image/png' }), 'plum.png');
    const { data: response } = await axiosInstance.post(`${apiUrl()}/upload`, form);
    const variables = mediaUploadMapper({ name: 'Eve', portrait: { fileList: [{ response }] } });
    const { data: made } = await provider().create({ resource: 'guides', variables });
    const { id } = normalizeData(made) as { readonly id: number };
    const { data } = await provider().getOne({ resource: 'guides', id, meta: { populate: ['portrait'] } });
    expect(data).toMatchObject({ name: 'Eve', portrait: { id: response[0].id, name: 'plum.png' } });
    await provider().deleteOne({ resource: 'upload/files', id: response[0].id });
    await provider().deleteOne({ resource: 'guides', id });
  });

  it('custom requests: the locales', async () => {
    const { data } = await provider().custom({ url: `${apiUrl()}/i18n/locales`, method: 'get' });
    expect(data).toMatchObject([{ code: 'en', isDefault: true }, { code: 'de' }, { code: 'pt-BR' }]);
  });

  it('logging in, and reading the own account', async () => {
    const { login, me } = AuthHelper(apiUrl());
    const { data } = await login('editor@example.com', password);
    expect((await me(data.jwt, { meta: { fields: ['username'] } })).data).toMatchObject({ username: 'editor' });
    await expect(login('editor@example.com', 'wrong')).rejects.toMatchObject({ response: { status: 400 } });
  });

  it('errors arrive at the fields of the form', async () => {
    await expect(
      provider().create({ resource: 'rooms', variables: { name: null, floor: 99, code: 'far too long a code' } }),
    ).rejects.toEqual({
      statusCode: 400,
      message: '3 errors occurred',
      errors: {
        name: [expect.any(String)],
        floor: ['floor must be less than or equal to 9'],
        code: [expect.any(String)],
      },
    });
    await expect(provider().getOne({ resource: 'rooms', id: 999 })).rejects.toMatchObject({ statusCode: 404 });
  });
});
