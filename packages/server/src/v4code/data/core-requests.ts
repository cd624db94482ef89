/**
 * What the request of a core action says beside its parameters. It holds whatever a service of the project does on the way: one that
 * overrides `update` often makes parameters of its own for `super.update`.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { EntryType, Uid } from '../../model/model.js';
import type { Precondition } from '../../read/etag.js';
import type { Session } from '../../write/session.js';
import { currentOperation } from './scope.js';

export interface CoreRequest {
  readonly uid: Uid;
  /** The id of its path; `only` if the type is a single type. */
  readonly entry: number | 'new' | 'only';
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

/** @param id null for a new entry, and for that of a single type. */
const runningFor = (uid: Uid, id: number | null): Running | null => {
  const it = running.getStore();
  if (it?.request.uid !== uid) return null;
  const { entry } = it.request;
  return entry === 'only' || entry === (id ?? 'new') ? it : null;
};

/** Not for hooks: they read for themselves, and code sees drafts unless it says otherwise. */
export const showsPublished = (uid: Uid, id: number | null): boolean =>
  currentOperation() === null && runningFor(uid, id)?.request.showsPublished === true;

/** What must hold of the entry that is about to be written; null for all writes but the first of the request. */
export const takeMatch = ({ uid }: EntryType, id: number | null, session: Session): Precondition | null => {
  const it = runningFor(uid, id);
  if (!it?.request.match || it.isChecked) return null;
  it.isChecked = true;
  const askAgain = (): void => {
    it.isChecked = false;
  };
  session.endings.push({ when: 'undone', run: askAgain });
  return it.request.match;
};
