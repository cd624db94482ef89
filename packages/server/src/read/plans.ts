/** The plans of requests and their statements, made or kept: what a request reads, as far as that is known without the database. */
import { LRUCache } from 'lru-cache';
import { bug, ok, type Result } from '../errors.js';
import { limits } from '../limits.js';
import type { EntryType } from '../model/model.js';
import type { QuerySource } from '../query/raw.js';
import { type ResolveContext, resolveQuery } from '../query/resolve.js';
import type { Query, ReadAction } from '../query/selection.js';
import type { DbValue, Dialect, Statement } from '../sql/dialect.js';
import type { AnswerForm, ReadPlan } from './plan.js';
import { type PlanOptions, planRead } from './planner.js';
import { bindRead } from './run.js';
import { type CompiledIds, type CompiledRead, compileRead } from './statements.js';
import { fillPlan, isFillable } from './template.js';
import { type AdaptiveRead, differInInlineOnly, newAdaptiveRead } from './trees.js';

export interface ReadRequest {
  readonly action: ReadAction;
  readonly type: EntryType;
  /** The entry of `findOne`, else null. */
  readonly id: number | null;
  readonly query: QuerySource;
  /**
   * Drafts that are shown whatever the query says: all that the request finds, or the entry that a write has `written`, even if
   * whoever wrote it may not look for it. What they populate follows the query. Default: those of the query.
   */
  readonly drafts?: 'found' | 'written';
  /** Default: `envelope`. */
  readonly form?: AnswerForm;
}

/** A request, and the key of its plan (`planKey`). */
export interface PlanRequest {
  readonly request: ReadRequest;
  readonly context: ResolveContext;
  readonly key: string;
}

export interface Plans {
  of(asked: PlanRequest): Result<CompiledPlan>;
  /** The same made anew, with the query and with statements that have the values of the plan. */
  prepare(request: ReadRequest, context: ResolveContext): Result<PreparedRead>;
  /** The statement that counts the entries of a list, on all pages. */
  counting(request: Pick<ReadRequest, 'type' | 'query'>, context: ResolveContext): Result<Counting>;
  /** The statements of a plan. */
  shapeOf(plan: ReadPlan): CompiledShape;
  /** The plan of a request that only batches render, which replaces its own for a while. */
  inBatches(asked: PlanRequest): CompiledPlan;
  /**
   * The read with all inside one statement that may be, for the same values; null if that changes nothing, or if other values belong
   * to it. @param change of the plan, before it is compiled.
   */
  nested(read: CompiledPlan, asked: PlanRequest, change: ((plan: ReadPlan) => ReadPlan) | null): CompiledRead | null;
  readonly counts: Readonly<PlanCounts>;
}

/** Plans that were there, that were made of another one with other values, and that were made anew. */
export interface PlanCounts {
  found: number;
  filled: number;
  made: number;
}

/** `compiled` with the values of the plan. */
export interface PreparedRead {
  readonly query: Query;
  readonly plan: ReadPlan;
  readonly compiled: CompiledRead;
}

export interface CompiledPlan {
  readonly plan: ReadPlan;
  readonly shared: CompiledShape;
  readonly compiled: CompiledRead;
}

/** A shape's statements, for all plans that have it. */
export interface CompiledShape extends AdaptiveRead {
  readonly key: string;
  /** Compiled once it is read again; null if its pages are always read whole. */
  byIds?: CompiledByIds | null;
  /** Entries on all pages, as they were last counted. */
  total: number | null;
}

/** A page in two steps, the ids and those of its entries that are not kept. */
export interface CompiledByIds {
  readonly ids: CompiledIds;
  /** Reads entries by ids. */
  readonly entries: AdaptiveRead;
  /** Names what the shape shows of an entry, apart from values. */
  readonly selection: string;
}

export interface Counting {
  readonly count: Statement;
  readonly values: readonly DbValue[];
  readonly leftOut: ReadPlan['leftOut'];
}

/** Equal for requests that have the same plan. @param query the key of the query or of its template. */
export const planKey = (request: ReadRequest, context: ResolveContext, query = request.query.key): string =>
  planScope(request, context) + query;

/** Equal for requests that have the same answer. */
export const answerKey = (request: ReadRequest, context: ResolveContext): string => {
  const scope = planScope(request, context);
  return request.query.keyAfter(request.id === null ? scope : `${request.id} ${scope}`);
};

/** All that decides the plan but the query. */
const planScope = (request: ReadRequest, context: ResolveContext): string =>
  `${request.type.uid} ${request.action}${request.drafts ? ` ${request.drafts}` : ''}${request.form === 'plain' ? ' plain' : ''} ${context.gate.version}${context.strict ? '' : ' lenient'}${context.notesAll ? ' all' : ''}${context.format === 'v5' ? ' v5' : ''}${request.type.localized ? ` ${context.defaultLocale}` : ''} `;

export const newPlans = (dialect: Dialect): Plans => {
  const shapes = new LRUCache<string, CompiledShape>({
    maxSize: limits.shapeBytesMax,
    // clients choose texts and values, so plans differ in size by a factor of a thousand
    // up to four reads belong to a shape: of whole pages and of entries by ids, in batches and nested
    sizeCalculation: ({ key, compiled }) => key.length + 4 * JSON.stringify(compiled).length,
  });
  /**
   * Plans by the template of their query, or by its text if values decide more than themselves. They are kept without their
   * shapes, which are found by their keys, and compiled again if they were evicted.
   */
  const plans = new LRUCache<string, Omit<ReadPlan, 'shape'>>({
    maxSize: limits.planBytesMax,
    sizeCalculation: ({ shapeKey, values, page, leftOut, blanks }, key) =>
      key.length + shapeKey.length + JSON.stringify([values, page, leftOut, blanks]).length,
  });
  const counts: PlanCounts = { found: 0, filled: 0, made: 0 };
  const nestsEntries = dialect.jsonTexts !== null;

  const shapeOf = ({ shape, shapeKey }: ReadPlan): CompiledShape => {
    const known = shapes.get(shapeKey);
    if (known) return known;
    const made = { ...newAdaptiveRead(compileRead(shape, dialect)), key: shapeKey, total: null };
    shapes.set(shapeKey, made);
    return made;
  };

  const knownPlan = (key: string): CompiledPlan | null => {
    const known = plans.get(key);
    const shared = known && shapes.get(known.shapeKey);
    if (!shared) return null;
    const { compiled } = shared;
    return { plan: { ...known, shape: compiled.shape }, shared, compiled };
  };

  /** @param ms how long the plan is kept; default: while there is memory. */
  const compilePlan = (key: string, plan: ReadPlan, ms?: number): CompiledPlan => {
    const shared = shapeOf(plan);
    const { shape: _, ...rest } = plan;
    // one text of the key for all plans of the shape
    plans.set(key, { ...rest, shapeKey: shared.key }, ms === undefined ? {} : { ttl: ms });
    return { plan, shared, compiled: shared.compiled };
  };

  const planned = (
    request: ReadRequest,
    context: ResolveContext,
    options: Pick<PlanOptions, 'nests' | 'nestsShared'> = { nests: nestsEntries },
  ): Result<Pick<PreparedRead, 'query' | 'plan'>> => {
    const raw = request.query.read();
    if (!raw.ok) return raw;
    const query = resolveQuery(raw.value, request.type, request.action, context);
    if (!query.ok) return query;
    const { selection } = query.value;
    const { drafts } = request;
    const filter = drafts === 'written' ? null : selection.filter;
    const shown: Query = drafts
      ? { ...query.value, selection: { ...selection, state: 'preview', filter } }
      : query.value;
    const plan = planRead(shown, { form: request.form, ...options });
    return plan.ok ? ok({ query: shown, plan: plan.value }) : plan;
  };

  /** Of a request that was planned before. */
  const plannedAgain = (
    { request, context }: PlanRequest,
    options: Pick<PlanOptions, 'nests' | 'nestsShared'>,
  ): ReadPlan => {
    const made = planned(request, context, options);
    if (!made.ok) throw bug('find.unplanned', made.issues);
    return made.value.plan;
  };

  return {
    counts,
    shapeOf,
    of: ({ request, context, key }) => {
      const known = knownPlan(key);
      if (known) {
        counts.found += 1;
        return ok(known);
      }
      const template = request.query.template?.() ?? null;
      const templateKey = template && `template ${planKey(request, context, template.key)}`;
      const similar = templateKey === null ? null : knownPlan(templateKey);
      const filled = similar && template ? fillPlan(similar.plan, template.texts, context) : null;
      if (similar && filled) {
        counts.filled += 1;
        // clients ask for one entry after another by the same query, but rarely twice for a list with the same values
        return ok(request.id === null ? { ...similar, plan: filled } : compilePlan(key, filled));
      }
      counts.made += 1;
      const made = planned(request, context);
      if (!made.ok) return made;
      const { plan } = made.value;
      const isForAll = !similar && template !== null && isFillable(plan, template.texts);
      return ok(compilePlan(isForAll && templateKey !== null ? templateKey : key, plan));
    },
    prepare: (request, context) => {
      const made = planned(request, context);
      if (!made.ok) return made;
      const { plan } = made.value;
      return ok({ ...made.value, compiled: bindRead(shapeOf(plan).compiled, plan.values, dialect) });
    },
    counting: ({ type, query }, context) => {
      const raw = query.read();
      if (!raw.ok) return raw;
      const resolved = resolveQuery(raw.value, type, 'find', context);
      if (!resolved.ok) return resolved;
      const plan = planRead({ ...resolved.value, withCount: true }, { nests: nestsEntries });
      if (!plan.ok) return plan;
      const { values, leftOut, shape } = plan.value;
      const { count } = shapeOf(plan.value).compiled;
      if (!count) throw bug('count.without-statement', { shape });
      return ok({ count, values, leftOut });
    },
    inBatches: (asked) => compilePlan(asked.key, plannedAgain(asked, { nests: false }), limits.batchesMs),
    nested: ({ plan: { shape } }, asked, change) => {
      if (!nestsEntries) return null;
      const plan = plannedAgain(asked, { nests: true, nestsShared: true });
      if (!differInInlineOnly(plan.shape, shape)) return null;
      return compileRead((change ? change(plan) : plan).shape, dialect);
    },
  };
};
