/** How `db.query`, and the hooks around writes, read rows of a type: with v4's lifecycles of reads, and as they were asked for. */
import { issue, Refusal } from '../../errors.js';
import type { Attribute, EntryType, Model, NestedAttribute, Uid } from '../../model/model.js';
import { isMembers, type Members } from '../loading/parts.js';
import { faultOfCode, NotFoundError, ValidationError } from '../strapi-utils/errors.js';
import { refusing } from '../strapi-utils/guards.js';
import { mapNested } from '../strapi-utils/sanitize.js';
import type { Entities, Entity } from './entities.js';
import type { Lifecycles, Operated, Operation } from './lifecycles.js';
import { type FindParams, isCounted, POPULATES_PUBLISHED, queryOf, saysNothing } from './queries.js';
import { missedUnlessSent } from './sent.js';

/** The rows that a query without a locale means. */
export type Locales = 'default' | 'all';

export interface RowReads {
  /** Runs a read with the hooks around it, which may change the parameters and the result. */
  withHooks<T>(operated: Operated, params: FindParams, run: (params: FindParams) => Promise<T>): Promise<T>;
  /** Without hooks. */
  find(params: FindParams): Promise<Entity[]>;
  count(params: FindParams): Promise<number>;
  findOne(params: FindParams): Promise<Entity | null>;
  /** The row that an operation is about, without hooks; null if there is none, or if its `where` says nothing. */
  found(operation: Operation): Promise<number | null>;
  /** The same; throws `NoRow`, and an error if its `where` says nothing. */
  meant(operation: Operation): Promise<number>;
  /** Reads the row that a deletion removes, which is its result. Throws `NoRow`. */
  removed(operation: Operation): Promise<Entity>;
  /** The row as the hooks after a create or update see it, and the caller. */
  written(id: number, operation: Operation): Promise<Entity | null>;
}

/** The `where` that hooks have left means no row: as in v4 nothing is written. */
export class NoRow extends Refusal {
  readonly operation: Operation;
  constructor(operation: Operation) {
    super(issue('http.not-found', []));
    this.operation = operation;
  }
}

/** Whether it says that an operation has no row, also where it comes from the write line. */
export const isNoRow = (fault: unknown, operation: Operation): boolean => {
  const said = fault instanceof NotFoundError ? fault.cause : fault;
  return said instanceof NoRow && said.operation === operation;
};

export const newRowReads = (
  uid: Uid,
  { entities, lifecycles }: { readonly entities: Entities; readonly lifecycles: Lifecycles },
  locales: Locales = 'all',
): RowReads => {
  const type = entities.typeOf(uid);
  const { model } = entities;
  const asked = (params: FindParams) => {
    if (params.groupBy != null)
      throw missedUnlessSent(new Error(`groupBy of ${uid}: rows are not grouped here`), ['groupBy']);
    return refusing(() =>
      queryOf(locales === 'all' ? { ...params, locale: params.locale ?? 'all' } : params, type, model, 'keep'),
    );
  };

  const withHooks: RowReads['withHooks'] = async <T>(
    operated: Operated,
    params: FindParams,
    run: (params: FindParams) => Promise<T>,
  ): Promise<T> => {
    if (!lifecycles.hears(uid, operated)) return run(params);
    const operation = lifecycles.begin(uid, operated, { ...params });
    await operation.before();
    const result = await run(operation.params as FindParams);
    await operation.after(result);
    return operation.result as T;
  };

  const find = async (params: FindParams, rows = rowsOf(params)): Promise<Entity[]> => {
    const found = await entities.find(uid, asked(params), { ...rows, ...optionsOf(params) });
    return found.map((it) => asSelected(it, params, type, model));
  };

  const findOne = (params: FindParams): Promise<Entity | null> =>
    withHooks('FindOne', params, async (it) => {
      const [found] = await find(it, { start: rowsOf(it).start, limit: 1 });
      return found ?? null;
    });

  const found: RowReads['found'] = async ({ params: { where } }) => {
    if (isOpen(where)) return null;
    try {
      const [row] = await find({ where, select: ['id'] }, { start: 0, limit: 1 });
      return row?.id ?? null;
    } catch (fault) {
      throw faultOfCode(fault);
    }
  };

  return {
    withHooks,
    find: (params) => find(params),
    count: ({ where, filters, _q, publicationState, locale }) =>
      entities.count(uid, asked({ where, filters, _q, publicationState, locale })),
    findOne,
    found,
    meant: async (operation) => {
      refuseOpen(operation);
      const id = await found(operation);
      if (id === null) throw new NoRow(operation);
      return id;
    },
    removed: async (operation) => {
      refuseOpen(operation);
      const { where, select } = operation.params;
      const row = await findOne({ ...shownBy(operation), where, select: select && ['id', ...[select].flat()] });
      if (typeof row?.id !== 'number') throw new NoRow(operation);
      operation.result = row;
      return row;
    },
    written: async (id, operation) => {
      const shown = { ...shownBy(operation), select: operation.params['select'] };
      // it could be read by its id alone, but for those who hear of it
      if (lifecycles.hears(uid, 'FindOne')) return findOne({ ...shown, where: { id } });
      const row = await entities.findOne(uid, id, queryOf(shown, type, model, 'keep'), optionsOf(shown));
      return row && asSelected(row, shown, type, model);
    },
  };
};

/** What the caller of a write is shown of its row. */
const shownBy = ({ params }: Operation): FindParams => ({
  populate: params['populate'],
  ...((params as FindParams)[POPULATES_PUBLISHED] === true ? { [POPULATES_PUBLISHED]: true } : {}),
});

const optionsOf = ({ [POPULATES_PUBLISHED]: populatesPublished = false }: FindParams) => ({ populatesPublished });

const isOpen = (where: unknown): boolean => where === undefined || where === null || saysNothing(where);

/** Without conditions an update or deletion would be one of whichever row comes first. */
const refuseOpen = ({ uid, operated, params: { where } }: Operation): void => {
  if (isOpen(where))
    throw new Error(`${operated} requires a where parameter: nothing says which row of ${uid} is meant`);
};

const rowsOf = ({ limit, offset }: FindParams) => {
  const count = limit === undefined || limit === null ? -1 : Number(limit);
  // as in v4, 0 is no limit
  return { start: Number(offset ?? 0), limit: count <= 0 ? null : count };
};

/**
 * A row as it was asked for. v4 selects the columns that are named, and the id only where populating or a condition through a
 * relation needs it; it counts relations on request.
 */
const asSelected = (row: Entity, params: FindParams, type: EntryType, model: Model): Entity => {
  const shown: Record<string, unknown> = { ...row };
  if (!showsId(params, type)) delete shown['id'];
  if (isMembers(params.populate))
    for (const [name, options] of Object.entries(params.populate)) {
      const attribute = type.attributes.get(name);
      if (isNested(attribute) && isMembers(options))
        shown[name] = nestedAsSelected(attribute, shown[name], options, model);
    }
  return shown as Entity;
};

const isNested = (attribute: Attribute | undefined): attribute is NestedAttribute =>
  attribute !== undefined && attribute.kind !== 'scalar';

const nestedAsSelected = (attribute: NestedAttribute, value: unknown, options: Members, model: Model): unknown => {
  if (isCounted(attribute, options) && Array.isArray(value)) return { count: value.length };
  return mapNested(model, attribute, asWindowed(value, options), (it, target) => {
    const { on } = options;
    const own = isMembers(on) ? on[target.uid] : options;
    if (!isMembers(own)) return it;
    const asked = attribute.kind === 'link' ? own : { ...own, select: undefined };
    return asSelected(it as Entity, asked, target, model);
  });
};

/** The rows of a list that were asked for, of each entry's own; v4 takes them from those of all entries together. */
const asWindowed = (value: unknown, { limit, offset }: FindParams): unknown => {
  if (!Array.isArray(value)) return value;
  const first = wholeOf(offset, 'start') ?? 0;
  const count = wholeOf(limit, 'limit') ?? -1;
  return value.slice(first, count < 0 ? undefined : first + count);
};

const wholeOf = (given: unknown, name: string): number | undefined => {
  if (given === undefined || given === null) return undefined;
  const number = typeof given === 'number' || /^-?\d+$/.test(String(given)) ? Number(given) : Number.NaN;
  if (Number.isInteger(number) && (name === 'limit' || number >= 0)) return number;
  throw new ValidationError(`${name} inside populate must be a whole number`);
};

const showsId = ({ select, populate, where }: FindParams, type: EntryType): boolean => {
  if (select === undefined) return true;
  const names: readonly unknown[] = Array.isArray(select) ? select : [select];
  if (names.some((it) => it === 'id' || it === '*')) return true;
  const isPopulated = populate !== undefined && populate !== null && populate !== false;
  return isPopulated || namesRelation(where, type);
};

const namesRelation = (where: unknown, type: EntryType): boolean =>
  Array.isArray(where)
    ? where.some((it) => namesRelation(it, type))
    : isMembers(where) &&
      Object.entries(where).some(([name, inner]) => {
        const attribute = type.attributes.get(name);
        return attribute ? attribute.kind !== 'scalar' : name.startsWith('$') && namesRelation(inner, type);
      });
