/**
 * VF1 for random projects and requests: what v5's format shows is what v4's shows, written in another way. Fresh, kept, of
 * kept entries, nested and in batches, on both databases.
 */
import { expect, test } from 'vitest';
import { unwrap } from '../../src/errors.js';
import { type EntryType, type Model, typeOf } from '../../src/model/model.js';
import { textQuery } from '../../src/query/brackets.js';
import { resolveQuery } from '../../src/query/resolve.js';
import { assemble } from '../../src/read/assemble.js';
import { newReader } from '../../src/read/find.js';
import { planRead } from '../../src/read/planner.js';
import { runRead } from '../../src/read/run.js';
import { compileRead } from '../../src/read/statements.js';
import { newRandom, seedOfRun } from '../oracle/random.js';
import { anyRequest, pathOf } from '../oracle/request.js';
import { newScene, newStage } from '../oracle/scene.js';
import { spell } from '../oracle/spelling.js';
import { dialects } from '../world/databases.js';
import { newTestServer } from '../world/server.js';

type Json = Readonly<Record<string, unknown>>;

const seed = seedOfRun();
const v5 = { 'strapi-response-format': 'v5' };

/** An entry or component of an answer in v4's format, in v5's. @param isBare whether its attributes stand beside the id. */
const flatEntry = (entry: Json, type: EntryType, model: Model, isBare: boolean): Json => {
  const attributes = isBare ? entry : (entry['attributes'] as Json);
  const rest = Object.entries(attributes)
    .filter(([name]) => !(isBare && name === 'id'))
    .map(([name, value]) => [name, flatValue(name, value, type, model, isBare)]);
  const documentId = type.kind === 'component' ? {} : { documentId: String(entry['id']) };
  const { __type, __component } = entry;
  return {
    ...(__type === undefined ? {} : { __type }),
    ...(__component === undefined ? {} : { __component }),
    id: entry['id'],
    ...documentId,
    ...Object.fromEntries(rest),
  };
};

const flatValue = (name: string, value: unknown, type: EntryType, model: Model, isBare: boolean): unknown => {
  const attribute = type.attributes.get(name);
  if (!attribute || attribute.kind === 'scalar' || value === null) return value;
  const each = (it: unknown, show: (entry: Json) => Json): unknown =>
    Array.isArray(it) ? it.map(show) : it === null ? null : show(it as Json);
  switch (attribute.kind) {
    case 'link': {
      const isCreator = attribute.source === 'creator';
      const found = isBare && !isWrapped(value) ? value : isCreator ? value : (value as Json)['data'];
      const target = typeOf(model, attribute.target);
      return each(found, (it) => flatEntry(it, target, model, isCreator || (isBare && !isWrapped(value))));
    }
    case 'part':
      return each(value, (it) => {
        const uid = (it['__component'] as string | undefined) ?? attribute.components[0]!;
        return flatEntry(it, typeOf(model, uid), model, true);
      });
    case 'morph':
      return each(value, (it) => flatEntry(it, typeOf(model, it['__type'] as string), model, true));
  }
};

/** Links of components are wrapped, those inside of polymorphic relations are not. */
const isWrapped = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).join() === 'data';

const flatBody = ({ data, meta }: Json, type: EntryType, model: Model): Json => ({
  data: Array.isArray(data)
    ? data.map((it) => flatEntry(it as Json, type, model, false))
    : data && flatEntry(data as Json, type, model, false),
  meta,
});

test.each(Array.from({ length: 5 }, (_none, i) => seed + i))(
  'VF1 project %i: the answer in v5 is the one in v4, flat',
  { timeout: 300_000 },
  async (sceneSeed) => {
    const scene = newScene(sceneSeed);
    for (const dialect of dialects) {
      const stage = await newStage(scene, dialect);
      const server = await newTestServer(stage.db, scene.model);
      const composing = newReader(stage.db, { responseCacheBytesMax: 0 });
      const context = { ...stage.context, format: 'v5' } as const;
      try {
        const random = newRandom(sceneSeed).fork('flat requests');
        for (let i = 0; i < 60; i++) {
          const request = anyRequest(scene.project, scene.world, random);
          const search = spell(request);
          if (search.length > 15_000) continue;
          const url = `/api${pathOf(request, scene.project)}?${search}`;
          const told = `${dialect} ${url}`;
          const plain = await server.get(url);
          const flat = await server.get(url, v5);
          expect(flat.status, told).toBe(plain.status);
          expect((await server.get(url, v5)).text, `${told} again`).toBe(flat.text);
          if (flat.status !== 200) {
            expect(flat.body, told).toEqual(plain.body);
            continue;
          }
          const type = scene.model.types.get(request.uid)!;
          const wanted = flatBody(plain.body as Json, type, scene.model);
          expect(JSON.stringify(flat.body), told).toBe(JSON.stringify(wanted));
          expect((await server.get(url)).text, `${told} in v4 again`).toBe(plain.text);
          const asked = { action: request.action, type, id: request.id, query: textQuery(search) };
          for (let times = 0; times < 3; times++) {
            const composed = await composing.read(asked, context);
            expect(composed.ok && composed.value.body.toString(), `${told} of kept entries`).toBe(flat.text);
          }
          const query = resolveQuery(unwrap(asked.query.read()), type, request.action, context);
          if (!query.ok) throw new Error(told);
          for (const nests of stage.db.dialect.jsonTexts ? [false, true] : [false]) {
            const plan = unwrap(planRead(query.value, { nests }));
            const compiled = { ...compileRead(plan.shape, stage.db.dialect), united: null };
            const ids = request.id === null ? [] : [request.id];
            const data = await stage.db.read(() => runRead(compiled, plan.values, ids, stage.db.dialect));
            if (!data) continue;
            expect(assemble(plan, data)?.body.toString(), `${told} ${nests ? 'nested' : 'in batches'}`).toBe(flat.text);
          }
        }
      } finally {
        await server.close();
        await stage.drop();
      }
    }
  },
);
