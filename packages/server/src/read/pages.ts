/**
 * Pages of entries that are kept: their ids are read, or found in an order that is kept, and then those of their entries that are not
 * kept. All of a page is of one state of the database.
 */
import crypto from 'node:crypto';
import { bug } from '../errors.js';
import { limits } from '../limits.js';
import type { Page } from '../query/selection.js';
import { type Ready, whenReady } from '../ready.js';
import type { Moment } from '../sql/changes.js';
import type { Db, DbValue } from '../sql/dialect.js';
import { type Answer, answerOfEntries, renderedIn } from './answer.js';
import {
  type EntryCounts,
  type EntryGroup,
  entriesIn,
  newKeptEntries,
  type RenderedEntry,
  type Turn,
} from './entries.js';
import { type Executed, execute } from './execute.js';
import type { Lists } from './lists.js';
import { newOrders } from './orders.js';
import { anchoredPlan, type ReadPlan } from './plan.js';
import type { CompiledByIds, CompiledPlan, CompiledShape, PlanRequest, Plans } from './plans.js';
import type { PageIds } from './run.js';
import { isSmallPage, isSmallRead } from './small.js';
import { type CompiledIds, type CompiledRead, compileIds, compileRead, entriesShape } from './statements.js';
import { isTooMuch, newAdaptiveRead, readAdaptively } from './trees.js';

export interface Asked extends PlanRequest {
  /** As of when it came: an order that is kept may be older than entries that are kept from now on. */
  readonly turn: Turn;
}

export interface KeptPages {
  /** Answers a read in the way that is expected to cost less: in two steps or whole. */
  read(read: CompiledPlan, asked: Asked): Ready<Answer | null>;
  now(): Turn;
  readonly counts: Readonly<EntryCounts>;
}

export interface KeptPagesOptions {
  readonly db: Db;
  readonly plans: Plans;
  readonly lists: Lists;
  /** Memory for entries and orders. */
  readonly bytesMax: number;
  /** Whether `db.changes` is brought up to date before each read. */
  readonly isCaughtUp: boolean;
  /** @param group keeps the entries of the page; null for what is no page. */
  readonly readWhole: (read: CompiledPlan, group: EntryGroup | null, asked: Asked) => Promise<Answer | null>;
}

export const newKeptPages = ({ db, plans, lists, bytesMax, isCaughtUp, readWhole }: KeptPagesOptions): KeptPages => {
  const ordersBytesMax = Math.ceil(bytesMax * limits.keptOrdersShare);
  const entries = newKeptEntries(db.changes, Math.max(1, bytesMax - ordersBytesMax));
  const orders = newOrders(db.changes, ordersBytesMax);

  const readPage = (read: CompiledPlan, asked: Asked): Ready<Answer | null> => {
    const byIds = byIdsOf(read);
    if (!byIds) return readWhole(read, null, asked);
    const group = entries.group(groupKey(byIds, read.plan), byIds.entries.compiled.tables);
    return whenReady(readOrdered(read, byIds, group, asked), (ordered) => {
      if (ordered) return ordered;
      if (!group.isWorthwhile()) return readWhole(read, group, asked);
      return whenReady(readByIds(read, byIds, group, asked), (found) => found ?? readWhole(read, group, asked));
    });
  };

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
    const ofPage = start.isAnchored ? plans.shapeOf(anchoredPlan(plan)) : shared;
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
    if (shape.sort.length === 0) return undefined;
    const readIds = async (given: readonly DbValue[]): Promise<readonly number[] | null> => {
      try {
        const of = { values: given, page: null, ids: [] };
        return (await db.readThenCatchUp({ plan: byIds.ids, values: of, begin: execute<CompiledIds> })).ids;
      } catch (fault) {
        if (isTooMuch(fault)) return null;
        throw fault;
      }
    };
    return whenReady(isCaughtUp ? null : db.changes.catchUp(), () => {
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

  const stateNow = (): State => ({ since: db.changes.moment(), turn: entries.now() });

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
    { since, turn }: State,
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
    const reading = readAdaptively(
      adaptive,
      (compiled) =>
        db.readThenCatchUp({
          plan: compiled,
          values: { values, page: { kind: 'every' }, ids },
          begin: execute<CompiledRead>,
          isSmall: isSmallRead(compiled, values, ids, null),
        }),
      () => plans.nested(read, asked, (plan) => ({ ...plan, shape: entriesShape(plan.shape) })),
    );
    return whenReady(reading, (outcome) => (outcome === 'unrendered' ? null : outcome));
  };

  return { read: readPage, now: entries.now, counts: entries.counts };
};

/** A state of the database. */
interface State {
  readonly since: Moment;
  readonly turn: Turn;
}

/** Whether the response has a page of entries, and no more of them than are kept well. */
const isPaged = ({ shape: { action, slice } }: CompiledRead, page: Page | null): boolean =>
  action === 'find' && slice !== null && slice.rowsMax <= limits.shortRowsMax && page !== null && page.kind !== 'every';

const groupKey = ({ selection }: CompiledByIds, { shape, values }: ReadPlan): string =>
  values.length === shape.entrySlot
    ? selection
    : `${selection} ${crypto.hash('sha256', JSON.stringify(values.slice(shape.entrySlot)), 'base64')}`;

/** A short list is sorted whole as fast as for a page. Null if this one may be longer. */
const shortMax = ({ shared: { total } }: CompiledPlan): number | null =>
  total !== null && total < limits.countedRowsMax ? limits.countedRowsMax : null;
