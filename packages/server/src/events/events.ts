/** What webhooks, and listeners in this process, are told of: v4's events, and which of them a write is. */
import { FILE_UID, USER_UID } from '../model/model.js';
import type { WriteEvent } from '../write/session.js';

export const eventNames = [
  'entry.create',
  'entry.update',
  'entry.delete',
  'entry.publish',
  'entry.unpublish',
  'media.create',
  'media.update',
  'media.delete',
] as const;
export type EventName = (typeof eventNames)[number];

/** What is told of an entry, or of a file: `{ model, uid, entry }`, `{ media }`. */
export type EventFacts = Readonly<Record<string, unknown>>;

/** Those in this process who are told what happened to entries and files. */
export interface EventListeners {
  /** Whether there are any: asked for every write. */
  isListening(): boolean;
  /** Whether the write that is being made would be told under this name. */
  hears(name: EventName): boolean;
  /** The events of one transaction, once it is committed. Nobody waits for the listeners; their faults are their own. */
  tell(told: readonly { readonly name: EventName; readonly facts: EventFacts }[]): void;
}

/** In the order in which they are told; none for roles and other types of v4 itself. Users are entries of the project, as in v4. */
export const eventsOf = ({ action, type, publication }: WriteEvent): readonly EventName[] => {
  // v4's media library updates a file like any entry
  if (type.uid === FILE_UID) return action === 'update' ? ['entry.update', 'media.update'] : [`media.${action}`];
  if ((type.origin !== 'project' && type.uid !== USER_UID) || type.kind === 'component') return [];
  return [`entry.${action}`, ...(publication === undefined ? [] : [`entry.${publication}` as const])];
};
