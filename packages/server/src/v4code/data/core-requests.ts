/**
 * What the request of a core action says besides its parameters. It holds whatever a service of the project does on the way: one that
 * overrides `update` often makes parameters of its own for `super.update`.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { EntryType, Uid } from '../../model/model.js';
import type { Precondition } from '../../read/etag.js';
import type { Session } from '../../write/session.js';
import { currentOperation } from './scope.js';

export interface CoreRequest {
  readonly uid: Uid;
  readonly kind: 'list' | 'read' | 'write';
  /** The id that its path has; `only` if the type is a single type, and null for a list and where the path has no id, but a slug. */
  readonly entry: number | 'new' | 'only' | null;
  /** What the client says of the entry that it has seen (BO11). */
  readonly match: Precondition | null;
  /** Whether a draft is not found, and what is found populates published entries alone (DR3, DR4). */
  readonly showsPublished: boolean;
}

interface Running {
  readonly request: CoreRequest;
  /** Whether a write has been held against the precondition: those after it change what this request has written itself. */
  isChecked: boolean;
}

const running = new AsyncLocalStorage<Running>();

export const inCoreRequest = <T>(request: CoreRequest, work: () => T): T =>
  running.run({ request, isChecked: false }, work);

const runningOf = (uid: Uid, kind: CoreRequest['kind']): Running | null => {
  const it = running.getStore();
  return it?.request.uid === uid && it.request.kind === kind ? it : null;
};

/** @param id null for a new entry, and for that of a single type. */
const writeOf = (uid: Uid, id: number | null): Running | null => {
  const it = runningOf(uid, 'write');
  if (!it) return null;
  const { entry } = it.request;
  // whichever the service finds for a slug
  return entry === null || entry === 'only' || entry === (id ?? 'new') ? it : null;
};

/** Hooks read for themselves, and code sees drafts unless it says otherwise. */
const isOfRequest = (it: Running | null): boolean => currentOperation() === null && it?.request.showsPublished === true;

/** Whether a read is for the response of one entry, whichever the service finds for it: its path may have a slug. */
export const readsPublished = (uid: Uid): boolean => isOfRequest(runningOf(uid, 'read'));

/** Whether what a write gives back is for its response. */
export const writesPublished = (uid: Uid, id: number | null): boolean => isOfRequest(writeOf(uid, id));

/** Whether a list is for a response. */
export const isListed = (uid: Uid): boolean => runningOf(uid, 'list') !== null;

/** What must hold of the entry that is about to be written; null for all writes but the first of the request. */
export const takeMatch = ({ uid }: EntryType, id: number | null, session: Session): Precondition | null => {
  const it = writeOf(uid, id);
  if (!it?.request.match || it.isChecked) return null;
  it.isChecked = true;
  const askAgain = (): void => {
    it.isChecked = false;
  };
  session.endings.push({ when: 'undone', run: askAgain });
  return it.request.match;
};
