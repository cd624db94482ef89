/** The state of a form: what is stored, what it is to be, and what was refused. Pure. */
import type { Model, Type } from '../../../model/model.js';
import { type Body, bodyOf } from './body.js';
import type { StoredEntry } from './entry.js';
import { type FaultGiven, type FaultsByPath, placeFaults, withoutFaultsAt } from './faults.js';
import type { Field, FieldPath, Fields } from './fields.js';
import { mergeFields, withStoredKeys } from './merge.js';
import { withField } from './paths.js';

export interface EntryForm {
  readonly entry: StoredEntry;
  /** As edited; `entry.fields` itself if nothing is. */
  readonly values: Fields;
  readonly faults: FaultsByPath;
  /** Where an edit stands against a change that somebody else has stored meanwhile. */
  readonly conflicts: readonly FieldPath[];
  /** What the edits began with, if somebody else has changed the entry since: a save asks first what is to stand. */
  readonly undecided: Fields | null;
  /** Whether the server may have stored this new entry: its response was lost. */
  readonly isUnsure: boolean;
}

export type FormAction =
  | { readonly kind: 'set'; readonly path: FieldPath; readonly field: Field }
  /** The server has refused a save. */
  | { readonly kind: 'refused'; readonly faults: readonly FaultGiven[]; readonly message: string }
  /** Read anew: edits are gone. */
  | { readonly kind: 'loaded'; readonly entry: StoredEntry }
  /** The new entry was sent, and nothing came back. */
  | { readonly kind: 'lost' }
  /** What was sent is stored; what was edited while the server wrote is not. */
  | { readonly kind: 'saved'; readonly entry: StoredEntry; readonly sent: Fields }
  /** Somebody else has stored something: the edits go on with it. */
  | { readonly kind: 'rebased'; readonly entry: StoredEntry }
  /** Unsaved work that was kept, with what it began with. */
  | { readonly kind: 'restored'; readonly base: Fields; readonly values: Fields; readonly isUnsure?: boolean }
  /** The same, of an entry that somebody else has changed since; what is to stand is chosen later. */
  | { readonly kind: 'postponed'; readonly base: Fields; readonly values: Fields }
  | { readonly kind: 'discarded' };

export const formOf = (entry: StoredEntry): EntryForm => ({
  entry,
  values: entry.fields,
  faults: {},
  conflicts: [],
  undecided: null,
  isUnsure: false,
});

export const reduceForm = (form: EntryForm, action: FormAction): EntryForm => {
  switch (action.kind) {
    case 'set':
      return {
        ...form,
        values: withField(form.values, form.entry.fields, action.path, action.field),
        faults: withoutFaultsAt(form.faults, action.path),
      };
    case 'refused': {
      const placed = placeFaults(form.values, action.faults);
      return { ...form, faults: action.faults.length === 0 ? { '': [action.message] } : placed };
    }
    case 'lost':
      return { ...form, isUnsure: true };
    case 'loaded':
      return formOf(action.entry);
    case 'saved': {
      const { entry, sent } = action;
      if (form.values === sent) return formOf(entry);
      const base = withStoredKeys(sent, sent, entry.fields);
      const mine = withStoredKeys(form.values, sent, entry.fields);
      return { ...merged(base, mine, entry), conflicts: [] };
    }
    case 'rebased':
      return { ...merged(form.entry.fields, form.values, action.entry), undecided: form.undecided };
    case 'restored':
      return { ...merged(action.base, action.values, form.entry), isUnsure: action.isUnsure ?? false };
    case 'postponed':
      return {
        ...merged(action.base, action.values, form.entry),
        undecided: { ...form.entry.fields, ...action.base },
      };
    case 'discarded':
      return formOf(form.entry);
  }
};

/** Edits laid over an entry; what the entry does not have any more is left out. */
const merged = (base: Fields, values: Fields, entry: StoredEntry): EntryForm => {
  const { fields, conflicts } = mergeFields(base, values, entry.fields);
  return { entry, values: fields, faults: {}, conflicts, undecided: null, isUnsure: false };
};

export const isDirty = ({ entry, values }: EntryForm): boolean => values !== entry.fields;

/** The names of the entry's own attributes that a save would send. */
export const changedNames = ({ entry, values }: EntryForm): readonly string[] =>
  Object.keys(values).filter((name) => values[name] !== entry.fields[name]);

export const bodyOfForm = (model: Model, type: Type, { entry, values }: EntryForm): Body =>
  bodyOf(model, type, entry.fields, values);
