/** `strapi.db.query(uid)`: rows of a type with v4's lifecycles around every operation, and no validation. */
import cloneDeepWith from 'lodash/cloneDeepWith.js';
import isPlainObject from 'lodash/isPlainObject.js';
import lowerFirst from 'lodash/lowerFirst.js';
import { type Issue, issueKinds, Refusal, statusOf } from '../../errors.js';
import { limits } from '../../limits.js';
import type { Uid } from '../../model/model.js';
import { type Callable, isMembers, type Members } from '../loading/parts.js';
import { faultOfCode, NotFoundError, ValidationError } from '../strapi-utils/errors.js';
import { refused } from '../strapi-utils/guards.js';
import type { Entities, Entity, WriteOptions } from './entities.js';
import type { Lifecycles, Operated, Operation } from './lifecycles.js';
import { type FindParams, ONLY_ENTRY } from './queries.js';
import { isNoRow, type Locales, newRowReads } from './row-reads.js';
import { missedUnlessSent } from './sent.js';

export interface QueryEngine {
  findOne(params?: FindParams): Promise<Entity | null>;
  findMany(params?: FindParams): Promise<Entity[]>;
  findWithCount(params?: FindParams): Promise<readonly [Entity[], number]>;
  findPage(params?: FindParams & Members): Promise<{ readonly results: Entity[]; readonly pagination: PageFacts }>;
  count(params?: FindParams): Promise<number>;
  create(params: WriteParams): Promise<Entity>;
  createMany(params?: {
    readonly data?: unknown;
  }): Promise<{ readonly count: number; readonly ids: readonly number[] }>;
  update(params: WriteParams): Promise<Entity | null>;
  updateMany(params: WriteParams): Promise<{ readonly count: number }>;
  delete(params?: FindParams): Promise<Entity | null>;
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
  locales: Locales = rules === 'bare' ? 'all' : 'default',
): QueryEngine => {
  const type = entities.typeOf(uid);
  const reads = newRowReads(uid, { entities, lifecycles }, locales);
  const { withHooks } = reads;

  const titleOf = (operated: Operated) => (): string => `${lowerFirst(operated)} of ${uid}`;

  /** Runs one operation on one row in a transaction, so that the row that is returned is the one that was written. */
  const changeOne = async (
    operated: 'Create' | 'Update' | 'Delete',
    { files, ...seen }: WriteParams,
    change: (operation: Operation, options: WriteOptions) => Promise<unknown>,
  ): Promise<Entity | null> => {
    let begun: Operation | null = null;
    try {
      // a transaction may be run again, and hooks with it
      return await entities.transaction(async () => {
        const operation = lifecycles.begin(uid, operated, { ...seen });
        begun = operation;
        const isOnly = seen[ONLY_ENTRY] === true;
        return (await change(operation, { rules, operation, files, isOnly })) as Entity | null;
      }, titleOf(operated));
    } catch (fault) {
      if (begun !== null && isNoRow(fault, begun)) return null;
      throw fault;
    }
  };

  /** Hooks after a write have read the row, where there are any. */
  const resultOf = (id: number, operation: Operation): unknown =>
    operation.result === undefined ? reads.written(id, operation) : operation.result;

  /** The row that is to be written. v4 runs hooks before it looks, so they may name one where there was none. */
  const targetOf = async (operation: Operation): Promise<number> => {
    if (rules === 'checked' || !lifecycles.hears(uid, operation.operated)) return reads.meant(operation);
    const found = await reads.found(operation);
    if (found !== null) return found;
    const { params } = operation;
    if (isMembers(params['data']) && type.attributes.has('updatedAt'))
      params['data'] = { ...params['data'], updatedAt: new Date() };
    await operation.before();
    return reads.meant(operation);
  };

  const withTimes = (data: object): object => {
    const now = new Date();
    return type.attributes.has('updatedAt') ? { createdAt: now, updatedAt: now, ...data } : data;
  };

  const payload = (what: 'creation' | 'update', data: unknown): object => {
    if (rules === 'checked' && !isMembers(data))
      throw new ValidationError(
        `Invalid payload submitted for the ${what} of an entity of type ${type.displayName}. Expected an object, but got ${typeof data}`,
      );
    return objectOf(data);
  };

  /**
   * Writes each row that is meant, but for those that others delete meanwhile, in the order of ids: two that lock the same rows must not
   * do it crosswise.
   */
  const forEach = async (params: FindParams, change: (id: number) => Promise<unknown>): Promise<{ count: number }> => {
    const found = await reads.find(rowsMeant(params));
    let count = 0;
    for (const id of found.map((it) => it.id).sort((a, b) => a - b))
      try {
        await change(id);
        count += 1;
      } catch (fault) {
        if (!(fault instanceof NotFoundError)) throw fault;
      }
    return { count };
  };

  const engine: QueryEngine = {
    findOne: (params = {}) => reads.findOne(params),
    findMany: (params = {}) => withHooks('FindMany', params, reads.find),
    findWithCount: async (params = {}) => [await engine.findMany(params), await engine.count(params)],
    findPage: async (params = {}) => {
      const page = Math.max(1, Number(params['page'] ?? 1));
      const pageSize = Math.max(1, Number(params['pageSize'] ?? 10));
      const results = await engine.findMany({ ...params, limit: pageSize, offset: (page - 1) * pageSize });
      const total = await engine.count(params);
      return { results, pagination: { page, pageSize, pageCount: Math.ceil(total / pageSize), total } };
    },
    count: (params = {}) => withHooks('Count', params, reads.count),
    // null only if hooks of reads hide it
    create: (params) =>
      changeOne('Create', params, async (operation, options) =>
        resultOf(await entities.create(uid, payload('creation', params.data), options), operation),
      ) as Promise<Entity>,
    update: (params) =>
      changeOne('Update', params, async (operation, options) => {
        const id = await targetOf(operation);
        return resultOf(
          await entities.update(uid, id, payload('update', operation.params['data']), options),
          operation,
        );
      }),
    delete: (params = {}) =>
      changeOne('Delete', params, async (operation, options) => {
        // where hooks run, the row is read once they have said which
        const isHeard = lifecycles.hears(uid, 'Delete');
        const id = isHeard ? await targetOf(operation) : (await reads.removed(operation)).id;
        await entities.remove(uid, id, options);
        if (!operation.isGone) return operation.result;
        // v4's entity service has read it before
        return rules === 'checked' ? { id } : null;
      }),
    createMany: ({ data } = {}) =>
      withManyHooks('CreateMany', { data: Array.isArray(data) ? data.map(withTimes) : data }, async (params) => {
        const rows = (params as WriteParams).data;
        if (!Array.isArray(rows)) throw new Error('CreateMany expects data to be an array');
        if (rows.length === 0) throw new Error('Nothing to insert');
        const ids: number[] = [];
        for (const it of rows) ids.push(await entities.create(uid, objectOf(it), { rules: 'bare', operation: null }));
        return { count: ids.length, ids };
      }),
    updateMany: (params) =>
      withManyHooks('UpdateMany', params, async (it) => {
        const { data } = it as WriteParams;
        return forEach(it, (id) => entities.update(uid, id, objectOf(data), { rules: 'bare', operation: null }));
      }),
    deleteMany: (params = {}) =>
      withManyHooks('DeleteMany', params, (it) =>
        forEach(it, (id) => entities.remove(uid, id, { rules: 'bare', operation: null })),
      ),
    load: async ({ id }, fields, params = {}) => {
      const names = typeof fields === 'string' ? [fields] : fields;
      const populate = Object.fromEntries(names.map((it) => [it, params]));
      const found = await engine.findOne({ where: { id }, select: ['id'], populate });
      if (!found) return null;
      if (typeof fields === 'string') return found[fields] ?? null;
      return Object.fromEntries(names.map((it) => [it, found[it] ?? null]));
    },
  };

  const withManyHooks = <T>(
    operated: Operated,
    params: object,
    run: (params: FindParams) => Promise<T>,
  ): Promise<T> => {
    const isHeard = lifecycles.hears(uid, operated);
    // a transaction may be run again, and hooks change what they are given
    const given = (): object => (isHeard ? copyOf(params) : params);
    return entities.transaction(() => withHooks(operated, given(), run), titleOf(operated));
  };

  return mapMethods(engine, told(rules));
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

/** Makes a method throw what code is told, which guards cannot pass over where v4 would have done what is refused here. */
const told =
  (rules: Rules) =>
  <Args extends readonly unknown[], T>(method: (...given: Args) => Promise<T>, name: string) =>
  async (...given: Args): Promise<T> => {
    try {
      return await method(...given);
    } catch (fault) {
      const said = rules === 'bare' ? faultOfCode(fault) : fault;
      const notTaken = operatorNotTaken(fault);
      if (notTaken && said instanceof Error)
        throw missedUnlessSent(said, [notTaken.facts.operator, ...attributesIn(notTaken.path)]);
      throw isOfThisServer(fault, rules) ? refused(said, { isWrite: /^(?:create|update|delete)/.test(name) }) : said;
    }
  };

/** The first operator that the type of an attribute does not take here; in v4 every one does. */
const operatorNotTaken = (fault: unknown) =>
  refusalOf(fault)?.issues.find((it) => it.code === 'query.operator-not-for-type') ?? null;

const attributesIn = (path: readonly string[]): readonly string[] =>
  path.filter((it) => it !== 'filters' && it !== 'populate' && !/^(?:\$.*|\d+)$/.test(it));

const refusalOf = (fault: unknown): Refusal | null => {
  const refusal = fault instanceof Error && fault.cause instanceof Refusal ? fault.cause : fault;
  return refusal instanceof Refusal ? refusal : null;
};

/** Whether v4 might have answered, or stored what was given: it has fewer bounds, and no rules of types. */
const isOfThisServer = (fault: unknown, rules: Rules): boolean => {
  const refusal = refusalOf(fault);
  if (!refusal) return false;
  return refusal.issues.some((it) => {
    if (!it.code.startsWith('body.')) return it.code.startsWith('query.') || statusOf[issueKinds[it.code].name] >= 500;
    return rules === 'bare' ? !refusedByDatabases.has(it.code) : isBeyondColumn(it) || unstorable.has(it.code);
  });
};

/** What v4's database layer refuses too. */
const refusedByDatabases: ReadonlySet<Issue['code']> = new Set(['body.check', 'body.number', 'body.unique']);

/** Values that pass v4's rules for what is published. */
const unstorable: ReadonlySet<Issue['code']> = new Set([
  'body.password-too-long',
  'body.text',
  'body.too-deep',
  'body.unstorable',
]);

/** A text that is too long for where it is kept, and not by a rule of the project. */
const isBeyondColumn = (it: Issue): boolean =>
  it.code === 'body.max-length' && it.facts.max === limits.stringCharactersMax;

const mapMethods = (engine: QueryEngine, change: ReturnType<typeof told>): QueryEngine =>
  Object.fromEntries(
    Object.entries(engine).map(([name, method]) => [
      name,
      change(method as (...given: unknown[]) => Promise<unknown>, name),
    ]),
  ) as unknown as QueryEngine;

/** All that the conditions mean: v4 has no limit here. */
const rowsMeant = ({ limit: _limit, offset: _offset, ...params }: FindParams): FindParams => ({
  ...params,
  select: ['id'],
});

const objectOf = (data: unknown): object => {
  if (!isMembers(data)) throw new TypeError('data must be an object');
  return data;
};

/** Of lists and plain objects; instances of classes stay the same ones. */
const copyOf = (params: object): object =>
  cloneDeepWith(params, (it: unknown) =>
    typeof it === 'object' && it !== null && !Array.isArray(it) && !isPlainObject(it) ? it : undefined,
  ) as object;
