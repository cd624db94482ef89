/** Keys of entries and lists, and lists by key. */
import type { Uid } from '../model/model.js';

export type OwnerKey = string;
export type ListKey = string;
export const ownerKey = (uid: Uid, id: number): OwnerKey => `${uid} ${id}`;
/** @param pathName of a link path (`pathKey`). */
export const listKey = (pathName: string, owner: number): ListKey => `${pathName} ${owner}`;

export const push = <K, V>(lists: Map<K, V[]>, key: K, value: V): void => {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
};

export const groupBy = <T>(items: readonly T[], key: (item: T) => string): readonly T[][] => {
  const groups = new Map<string, T[]>();
  for (const item of items) push(groups, key(item), item);
  return [...groups.values()];
};
