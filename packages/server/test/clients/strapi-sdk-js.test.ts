/** The client strapi-sdk-js, unchanged, against the recorded museum on a port: what it sends, and what it reads from answers. */
import fs from 'node:fs';
import path from 'node:path';
import strapi from 'strapi-sdk-js';
import { describe, expect, it } from 'vitest';
import { kitFiles, password } from '../conformance/cases.js';
import { loadProject, newRecordedServer } from '../conformance/recorded.js';
import { openForTests } from '../world/opening.js';
import { dialects } from '../world/world.js';

// its types describe the CommonJS build, Node loads the other one
const Strapi = strapi as unknown as typeof strapi.default;

interface Entry {
  readonly id: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** Of entries that a client has read. */
const idsOf = ({ data }: { readonly data: readonly Entry[] }): readonly number[] => data.map(({ id }) => id);

const pictureOf = (name: string): Blob =>
  new Blob([fs.readFileSync(path.join(kitFiles('museum').dir, 'files/send', name))], { type: 'image/png' });

describe.each(dialects)('strapi-sdk-js on %s', (dialect) => {
  const museum = openForTests(async () => newRecordedServer(dialect, await loadProject('museum')));
  const newClient = () => new Strapi({ url: museum().base });

  describe('reads', () => {
    it('a list with filters, sort, fields, a page and populate', async () => {
      const answer = await newClient().find<Entry[]>('exhibits', {
        filters: { $or: [{ title: { $containsi: 'LANTERN' } }, { room: { name: { $eq: 'Clay Cellar' } } }] },
        sort: ['title:desc'],
        fields: ['title'],
        populate: { room: { fields: ['name'] } },
        pagination: { page: 1, pageSize: 2 },
      });
      const room = { data: { id: 1, attributes: { name: 'Lamp Room' } } };
      expect(answer).toEqual({
        data: [
          { id: 11, attributes: { title: 'River Lantern, small', room } },
          { id: 1, attributes: { title: 'River Lantern', room } },
        ],
        meta: { pagination: { page: 1, pageSize: 2, pageCount: 2, total: 3 } },
      });
    });

    it('a part of a list by offset, without a count', async () => {
      const answer = await newClient().find<Entry[]>('rooms', {
        sort: 'id',
        fields: ['code'],
        pagination: { start: 1, limit: 1, withCount: false },
      });
      expect(answer).toEqual({
        data: [{ id: 4, attributes: { code: 'B2' } }],
        meta: { pagination: { start: 1, limit: 1 } },
      });
    });

    it.each([['*'], [['exhibits', 'steward']]])('populate %o', async (populate) => {
      const { data } = await newClient().findOne<Entry>('rooms', 1, { populate });
      expect(data.attributes).toMatchObject({
        name: 'Lamp Room',
        exhibits: { data: [{ id: 1 }, { id: 11 }] },
        steward: { data: { id: expect.any(Number) } },
      });
    });

    it('a list in a locale, and the siblings of an entry', async () => {
      const client = newClient();
      expect(idsOf(await client.find<Entry[]>('rooms', { locale: 'de', sort: 'id' }))).toEqual([2, 5, 7]);
      const { data } = await client.findOne<Entry>('rooms', 1, { populate: { localizations: { fields: ['locale'] } } });
      expect(data.attributes['localizations']).toEqual({
        data: [
          { id: 3, attributes: { locale: 'pt-BR' } },
          { id: 2, attributes: { locale: 'de' } },
        ],
      });
    });

    it('drafts with publicationState', async () => {
      const client = newClient();
      const live = idsOf(await client.find<Entry[]>('exhibits', { sort: 'id', fields: ['title'] }));
      const preview = await client.find<Entry[]>('exhibits', {
        sort: 'id',
        fields: ['title'],
        publicationState: 'preview',
      });
      expect(live).not.toContain(7);
      expect(idsOf(preview)).toEqual([...live, 7].sort((a, b) => a - b));
    });

    it('a single type, its locales, and the list of locales', async () => {
      const client = newClient();
      const read = async (locale?: 'de') =>
        (await client.find<Entry>('visit-page', locale ? { locale } : {})).data.attributes['headline'];
      expect([await read(), await read('de')]).toEqual(['Come and see', 'Kommen Sie vorbei']);
      const locales = await client.request<readonly { code: string; isDefault: boolean }[]>('get', '/i18n/locales');
      expect(locales.map(({ code, isDefault }) => [code, isDefault])).toEqual([
        ['en', true],
        ['de', false],
        ['pt-BR', false],
      ]);
    });
  });

  describe('writes', () => {
    it('create, update and delete, with relations, components and a zone', async () => {
      const client = newClient();
      const { data: made } = await client.create<Entry>(
        'exhibits',
        {
          title: 'Brass Key',
          room: 4,
          guides: { connect: [1, 2] },
          panels: [{ __component: 'panels.text', body: 'Opens nothing any more.' }],
        },
        { fields: ['title'], populate: ['room', 'guides', 'panels'] },
      );
      expect(made.attributes).toMatchObject({
        title: 'Brass Key',
        room: { data: { id: 4 } },
        guides: { data: [{ id: 1 }, { id: 2 }] },
        panels: [{ __component: 'panels.text', body: 'Opens nothing any more.' }],
      });
      const { data: changed } = await client.update<Entry>(
        'exhibits',
        made.id,
        { title: 'Iron Key', guides: { disconnect: [1] } },
        { fields: ['title'], populate: ['guides'] },
      );
      expect(changed).toMatchObject({
        id: made.id,
        attributes: { title: 'Iron Key', guides: { data: [{ id: 2 }] } },
      });
      expect(await client.delete<Entry>('exhibits', made.id)).toMatchObject({ data: { id: made.id } });
      await expect(client.findOne('exhibits', made.id)).rejects.toMatchObject({ error: { status: 404 } });
    });

    it('an entry in a locale and its sibling', async () => {
      const client = newClient();
      const { data } = await client.create<Entry>('rooms', { name: 'Uhrenzimmer', locale: 'de' });
      expect(data.attributes['locale']).toBe('de');
      const sibling = await client.request<{ id: number; locale: string; localizations: readonly { id: number }[] }>(
        'post',
        `/rooms/${data.id}/localizations`,
        { data: { locale: 'en', name: 'Clock Room' } },
      );
      expect(sibling).toMatchObject({ locale: 'en', localizations: [{ id: data.id }] });
      await client.delete('rooms', data.id);
      await client.delete('rooms', sibling.id);
    });

    /** The bytes that a browser sends for a form: the axios of this client writes forms in browsers only. */
    const encoded = async (form: FormData) => {
      const body = new Response(form);
      return {
        data: Buffer.from(await body.arrayBuffer()),
        headers: { 'content-type': String(body.headers.get('content-type')) },
      };
    };

    it('a picture as FormData, attached to an entry and deleted', async () => {
      const client = newClient();
      const { data: guide } = await client.create<Entry>('guides', { name: 'Ada Plum' });
      const form = new FormData();
      form.append('files', pictureOf('plum.png'), 'plum.png');
      form.append('fileInfo', JSON.stringify({ alternativeText: 'A plum' }));
      form.append('ref', 'api::guide.guide');
      form.append('refId', String(guide.id));
      form.append('field', 'portrait');
      const [file] = await client.request<readonly { id: number; url: string }[]>(
        'post',
        '/upload',
        await encoded(form),
      );
      expect(file).toMatchObject({ name: 'plum.png', alternativeText: 'A plum', mime: 'image/png' });
      const stored = await fetch(museum().base + file!.url);
      expect([stored.status, stored.headers.get('content-type')]).toEqual([200, 'image/png']);
      const { data: shown } = await client.findOne<Entry>('guides', guide.id, { populate: ['portrait'] });
      expect(shown.attributes['portrait']).toMatchObject({ data: { id: file!.id, attributes: { url: file!.url } } });
      expect(await client.findOne('upload/files', file!.id)).toMatchObject({ id: file!.id });
      await client.delete('upload/files', file!.id);
      await expect(client.findOne('upload/files', file!.id)).rejects.toMatchObject({ error: { status: 404 } });
      await client.delete('guides', guide.id);
    });

    it('an entry with its file in one form', async () => {
      const client = newClient();
      const form = new FormData();
      form.append('data', JSON.stringify({ name: 'Ben Plum' }));
      form.append('files.portrait', pictureOf('plum.png'), 'plum.png');
      const { data: guide } = await client.request<{ data: Entry }>(
        'post',
        '/guides?populate=portrait',
        await encoded(form),
      );
      expect(guide.attributes).toMatchObject({
        name: 'Ben Plum',
        portrait: { data: { attributes: { name: 'plum.png' } } },
      });
      await client.delete('guides', guide.id);
    });
  });

  describe('accounts', () => {
    it('register, log in, read the own account, change the password and log out', async () => {
      const client = newClient();
      const newcomer = { username: 'ada', email: 'ada@example.com', password: 'first secret' };
      const { user, jwt } = await client.register(newcomer);
      expect(user).toMatchObject({ username: 'ada', email: 'ada@example.com' });
      expect([client.getToken(), client.user]).toEqual([jwt, user]);
      expect(await client.fetchUser()).toMatchObject({ username: 'ada' });
      const changed = { password: 'second secret', passwordConfirmation: 'second secret' };
      await client.changePassword({ currentPassword: newcomer.password, ...changed });
      client.logout();
      expect([client.getToken(), client.user]).toEqual([null, null]);
      await expect(client.login({ identifier: 'ada', password: newcomer.password })).rejects.toMatchObject({
        error: { status: 400, name: 'ValidationError', message: 'Invalid identifier or password' },
      });
      await client.login({ identifier: newcomer.email, password: changed.password });
      expect(await client.fetchUser({ fields: ['username'] })).toMatchObject({ username: 'ada' });
    });

    it('the logged-in role decides', async () => {
      const client = newClient();
      await client.login({ identifier: 'reader@example.com', password });
      expect((await client.find<Entry[]>('rooms')).data).not.toEqual([]);
      await expect(client.find('guides')).rejects.toMatchObject({
        data: null,
        error: { status: 403, name: 'ForbiddenError' },
      });
    });

    it('an expired or foreign token is a 401, and fetchUser logs out', async () => {
      const client = newClient();
      client.setToken('no-token');
      await expect(client.find('rooms')).rejects.toMatchObject({ error: { status: 401, name: 'UnauthorizedError' } });
      expect(await client.fetchUser()).toBe(null);
      expect(client.getToken()).toBe(null);
    });

    it('a message about a forgotten password is promised to everybody', async () => {
      expect(await newClient().forgotPassword({ email: 'nobody@example.com' })).toEqual({ ok: true });
    });
  });

  describe('errors', () => {
    it('arrive in the form that the client passes on', async () => {
      const client = newClient();
      await expect(client.findOne('rooms', 999)).rejects.toMatchObject({
        data: null,
        error: { status: 404, name: 'NotFoundError', message: 'Not Found' },
      });
      await expect(client.create('rooms', { floor: 99 })).rejects.toMatchObject({
        data: null,
        error: {
          status: 400,
          name: 'ValidationError',
          message: '2 errors occurred',
          details: {
            errors: [
              expect.objectContaining({ path: ['name'], name: 'ValidationError' }),
              expect.objectContaining({ path: ['floor'], name: 'ValidationError' }),
            ],
          },
        },
      });
      await expect(client.find('nowhere')).rejects.toMatchObject({ error: { status: 404 } });
    });
  });
});
