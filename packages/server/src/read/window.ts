/**
 * Windows of relation lists: a part of one entry's list, in the order of the list, and where in the whole list it is. One
 * statement finds the ids, and the entries are read by ids, as those of a page are (SU2).
 */
import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { bug, catchRefusal, issue, ok, type Result, refused, unwrap } from '../errors.js';
import { limits } from '../limits.js';
import type { EntryType } from '../model/model.js';
import type { QuerySource } from '../query/raw.js';
import type { ResolveContext } from '../query/resolve.js';
import { type ListPlace, type PartStep, resolveWindow, type WindowQuery } from '../query/window.js';
import { slotParameter } from '../sql/compile.js';
import type { Db, Dialect, Sql } from '../sql/dialect.js';
import type { Answer } from './answer.js';
import { all, column, condition, fixedConditions, guardExpensive, guardSome, tableAs, visible } from './conditions.js';
import { tellsVersion } from './etag.js';
import { type CompiledWindow, execute, type WindowOutcome } from './execute.js';
import { planWindow, rootOf, type WindowPlan } from './plan.js';
import { compileRead, entriesShape } from './statements.js';

export interface WindowRequest {
  readonly type: EntryType;
  /** The entry that has the list; null for a single type. */
  readonly id: number | null;
  /** A list that the caller may populate. */
  readonly place: ListPlace;
  readonly query: QuerySource;
}

export interface WindowReader {
  /** Reads a window in one snapshot, or returns the issues of the request: a 404 if there is no such entry or component. */
  read(request: WindowRequest, context: ResolveContext): Promise<Result<Answer>>;
  /** All stages of a window without reading it; `explain` prints them. */
  prepare(request: WindowRequest, context: ResolveContext): Result<PreparedWindow>;
}

export interface PreparedWindow {
  readonly query: WindowQuery;
  /** With all values of the statements, the ids of the path too. */
  readonly plan: WindowPlan;
  readonly compiled: CompiledWindow;
}

export const newWindowReader = (db: Db): WindowReader => {
  const { dialect } = db;
  const compiled = new LRUCache<string, CompiledWindow>({ max: limits.windowShapesMax });

  const compiledFor = (plan: WindowPlan, { type, place }: WindowRequest): CompiledWindow => {
    const at = [...place.parts.map((it) => `${it.attribute.name} ${it.component}`), place.attribute.name];
    const key = `${type.uid} ${at.join('/')} ${plan.key}`;
    const known = compiled.get(key);
    if (known) return known;
    const made = compileWindow(plan, type, place, dialect);
    compiled.set(key, made);
    return made;
  };

  const resolved = (request: WindowRequest, context: ResolveContext): Result<WindowQuery> => {
    const raw = request.query.read();
    return raw.ok ? resolveWindow(raw.value, request.type, request.place.attribute, context) : raw;
  };

  const prepared = (query: WindowQuery, request: WindowRequest, nests: boolean): Result<PreparedWindow> => {
    const planned = planWindow(query, request.type, { nests });
    if (!planned.ok) return planned;
    const plan = planned.value;
    const values = [...plan.values, request.id, ...request.place.parts.map(({ id }) => id)];
    return ok({ query, plan: { ...plan, values }, compiled: compiledFor(plan, request) });
  };

  /** Throws `Refusal`, or rejects with it. */
  const run = (query: WindowQuery, request: WindowRequest, nests: boolean): Promise<WindowOutcome> => {
    const { plan, compiled } = unwrap(prepared(query, request, nests));
    return db.readPlanned({
      plan: compiled,
      values: { values: plan.values, page: query.entries.page, ids: [] },
      begin: execute<CompiledWindow>,
    });
  };

  return {
    prepare: (request, context) => {
      const asked = resolved(request, context);
      return asked.ok ? prepared(asked.value, request, dialect.jsonTexts !== null) : asked;
    },
    read: async (request, context) => {
      const asked = resolved(request, context);
      if (!asked.ok) return asked;
      const query = asked.value;
      const found = await catchRefusal(async () => {
        const outcome = await run(query, request, dialect.jsonTexts !== null);
        return outcome === 'unrendered' ? run(query, request, false) : outcome;
      });
      if (!found.ok) return found;
      const { value } = found;
      if (value === null) return refused(issue('http.not-found', []));
      if (value === 'unrendered') throw bug('window.unrendered', { type: request.type.uid });
      const { buffer, byteOffset, byteLength } = value.body;
      const body = Buffer.from(buffer, byteOffset, byteLength);
      return ok({ body, etag: value.etag, leftOut: query.entries.leftOut });
    },
  };
};

const compileWindow = (plan: WindowPlan, type: EntryType, place: ListPlace, dialect: Dialect): CompiledWindow => ({
  list: dialect.compile(listQuery(plan, type, place, dialect)),
  isFiltered: plan.shape.filter !== null,
  entries: compileRead(entriesShape(plan.shape), dialect),
});

/**
 * One row: the id of the entry or component that has the list, and the version of the entry; the ids of the whole list in stored
 * order, as populated lists have it (ST8); and, with a filter, the ids of those that meet it, in any order. Ids are joined by
 * commas. Sending all of them takes the database less time than numbering them and sending a part.
 */
const listQuery = (plan: WindowPlan, type: EntryType, { parts, attribute }: ListPlace, dialect: Dialect): Sql => {
  const { seen, shape } = plan;
  const { filter } = shape;
  const root = rootOf(shape);
  const holder = sql`(select id from ${sql.id(holderName(parts.length))})`;
  const { table, from, to, rank } = attribute.path;
  const [link, entry] = ['l', 'e'];
  const source = sql`${tableAs(table, link)} join ${tableAs(root.table, entry)} on ${column(entry, 'id')} = ${column(link, to)}`;
  const conditions = [
    ...guardSome(link, dialect),
    sql`${column(link, from)} = ${holder}`,
    ...fixedConditions(attribute.path, link, dialect),
    ...visible(root, entry, dialect),
    ...(seen ? [condition(seen, entry, dialect)] : []),
  ];
  const order = sql.join([...(rank === null ? [] : [column(link, rank)]), column(link, to)]);
  const id = sql`${column(link, to)} as id`;
  const listed = sql`select ${id} from ${source}${all(conditions)} order by ${order}`;
  const met = filter && [...guardExpensive(filter, entry, dialect), condition(filter, entry, dialect)];
  const matched = met && dialect.joinedIds(sql`select ${id} from ${source}${all([...conditions, ...met])}`);
  const around = [
    sql`${sql.id(holderName(0))} as materialized (${ownerQuery(plan, type, dialect)})`,
    ...parts.map((part, i) => sql`${sql.id(holderName(i + 1))} as materialized (${partQuery(plan, part, i, dialect)})`),
  ];
  return sql`with ${sql.join(around)} select ${holder}, (select version from ${sql.id(holderName(0))}), ${dialect.joinedIds(listed)}, ${matched ?? sql`null`}`;
};

/** The entry, and the components inside of it on the way to the list. */
const holderName = (depth: number): string => (depth === 0 ? 'owner' : `part${depth}`);

/** A component by its id, if it is in the one around it, or in the entry. @param i its place among those on the way. */
const partQuery = ({ ownerSlot }: WindowPlan, { attribute, component }: PartStep, i: number, dialect: Dialect): Sql => {
  const { table, from, to, typeColumn } = attribute.path;
  const conditions = [
    sql`${column('c', to)} = ${slotParameter('integer', ownerSlot + 1 + i)}`,
    sql`${column('c', from)} = (select id from ${sql.id(holderName(i))})`,
    ...fixedConditions(attribute.path, 'c', dialect),
    ...(typeColumn === null ? [] : [sql`${dialect.unindexed(column('c', typeColumn))} = ${component}`]),
  ];
  return sql`select ${column('c', to)} as id from ${tableAs(table, 'c')}${all(conditions)} limit 1`;
};

/** The entry that has the list, or the component with it, if the request may see it: by its id, or that of a single type. */
const ownerQuery = ({ owner, ownerSlot, isOwnerPublished }: WindowPlan, type: EntryType, dialect: Dialect): Sql => {
  const version = tellsVersion(type) ? dialect.jsonValue('epoch', column('e', 'updated_at')) : sql`null`;
  const conditions = [
    ...(type.kind === 'single' ? [] : [sql`${column('e', 'id')} = ${slotParameter('integer', ownerSlot)}`]),
    ...(owner === null ? [] : [condition(owner, 'e', dialect)]),
    ...visible({ publishedOnly: isOwnerPublished }, 'e', dialect),
  ];
  return sql`select e.id, ${version} as version from ${sql.table(type.table)} e${all(conditions)} order by e.id limit 1`;
};
