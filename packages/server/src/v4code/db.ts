/** `strapi.db.query(uid)`: rows of a type with v4's lifecycles around every operation, and no validation. */
import { Refusal } from '../errors.js';
import type { Attribute, EntryType, Model, NestedAttribute, Uid } from '../model/model.js';
import type { Entities, Entity } from './entities.js';
import { ApplicationError, ValidationError } from './errors.js';
import type { Lifecycles, Operated, Operation } from './lifecycles.js';
import { type Callable, isMembers, type Members } from './parts.js';
import { type FindParams, isCounted, queryOf } from './queries.js';
import { mapNested } from './sanitize.js';

export interface QueryEngine {
  findOne(params?: FindParams): Promise<Entity | null>;
  findMany(params?: FindParams): Promise<Entity[]>;
  findWithCount(params?: FindParams): Promise<readonly [Entity[], number]>;
  findPage(params?: FindParams & Members): Promise<{ readonly results: Entity[]; readonly pagination: PageFacts }>;
  count(params?: FindParams): Promise<number>;
  create(params: WriteParams): Promise<Entity>;
  createMany(params: {
    readonly data: readonly object[];
  }): Promise<{ readonly count: number; readonly ids: readonly number[] }>;
  update(params: WriteParams): Promise<Entity | null>;
  updateMany(params: WriteParams): Promise<{ readonly count: number }>;
  delete(params: FindParams): Promise<Entity | null>;
  deleteMany(params?: FindParams): Promise<{ readonly count: number }>;
  /** The value of one attribute; an object of them for a list. */
  load(entity: { readonly id: number }, fields: string | readonly string[], params?: Members): Promise<unknown>;
}

export interface PageFacts {
  readonly page: number;
  readonly pageSize: number;
  readonly pageCount: number;
  readonly total: number;
}

export type WriteParams = FindParams & {
  readonly data?: unknown;
  /** Stored with the entry, by the place of their attribute. */
  readonly files?: Members | undefined;
};

/** How rows are written: `entityService` checks rules and hashes passwords, `db.query` does not. */
export type Rules = 'checked' | 'bare';

/** @param locales of which rows are meant, if the parameters name none. */
export const newQueryEngine = (
  uid: Uid,
  { entities, lifecycles }: { readonly entities: Entities; readonly lifecycles: Lifecycles },
  rules: Rules = 'bare',
  locales: 'default' | 'all' = rules === 'bare' ? 'all' : 'default',
): QueryEngine => {
  const type = entities.typeOf(uid);
  const { model } = entities;
  const asked = (params: FindParams) =>
    queryOf(locales === 'all' ? { ...params, locale: params.locale ?? 'all' } : params, type, model, 'keep');

  /** Runs a read with the hooks around it, which may change the parameters and the result. */
  const withHooks = async <T>(
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

  const rowsOf = ({ limit, start, offset }: FindParams) => {
    const count = limit === undefined || limit === null ? -1 : Number(limit);
    return { start: Number(start ?? offset ?? 0), limit: count < 0 ? null : count };
  };

  const read = async (params: FindParams, rows = rowsOf(params)): Promise<Entity[]> => {
    const found = await entities.find(uid, asked(params), rows);
    return found.map((it) => asSelected(it, params, type, model));
  };

  /** The row as the hooks after a write and its caller see it. */
  const shown = (id: number, params: WriteParams): Promise<Entity | null> => {
    const { select, fields, populate } = params;
    return entities.findOne(uid, id, queryOf({ select, fields, populate }, type, model, 'keep'));
  };

  const writeOne = async (
    operated: 'Create' | 'Update' | 'Delete',
    params: WriteParams,
    write: (operation: Operation) => Promise<number>,
  ): Promise<Entity> => {
    const { files: _files, ...seen } = params;
    const operation = lifecycles.begin(uid, operated, seen);
    // one transaction: the row that is returned is the one that was written
    return entities.transaction(async () => {
      const id = await write(operation);
      const row = (operation.result ?? (await shown(id, params))) as Entity;
      return asSelected(row, params, type, model);
    });
  };

  const idOf = async (params: FindParams): Promise<number | null> => {
    const { where, filters } = params;
    const [row] = await read({ where, filters, select: ['id'] }, { start: 0, limit: 1 });
    return row?.id ?? null;
  };

  const engine: QueryEngine = {
    findOne: (params = {}) =>
      withHooks('FindOne', params, async (it) => {
        const [found] = await read(it, { start: rowsOf(it).start, limit: 1 });
        return found ?? null;
      }),
    findMany: (params = {}) => withHooks('FindMany', params, (it) => read(it)),
    findWithCount: async (params = {}) => [await engine.findMany(params), await engine.count(params)],
    findPage: async (params = {}) => {
      const page = Math.max(1, Number(params['page'] ?? 1));
      const pageSize = Math.max(1, Number(params['pageSize'] ?? 10));
      const results = await engine.findMany({ ...params, limit: pageSize, offset: (page - 1) * pageSize });
      const total = await engine.count(params);
      return { results, pagination: { page, pageSize, pageCount: Math.ceil(total / pageSize), total } };
    },
    count: (params = {}) =>
      withHooks('Count', params, ({ where, filters, _q, publicationState, locale }) =>
        entities.count(uid, asked({ where, filters, _q, publicationState, locale })),
      ),
    create: (params) =>
      writeOne('Create', params, (operation) =>
        entities.create(uid, asGiven(type, objectOf(params.data)), { rules, operation, files: params.files }),
      ),
    update: async (params) => {
      const id = await idOf(params);
      if (id === null) return null;
      return writeOne('Update', params, async (operation) => {
        await entities.update(uid, id, objectOf(params.data), { rules, operation, files: params.files });
        return id;
      });
    },
    delete: async (params) => {
      const id = await idOf(params);
      if (id === null) return null;
      return entities.transaction(async () => {
        const before = await shown(id, params);
        const operation = lifecycles.begin(uid, 'Delete', { ...params });
        operation.result = before;
        await entities.remove(uid, id, { rules, operation });
        return before && asSelected(before, params, type, model);
      });
    },
    createMany: ({ data }) =>
      withManyHooks('CreateMany', { data }, async () => {
        const ids: number[] = [];
        for (const it of data)
          ids.push(await entities.create(uid, asGiven(type, it), { rules: 'bare', operation: null }));
        return { count: ids.length, ids };
      }),
    updateMany: (params) =>
      withManyHooks('UpdateMany', params, async (it) => {
        const found = await read({ ...it, select: ['id'] });
        for (const { id } of found)
          await entities.update(uid, id, objectOf((it as WriteParams).data), { rules: 'bare', operation: null });
        return { count: found.length };
      }),
    deleteMany: (params = {}) =>
      withManyHooks('DeleteMany', params, async (it) => {
        const found = await read({ ...it, select: ['id'] });
        for (const { id } of found) await entities.remove(uid, id, { rules: 'bare', operation: null });
        return { count: found.length };
      }),
    load: async ({ id }, fields, params = {}) => {
      const names = typeof fields === 'string' ? [fields] : fields;
      const populate = Object.fromEntries(names.map((it) => [it, params]));
      const found = await engine.findOne({ where: { id }, select: ['id'], populate });
      if (!found) return null;
      if (typeof fields === 'string') return found[fields] ?? null;
      return Object.fromEntries(names.map((it) => [it, found[it] ?? null]));
    },
  };

  const withManyHooks = <T>(operated: Operated, params: object, run: (params: FindParams) => Promise<T>): Promise<T> =>
    entities.transaction(() => withHooks(operated, params, run));

  // what the database cannot do is a fault of the code that asked for it, not of the client
  return rules === 'bare' ? mapMethods(engine, asFault) : engine;
};

const managed = [
  'findOne',
  'findMany',
  'count',
  'create',
  'createMany',
  'update',
  'updateMany',
  'delete',
  'deleteMany',
  'load',
] as const satisfies readonly (keyof QueryEngine)[];

/** `strapi.db.entityManager`: the same by uid. */
export const newEntityManager = (query: (uid: Uid) => QueryEngine): Record<string, unknown> =>
  Object.fromEntries(
    managed.map((name) => [name, (uid: Uid, ...given: readonly unknown[]) => (query(uid)[name] as Callable)(...given)]),
  );

const asFault =
  <Args extends readonly unknown[], T>(method: (...given: Args) => Promise<T>) =>
  async (...given: Args): Promise<T> => {
    try {
      return await method(...given);
    } catch (fault) {
      throw fault instanceof ApplicationError && fault.cause instanceof Refusal
        ? new Error(fault.message, { cause: fault })
        : fault;
    }
  };

const mapMethods = (engine: QueryEngine, change: typeof asFault): QueryEngine =>
  Object.fromEntries(
    Object.entries(engine).map(([name, method]) => [name, change(method as (...given: unknown[]) => Promise<unknown>)]),
  ) as unknown as QueryEngine;

/** Unlike the content API, code publishes nothing by itself. */
const asGiven = (type: EntryType, data: object): object =>
  type.draftAndPublish && (data as Members)['publishedAt'] === undefined ? { ...data, publishedAt: null } : data;

const objectOf = (data: unknown): object => {
  if (!isMembers(data)) throw new TypeError('data must be an object');
  return data;
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
const asWindowed = (value: unknown, { limit, start, offset }: FindParams): unknown => {
  if (!Array.isArray(value)) return value;
  const first = wholeOf(start ?? offset, 'start') ?? 0;
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
