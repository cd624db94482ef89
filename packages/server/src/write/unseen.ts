/** Entries that the caller may not see: no body can name them, and links to them stay as they are (AD11, R14). */
import { type EntryType, FILE_UID, type Uid } from '../model/model.js';
import type { Gate } from '../query/selection.js';
import type { Row } from './questions.js';

/** Ids by type. */
export type Unseen = Map<Uid, ReadonlySet<number>>;

export const addUnseen = (ids: readonly number[], uid: Uid, unseen: Unseen): void => {
  if (ids.length > 0) unseen.set(uid, new Set([...(unseen.get(uid) ?? []), ...ids]));
};

/**
 * Whether the caller may not see all entries of the type: others are as good as absent. Files that come with entries may be
 * seen by everybody; whoever has no permission for the library may still name them.
 */
export const isBounded = (type: EntryType, { entries, changes }: Gate): boolean => {
  if (!entries || !changes) return false;
  const seen = entries(type, type.uid === FILE_UID ? 'root' : 'nested');
  return seen !== null && !(type.uid === FILE_UID && seen.kind === 'or' && seen.members.length === 0);
};

/** For a bounded type: whether the caller may see the entry of a row of `governedStatement`. */
export const isRowSeen =
  (gate: Gate, type: EntryType) =>
  ([, creatorId, , , text]: Row): boolean =>
    gate.changes!.covers('read', type, { creatorId, locale: type.localized ? text : null });

/** Whether the caller may not see all entries of the type, and links to the others stay. Files are seen wherever they are linked (AC5). */
export const staysUnseen = (type: EntryType, gate: Gate): boolean => type.uid !== FILE_UID && isBounded(type, gate);
