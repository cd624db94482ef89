/** v5's official client, @strapi/client, unchanged but for the header, against the recorded museum on a port. */
import fs from 'node:fs';
import path from 'node:path';
import { strapi } from '@strapi/client';
import { describe, expect, it } from 'vitest';
import { kitFiles, password } from '../conformance/cases.js';
import { loadProject, newRecordedServer } from '../conformance/recorded.js';
import { openForTests } from '../world/opening.js';
import { dialects } from '../world/world.js';

const picture = fs.readFileSync(path.join(kitFiles('museum').dir, 'files/send/plum.png'));

describe.each(dialects)('@strapi/client on %s', (dialect) => {
  const museum = openForTests(async () => newRecordedServer(dialect, await loadProject('museum')));
  const newClient = (auth?: string) =>
    strapi({
      baseURL: `${museum().base}/api`,
      headers: { 'Strapi-Response-Format': 'v5' },
      ...(auth === undefined ? {} : { auth }),
    });

  it('find: filters, sort, fields, a page and populate', async () => {
    const answer = await newClient()
      .collection('exhibits')
      .find({
        filters: { $or: [{ title: { $containsi: 'LANTERN' } }, { room: { documentId: { $eq: '4' } } }] },
        sort: ['title:desc'],
        fields: ['title', 'documentId'],
        populate: { room: { fields: ['name'] } },
        pagination: { page: 1, pageSize: 2 },
      });
    expect(answer.meta.pagination).toMatchObject({ page: 1, pageSize: 2 });
    for (const it of answer.data) {
      expect(it).toMatchObject({ documentId: String(it.id), title: expect.any(String) });
      expect(it['room'] === null || it['room'].documentId === String(it['room'].id)).toBe(true);
    }
    expect(answer.data.map(({ id }) => id)).toContain(11);
  });

  it('find: populate=*, drafts by status', async () => {
    const rooms = newClient().collection('rooms');
    expect((await rooms.findOne('1', { populate: '*' })).data).toMatchObject({
      documentId: '1',
      name: 'Lamp Room',
      exhibits: [{ documentId: '1' }, { documentId: '11' }],
    });
    const exhibits = newClient().collection('exhibits');
    const idsOf = async (status: 'draft' | 'published') =>
      (await exhibits.find({ status, sort: 'id', fields: ['title'] })).data.map(({ id }) => id);
    expect(await idsOf('published')).not.toContain(7);
    expect(await idsOf('draft')).toContain(7);
  });

  it('create, findOne, update and delete by documentId, with relations and a zone', async () => {
    const exhibits = newClient().collection('exhibits');
    const { data: made } = await exhibits.create(
      {
        title: 'Brass Key',
        room: '4',
        guides: { connect: [{ documentId: '1' }, { documentId: '2' }] },
        panels: [{ __component: 'panels.text', body: 'Opens nothing any more.' }],
      },
      { populate: ['room', 'guides', 'panels'] },
    );
    expect(made).toMatchObject({
      documentId: String(made.id),
      room: { documentId: '4' },
      guides: [{ documentId: '1' }, { documentId: '2' }],
      panels: [{ __component: 'panels.text', body: 'Opens nothing any more.' }],
    });
    const { data: changed } = await exhibits.update(
      made.documentId,
      { title: 'Iron Key', guides: { disconnect: [{ documentId: '1' }] } },
      { populate: ['guides'] },
    );
    expect(changed).toMatchObject({ id: made.id, title: 'Iron Key', guides: [{ documentId: '2' }] });
    expect((await exhibits.findOne(made.documentId)).data).toMatchObject({ title: 'Iron Key' });
    await exhibits.delete(made.documentId);
    await expect(exhibits.findOne(made.documentId)).rejects.toMatchObject({ name: 'HTTPNotFoundError' });
  });

  it('a single type and its locales', async () => {
    const page = newClient().single('visit-page');
    const before = (await page.find()).data;
    expect([before['headline'], (await page.find({ locale: 'de' })).data['headline']]).toEqual([
      'Come and see',
      'Kommen Sie vorbei',
    ]);
    expect((await page.update({ headline: 'Come in' })).data).toMatchObject({ headline: 'Come in' });
    await page.update({ headline: before['headline'] });
  });

  it('files: upload, find, findOne, update and delete', async () => {
    const { files } = newClient();
    const [file] = await files.upload(picture, {
      filename: 'plum.png',
      mimetype: 'image/png',
      fileInfo: { alternativeText: 'A plum' },
    });
    expect(file).toMatchObject({ name: 'plum.png', alternativeText: 'A plum', mime: 'image/png' });
    expect((await files.find({ filters: { name: 'plum.png' } })).map(({ id }) => id)).toContain(file!.id);
    expect(await files.update(file!.id, { caption: 'Purple' })).toMatchObject({ caption: 'Purple' });
    expect(await files.findOne(file!.id)).toMatchObject({ id: file!.id, caption: 'Purple' });
    await files.delete(file!.id);
    await expect(files.findOne(file!.id)).rejects.toMatchObject({ name: 'FileNotFoundError' });
  });

  it('a user who logs in', async () => {
    const login = await newClient().fetch('/auth/local', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ identifier: 'reader@example.com', password }),
    });
    const { jwt } = (await login.json()) as { jwt: string };
    const users = newClient(jwt).collection('users', { path: '/users/me' });
    expect(await users.find()).toMatchObject({ email: 'reader@example.com' });
  });
});
