/** The read line: a request is planned (`plans.ts`), and then run and assembled as a whole, unless its response or its page (`pages.ts`) is kept. */
import { bug, catchRefusal, issue, ok, type Result, refused } from '../errors.js';
import { limits } from '../limits.js';
import type { LeftOut } from '../query/lenient.js';
import type { ResolveContext } from '../query/resolve.js';
import { type Ready, whenReady } from '../ready.js';
import { type Db, type DbValue, type PlannedRead, readInside, readRows, type Tx, withValues } from '../sql/dialect.js';
import { type Answer, answerOfRead, renderedIn } from './answer.js';
import type { EntryCounts, EntryGroup } from './entries.js';
import { type Executed, execute, type Outcome, type ReadValues } from './execute.js';
import { type KeptCounts, newKept } from './kept.js';
import { newLists } from './lists.js';
import { type Asked, newKeptPages } from './pages.js';
import { anchoredPlan, type ReadPlan } from './plan.js';
import {
  answerKey,
  type CompiledPlan,
  type CompiledShape,
  newPlans,
  type PlanCounts,
  type PreparedRead,
  planKey,
  type ReadRequest,
} from './plans.js';
import { isSmallRead } from './small.js';
import type { CompiledRead } from './statements.js';
import { readAdaptively } from './trees.js';

export interface Reader {
  /** Answers a read, or returns the issues of the request. */
  read(request: ReadRequest, context: ResolveContext): Ready<Result<Answer>>;
  /** The same inside a write transaction; null if there is no such entry. */
  readInside(request: ReadRequest, context: ResolveContext, tx: Tx): Promise<Result<Answer | null>>;
  /** The number of entries on all pages of a list. @param tx the transaction to count in, if any. */
  count(request: Pick<ReadRequest, 'type' | 'query'>, context: ResolveContext, tx?: Tx): Promise<Result<Counted>>;
  /** What of a valid request is ignored; caches its plan. */
  check(request: ReadRequest, context: ResolveContext): Result<readonly LeftOut[]>;
  /** All stages of a read without running it; `explain` prints them. */
  prepare(request: ReadRequest, context: ResolveContext): Result<PreparedRead>;
  /** What cached responses have saved so far. */
  readonly keptCounts: Readonly<KeptCounts>;
  /** The same of kept entries. */
  readonly entryCounts: Readonly<EntryCounts>;
  readonly planCounts: Readonly<PlanCounts>;
}

export interface Counted {
  readonly total: number;
  readonly leftOut: readonly LeftOut[];
}

export interface ReaderOptions {
  /** Memory for cached responses; 0 disables the cache. */
  readonly responseCacheBytesMax?: number | undefined;
  /** Memory for kept entries; 0 keeps none. */
  readonly entriesBytesMax?: number | undefined;
}

export const newReader = (
  db: Db,
  {
    responseCacheBytesMax = limits.responseCacheBytesMax,
    entriesBytesMax = limits.entriesBytesMax,
  }: ReaderOptions = {},
): Reader => {
  const plans = newPlans(db.dialect);
  const lists = newLists(db.changes);
  const kept =
    responseCacheBytesMax > 0
      ? newKept<Answer>(db.changes, {
          bytesMax: responseCacheBytesMax,
          bytesOf: (answer, key) => answer.body.length + key.length + ENTRY_BYTES,
        })
      : null;

  /**
   * @param values those of the plan, or others for its slice. @param isAnchored `anchoredPlan`.
   * @param run runs a read in one snapshot.
   */
  const executed = async (
    read: CompiledPlan,
    { values, isAnchored }: Pick<ReadPlan, 'values'> & { readonly isAnchored: boolean },
    asked: Asked,
    run: (read: PlannedRead<CompiledRead, ReadValues, Outcome>) => Promise<Outcome>,
  ): Promise<Executed | null> => {
    const { page } = read.plan;
    const ids = asked.request.id === null ? [] : [asked.request.id];
    const anchored = ({ plan, shared }: CompiledPlan): CompiledShape =>
      isAnchored ? plans.shapeOf(anchoredPlan(plan)) : shared;
    const shared = anchored(read);
    const outcome = await readAdaptively(
      shared,
      (compiled) => run(plannedRead(compiled, { values, page, ids }, shared.total)),
      () => plans.nested(read, asked, isAnchored ? anchoredPlan : null),
    );
    if (outcome !== 'unrendered') {
      if (outcome) shared.total = outcome.total;
      return outcome;
    }
    const batches = plans.inBatches(asked);
    const sliced = withSlice(batches.plan, values).values;
    const again = await run(plannedRead(anchored(batches).compiled, { values: sliced, page, ids }, null));
    if (again === 'unrendered') throw bug('find.unrendered', asked.key);
    return again;
  };

  const readWhole = async (read: CompiledPlan, group: EntryGroup | null, asked: Asked): Promise<Answer | null> => {
    const { plan, compiled } = read;
    const since = db.changes.moment();
    const page = await lists.page(compiled, plan.values, (values, isAnchored) =>
      executed(read, { values, isAnchored }, asked, (it) => db.readPlanned(it)),
    );
    const rendered = page && renderedIn(page, since);
    if (rendered) group?.keepPage(rendered);
    return answerOfRead(plan, page, !kept && !group);
  };

  const pages =
    entriesBytesMax > 0
      ? newKeptPages({ db, plans, lists, bytesMax: entriesBytesMax, isCaughtUp: kept !== null, readWhole })
      : null;

  /** Reads a response that is not kept, so far as is known if `isCaughtUp`, and keeps it. */
  const answer = (read: CompiledPlan, asked: Asked, isCaughtUp: boolean): Ready<Answer | null> => {
    if (!kept) return readAnswer(read, asked);
    const key = answerKey(asked.request, asked.context);
    return whenReady(
      isCaughtUp ? null : db.changes.catchUp(),
      () => kept.find(key) ?? kept.compute(key, read.compiled.tables, () => readAnswer(read, asked)),
    );
  };

  const readAnswer = (read: CompiledPlan, asked: Asked): Ready<Answer | null> =>
    pages ? pages.read(read, asked) : readWhole(read, null, asked);

  const now = (): number => pages?.now() ?? 0;
  const askedFor = (request: ReadRequest, context: ResolveContext, turn = now()): Asked => ({
    request,
    context,
    key: planKey(request, context),
    turn,
  });

  const planAndRead = (asked: Asked, isCaughtUp: boolean): Ready<Result<Answer>> => {
    const compiled = plans.of(asked);
    if (!compiled.ok) return compiled;
    const found = catchRefusal(() => answer(compiled.value, asked, isCaughtUp));
    return whenReady(found, foundAnswer);
  };

  return {
    keptCounts: kept?.counts ?? noCounts,
    entryCounts: pages?.counts ?? noEntryCounts,
    planCounts: plans.counts,
    prepare: plans.prepare,
    check: (request, context) => {
      const compiled = plans.of(askedFor(request, context));
      return compiled.ok ? ok(compiled.value.plan.leftOut) : compiled;
    },
    readInside: async (request, context, tx) => {
      const asked = askedFor(request, context);
      const compiled = plans.of(asked);
      if (!compiled.ok) return compiled;
      const { plan } = compiled.value;
      const { values } = plan;
      const page = await executed(compiled.value, { values, isAnchored: false }, asked, tx.readPlanned);
      return ok(answerOfRead(plan, page, false));
    },
    count: async (request, context, tx) => {
      const counting = plans.counting(request, context);
      if (!counting.ok) return counting;
      const { count, values, leftOut } = counting.value;
      return catchRefusal(async () => {
        const program = () => readRows(withValues(count, values, db.dialect));
        const [[total] = []] = await (tx ? readInside(program(), tx) : db.read(program));
        return { total: Number(total ?? 0), leftOut };
      });
    },
    read: (request, context) => {
      if (!kept) return planAndRead(askedFor(request, context), false);
      const key = answerKey(request, context);
      if (!kept.has(key)) return planAndRead(askedFor(request, context), false);
      const turn = now();
      // a response that is kept needs no plan; it is here at once if the database tells so without waiting
      const found = catchRefusal(() => whenReady(db.changes.catchUp(), () => kept.find(key)));
      return whenReady(found, (it) => {
        if (!it.ok) return it;
        return it.value ? ok(it.value) : planAndRead(askedFor(request, context, turn), true);
      });
    },
  };
};

/** Approximate overhead of a cached response, in bytes. */
const ENTRY_BYTES = 512;

const noCounts: KeptCounts = { found: 0, joined: 0, computed: 0 };
const noEntryCounts: EntryCounts = { found: 0, missed: 0 };

/** @param counted entries on all pages, as they were last counted. */
const plannedRead = (compiled: CompiledRead, given: ReadValues, counted: number | null) => ({
  plan: compiled,
  values: given,
  begin: execute<CompiledRead>,
  isSmall: isSmallRead(compiled, given.values, given.ids, counted),
});

/** The plan with other values for its slice, which has the same slots in all plans of a request. */
const withSlice = (plan: ReadPlan, values: readonly DbValue[]): ReadPlan => {
  const { slice } = plan.shape;
  if (!slice) return plan;
  const sliced = plan.values.slice();
  for (const slot of [slice.limit, slice.offset, slice.after, slice.total]) sliced[slot] = values[slot] ?? null;
  return { ...plan, values: sliced };
};

const foundAnswer = (found: Result<Answer | null>): Result<Answer> => {
  if (!found.ok) return found;
  return found.value ? ok(found.value) : refused(issue('http.not-found', []));
};
