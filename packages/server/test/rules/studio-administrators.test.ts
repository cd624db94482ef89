/** SU1 and SU2 for administrators: what they know, and which entries they see. */

import type { ModelDocument } from 'dovetail-client';
import { describe, expect, it } from 'vitest';
import { serverGate } from '../../src/access/access.js';
import { idAttribute, type LinkAttribute } from '../../src/model/model.js';
import { textQuery } from '../../src/query/brackets.js';
import type { Filter, Gate } from '../../src/query/selection.js';
import { newAdminWorld } from '../world/administrators.js';
import { openedForTests } from '../world/opening.js';
import { defaultSettings, newTestDeps } from '../world/server.js';
import { dialects } from '../world/world.js';

const FILM = 'api::film.film';

describe.each(dialects)('administrators on %s', (dialect) => {
  const world = openedForTests(() =>
    newAdminWorld(dialect, {
      permissions: {
        editor: [
          { action: 'read', subject: 'api::programme.programme' },
          { action: 'read', subject: FILM, conditions: ['admin::is-creator'] },
          { action: 'update', subject: FILM, fields: ['title'] },
        ],
        author: [
          { action: 'read', subject: FILM, fields: ['title', 'credit'] },
          { action: 'create', subject: FILM, fields: ['title', 'credit.role'] },
          { action: 'update', subject: FILM, fields: ['tagline', 'credit.person'] },
          { action: 'read', subject: 'api::person.person' },
        ],
      },
    }),
  );

  it('SU1 administrators know all of the model, with their own rights', async () => {
    const { body } = await world.askAs('ada', 'GET', '/_dovetail/model');
    const film = (body as { data: ModelDocument }).data.types.find((it) => it.uid === FILM)!;
    expect(Object.values(film.may).slice(0, 6)).toEqual([true, true, true, true, true, true]);
    expect(film.attributes.find((it) => it.name === 'confidant')).toMatchObject({ private: true, mayRead: true });
  });

  it('SU1 it has the rights of an administrator by fields, and names what would open a relation', async () => {
    const { body } = await world.askAs('bea', 'GET', '/_dovetail/model');
    const film = (body as { data: ModelDocument }).data.types.find((it) => it.uid === FILM)!;
    expect(film.may).toMatchObject({ find: true, create: false, update: true, publish: false, delete: false });
    expect(film.attributes.filter((it) => it.mayWrite).map((it) => it.name)).toEqual(['title']);
    expect(film.attributes.find((it) => it.name === 'lender')).toMatchObject({ lockedBy: 'api::donor.donor.find' });
    // nothing may be set in an entry that may not be made
    expect(film.attributes.filter((it) => it.mayCreate)).toEqual([]);
  });

  it('SU1 it tells what may be set in a new entry from what may be changed in one that is stored, in components too', async () => {
    const { body } = await world.askAs('cyd', 'GET', '/_dovetail/model');
    const attributesOf = (uid: string) =>
      (body as { data: ModelDocument }).data.types.find((it) => it.uid === uid)!.attributes;
    const [film, credit] = [attributesOf(FILM), attributesOf('people.credit')];
    const named = (by: 'mayCreate' | 'mayUpdate' | 'mayWrite') =>
      [film, credit].map((all) => all.filter((it) => it[by]).map((it) => it.name));
    expect(named('mayCreate')).toEqual([['title', 'credit'], ['role']]);
    expect(named('mayUpdate')).toEqual([['tagline', 'credit'], ['person']]);
    expect(named('mayWrite')).toEqual([
      ['title', 'tagline', 'credit'],
      ['role', 'person'],
    ]);
    // no permission of its own would open media
    expect(film.find((it) => it.name === 'poster')).toMatchObject({ mayRead: false, lockedBy: null });
    // as they are then written
    const send = async (method: string, url: string, data: object) =>
      (await world.askAs('cyd', method, `/api/films${url}`, { body: { data } })).status;
    const [role, person] = [{ credit: { role: 'lead' } }, { credit: { person: 1 } }];
    expect([
      await send('POST', '', { title: 'New', ...role }),
      await send('POST', '', { title: 'New', ...person }),
    ]).toEqual([200, 403]);
    expect([await send('PUT', '/1', person), await send('PUT', '/1', role)]).toEqual([200, 403]);
  });

  it('SU2 conditions of permissions hold for windows', async () => {
    const lineup = '/api/programmes/1/relations/lineup?publicationState=preview&fields=id';
    const seenBy = async (name: 'ada' | 'bea', headers = {}): Promise<unknown> => {
      const { body, text } = await world.askAs(name, 'GET', lineup, { headers });
      const { data, meta } = body as { data: { id: number }[] | null; meta: { positions: readonly number[] } };
      if (!data) throw new Error(text);
      return [data.map((it) => it.id), meta.positions];
    };
    await world.world.update('films', 3, 'created_by_id', 2);
    expect(await seenBy('ada')).toEqual([
      [1, 6, 3],
      [0, 1, 2],
    ]);
    expect(await seenBy('bea')).toEqual([[3], [0]]);
    expect(await seenBy('ada', { 'dovetail-as': 'role:public' })).toEqual([
      [1, 6, 3],
      [0, 1, 2],
    ]);
    const ofFilm = (id: number) => `/api/films/${id}/relations/programmes?publicationState=preview`;
    expect((await world.askAs('bea', 'GET', ofFilm(1))).status).toBe(404);
    expect((await world.askAs('bea', 'GET', ofFilm(3))).status).toBe(200);
    expect((await world.askAs('cyd', 'GET', lineup)).status).toBe(403);
  });

  it('SU2 a window shows the entries that the caller may see, and is only of one that they may see', async () => {
    const { db, model } = world.world;
    const { site } = newTestDeps(db, model);
    const programme = model.types.get('api::programme.programme')!;
    const id = (values: readonly number[]): Filter => ({
      kind: 'compare',
      attribute: idAttribute,
      operator: '$in',
      values,
      blanks: values.map(() => null),
    });
    const read = async (seen: { readonly films: readonly number[]; readonly programmes: readonly number[] }) => {
      const gate: Gate = {
        ...serverGate,
        version: JSON.stringify(seen),
        entries: (type) => (type.uid === FILM ? id(seen.films) : type === programme ? id(seen.programmes) : null),
      };
      const found = await site.windows.read(
        {
          type: programme,
          id: 1,
          place: { parts: [], attribute: programme.attributes.get('lineup') as LinkAttribute },
          query: textQuery('publicationState=preview&fields=id&filters[id][$gt]=1'),
        },
        { ...defaultSettings, model, gate, defaultLocale: null },
      );
      if (!found.ok) return found.issues.map((it) => it.code);
      const { data, meta } = JSON.parse(found.value.body.toString()) as {
        data: { id: number }[];
        meta: { pagination: { total: number }; positions: number[] };
      };
      return { ids: data.map((it) => it.id), positions: meta.positions, total: meta.pagination.total };
    };
    // the list is 1, 6, 3
    expect(await read({ films: [1, 3, 6], programmes: [1] })).toEqual({ ids: [6, 3], positions: [1, 2], total: 2 });
    expect(await read({ films: [3], programmes: [1] })).toEqual({ ids: [3], positions: [0], total: 1 });
    expect(await read({ films: [1, 3, 6], programmes: [2] })).toEqual(['http.not-found']);
  });
});
