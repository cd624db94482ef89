/** What an action on an entry has come to, and what is said of a new one on the page that it has since. */
import type { Type } from '../../../model/model.js';
import type { Unsendable } from '../form/body.js';
import type { PendingList, ReadBack } from './lists.js';
import type { Rounded } from './rounded.js';

export type Outcome =
  | {
      readonly kind: 'saved' | 'published';
      readonly readBack: ReadBack;
      readonly rounded: readonly Rounded[];
    }
  | { readonly kind: 'unpublished' }
  /** After a clash: what was chosen is in the form, not saved yet. */
  | { readonly kind: 'chosen' }
  /** What was to be done would take the place of a new entry that is not saved. */
  | { readonly kind: 'occupied'; readonly by: 'duplicate' | 'renew' }
  /** The entry was deleted, or may not be seen any more. */
  | { readonly kind: 'gone' }
  /** These lists were changed by somebody else, and wait for a decision. */
  | { readonly kind: 'contested'; readonly lists: readonly PendingList[] }
  /** Whether the new entry was stored is not known: its response was lost. */
  | { readonly kind: 'unsure'; readonly state: 'publish' | 'draft' | undefined }
  /** These fields hold what cannot be sent. */
  | { readonly kind: 'unsendable'; readonly fields: readonly Unsendable[] };

/** Whether it says only that all went well. */
export const isPlain = (outcome: Outcome): boolean => {
  switch (outcome.kind) {
    case 'saved':
    case 'published':
      return outcome.readBack.mismatches.length === 0 && outcome.rounded.length === 0;
    default:
      return outcome.kind === 'unpublished';
  }
};

let arrival: { readonly type: string; readonly id: number; readonly outcome: Outcome } | null = null;

export const arriveWith = (type: Type, id: number, outcome: Outcome): void => {
  arrival = { type: type.uid, id, outcome };
};

export const arrivedWith = (type: Type, id: number | null): Outcome | null =>
  arrival !== null && arrival.type === type.uid && arrival.id === id ? arrival.outcome : null;

export const forgetArrival = (): void => {
  arrival = null;
};
