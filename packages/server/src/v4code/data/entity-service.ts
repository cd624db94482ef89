/** `strapi.entityService`: flat entities by uid, with rules, hashed passwords and v4's leniency. */
import type { EntryType, Uid } from '../../model/model.js';
import { isMembers, type Members } from '../loading/parts.js';
import { refusing } from '../strapi-utils/guards.js';
import { newQueryEngine, type PageFacts, type QueryEngine } from './db.js';
import type { Entities, Entity } from './entities.js';
import type { Lifecycles } from './lifecycles.js';
import {
  type FindParams,
  fieldsOf,
  filtersOf,
  ONLY_ENTRY,
  POPULATES_PUBLISHED,
  populateOf,
  sortsOf,
  stateOf,
} from './queries.js';

export type EntityParams = FindParams & Members;

export interface EntityService {
  /** The entries of a collection; the entry of a single type, or those in all of its locales. */
  findMany(uid: Uid, params?: EntityParams): Promise<Entity[] | Entity | null>;
  findPage(uid: Uid, params?: EntityParams): Promise<{ readonly results: Entity[]; readonly pagination: PageFacts }>;
  findOne(uid: Uid, id: unknown, params?: EntityParams): Promise<Entity | null>;
  count(uid: Uid, params?: EntityParams): Promise<number>;
  create(uid: Uid, params: EntityParams): Promise<Entity>;
  update(uid: Uid, id: unknown, params: EntityParams): Promise<Entity | null>;
  delete(uid: Uid, id: unknown, params?: EntityParams): Promise<Entity | null>;
  deleteMany(uid: Uid, params?: EntityParams): Promise<{ readonly count: number }>;
  load(
    uid: Uid,
    entity: { readonly id: number },
    fields: string | readonly string[],
    params?: Members,
  ): Promise<unknown>;
}

export const newEntityService = (deps: {
  readonly entities: Entities;
  readonly lifecycles: Lifecycles;
}): EntityService => {
  const { entities } = deps;
  const enginesIn = (locales: 'default' | 'all'): ((uid: Uid) => QueryEngine) => {
    const engines = new Map<Uid, QueryEngine>();
    return (uid) => {
      const engine = engines.get(uid) ?? newQueryEngine(uid, deps, 'checked', locales);
      engines.set(uid, engine);
      return engine;
    };
  };
  const engineOf = enginesIn('default');
  /** An id names an entry in whatever locale it is. */
  const engineOfIds = enginesIn('all');

  /** As `db.query` takes them: names that are not known have no effect here, and the id is always shown. */
  const paramsOf = (type: EntryType, params: EntityParams = {}): FindParams => {
    const { filters, sort, limit, start, publicationState, locale, _q } = params;
    return {
      where: refusing(() => filtersOf(filters, type, entities.model, 'ignore')),
      ...shownBy(type, params),
      ...(sort === undefined ? {} : { orderBy: sortsOf(sort) }),
      ...(limit === undefined ? {} : { limit }),
      ...(start === undefined ? {} : { offset: start }),
      ...(publicationState === undefined ? {} : { publicationState: stateOf(publicationState) }),
      ...(locale === undefined ? {} : { locale }),
      ...(_q === undefined ? {} : { _q }),
    };
  };

  const shownBy = (type: EntryType, given: EntityParams = {}): FindParams => {
    const { fields, populate } = given;
    const select = fieldsOf(fields, type, 'ignore');
    const populated = refusing(() => populateOf(populate, type, entities.model, 'ignore'));
    return {
      ...(select === undefined ? {} : { select }),
      ...(populated === undefined ? {} : { populate: shownPopulate(populated) }),
    };
  };

  /** The same for one entry; code that asks for drafts gets them. */
  const shownOfOne = (uid: Uid, params: EntityParams = {}): FindParams => ({
    ...shownBy(entities.typeOf(uid), params),
    ...(params[POPULATES_PUBLISHED] === true && params.publicationState !== 'preview'
      ? { [POPULATES_PUBLISHED]: true }
      : {}),
  });

  const service: EntityService = {
    findMany: async (uid, params) => {
      const type = entities.typeOf(uid);
      const engine = engineOf(uid);
      const isOne = type.kind === 'single' && !(type.localized && params?.locale === 'all');
      return isOne ? engine.findOne(paramsOf(type, params)) : engine.findMany(paramsOf(type, params));
    },
    findPage: (uid, params = {}) => {
      const { page, pageSize } = params;
      return engineOf(uid).findPage({ ...paramsOf(entities.typeOf(uid), params), page, pageSize });
    },
    // hooks see an id as it was given: of a path it is a text
    findOne: async (uid, id, params) =>
      idOf(id) === null ? null : engineOfIds(uid).findOne({ where: { id }, ...shownOfOne(uid, params) }),
    count: (uid, params) => engineOf(uid).count(paramsOf(entities.typeOf(uid), params)),
    create: (uid, params) =>
      engineOf(uid).create({
        data: params['data'],
        files: filesIn(params),
        ...shownOfOne(uid, params),
        ...(params[ONLY_ENTRY] === true ? { [ONLY_ENTRY]: true } : {}),
      }),
    update: async (uid, id, params) => {
      if (idOf(id) === null) return null;
      // v4 reads the entry first, which hooks hear of
      if (deps.lifecycles.hears(uid, 'FindOne') && !(await engineOfIds(uid).findOne({ where: { id } }))) return null;
      const written = { data: params['data'] ?? {}, files: filesIn(params) };
      return engineOfIds(uid).update({ where: { id }, ...written, ...shownOfOne(uid, params) });
    },
    delete: async (uid, id, params) => {
      const given = idOf(id);
      if (given === null) return null;
      const before = await engineOfIds(uid).findOne({ where: { id: given }, ...shownOfOne(uid, params) });
      return before && (await engineOfIds(uid).delete({ where: { id: given } })) ? before : null;
    },
    deleteMany: (uid, params) => engineOf(uid).deleteMany(paramsOf(entities.typeOf(uid), params)),
    load: async (uid, entity, fields, params = {}) => {
      const [name = ''] = [fields].flat();
      const type = entities.typeOf(uid);
      const shown = refusing(() => populateOf({ [name]: params }, type, entities.model, 'ignore'));
      const options = isMembers(shown) ? shown[name] : undefined;
      return engineOfIds(uid).load(entity, fields, isMembers(options) ? options : {});
    },
  };
  return service;
};

/** As hooks find it in v4: `true` for everything, names as a list. */
const shownPopulate = (given: NonNullable<ReturnType<typeof populateOf>>): unknown => {
  if (given === '*') return true;
  if (typeof given !== 'string' && !Array.isArray(given)) return given;
  return [given].flat().flatMap((it) =>
    String(it)
      .split(',')
      .map((name) => name.trim()),
  );
};

const filesIn = ({ files }: EntityParams): Members | undefined => (isMembers(files) ? files : undefined);

/** Ids may be texts, as they come from paths: without leading zeros (RQ3). */
export const idOf = (given: unknown): number | null => {
  const id = typeof given === 'string' && /^[1-9]\d*$/.test(given) ? Number(given) : given;
  return Number.isSafeInteger(id) ? (id as number) : null;
};
