/**
 * Any query string is either answered or refused with the place of its fault: nothing throws, nothing answers 5xx, and
 * nothing takes longer than one read may.
 *
 * DOVETAIL_FUZZ=n sets how many strings are tried, a quarter of them on PostgreSQL; DOVETAIL_SEED=n starts elsewhere. A
 * string that is found wanting goes into a file of `corpus/`, with its names replaced as the first line there says.
 */
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { errorEnvelope, type IssueCode } from '../../src/errors.js';
import { limits } from '../../src/limits.js';
import { textQuery } from '../../src/query/brackets.js';
import { lenient as ignoredByV4 } from '../../src/query/lenient.js';
import { newReader, type Reader } from '../../src/read/find.js';
import { newRandom, seedOfRun } from '../oracle/random.js';
import { newScene, newStage, type Scene, type Stage } from '../oracle/scene.js';
import { dialects } from '../world/databases.js';
import { newTestServer } from '../world/server.js';
import { type Asked, anyAsked, fillLine } from './strings.js';

const seed = seedOfRun();
const total = Number(process.env['DOVETAIL_FUZZ'] || 5_000);
const counts = { sqlite: Math.ceil(total * 0.75), postgres: Math.ceil(total * 0.25) } as const;
const httpCount = Math.min(2_000, Math.ceil(total / 16));
/** Strings tried on one project before the next one is generated. */
const perScene = 2_500;
/** What a busy machine may add to the duration of the longest read. */
const slackMs = 30_000;
const corpusDir = path.join(import.meta.dirname, 'corpus');

/** Refusals of a whole request; every other refusal names the parameter. */
const budgets: ReadonlySet<IssueCode> = new Set([
  'query.too-many-parameters',
  'read.too-expensive',
  'read.too-slow',
  'read.too-large',
  'http.not-found',
]);

const corpus = fs
  .readdirSync(corpusDir)
  .filter((it) => it.endsWith('.txt'))
  .sort()
  .flatMap((file) => fs.readFileSync(path.join(corpusDir, file), 'utf8').split('\n'))
  .filter((line) => line !== '' && !line.startsWith('# '));

/** The results of a run, with one example of each kind of fault. */
interface Tally {
  readonly faults: Map<string, string>;
  answered: number;
  refused: number;
  slowestMs: number;
  slowest: string;
}

describe.each(dialects)(`fuzz on %s, seed ${seed}`, (dialect) => {
  test('the corpus', async () => {
    const scene = newScene(seed);
    const stage = await newStage(scene, dialect);
    const reader = newReader(stage.db);
    const tally = newTally();
    try {
      for (const line of corpus) {
        for (const type of scene.project.types.values()) {
          if (type.kind !== 'collection' && type.kind !== 'single') continue;
          const search = fillLine(line, type);
          const actions = type.kind === 'single' ? (['single'] as const) : (['find', 'findOne'] as const);
          for (const action of actions)
            await check(
              { uid: type.uid, action, id: action === 'findOne' ? 1 : null, search },
              scene,
              stage,
              reader,
              tally,
            );
        }
      }
    } finally {
      await stage.drop();
    }
    expect([...tally.faults.values()].join('\n\n')).toBe('');
  });

  test(`${counts[dialect]} query strings`, { timeout: 1_800_000 }, async () => {
    const tally = newTally();
    for (let done = 0, i = 0; done < counts[dialect]; i++) {
      // PostgreSQL has code of its own
      const scene = newScene(seed + i + (dialect === 'postgres' ? 500 : 0));
      const stage = await newStage(scene, dialect);
      try {
        const random = newRandom(scene.seed).fork(`fuzz ${dialect}`);
        // every fourth project is read in lenient mode
        const lenient = { ...stage, context: { ...stage.context, strict: i % 4 !== 3 } };
        const reader = newReader(stage.db);
        for (let n = 0; n < perScene && done < counts[dialect]; n++, done++)
          await check(anyAsked(scene.project, scene.world, random), scene, lenient, reader, tally);
      } finally {
        await stage.drop();
      }
    }
    console.log(
      `${dialect}: ${tally.answered} answered, ${tally.refused} refused, slowest ${Math.round(tally.slowestMs)} ms: ${tally.slowest.slice(0, 300)}`,
    );
    expect([...tally.faults.values()].join('\n\n')).toBe('');
    // strings that are all refused at once would prove little
    expect(tally.answered).toBeGreaterThan(counts[dialect] * 0.1);
    expect(tally.refused).toBeGreaterThan(counts[dialect] * 0.1);
  });

  test(`${httpCount} query strings over HTTP`, { timeout: 600_000 }, async () => {
    const scene = newScene(seed + 900);
    const stage = await newStage(scene, dialect);
    const strict = await newTestServer(stage.db, scene.model);
    const lenient = await newTestServer(stage.db, scene.model, { strict: false });
    const random = newRandom(scene.seed).fork(`http ${dialect}`);
    let leftOut = 0;
    try {
      for (let n = 0; n < httpCount; n++) {
        const server = n % 2 === 0 ? strict : lenient;
        const { uid, id, search } = anyAsked(scene.project, scene.world, random);
        const type = scene.project.types.get(uid)!;
        const name = type.kind === 'single' ? type.singular : type.plural;
        const url = `/api/${name}${id === null ? '' : `/${id}`}?${asciiOf(search)}`;
        const { status, body, headers } = await server.get(url);
        if (status >= 500 || typeof body !== 'object') throw new Error(`${told(scene, dialect)}: ${status} ${url}`);
        const named = headers['dovetail-ignored'];
        if (named === undefined) continue;
        leftOut += 1;
        if (
          (server === strict && named !== 'locale') ||
          status !== 200 ||
          !/^[\w.$*:@%, -]{1,1005}$/.test(String(named))
        )
          throw new Error(`${told(scene, dialect)}: ${status} ${url} names ${String(named)}`);
      }
    } finally {
      await strict.close();
      await lenient.close();
      await stage.drop();
    }
    expect(leftOut).toBeGreaterThan(0);
  });
});

/** A request line contains bytes below 128 only; others are sent percent-encoded. */
const asciiOf = (search: string): string =>
  search.replace(/[^\x21-\x7e]/gu, (char) => [...Buffer.from(char)].map((byte) => `%${byte.toString(16)}`).join(''));

const told = (scene: Scene, dialect: string): string => `DOVETAIL_SEED=${scene.seed} on ${dialect}`;

const newTally = (): Tally => ({ faults: new Map(), answered: 0, refused: 0, slowestMs: 0, slowest: '' });

/** Reads once and checks the response. */
const check = async (
  { uid, action, id, search }: Asked,
  scene: Scene,
  { dialect, context }: Stage,
  reader: Reader,
  tally: Tally,
): Promise<void> => {
  const type = scene.model.types.get(uid)!;
  const fail = (kind: string, details = ''): void => {
    const asked = `${uid} ${action} ${id ?? ''} ${JSON.stringify(search)}`;
    if (!tally.faults.has(kind)) tally.faults.set(kind, `${told(scene, dialect)}: ${kind}\n${asked}\n${details}`);
  };
  const started = performance.now();
  const read = async () => reader.read({ action, type, id, query: textQuery(search) }, context);
  const answer = await read().catch((fault: unknown) => {
    const thrown = fault instanceof Error ? fault : new Error(String(fault));
    fail(`thrown: ${thrown.message}`, thrown.stack);
    return null;
  });
  const elapsedMs = performance.now() - started;
  const [strict, lenient] = [true, false].map((it) =>
    reader.prepare({ action, type, id, query: textQuery(search) }, { ...context, strict: it }),
  );
  if (strict?.ok && !lenient?.ok) fail('lenient mode refuses what strict mode answers', JSON.stringify(lenient));
  // `locale` has no effect on one entry and on types without locales (LO3)
  if (strict?.ok && strict.value.query.leftOut.some((it) => ignoredByV4.has(it.issue.code) || it.name !== 'locale'))
    fail('strict mode leaves something out');
  if (elapsedMs > limits.readMsMax + slackMs) fail('too slow', `${Math.round(elapsedMs)} ms`);
  if (elapsedMs > tally.slowestMs) Object.assign(tally, { slowestMs: elapsedMs, slowest: search });
  if (!answer) return;
  tally[answer.ok ? 'answered' : 'refused'] += 1;
  if (answer.ok) {
    JSON.parse(answer.value.body.toString());
    return;
  }
  const { status, body } = errorEnvelope(answer.issues);
  JSON.parse(body);
  if (status < 400 || status > 499) fail(`status ${status}`, body);
  const placeless = answer.issues.find((it) => it.path.length === 0 && !budgets.has(it.code));
  if (placeless) fail(`${placeless.code} names no parameter`, body);
};
