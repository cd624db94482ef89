/** What code gives beside the attributes of an entry: its times, who made it, its id, and the entries that it is a locale of. */
import { issue, Refusal, unwrap } from '../../errors.js';
import { parseInstant } from '../../model/attributes.js';
import { ADMIN_UID, type Attribute, type EntryType, FILE_UID } from '../../model/model.js';
import { idOf } from '../../write/ids.js';
import type { Creators, Data, Times } from '../../write/request.js';
import { isMembers } from '../loading/parts.js';
import { ValidationError } from '../strapi-utils/errors.js';
import { requestContext } from './scope.js';

export interface Given {
  readonly times?: Times;
  readonly creators?: Creators;
  /** Null for the next one. */
  readonly newId: number | null;
  /** Null if the data says nothing of them. */
  readonly siblings: readonly number[] | null;
}

export interface GivenIn {
  readonly action: 'create' | 'update';
  /** Whether an id in the data is the code's own: one that a client has put into a body could use up all others. */
  readonly mayChooseId: boolean;
  /** `updateMany` and `createMany`, which leave times to code; `update` sets `updatedAt` by itself, as in v4. */
  readonly isOfMany: boolean;
}

/** Throws for what would be lost. */
export const givenIn = (data: Data, type: EntryType, { action, mayChooseId, isOfMany }: GivenIn): Given => {
  refuseLost(data, type, action);
  if (type.kind === 'component') return noneGiven;
  const given = timesIn(data, action === 'create' || isOfMany ? ['createdAt', 'updatedAt'] : ['createdAt']);
  // as in v4 the rows of an update of many keep the time of their last change
  const times = action === 'update' && isOfMany ? { updatedAt: undefined, ...given } : given;
  const creators = creatorsIn(data);
  return {
    ...(times ? { times } : {}),
    ...(creators ? { creators } : {}),
    newId: action === 'create' && mayChooseId ? newIdIn(data, type) : null,
    siblings: type.localized ? siblingsIn(data, action) : null,
  };
};

export const noneGiven: Given = { newId: null, siblings: null };

const refuseLost = ({ related }: Data, { uid }: EntryType, action: GivenIn['action']): void => {
  const isEmpty = related == null || (action === 'create' && Array.isArray(related) && related.length === 0);
  if (uid === FILE_UID && !isEmpty)
    throw new Error(
      `"related" of ${uid} attaches files to nothing here: write the id of the file as the media attribute of the entry (strapi.entityService.update(uid, id, { data: { cover: file.id } })), or give ref, refId and field to strapi.plugin('upload').service('upload').upload`,
    );
};

/** What v4 changes in many entries at once: their own rows. Relations, media and components have no effect there. */
export const ofRows = (data: Data, { attributes }: EntryType): Data =>
  Object.fromEntries(Object.entries(data).filter(([name]) => isOfRow(attributes.get(name))));

const isOfRow = (attribute: Attribute | undefined): boolean => {
  switch (attribute?.kind) {
    case 'link':
      return attribute.source === 'creator';
    case 'morph':
      return attribute.shape === 'one';
    default:
      return attribute?.kind !== 'part';
  }
};

const timesIn = (data: Data, names: readonly (keyof Times)[]): Times | null => {
  const given = names.filter((it) => data[it] != null);
  return given.length === 0
    ? null
    : Object.fromEntries(given.map((it) => [it, unwrap(parseInstant(String(data[it]), [it]))]));
};

const newIdIn = ({ id }: Data, { uid }: EntryType): number | null => {
  if (id === undefined || id === null) return null;
  const given = idOf(id);
  if (given === null) throw new Error(`data.id of ${uid} is no id: ${JSON.stringify(id)}`);
  return given;
};

/** Whether the body of the running request, which code may pass on as it is, has the id. */
export const isIdOfClient = (id: unknown): boolean => {
  if (id === undefined || id === null) return false;
  const context = requestContext();
  const request = isMembers(context) ? context['request'] : undefined;
  const body = isMembers(request) ? request['body'] : undefined;
  return (
    isMembers(body) &&
    [body, body['data']].some((it) => isMembers(it) && it['id'] != null && String(it['id']) === String(id))
  );
};

/**
 * The id that hooks have given to a new entry: null if they have taken away that of the code, undefined if they have changed nothing.
 * @param isOfRows whether code writes rows, which have whatever id it says.
 */
export const newIdSet = (left: Data, before: Data, type: EntryType, isOfRows: boolean): number | null | undefined =>
  type.kind === 'component' || left['id'] === before['id'] || (!isOfRows && isIdOfClient(left['id']))
    ? undefined
    : newIdIn(left, type);

// ---- creators

const creatorNames = ['createdBy', 'updatedBy'] as const;

/** Those that hooks have set: what was there before them may be of a client. */
export const creatorsSet = (left: Data, before: Data): Creators | null => {
  const set = creatorNames.filter((it) => JSON.stringify(left[it]) !== JSON.stringify(before[it]));
  return creatorsIn(Object.fromEntries(set.map((it) => [it, left[it]])));
};

const creatorsIn = (data: Data): Creators | null => {
  const named = creatorNames.filter((it) => data[it] !== undefined);
  return named.length === 0 ? null : Object.fromEntries(named.map((it) => [it, creatorOf(data[it], it)]));
};

/** An id, `{ id }`, a list of one of them, or what is connected. */
const creatorOf = (value: unknown, name: string): number | null => {
  const ids = idsOf(value, name);
  if (ids.length > 1) throw new Refusal(issue('relation.invalid', [name], { value }));
  return ids[0] ?? null;
};

/** Refuses those that are no administrators. @param count of the entries of a type with the ids. */
export const checkCreators = async (
  creators: Creators,
  count: (uid: string, ids: readonly number[]) => Promise<number>,
): Promise<void> => {
  for (const [name, id] of Object.entries(creators))
    if (typeof id === 'number' && (await count(ADMIN_UID, [id])) === 0)
      throw new Refusal(issue('relation.absent', [name], { uid: ADMIN_UID, ids: [id] }));
};

// ---- locales

const siblingsIn = ({ localizations }: Data, action: GivenIn['action']): readonly number[] | null => {
  if (localizations === undefined) return null;
  const ids = [...new Set(idsOf(localizations, 'localizations'))];
  return ids.length === 0 && action === 'create' ? null : ids;
};

/** @param group the entries that the first one is linked with, itself included; null if it does not exist. */
export const checkSiblings = (
  { uid }: EntryType,
  siblings: readonly number[],
  group: readonly number[] | null,
): void => {
  if (!group) throw new Refusal(issue('relation.absent', ['localizations'], { uid, ids: siblings.slice(0, 1) }));
  const others = siblings.filter((it) => !group.includes(it));
  if (others.length > 0)
    throw new ValidationError(
      `"localizations" of ${uid}: ${others.join(', ')} and ${siblings[0]} are not the same entry in other locales: create each with the id of another, data: { locale, localizations: [id] }`,
    );
};

/** @param group the entry itself and those that it is linked with. */
export const refuseOtherSiblings = (
  { uid }: EntryType,
  id: number,
  siblings: readonly number[],
  group: readonly number[],
): void => {
  const linked = new Set(group.filter((it) => it !== id));
  if (siblings.length === linked.size && siblings.every((it) => linked.has(it))) return;
  throw new ValidationError(
    `"localizations" of ${uid} cannot be changed by an update: create the other locale with the id of this entry, data: { locale, localizations: [${id}] }`,
  );
};

/** Of relations as code writes them. */
const idsOf = (value: unknown, name: string): readonly number[] => {
  if (value === null) return [];
  if (Array.isArray(value)) return value.flatMap((it) => idsOf(it, name));
  if (isMembers(value) && !('id' in value)) {
    const { set = value['connect'] } = value;
    if (set !== undefined) return idsOf(set, name);
  }
  const id = idOf(isMembers(value) ? value['id'] : value);
  if (id === null) throw new Refusal(issue('relation.invalid', [name], { value }));
  return [id];
};
