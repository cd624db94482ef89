/**
 * What the request of a core action says besides its parameters. It holds whatever a service of the project does on the way: one that
 * overrides `update` often makes parameters of its own for `super.update`.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { EntryType, Uid } from '../../model/model.js';
import type { Precondition } from '../../read/etag.js';
import type { Session } from '../../write/session.js';
import { currentOperation } from './scope.js';

export type CoreRequest = { readonly uid: Uid } & (
  | { readonly kind: 'list' }
  /** Of one entry. */
  | ({ readonly kind: 'read' } & Shown)
  | ({
      readonly kind: 'write';
      /** The id that its path has, or null where that has none, but a slug; `only` for a single type. */
      readonly entry: number | 'new' | 'only' | null;
      /** What the client says of the entry that it has seen (BO11). */
      readonly match: Precondition | null;
    } & Shown)
);

interface Shown {
  /** Whether the response shows no draft: the entry that is read is none, and entries that are populated are none (DR3, DR4). */
  readonly showsPublished: boolean;
}

interface Running {
  readonly request: CoreRequest;
  /** Whether a write has been checked against the precondition: those after it change what this request has written itself. */
  isChecked: boolean;
}

const running = new AsyncLocalStorage<Running>();

export const inCoreRequest = <T>(request: CoreRequest, work: () => T): T =>
  running.run({ request, isChecked: false }, work);

const requestFor = (uid: Uid): CoreRequest | null => {
  const request = running.getStore()?.request;
  return request?.uid === uid ? request : null;
};

/** @param id null for a new entry, and for that of a single type. */
const writeOf = (uid: Uid, id: number | null): (CoreRequest & { readonly kind: 'write' }) | null => {
  const request = requestFor(uid);
  if (request?.kind !== 'write') return null;
  const { entry } = request;
  // whichever the service finds for a slug
  return entry === null || entry === 'only' || entry === (id ?? 'new') ? request : null;
};

/** Hooks read for themselves, and code sees drafts unless it says otherwise. */
const isShown = (request: Shown): boolean => currentOperation() === null && request.showsPublished;

/** Whether a read is for the response with one entry, whichever the service finds for it: its path may have a slug. */
export const readsPublished = (uid: Uid): boolean => {
  const request = requestFor(uid);
  return request?.kind === 'read' && isShown(request);
};

/** Whether what a write gives back is for its response. */
export const writesPublished = (uid: Uid, id: number | null): boolean => {
  const request = writeOf(uid, id);
  return request !== null && isShown(request);
};

/** Whether a list is for a response. */
export const isListed = (uid: Uid): boolean => requestFor(uid)?.kind === 'list';

/** What must hold of the entry that is about to be written; null for all writes but the first of the request. */
export const takeMatch = ({ uid }: EntryType, id: number | null, session: Session): Precondition | null => {
  const match = writeOf(uid, id)?.match;
  const it = running.getStore();
  if (!match || !it || it.isChecked) return null;
  it.isChecked = true;
  const askAgain = (): void => {
    it.isChecked = false;
  };
  session.endings.push({ when: 'undone', run: askAgain });
  return match;
};
