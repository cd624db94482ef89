/** The read line in order: brackets, resolve, plan, compile, execute. Holds its caches: plans, responses, entries, orders, lengths of lists. */
import crypto from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { bug, catchRefusal, issue, ok, type Result, refused } from '../errors.js';
import { limits } from '../limits.js';
import type { EntryType } from '../model/model.js';
import type { LeftOut } from '../query/lenient.js';
import type { QuerySource } from '../query/raw.js';
import { type ResolveContext, resolveQuery } from '../query/resolve.js';
import type { Page, Query, ReadAction } from '../query/selection.js';
import { type Ready, whenReady } from '../ready.js';
import type { Moment } from '../sql/changes.js';
import { type Db, type DbValue, readInside, readRows, type Tx, withValues } from '../sql/dialect.js';
import { assembleKept } from './assemble.js';
import {
  type EntryCounts,
  type EntryGroup,
  entriesIn,
  newKeptEntries,
  type RenderedEntries,
  type RenderedEntry,
} from './entries.js';
import { newEtag, newListEtag } from './etag.js';
import { type Executed, execute, type Outcome, type ReadValues } from './execute.js';
import { type KeptCounts, newKept } from './kept.js';
import { newLists } from './lists.js';
import { newOrders } from './orders.js';
import { type AnswerForm, anchoredPlan, type PlanOptions, planRead, type ReadPlan } from './plan.js';
import { bindRead, type PageIds } from './run.js';
import { isSmallPage, isSmallRead } from './small.js';
import { type CompiledIds, type CompiledRead, compileIds, compileRead, entriesShape } from './statements.js';
import { fillPlan, isFillable } from './template.js';
import { type AdaptiveRead, differInInlineOnly, isTooMuch, newAdaptiveRead, readAdaptively } from './trees.js';

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

/** A response body in UTF-8 JSON, its entity tag, and the parts of the request that were ignored. */
export interface Answer {
  readonly body: Buffer;
  readonly etag: string;
  readonly leftOut: readonly LeftOut[];
  /** No one else has the body: its memory may be given back once it is sent. */
  readonly isSingleUse?: boolean;
}

export const answerOf = (text: string, version: string | null, leftOut: readonly LeftOut[]): Answer => {
  const body = Buffer.from(text);
  return { body, etag: newEtag(body, version), leftOut };
};

const answerFrom = ({ leftOut }: ReadPlan, executed: Executed | null, isSingleUse: boolean): Answer | null => {
  if (!executed) return null;
  const { body, etag } = executed;
  return { body: bufferOf(body), etag, leftOut, isSingleUse };
};

const foundAnswer = (found: Result<Answer | null>): Result<Answer> => {
  if (!found.ok) return found;
  return found.value ? ok(found.value) : refused(issue('http.not-found', []));
};

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

interface CompiledPlan {
  readonly plan: ReadPlan;
  readonly shared: CompiledShape;
  readonly compiled: CompiledRead;
}

/** A shape's statements, for all plans that have it. */
interface CompiledShape extends AdaptiveRead {
  readonly key: string;
  /** Compiled once it is read again; null if its pages are always read whole. */
  byIds?: CompiledByIds | null;
  /** Entries on all pages, as they were last counted. */
  total: number | null;
}

/** A page in two steps, the ids and those of its entries that are not kept. */
interface CompiledByIds {
  readonly ids: CompiledIds;
  /** Reads entries by ids. */
  readonly entries: AdaptiveRead;
  /** Names what the shape shows of an entry, apart from values. */
  readonly selection: string;
}

export interface Counted {
  readonly total: number;
  readonly leftOut: readonly LeftOut[];
}

const noCounts: KeptCounts = { found: 0, joined: 0, computed: 0 };
const noEntryCounts: EntryCounts = { found: 0, missed: 0 };

interface Asked {
  readonly request: ReadRequest;
  readonly context: ResolveContext;
  /** Of the plan. */
  readonly key: string;
  /** As of when it came: an order that is kept may be older than entries that are kept from now on. */
  readonly turn: number;
}

/** The plan with other values for its slice, which has the same slots in all plans of a request. */
const withSlice = (plan: ReadPlan, values: readonly DbValue[]): ReadPlan => {
  const { slice } = plan.shape;
  if (!slice) return plan;
  const sliced = plan.values.slice();
  for (const slot of [slice.limit, slice.offset, slice.after, slice.total]) sliced[slot] = values[slot] ?? null;
  return { ...plan, values: sliced };
};

/** Whether the response has a page of entries, and no more of them than are kept well. */
const isPaged = ({ shape: { action, slice } }: CompiledRead, page: Page | null): boolean =>
  action === 'find' && slice !== null && slice.rowsMax <= limits.shortRowsMax && page !== null && page.kind !== 'every';

/** Null if it is unknown where they are. */
const renderedIn = ({ ids, body, entries }: Executed, since: Moment): RenderedEntries | null =>
  entries && { ids, body: bufferOf(body), ...entries, since };

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

const answerOfEntries = (
  plan: ReadPlan,
  entries: readonly RenderedEntry[],
  total: number | null,
): Answer | undefined => {
  const assembled = assembleKept(
    plan,
    entries.map((it) => it.bytes),
    total,
  );
  if (!assembled) return undefined;
  const { body, around } = assembled;
  return { body, etag: newListEtag(entries.map((it) => it.digest).join(''), around), leftOut: plan.leftOut };
};

/** Approximate overhead of a cached response, in bytes. */
const ENTRY_BYTES = 512;

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
  const kept =
    responseCacheBytesMax > 0
      ? newKept<Answer>(db.changes, {
          bytesMax: responseCacheBytesMax,
          bytesOf: (answer, key) => answer.body.length + key.length + ENTRY_BYTES,
        })
      : null;

  const lists = newLists(db.changes);
  const ordersBytesMax = Math.ceil(entriesBytesMax * limits.keptOrdersShare);
  const entries =
    entriesBytesMax > 0 ? newKeptEntries(db.changes, Math.max(1, entriesBytesMax - ordersBytesMax)) : null;
  const orders = entriesBytesMax > 0 ? newOrders(db.changes, ordersBytesMax) : null;

  const planCounts: PlanCounts = { found: 0, filled: 0, made: 0 };

  const compiledShape = ({ shape, shapeKey }: ReadPlan): CompiledShape => {
    const known = shapes.get(shapeKey);
    if (known) return known;
    const made = { ...newAdaptiveRead(compileRead(shape, db.dialect)), key: shapeKey, total: null };
    shapes.set(shapeKey, made);
    return made;
  };

  const nestsEntries = db.dialect.jsonTexts !== null;

  const planned = (
    { request, context }: Pick<Asked, 'request' | 'context'>,
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

  const prepare = (request: ReadRequest, context: ResolveContext): Result<PreparedRead> => {
    const made = planned({ request, context });
    if (!made.ok) return made;
    const { plan } = made.value;
    return ok({ ...made.value, compiled: bindRead(compiledShape(plan).compiled, plan.values, db.dialect) });
  };

  /** All that decides the plan but the query. */
  const planScope = (request: ReadRequest, context: ResolveContext): string =>
    `${request.type.uid} ${request.action}${request.drafts ? ` ${request.drafts}` : ''}${request.form === 'plain' ? ' plain' : ''} ${context.gate.version}${context.strict ? '' : ' lenient'}${context.notesAll ? ' all' : ''}${context.format === 'v5' ? ' v5' : ''}${request.type.localized ? ` ${context.defaultLocale}` : ''} `;

  /** @param query the key of the query or of its template. */
  const planKey = (request: ReadRequest, context: ResolveContext, query = request.query.key): string =>
    planScope(request, context) + query;

  const keptKey = (request: ReadRequest, context: ResolveContext): string => {
    const scope = planScope(request, context);
    return request.query.keyAfter(request.id === null ? scope : `${request.id} ${scope}`);
  };

  const compiledFor = (asked: Asked): Result<CompiledPlan> => {
    const { request, context } = asked;
    const known = knownPlan(asked.key);
    if (known) {
      planCounts.found += 1;
      return ok(known);
    }
    const template = request.query.template?.() ?? null;
    const templateKey = template && `template ${planKey(request, context, template.key)}`;
    const similar = templateKey === null ? null : knownPlan(templateKey);
    const filled = similar && template ? fillPlan(similar.plan, template.texts, context) : null;
    if (similar && filled) {
      planCounts.filled += 1;
      return ok({ ...similar, plan: filled });
    }
    planCounts.made += 1;
    const made = planned(asked);
    if (!made.ok) return made;
    const { plan } = made.value;
    const isForAll = !similar && template !== null && isFillable(plan, template.texts);
    return ok(compilePlan(isForAll && templateKey !== null ? templateKey : asked.key, plan));
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
    const shared = compiledShape(plan);
    const { shape: _, ...rest } = plan;
    // one text of the key for all plans of the shape
    plans.set(key, { ...rest, shapeKey: shared.key }, ms === undefined ? {} : { ttl: ms });
    return { plan, shared, compiled: shared.compiled };
  };

  /** @param counted entries on all pages, as they were last counted. */
  const plannedRead = (compiled: CompiledRead, given: ReadValues, counted: number | null) => ({
    plan: compiled,
    values: given,
    begin: execute<CompiledRead>,
    isSmall: isSmallRead(compiled, given.values, given.ids, counted),
  });

  /**
   * @param values those of the plan, or others for its slice. @param isAnchored `anchoredPlan`.
   * @param run runs a read in one snapshot.
   */
  const executed = async (
    read: CompiledPlan,
    { values, isAnchored }: Pick<ReadPlan, 'values'> & { readonly isAnchored: boolean },
    asked: Asked,
    run: (read: ReturnType<typeof plannedRead>) => Promise<Outcome>,
  ): Promise<Executed | null> => {
    const { page } = read.plan;
    const ids = asked.request.id === null ? [] : [asked.request.id];
    const anchored = ({ plan, shared }: CompiledPlan): CompiledShape =>
      isAnchored ? compiledShape(anchoredPlan(plan)) : shared;
    const shared = anchored(read);
    const outcome = await readAdaptively(
      shared,
      (compiled) => run(plannedRead(compiled, { values, page, ids }, shared.total)),
      () => nestedRead(read, asked, isAnchored ? anchoredPlan : null),
    );
    if (outcome !== 'unrendered') {
      if (outcome) shared.total = outcome.total;
      return outcome;
    }
    const made = planned(asked, { nests: false });
    if (!made.ok) throw bug('find.unplanned', made.issues);
    const batches = compilePlan(asked.key, made.value.plan, limits.batchesMs);
    const sliced = withSlice(batches.plan, values).values;
    const again = await run(plannedRead(anchored(batches).compiled, { values: sliced, page, ids }, null));
    if (again === 'unrendered') throw bug('find.unrendered', asked.key);
    return again;
  };

  /**
   * The read with all inside one statement that may be, for the same values; null if that changes nothing, or if other values belong
   * to it. @param change of the plan, before it is compiled.
   */
  const nestedRead = (
    { plan: { shape } }: CompiledPlan,
    asked: Asked,
    change: ((plan: ReadPlan) => ReadPlan) | null,
  ): CompiledRead | null => {
    if (!nestsEntries) return null;
    const made = planned(asked, { nests: true, nestsShared: true });
    if (!made.ok) throw bug('find.unplanned', made.issues);
    const { plan } = made.value;
    if (!differInInlineOnly(plan.shape, shape)) return null;
    return compileRead((change ? change(plan) : plan).shape, db.dialect);
  };

  const readAnswer = (read: CompiledPlan, asked: Asked): Ready<Answer | null> => {
    const byIds = entries && byIdsOf(read);
    if (!byIds) return readWhole(read, null, asked);
    const group = entries.group(groupKey(byIds, read.plan), byIds.entries.compiled.tables);
    return whenReady(readOrdered(read, byIds, group, asked), (ordered) => {
      if (ordered) return ordered;
      if (!group.isWorthwhile()) return readWhole(read, group, asked);
      return whenReady(readByIds(read, byIds, group, asked), (found) => found ?? readWhole(read, group, asked));
    });
  };

  const readWhole = async (read: CompiledPlan, group: EntryGroup | null, asked: Asked): Promise<Answer | null> => {
    const { plan, compiled } = read;
    const since = db.changes.moment();
    const page = await lists.page(compiled, plan.values, (values, isAnchored) =>
      executed(read, { values, isAnchored }, asked, (it) => db.readPlanned(it)),
    );
    const rendered = page && renderedIn(page, since);
    if (rendered) group?.keepPage(rendered);
    return answerFrom(plan, page, !kept && !group);
  };

  // ---- kept entries

  const byIdsOf = ({ shared, plan: { page } }: CompiledPlan): CompiledByIds | null => {
    // at first no one knows whether the shape is read again
    if (shared.byIds === undefined) shared.byIds = null;
    else if (shared.byIds === null && isPaged(shared.compiled, page)) shared.byIds = compileByIds(shared);
    return shared.byIds;
  };

  const compileByIds = ({ key, compiled: { shape } }: CompiledShape): CompiledByIds => ({
    ids: compileIds(shape, db.dialect),
    entries: newAdaptiveRead(compileRead(entriesShape(shape), db.dialect)),
    // the first line tells what is shown
    selection: crypto.hash('sha256', `${shape.form}${key.slice(key.indexOf('\n'))}`, 'base64'),
  });

  const groupKey = ({ selection }: CompiledByIds, { shape, values }: ReadPlan): string =>
    values.length === shape.entrySlot
      ? selection
      : `${selection} ${crypto.hash('sha256', JSON.stringify(values.slice(shape.entrySlot)), 'base64')}`;

  /** Ids first, then their entries. Undefined as for `readEntries`. */
  const readByIds = (
    read: CompiledPlan,
    byIds: CompiledByIds,
    group: EntryGroup,
    asked: Asked,
  ): Ready<Answer | undefined> => {
    const { plan, compiled, shared } = read;
    const start = lists.start(compiled, plan.values);
    if (!start) throw bug('find.without-slice', plan.shape);
    const ofPage = start.isAnchored ? compiledShape(anchoredPlan(plan)) : shared;
    ofPage.byIds ??= compileByIds(ofPage);
    const state = stateNow();
    const reading = db.readThenCatchUp({
      plan: ofPage.byIds.ids,
      values: { values: start.values, page: null, ids: [] },
      begin: execute<CompiledIds>,
      isSmall: isSmallPage(ofPage.compiled.shape, start.values, ofPage.total),
    });
    return whenReady(reading, (page) => {
      ofPage.total = page.total;
      return lists.finish(start, page) ? readEntries(read, byIds, group, page, state, asked) : undefined;
    });
  };

  /** The same for a page whose list is kept in its order; undefined also if it is not. */
  const readOrdered = (
    read: CompiledPlan,
    byIds: CompiledByIds,
    group: EntryGroup,
    asked: Asked,
  ): Ready<Answer | undefined> => {
    const { plan, compiled } = read;
    const { shape, values } = plan;
    if (!orders || shape.sort.length === 0) return undefined;
    const readIds = async (given: readonly DbValue[]): Promise<readonly number[] | null> => {
      try {
        const of = { values: given, page: null, ids: [] };
        return (await db.readThenCatchUp({ plan: byIds.ids, values: of, begin: execute<CompiledIds> })).ids;
      } catch (fault) {
        if (isTooMuch(fault)) return null;
        throw fault;
      }
    };
    return whenReady(kept ? null : db.changes.catchUp(), () => {
      // others may have kept newer entries while it was caught up
      const state = { ...stateNow(), turn: asked.turn };
      const rowsMax = lists.total(compiled, values) ?? shortMax(read);
      return whenReady(orders.page({ shape, ids: byIds.ids, values, rowsMax }, readIds), (page) => {
        if (!page) return undefined;
        read.shared.total = page.total;
        return readEntries(read, byIds, group, page, state, asked);
      });
    });
  };

  /** A short list is sorted whole as fast as for a page. Null if this one may be longer. */
  const shortMax = ({ shared: { total } }: CompiledPlan): number | null =>
    total !== null && total < limits.countedRowsMax ? limits.countedRowsMax : null;

  /** A state of the database, before ids are read. */
  const stateNow = () => ({ since: db.changes.moment(), turn: now() });

  /**
   * The entries of a page, of which those that are not kept are read. Undefined if they are not of the same state of the
   * database as the page. To be called once `changes` knows of every commit that the page may show.
   * @param state as of before the page was read.
   */
  const readEntries = (
    read: CompiledPlan,
    byIds: CompiledByIds,
    group: EntryGroup,
    { ids, total }: PageIds,
    { since, turn }: ReturnType<typeof stateNow>,
    asked: Asked,
  ): Ready<Answer | undefined> => {
    const { plan, compiled } = read;
    const known = group.find(ids, turn);
    const missing = ids.filter((_id, i) => known[i] === undefined);
    if (missing.length === 0) return answerOfEntries(plan, known as readonly RenderedEntry[], total);
    return whenReady(readMissing(read, byIds, missing, asked), (found) => {
      const rendered = found && renderedIn(found, since);
      // the page, what was kept and what was missing are of one state only if nothing of them has changed meanwhile
      if (!rendered || !db.changes.isUnchanged(compiled.tables, since)) return undefined;
      group.keepMissing(rendered);
      const made = entriesIn(rendered);
      const all = ids.map((id, i) => known[i] ?? made.get(id));
      return all.includes(undefined) ? undefined : answerOfEntries(plan, all as readonly RenderedEntry[], total);
    });
  };

  /** Null if only batches render them. */
  const readMissing = (
    read: CompiledPlan,
    { entries: adaptive }: CompiledByIds,
    ids: readonly number[],
    asked: Asked,
  ): Ready<Executed | null> => {
    const { values } = read.plan;
    const page = { kind: 'every' } as const;
    const reading = readAdaptively(
      adaptive,
      (compiled) => db.readThenCatchUp(plannedRead(compiled, { values, page, ids }, null)),
      () => nestedRead(read, asked, (plan) => ({ ...plan, shape: entriesShape(plan.shape) })),
    );
    return whenReady(reading, (outcome) => (outcome === 'unrendered' ? null : outcome));
  };

  /** Reads a response that is not kept, so far as is known if `isCaughtUp`, and keeps it. */
  const answer = (read: CompiledPlan, asked: Asked, isCaughtUp: boolean): Ready<Answer | null> => {
    if (!kept) return readAnswer(read, asked);
    const key = keptKey(asked.request, asked.context);
    return whenReady(
      isCaughtUp ? null : db.changes.catchUp(),
      () => kept.find(key) ?? kept.compute(key, read.compiled.tables, () => readAnswer(read, asked)),
    );
  };

  const now = (): number => entries?.now() ?? 0;
  const askedFor = (request: ReadRequest, context: ResolveContext, turn = now()): Asked => ({
    request,
    context,
    key: planKey(request, context),
    turn,
  });

  const planAndRead = (asked: Asked, isCaughtUp: boolean): Ready<Result<Answer>> => {
    const compiled = compiledFor(asked);
    if (!compiled.ok) return compiled;
    const found = catchRefusal(() => answer(compiled.value, asked, isCaughtUp));
    return whenReady(found, foundAnswer);
  };

  return {
    keptCounts: kept?.counts ?? noCounts,
    entryCounts: entries?.counts ?? noEntryCounts,
    planCounts,
    prepare,
    check: (request, context) => {
      const compiled = compiledFor(askedFor(request, context));
      return compiled.ok ? ok(compiled.value.plan.leftOut) : compiled;
    },
    readInside: async (request, context, tx) => {
      const asked = askedFor(request, context);
      const compiled = compiledFor(asked);
      if (!compiled.ok) return compiled;
      const { plan } = compiled.value;
      const { values } = plan;
      const page = await executed(compiled.value, { values, isAnchored: false }, asked, tx.readPlanned);
      return ok(answerFrom(plan, page, false));
    },
    count: async ({ type, query }, context, tx) => {
      const raw = query.read();
      if (!raw.ok) return raw;
      const resolved = resolveQuery(raw.value, type, 'find', context);
      if (!resolved.ok) return resolved;
      const plan = planRead({ ...resolved.value, withCount: true }, { nests: nestsEntries });
      if (!plan.ok) return plan;
      const { values, leftOut, shape } = plan.value;
      const { count } = compiledShape(plan.value).compiled;
      if (!count) throw bug('count.without-statement', { shape });
      return catchRefusal(async () => {
        const counting = () => readRows(withValues(count, values, db.dialect));
        const [[total] = []] = await (tx ? readInside(counting(), tx) : db.read(counting));
        return { total: Number(total ?? 0), leftOut };
      });
    },
    read: (request, context) => {
      if (!kept) return planAndRead(askedFor(request, context), false);
      const key = keptKey(request, context);
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
