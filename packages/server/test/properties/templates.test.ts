/**
 * A plan that is made from that of a similar query, by filling the blanks of their template, is the plan that the query
 * itself has: random requests with other values in the place of their own, valid or not, strict and lenient, nested and not.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { serverGate } from '../../src/access/access.js';
import { unwrap } from '../../src/errors.js';
import { textQuery } from '../../src/query/brackets.js';
import { type ResolveContext, resolveQuery } from '../../src/query/resolve.js';
import type { ReadPlan } from '../../src/read/plan.js';
import { planRead } from '../../src/read/planner.js';
import { fillPlan, isFillable } from '../../src/read/template.js';
import { newRandom, type Random, seedOfRun } from '../oracle/random.js';
import { anyRequest, type Request } from '../oracle/request.js';
import { newScene } from '../oracle/scene.js';
import { spell } from '../oracle/spelling.js';
import { modelIn } from '../world/schemas.js';
import { defaultSettings } from '../world/server.js';
import { type SmallProject, writeSmall } from '../world/small.js';

const seed = seedOfRun();
const sceneCount = 4;
const requestCount = 150;
const variantCount = 4;

const texts = [
  '1',
  '2',
  '-3',
  '2147483648',
  '1.5',
  'Infinity',
  '',
  ' ',
  'x',
  'true',
  'f',
  'null',
  '\0',
  'a&b=[c]',
  '%',
  'ё',
];
const numbers = ['2', '3', '17', '999999999', '1000000000', '1', '0', '-1', '02', '2.0', ''];

/** The query with other values, some of them kept or equal to each other. */
const varied = (search: string, others: readonly string[], random: Random): string => {
  const repeated = random.pick(texts);
  return search
    .split('&')
    .map((pair) => {
      const template = textQuery(pair).template?.();
      if (!template || random.chance(0.3)) return pair;
      const key = template.key.slice(1);
      if (key.startsWith('pagination')) return key.slice(0, -1) + random.pick(numbers);
      const text = random.chance(0.2) ? repeated : random.pick(random.chance(0.7) ? others : texts);
      return key + encodeURIComponent(text);
    })
    .join('&');
};

const comparable = ({ shape, shapeKey, values, page, leftOut }: ReadPlan): unknown =>
  JSON.parse(JSON.stringify({ shape, shapeKey, values, page, leftOut }));

describe(`plans by templates, seed ${seed}`, () => {
  test('are those of the queries themselves', () => {
    const counts = { filled: 0, planned: 0, refused: 0 };
    for (let i = 0; i < sceneCount; i++) {
      const scene = newScene(seed + i);
      const random = newRandom(scene.seed).fork('templates');
      for (let n = 0; n < requestCount; n++) {
        const request = anyRequest(scene.project, scene.world, random);
        const context: ResolveContext = {
          model: scene.model,
          gate: serverGate,
          rest: defaultSettings.rest,
          strict: random.chance(0.5),
          defaultLocale: 'en',
        };
        const nests = random.chance(0.5);
        const planOf = (search: string): ReadPlan | null => planned(search, request, nests, context);
        const search = spell(request);
        const plan = planOf(search);
        const template = textQuery(search).template?.();
        if (!plan || !template || !isFillable(plan, template.texts)) continue;
        for (let v = 0; v < variantCount; v++) {
          const other = varied(search, template.texts, random);
          const similar = textQuery(other).template?.();
          const whole = planOf(other);
          // another page may have taken it out of the template
          if (similar?.key !== template.key) continue;
          const filled = fillPlan(plan, similar.texts, context);
          const about = `seed ${scene.seed}: ${search}\nand ${other}`;
          if (filled) expect(comparable(filled), about).toEqual(whole && comparable(whole));
          counts[filled ? 'filled' : whole ? 'planned' : 'refused'] += 1;
        }
      }
    }
    expect(counts.filled).toBeGreaterThan(300);
    expect(counts.planned).toBeGreaterThan(0);
    expect(counts.refused).toBeGreaterThan(100);
  });

  test('queries with equal templates have equal keys and different values; everything else stays in the key', () => {
    const templateOf = (search: string) => textQuery(search).template?.();
    expect(templateOf('sort=title&populate=*')).toBeNull();
    expect(templateOf('pagination[page]=1')).toBeNull();
    expect(templateOf('pagination[page]=3&pagination[pageSize]=5')).toEqual({
      key: '?pagination[page]=2&pagination[pageSize]=5',
      texts: ['3'],
    });
    expect(templateOf('filters%5Ba%5D%5B$eq%5D=x+%26&filters[b][$null]=true&fields=c')).toEqual({
      key: '?filters[a][$eq]=&filters[b][$null]=true&fields=c',
      texts: ['x &'],
    });
    expect(templateOf('filters[a]&filters[b]=')).toEqual({ key: '?filters[a]&filters[b]=', texts: [''] });
    expect(templateOf('a=filters[b]=c')).toEqual({ key: '?a=filters[b]=', texts: ['c'] });
    expect(templateOf('fields=filters')).toBeNull();
  });
});

const people = { type: 'relation', relation: 'manyToOne', target: 'api::author.author' };
const notes: SmallProject = {
  types: {
    author: { attributes: { name: { type: 'string' } } },
    note: { attributes: { author: people, editor: people } },
  },
};

test('selections that only values tell apart share a node exactly if these are equal, whichever query came first', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-templates-'));
  try {
    writeSmall(dir, notes);
    const context = { ...defaultSettings, model: modelIn(dir), gate: serverGate, defaultLocale: null };
    const request = { uid: 'api::note.note', action: 'find' } as const;
    const byName = (attribute: string, name: string) => `populate[${attribute}][filters][name][$eq]=${name}`;
    const searches = ['a a', 'a b', 'b b', 'b a'].map((names) => {
      const [author = '', editor = ''] = names.split(' ');
      return `${byName('author', author)}&${byName('editor', editor)}`;
    });
    const nodes = searches.map((it) => planned(it, request, false, context)!.shape.nodes.length);
    expect(nodes).toEqual([2, 3, 2, 3]);
    for (const first of searches)
      for (const search of searches) {
        const plan = planned(first, request, false, context)!;
        const { texts } = textQuery(search).template!()!;
        const filled = isFillable(plan, texts) ? fillPlan(plan, texts, context) : null;
        if (filled) expect(comparable(filled)).toEqual(comparable(planned(search, request, false, context)!));
      }
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
});

/** Null if the query is refused. */
const planned = (
  search: string,
  { uid, action }: Pick<Request, 'uid' | 'action'>,
  nests: boolean,
  context: ResolveContext,
): ReadPlan | null => {
  const raw = textQuery(search).read();
  if (!raw.ok) return null;
  const query = resolveQuery(raw.value, context.model.types.get(uid)!, action, context);
  return query.ok ? unwrap(planRead(query.value, { nests })) : null;
};
