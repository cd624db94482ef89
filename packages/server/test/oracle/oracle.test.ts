/**
 * The oracle against both databases: random projects, worlds and requests; the answer that
 * plain loops give must be the answer of the server, from SQLite and from PostgreSQL, fresh, kept, without keeping, and
 * with the plan sent through JSON.
 *
 * DOVETAIL_SEED=n starts at another seed (`random` draws one); DOVETAIL_ORACLE_MODELS=n runs more projects. A failure
 * prints the seed of its project: that seed with DOVETAIL_ORACLE_MODELS=1 shows it again.
 */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ok, type Result, unwrap } from '../../src/errors.js';
import { weakTag } from '../../src/http/respond.js';
import { textQuery } from '../../src/query/brackets.js';
import { resolveQuery } from '../../src/query/resolve.js';
import { assemble } from '../../src/read/assemble.js';
import { newReader, type Reader } from '../../src/read/find.js';
import type { ReadPlan } from '../../src/read/plan.js';
import { type PlanOptions, planRead } from '../../src/read/planner.js';
import { runRead } from '../../src/read/run.js';
import { compileRead } from '../../src/read/statements.js';
import type { Ready } from '../../src/ready.js';
import { dialects } from '../world/databases.js';
import { newTestServer, type TestServer } from '../world/server.js';
import { answer, type OracleAnswer } from './answer.js';
import { newRandom, seedOfRun } from './random.js';
import { reduce } from './reduction.js';
import { anyRequest, pathOf, type Request } from './request.js';
import { factsFor, newScene, newStage, type Scene, type Stage } from './scene.js';
import { spell } from './spelling.js';

const seed = seedOfRun();
const modelCount = Number(process.env['DOVETAIL_ORACLE_MODELS'] || 8);
const requestCount = Number(process.env['DOVETAIL_ORACLE_REQUESTS'] || 80);
/** Longer ones are refused for their length alone. */
const urlCharactersMax = 15_000;

interface Askable {
  readonly server: TestServer;
  /** Makes all responses anew, of the entries that it keeps. */
  readonly composing: Reader;
}

interface Asked {
  readonly status: number;
  readonly text: string;
}

describe(`oracle, seed ${seed}`, () => {
  for (let i = 0; i < modelCount; i++) {
    test(`project ${seed + i}: the databases answer as the oracle does`, { timeout: 600_000 }, async () => {
      const scene = newScene(seed + i);
      const faults = await Promise.all(dialects.map((dialect) => checkScene(scene, dialect)));
      expect(faults.filter((it) => it !== null).join('\n\n')).toBe('');
    });
  }
});

/** Asks all requests of a scene; the words of the first fault, reduced, or null. */
const checkScene = async (scene: Scene, dialect: (typeof dialects)[number]): Promise<string | null> => {
  const stage = await newStage(scene, dialect);
  const server = await newTestServer(stage.db, scene.model);
  const askable = { server, composing: newReader(stage.db, { responseCacheBytesMax: 0 }) };
  try {
    for (const request of requestsOf(scene)) {
      const fault = await faultOf(request, scene, stage, askable);
      if (fault === null) continue;
      const smallest = await reduce(request, async (it) => (await faultOf(it, scene, stage, askable)) !== null);
      return report(smallest, (await faultOf(smallest, scene, stage, askable)) ?? fault, scene, stage);
    }
    return null;
  } finally {
    await server.close();
    await stage.drop();
  }
};

const requestsOf = ({ seed: sceneSeed, project, world }: Scene): readonly Request[] => {
  const random = newRandom(sceneSeed).fork('requests');
  return Array.from({ length: requestCount }, () => anyRequest(project, world, random)).filter(
    (it) => spell(it).length < urlCharactersMax,
  );
};

/** What differs, or null. */
const faultOf = async (
  request: Request,
  scene: Scene,
  stage: Stage,
  { server, composing }: Askable,
): Promise<string | null> => {
  const wanted = answer(request, factsFor(scene, stage.dialect));
  const search = spell(request);
  const url = `/api${pathOf(request, scene.project)}?${search}`;
  const first = await server.get(url);
  if (first.status !== wanted.status || !isDeepStrictEqual(first.body, wanted.body))
    return difference('the server', wanted, first);
  const again = await server.get(url);
  if (again.text !== first.text || again.status !== first.status) return difference('asked again', wanted, again);
  const type = scene.model.types.get(request.uid)!;
  const asked = { action: request.action, type, id: request.id, query: textQuery(search) };
  const uncached = asAsked(
    await mapped(
      newReader(stage.db, { responseCacheBytesMax: 0, entriesBytesMax: 0 }).read(asked, stage.context),
      (it) => it.body.toString(),
    ),
  );
  if (uncached.status !== first.status || (uncached.status === 200 && uncached.text !== first.text))
    return difference('without cached responses', wanted, uncached);
  // the third time of its entries, and others that show the same entries of these
  for (let times = 0; times < 3; times++) {
    const composed = await composing.read(asked, stage.context);
    const [etag, text] = composed.ok ? [weakTag(composed.value), composed.value.body.toString()] : [undefined, ''];
    if (first.status === 200 && (text !== first.text || etag !== first.headers.etag))
      return difference(`of kept entries, tag ${etag}`, wanted, { status: composed.ok ? 200 : 400, text });
  }
  for (const way of stage.db.dialect.jsonTexts ? ways : [inBatches]) {
    const read = await readWithCopiedPlan(asked, way, stage);
    const copied = read && asAsked(read);
    if (copied && (copied.status !== first.status || (copied.status === 200 && copied.text !== first.text)))
      return difference(`${way.name}, with the plan sent through JSON`, wanted, copied);
  }
  return null;
};

const inBatches = { name: 'in batches', nests: false };
/** How statements are compiled: entries apart, inside those that show them, and so also if others may show them. */
const ways = [
  inBatches,
  { name: 'nested', nests: true },
  { name: 'nested where they may be shared', nests: true, nestsShared: true },
];

const mapped = async <A, B>(result: Ready<Result<A>>, change: (value: A) => B): Promise<Result<B>> => {
  const it = await result;
  return it.ok ? ok(change(it.value)) : it;
};

const asAsked = (result: Result<string | null>): Asked => {
  if (result.ok) return result.value === null ? { status: 404, text: '' } : { status: 200, text: result.value };
  const isAbsent = result.issues.every((it) => it.code === 'http.not-found');
  return { status: isAbsent ? 404 : 400, text: JSON.stringify(result.issues) };
};

/**
 * The read line by hand, nested or in batches on every database; between planning and compiling the plan is text. Null if only
 * batches render a list.
 */
const readWithCopiedPlan = async (
  asked: Parameters<ReturnType<typeof newReader>['read']>[0],
  way: PlanOptions,
  { db, context }: Stage,
): Promise<Result<string | null> | null> => {
  const raw = asked.query.read();
  if (!raw.ok) return raw;
  const query = resolveQuery(raw.value, asked.type, asked.action, context);
  if (!query.ok) return query;
  const plan = JSON.parse(JSON.stringify(unwrap(planRead(query.value, way)))) as ReadPlan;
  const compiled = { ...compileRead(plan.shape, db.dialect), united: null };
  const data = await db.read(() => runRead(compiled, plan.values, asked.id === null ? [] : [asked.id], db.dialect));
  return data && ok(assemble(plan, data)?.body.toString() ?? null);
};

// ---- reports

const difference = (who: string, wanted: OracleAnswer, got: { status: number; text: string }): string => {
  let body: unknown = got.text;
  try {
    body = JSON.parse(got.text);
  } catch {
    // shown as it is
  }
  const place = got.status === wanted.status ? firstDifference(wanted.body, body, 'body') : '';
  return [
    `${who} differs: status ${got.status}, expected ${wanted.status}`,
    place === '' ? `got ${got.text.slice(0, 600)}` : place,
  ].join('\n');
};

const firstDifference = (wanted: unknown, got: unknown, at: string): string => {
  if (isDeepStrictEqual(wanted, got)) return '';
  const areObjects = [wanted, got].every((it) => it !== null && typeof it === 'object');
  if (areObjects && Array.isArray(wanted) === Array.isArray(got)) {
    const [a, b] = [wanted, got] as [Record<string, unknown>, Record<string, unknown>];
    if (Array.isArray(wanted)) {
      const ids = (list: unknown): string => JSON.stringify((list as { id?: unknown }[]).map((it) => it?.id));
      if (ids(wanted) !== ids(got)) return `${at}: expected ids ${ids(wanted)}, got ${ids(got)}`;
    }
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
      if (!Object.hasOwn(a, key)) return `${at}.${key}: not expected, got ${short(b[key])}`;
      if (!Object.hasOwn(b, key)) return `${at}.${key}: expected ${short(a[key])}, missing`;
      const inner = firstDifference(a[key], b[key], `${at}.${key}`);
      if (inner !== '') return inner;
    }
  }
  return `${at}: expected ${short(wanted)}, got ${short(got)}`;
};

const short = (value: unknown): string => (JSON.stringify(value) ?? 'undefined').slice(0, 300);

const report = (request: Request, fault: string, { project, seed: sceneSeed }: Scene, { dialect }: Stage): string => {
  const search = spell(request);
  const schema = [...project.files].find(([file]) => file.includes(`/${project.types.get(request.uid)!.singular}/`));
  return [
    `DOVETAIL_SEED=${sceneSeed} DOVETAIL_ORACLE_MODELS=1 on ${dialect}`,
    `GET ${pathOf(request, project)}?${readable(search)}`,
    `as sent: ${search}`,
    fault,
    `schema of ${request.uid}: ${JSON.stringify((schema?.[1] as { attributes?: unknown })?.attributes)}`,
  ].join('\n');
};

const readable = (search: string): string => {
  try {
    return decodeURIComponent(search);
  } catch {
    return search;
  }
};
