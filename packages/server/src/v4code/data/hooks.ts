/** Lifecycles as hooks of the write line: inside its transaction, which what they await joins. */
import { isDeepStrictEqual } from 'node:util';
import cloneDeep from 'lodash/cloneDeep.js';
import isEmpty from 'lodash/isEmpty.js';
import { type EntryType, type Model, type PartAttribute, type Uid, USER_UID } from '../../model/model.js';
import { hasDeleted } from '../../write/delete.js';
import { dropPrototypes } from '../../write/places.js';
import type { HooksOf, RunHook, WriteRequest } from '../../write/request.js';
import type { Session, WriteAction } from '../../write/session.js';
import { isMembers, type Members } from '../loading/parts.js';
import { keepDates } from '../strapi-utils/dates.js';
import { type Entities, plain, storableIn } from './entities.js';
import { creatorsSet, newIdSet } from './given.js';
import type { Lifecycles, Operated, Operation } from './lifecycles.js';
import { filtersOf } from './queries.js';
import { isNoRow, newRowReads, type RowReads } from './row-reads.js';
import { currentOperation, inScope, isSilent } from './scope.js';
import { asBody } from './values.js';

const operatedBy: Readonly<Record<WriteAction, Operated>> = { create: 'Create', update: 'Update', delete: 'Delete' };

export const hooksOf = (lifecycles: Lifecycles, entities: () => Entities): HooksOf => {
  /** Operations that the server itself began, such as a registration, between their two hooks. */
  const begun = new WeakMap<Session, Operation[]>();

  return (request) => {
    const { type, isOfUpload, isPartOfDraft, isUntold = false } = request;
    // it would hear of its own upload
    if (isOfUpload) return undefined;
    // whoever hears of everything hears of entries: each of their components would be a write of its own
    if (isPartOfDraft !== undefined && !lifecycles.names(type.uid)) return undefined;
    const reads = (): RowReads => newRowReads(type.uid, { entities: entities(), lifecycles });

    const heard = (action: WriteAction): boolean => lifecycles.hears(type.uid, operatedBy[action]);
    /** Whether components of the entry have hooks: they are heard of only while the entry is written with hooks. */
    const heardInside = (action: WriteAction): boolean =>
      action !== 'delete' && partsOf(type, entities().model).some((uid) => lifecycles.names(uid));

    const operationOf = (
      action: WriteAction,
      session: Session,
      when: 'before' | 'after',
      id: number | null,
    ): Operation => {
      const known = currentOperation();
      if (known?.uid === type.uid) return known;
      const own = begun.get(session) ?? [];
      begun.set(session, own);
      if (when === 'after') {
        const last = own.findLastIndex((it) => it.uid === type.uid);
        if (last >= 0) return own.splice(last, 1)[0]!;
      }
      const params = { ...(id === null ? {} : { where: { id } }), ...ownShown(request) };
      const operation = lifecycles.begin(type.uid, operatedBy[action], params);
      if (when === 'before') own.push(operation);
      return operation;
    };

    const titleOf = (when: string, action: WriteAction): string => `${when}${operatedBy[action]} of ${type.uid}`;

    const before =
      (action: WriteAction): RunHook =>
      async ({ id, data, session, preview, turnTo }) => {
        if (isSilent()) return;
        const copy = data && (plain(data) as Record<string, unknown>);
        let parts: NewParts = noNewParts;
        if (copy) dropPrototypes(copy, type, entities().model);
        // what is invalid is refused before hooks see it, as in v4, which does not check what db.query writes
        if (copy && preview) {
          if (isUntold) await preview.addOwn(copy);
          else if (!(await preview.complete(copy))) return;
          else if (action === 'create') parts = asNewParts(copy, type);
        }
        const operation = operationOf(action, session, 'before', id);
        const { data: given } = operation.params;
        if (copy && isMembers(given)) {
          keepDates(copy, given, type, entities().model);
          // code that says nothing of it makes a draft
          if (given['publishedAt'] === undefined && copy['publishedAt'] === null) delete copy['publishedAt'];
        }
        if (copy && preview && !isUntold && !(await preview.writeParts(copy))) return;
        if (copy) operation.params['data'] = copy;
        const seen = cloneDeep(copy ?? {});
        const written = await inScope(session, () => runBefore(operation, id, session), {
          title: () => titleOf('before', action),
        });
        if (written !== null && written !== id) {
          if (operation !== currentOperation()) throw turnedAway(titleOf('before', action), id, written);
          turnTo?.(written);
        }
        if (!preview) return;
        const left = dataIn(operation, seen, parts);
        await preview.take(left, {
          creators: type.kind === 'component' ? null : creatorsSet(left, seen),
          newId: action === 'create' ? newIdSet(left, seen, type, isUntold) : undefined,
        });
      };

    /** @returns the entry that is to be written, as hooks have left `where`; null for one that does not exist yet. Throws `NoRow`. */
    const runBefore = async (operation: Operation, id: number | null, session: Session): Promise<number | null> => {
      // a create may be given a `where` too, which means nothing
      const conditions = (): unknown =>
        id === null ? null : filtersOf(operation.params['where'], type, entities().model, 'keep');
      const before = conditions();
      await operation.before();
      try {
        const isSame = id === null || isDeepStrictEqual(before, conditions());
        const written = isSame ? id : await reads().meant(operation);
        // the row is read before it is gone, which hooks of reads hear of
        return operation.operated === 'Delete' ? (await reads().removed(operation)).id : written;
      } catch (fault) {
        const isDeletion = operation.operated === 'Delete' && isNoRow(fault, operation);
        // with all that is below it in a tree, for example
        if (!isDeletion || id === null || !hasDeleted(session, type, id)) throw fault;
        operation.isGone = true;
        return id;
      }
    };

    /**
     * What hooks have left as the data of the write: dates become their texts.
     * @param seen as hooks have found it.
     */
    const dataIn = ({ params: { data } }: Operation, seen: Members, { lists, nulls }: NewParts): Members => {
      if (!isMembers(data)) throw new TypeError(`params.data of ${type.uid} must be an object`);
      const { model } = entities();
      const said = {
        ...Object.fromEntries(nulls.map((it) => [it, null])),
        ...Object.fromEntries(Object.entries(data).filter(([name, it]) => !lists.includes(name) || !isEmpty(it))),
      };
      return asBody(storableIn(said, type, model), type, model, 'bare', seen);
    };

    const after =
      (action: WriteAction): RunHook =>
      async ({ id, session }) => {
        if (isSilent()) return;
        const operation = operationOf(action, session, 'after', id);
        if (operation.isGone) return;
        await inScope(
          session,
          async () => {
            const result = action === 'delete' ? operation.result : id && (await reads().written(id, operation));
            await operation.after(result);
          },
          { title: () => titleOf('after', action) },
        );
      };

    return {
      before: (action) => (heard(action) || heardInside(action) ? before(action) : undefined),
      after: (action) => (heard(action) ? after(action) : undefined),
    };
  };
};

const parts = new WeakMap<EntryType, readonly Uid[]>();

/** The components that entries of the type may have, and those inside of them. */
const partsOf = (type: EntryType, { types }: Model): readonly Uid[] => {
  const known = parts.get(type);
  if (known) return known;
  const found = new Set<Uid>();
  const add = (it: EntryType | undefined): void => {
    for (const attribute of it?.attributes.values() ?? [])
      if (attribute.kind === 'part')
        for (const uid of attribute.components)
          if (!found.has(uid)) {
            found.add(uid);
            add(types.get(uid));
          }
  };
  add(type);
  parts.set(type, [...found]);
  return [...found];
};

/** What hooks see of the components of a new entry where its body has none. */
interface NewParts {
  /** Empty lists that are there for hooks alone, as long as these add nothing. */
  readonly lists: readonly string[];
  /** Components that are null in the body. */
  readonly nulls: readonly string[];
}

const noNewParts: NewParts = { lists: [], nulls: [] };

/** As in v4 what is not there is an empty list, and what is null is not there. */
const asNewParts = (data: Record<string, unknown>, { attributes }: EntryType): NewParts => {
  const parts = [...attributes.values()].filter((it) => it.kind === 'part');
  const named = (isMeant: (it: PartAttribute) => boolean): readonly string[] =>
    parts.filter(isMeant).map((it) => it.name);
  const lists = named(({ name, shape, required }) => shape !== 'one' && !required && data[name] === undefined);
  const nulls = named(({ name, shape }) => shape === 'one' && data[name] === null);
  for (const name of lists) data[name] = [];
  for (const name of nulls) delete data[name];
  return { lists, nulls };
};

/** What the server itself asks for as it writes: v4's accounts show users with their roles, and a new locale the others. */
const ownShown = (request: WriteRequest): Members => {
  if (request.action === 'delete') return {};
  if (request.type.uid === USER_UID) return { populate: ['role'] };
  return request.action === 'create' && request.source ? { populate: ['localizations'] } : {};
};

/** What the server itself writes, it may have checked, and stored files of. */
const turnedAway = (title: string, id: number | null, written: number): Error =>
  new Error(
    `${title} has set params.where to another entry, ${written} instead of ${id}. Only writes of code can be turned to another: here, narrow it, or throw`,
  );
