/** Whether the administrator who is signed in has a permission of v4's administration. The server decides again. */
import { useCallback } from 'react';
import type { Type } from '../model/model.js';
import { type Me, useMe } from './queries.js';

/** The only condition that the server knows; a permission with another one grants nothing. */
const IS_CREATOR = 'admin::is-creator';

/** @param to `own`: it is enough that they may do it to what they have created themselves */
export const mayDo = (
  me: Me | null | undefined,
  action: string,
  subject: string | null = null,
  to: 'own' | 'all' = 'own',
): boolean =>
  me != null &&
  (me.isSuperAdmin ||
    me.permissions.some(
      (it) =>
        it.action === action &&
        (it.subject ?? null) === subject &&
        it.conditions.every((name) => to === 'own' && name === IS_CREATOR),
    ));

/** `may('plugin::upload.read')`; nothing for the public, and until it is known. */
export const useMay = (): ((action: string, subject?: string) => boolean) => {
  const me = useMe();
  return (action, subject) => mayDo(me, action, subject);
};

export type Change = 'create' | 'update' | 'delete' | 'publish';

/** An entry as permissions see it. */
export interface Bounded {
  /** Null: not stored yet, and then their own. */
  readonly id: number | null;
  readonly locale: string | null;
  readonly createdBy: { readonly id: number } | null;
}

/** Whether a change of one entry is theirs to make: the model only says that there are entries of the type that they may change. */
export const mayChange = (
  me: Me | null | undefined,
  type: Type,
  change: Change,
  entry: Bounded,
  attribute?: string,
): boolean => {
  if (!type.may[change]) return false;
  // the public has neither conditions nor locales
  if (me == null || me.isSuperAdmin) return true;
  // whoever creates an entry, or a copy, is its creator
  const isOwn = change === 'create' || entry.id === null || entry.createdBy?.id === me.id;
  return me.permissions.some(
    (it) =>
      it.action === `plugin::content-manager.explorer.${change}` &&
      it.subject === type.uid &&
      it.conditions.every((name) => name === IS_CREATOR && isOwn) &&
      (attribute === undefined ||
        it.fields === null ||
        // of components, permissions name what is inside
        it.fields.some((name) => name.split('.')[0] === attribute)) &&
      (!type.localized || it.locales === null || (entry.locale !== null && it.locales.includes(entry.locale))),
  );
};

/** Whether it depends on who has created an entry what they may do with it. */
export const dependsOnCreator = (me: Me | null | undefined, { uid }: Type): boolean =>
  me != null &&
  !me.isSuperAdmin &&
  me.permissions.some((it) => it.subject === uid && it.conditions.includes(IS_CREATOR));

/** `may('update')`, or of one attribute `may('update', 'title')`; as the model says until it is known who asks. */
export const useMayChange = (type: Type, entry: Bounded): ((change: Change, attribute?: string) => boolean) => {
  const me = useMe();
  return useCallback((change, attribute) => mayChange(me, type, change, entry, attribute), [me, type, entry]);
};
