/** SU1: the model as its callers may know it. */

import type { AttributeDocument, ModelDocument, TypeDocument } from 'dovetail-client';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { actionsOf } from '../../src/access/actions.js';
import { hashToken } from '../../src/access/tokens.js';
import { operators } from '../../src/query/operators.js';
import { newMagazine } from '../world/magazine.js';
import { openedForTests } from '../world/opening.js';
import { newTestServer, refusal, secrets, type TestServer } from '../world/server.js';
import { newSmallWorld } from '../world/small.js';
import { dialects, newWorld, type World } from '../world/world.js';

const MODEL = '/_dovetail/model';
const asToken = (text: string) => ({ authorization: `Bearer ${text}` });

const modelOf = async (server: Pick<TestServer, 'get'>, headers = {}): Promise<ModelDocument> => {
  const { status, body, text } = await server.get(MODEL, headers);
  if (status !== 200) throw new Error(text);
  return (body as { data: ModelDocument }).data;
};
const typeIn = ({ types }: ModelDocument, uid: string): TypeDocument => {
  const type = types.find((it) => it.uid === uid);
  if (!type) throw new Error(`no ${uid} in ${types.map((it) => it.uid)}`);
  return type;
};
const attributeIn = (model: ModelDocument, uid: string, name: string): AttributeDocument => {
  const found = typeIn(model, uid).attributes.find((it) => it.name === name);
  if (!found) throw new Error(`no ${uid}.${name}`);
  return found;
};

/** A custom token with these actions. */
const newToken = async (world: World, id: number, actions: readonly string[]): Promise<string> => {
  const text = `token ${id}`.replace(' ', '-');
  await world.insert('strapi_api_tokens', [
    { id, name: text, type: 'custom', access_key: hashToken(text, secrets.apiTokenSalt) },
  ]);
  const permissions = actions.map((action, i) => ({ id: id * 100 + i, action }));
  await world.insert('strapi_api_token_permissions', permissions);
  await world.insert(
    'strapi_api_token_permissions_token_links',
    permissions.map((it, i) => ({
      api_token_permission_id: it.id,
      api_token_id: id,
      api_token_permission_order: i + 1,
    })),
  );
  return text;
};

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly anyOf?: readonly JsonSchema[];
  readonly const?: string;
}
type JsonSchemas = Readonly<Record<string, JsonSchema>>;

/** In v5's format, whose schemas of entries name their type. */
const openapiOf = async (server: Pick<TestServer, 'get'>, headers: Record<string, string>): Promise<JsonSchemas> => {
  const { body } = await server.get('/api/openapi.json', { ...headers, 'Strapi-Response-Format': 'v5' });
  return (body as { components: { schemas: JsonSchemas } }).components.schemas;
};

/** Names of attributes by the uid of their type, from what is in responses and bodies; without those of the format. */
const namesInOpenapi = (schemas: JsonSchemas): ReadonlyMap<string, readonly string[]> => {
  const found = new Map<string, Set<string>>();
  const uids = new Map(
    Object.entries(schemas).flatMap(([name, { properties }]) => {
      const uid = properties?.['__type']?.const ?? properties?.['__component']?.const;
      return uid === undefined ? [] : [[name.replace(/(?:Bare|New|Change)$/, ''), uid] as const];
    }),
  );
  for (const [name, schema] of Object.entries(schemas)) {
    const uid = uids.get(name.replace(/(?:Bare|New|Change)$/, ''));
    if (uid === undefined) continue;
    const names = [schema, ...(schema.anyOf ?? [])].flatMap((it) => Object.keys(it.properties ?? {}));
    const own = names.filter((it) => !['id', 'documentId', '__type', '__component', ...stated].includes(it));
    found.set(uid, new Set([...(found.get(uid) ?? []), ...own]));
  }
  return new Map([...found].map(([uid, names]) => [uid, [...names].sort()]));
};
/** In bodies of types that have them also where they cannot be read. */
const stated = ['publishedAt', 'locale'];

const namesOf = (attributes: readonly AttributeDocument[]): readonly string[] =>
  attributes
    .map((it) => it.name)
    .filter((it) => !stated.includes(it))
    .sort();

describe.each(dialects)('SU1 on %s', (dialect) => {
  const world = openedForTests(() => newWorld(dialect, { settings: { isModelOpen: true, version: '1.2.3' } }));
  const closed = openedForTests(() => newWorld(dialect, { settings: { version: '1.2.3' } }));

  it('SU1 in development it has all types and components, with what the public may do', async () => {
    const model = await modelOf(world);
    expect(model).toMatchObject({
      version: '1.2.3',
      prefix: '/api',
      rest: { defaultLimit: 25, maxLimit: 100, withCount: true },
      strict: true,
    });
    const { attributes: _, ...film } = typeIn(model, 'api::film.film');
    expect(film).toEqual({
      uid: 'api::film.film',
      kind: 'collection',
      origin: 'project',
      displayName: 'Film',
      description: null,
      category: null,
      singular: 'film',
      plural: 'films',
      path: '/api/films',
      draftAndPublish: true,
      localized: false,
      mainField: 'title',
      may: {
        find: true,
        findOne: true,
        create: false,
        update: false,
        delete: false,
        publish: false,
        createLocalization: false,
      },
    });
    expect(typeIn(model, 'api::lobby.lobby')).toMatchObject({ kind: 'single', path: '/api/lobby' });
    expect(typeIn(model, 'people.credit')).toMatchObject({ kind: 'component', category: 'people', path: null });
    expect(typeIn(model, 'plugin::upload.file')).toMatchObject({ path: '/api/upload/files', origin: 'builtin' });
    expect(model.types.map((it) => it.uid)).not.toContain('admin::user');
  });

  it('SU1 in development a relation that is closed names the permission that opens it', async () => {
    const model = await modelOf(world);
    expect(attributeIn(model, 'api::film.film', 'lender')).toMatchObject({
      mayRead: false,
      lockedBy: 'api::donor.donor.find',
      operators: [],
      relation: { kind: 'manyToOne', target: 'api::donor.donor', inverse: 'lent', list: false, ordered: false },
    });
    expect(typeIn(model, 'api::donor.donor').may.find).toBe(false);
    expect(attributeIn(model, 'api::film.film', 'director')).toMatchObject({ mayRead: true, lockedBy: null });
    expect(attributeIn(model, 'api::film.film', 'confidant')).toMatchObject({
      private: true,
      mayRead: false,
      lockedBy: null,
    });
  });

  it('SU1 attributes of every kind have their rules', async () => {
    const model = await modelOf(world);
    const ofFilm = (name: string) => attributeIn(model, 'api::film.film', name);
    const onIds = Object.keys(operators).filter((it) => operators[it as '$eq'].families.includes('ordered'));
    expect(ofFilm('title')).toMatchObject({ kind: 'scalar', type: 'string', family: 'text', required: true });
    expect(ofFilm('title').operators).toContain('$containsi');
    expect(ofFilm('year')).toMatchObject({ family: 'number', sortable: true });
    expect(ofFilm('createdAt')).toMatchObject({ family: 'instant', type: 'datetime' });
    expect(ofFilm('genres')).toMatchObject({
      kind: 'relation',
      operators: onIds,
      sortable: false,
      relation: { kind: 'manyToMany', inverse: 'films', list: true, ordered: true },
    });
    expect(ofFilm('poster')).toMatchObject({ kind: 'media', media: { multiple: false, allowedTypes: ['images'] } });
    expect(ofFilm('facts')).toMatchObject({ kind: 'component', component: { uid: 'parts.fact', repeatable: true } });
    expect(ofFilm('body')).toMatchObject({
      kind: 'zone',
      type: 'dynamiczone',
      zone: { components: ['blocks.quote', 'blocks.gallery', 'blocks.related'] },
      operators: [],
    });
  });

  it('SU1 the name of an entry is the one that v4 has stored, if it is there', async () => {
    const uid = 'api::genre.genre';
    const before = typeIn(await modelOf(world), uid).mainField;
    const stored = (mainField: string) =>
      world.insert('strapi_core_store_settings', [
        {
          key: `plugin_content_manager_configuration_content_types::${uid}`,
          value: JSON.stringify({ uid, settings: { mainField } }),
        },
      ]);
    await stored('order');
    expect([before, typeIn(await modelOf(world), uid).mainField]).toEqual(['name', 'order']);
  });

  it('SU1 it has an entity tag, and depends on who asks', async () => {
    const { headers } = await world.get(MODEL);
    expect(headers['vary']).toContain('authorization');
    const again = await world.get(MODEL, { 'if-none-match': String(headers['etag']) });
    expect([again.status, again.text]).toEqual([304, '']);
    expect((await world.get(MODEL, asToken('none'))).status).toBe(401);
  });

  it('SU1 in development pages of other sites see no more than in production', async () => {
    const versionFor = async (headers: Record<string, string>) => (await modelOf(world, headers)).version;
    const foreign = { origin: 'https://evil.example' };
    expect(await versionFor(foreign)).toBeNull();
    expect(await versionFor({ ...foreign, 'sec-fetch-site': 'cross-site' })).toBeNull();
    expect(await versionFor({ origin: 'http://localhost:80' })).toBe('1.2.3');
    expect(await versionFor({ origin: 'http://localhost:5173', 'sec-fetch-site': 'same-site' })).toBe('1.2.3');
    const explained = await world.server.send('POST', '/_dovetail/explain', {
      body: { url: '/api/films' },
      headers: foreign,
    });
    expect(explained.status).toBe(403);
  });

  it('SU1 it is read in three statements, or none for who sees no more than openapi.json', async () => {
    expect(await world.statements(MODEL)).toHaveLength(3);
    expect(await closed.statements(MODEL)).toEqual([]);
  });

  it('SU1 in production it has what openapi.json has for the same caller, and nothing more', async () => {
    const { model } = closed;
    const actions = actionsOf(model);
    let serial = 100;
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.constantFrom(...actions), { maxLength: 12 }), async (granted) => {
        serial += 1;
        const headers = asToken(await newToken(closed, serial, granted));
        const known = namesInOpenapi(await openapiOf(closed, headers));
        const shown = await modelOf(closed, headers);
        expect(shown.version).toBeNull();
        const uids = shown.types.map((it) => it.uid);
        // openapi.json describes files and users always
        expect([...known.keys()].filter((it) => !it.startsWith('plugin::') || uids.includes(it)).sort()).toEqual(
          [...uids].sort(),
        );
        for (const { uid, attributes } of shown.types)
          expect([uid, namesOf(attributes)]).toEqual([uid, known.get(uid)]);
        const isTold = (it: AttributeDocument): boolean =>
          it.required || it.unique || it.enum !== null || it.relation?.kind != null || it.lockedBy !== null;
        for (const { attributes } of shown.types)
          expect(attributes.filter((it) => isTold(it) && !it.mayWrite)).toEqual([]);
      }),
      { numRuns: Number(process.env['DOVETAIL_MODEL_RUNS'] ?? 40) },
    );
  });

  it('SU1 where the public may do nothing, it has to be development to see anything', async () => {
    const small = await newSmallWorld(dialect, { types: { note: { attributes: { text: { type: 'string' } } } } });
    const [open, shut] = await Promise.all(
      [true, false].map((isModelOpen) => newTestServer(small.db, small.model, { isModelOpen })),
    );
    const note = typeIn(await modelOf(open!), 'api::note.note');
    expect([Object.values(note.may), note.attributes[0]]).toMatchObject([
      Array.from({ length: 7 }, () => false),
      { name: 'text', mayRead: true, mayWrite: false },
    ]);
    expect((await shut!.get(MODEL)).body).toEqual(refusal(401, 'UnauthorizedError', expect.any(String)));
    await Promise.all([open!.close(), shut!.close()]);
    await small.close();
  });

  it('SU1 project types that take a path of accounts leave none to users', async () => {
    const magazine = await newMagazine(dialect);
    const { types } = await modelOf({ get: (url) => magazine.send('GET', url) });
    const paths = types.map((it) => it.path).filter((it) => it !== null);
    expect(new Set(paths).size).toBe(paths.length);
    expect(paths).toEqual(expect.arrayContaining(['/api/articles', '/api/users', '/api/users-permissions/roles']));
    await magazine.close();
  });
});
