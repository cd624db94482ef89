/** Whether the administrator who is signed in has a permission of v4's administration. The server decides again. */
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
