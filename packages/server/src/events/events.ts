/** What webhooks are told of: v4's events, and which of them a write is. */
import { FILE_UID } from '../model/model.js';
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

/** In the order in which they are told; none for users, roles and other types of v4 itself. */
export const eventsOf = ({ action, type, publication }: WriteEvent): readonly EventName[] => {
  // v4's media library updates a file like any entry
  if (type.uid === FILE_UID) return action === 'update' ? ['entry.update', 'media.update'] : [`media.${action}`];
  if (type.origin !== 'project') return [];
  return [`entry.${action}`, ...(publication === undefined ? [] : [`entry.${publication}` as const])];
};
