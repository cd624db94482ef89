/** Finds rules of an attribute that contradict each other, its type, or v4. */
import slugify from '@sindresorhus/slugify';
import { formatIssue, never, orNearest } from '../errors.js';
import { isEnumerated, scalarTypes } from './attributes.js';
import type { FileNotes } from './notes.js';
import type { DeclaredAttribute, DeclaredScalar } from './schema.js';

export interface AttributeContext {
  readonly place: string;
  /** New entries may be drafts, which may be incomplete. */
  readonly draft: boolean;
  /** Entries have locales. */
  readonly localized: boolean;
  /** v4 checks enumerations of content types only. */
  readonly isComponent: boolean;
}

/** Reports contradictions: v4 accepts most of them, but rejects some enumerations. */
export const noteContradictions = (it: DeclaredAttribute, context: AttributeContext, notes: FileNotes): void => {
  switch (it.kind) {
    case 'relation':
    case 'morph':
    case 'morphInverse':
    case 'media':
      return;
    case 'component':
      if (it.repeatable) noteCrossed(it, 'min', 'max', context.place, notes);
      return;
    case 'zone':
      noteCrossed(it, 'min', 'max', context.place, notes);
      return;
    case 'scalar':
      noteScalar(it, context, notes);
      return;
    default:
      never(it);
  }
};

const noteScalar = (it: DeclaredScalar, context: AttributeContext, notes: FileNotes): void => {
  const { rules, type } = it;
  const { place } = context;
  if (isEnumerated(type)) noteValues(rules.values, context, notes);
  if (context.localized && rules.unique && !it.localized && type !== 'uid')
    notes.warn(
      `${place}.unique`,
      'all locales of an entry share the value, which can be in one entry only: an entry with a value has one locale. Set "pluginOptions.i18n.localized" of the attribute',
    );
  // evaluate both, to report both
  const isCrossed = [
    noteCrossed(rules, 'min', 'max', place, notes),
    noteCrossed(rules, 'minLength', 'maxLength', place, notes),
  ].includes(true);
  if (rules.defaultValue == null) return;
  // bounds that no value can meet must not reject the default as well
  const trusted = isCrossed ? { ...rules, min: null, max: null, minLength: null, maxLength: null } : rules;
  const parsed = scalarTypes[type].parseJson(rules.defaultValue, {
    rules: trusted,
    path: ['default'],
    draft: context.draft,
  });
  if (parsed.ok) return;
  for (const fault of parsed.issues) {
    const value = String(rules.defaultValue);
    const message =
      fault.code === 'body.enumeration'
        ? `"${value}" is not in "enum"${orNearest(value, rules.values)}`
        : formatIssue(fault);
    notes.warn(`${place}.default`, `${message}; entries cannot be created without a value for this attribute`);
  }
};

/** What slugify would leave as it is: most values are such, and its patterns take long to compile. */
const isName = (value: string): boolean => /^[A-Za-z\d]+(?:_[A-Za-z\d]+)*$/.test(value);

/** v4 keeps the values usable as names in GraphQL: without signs and accents they must begin with a letter and differ. */
const noteValues = (values: readonly string[], { place, isComponent }: AttributeContext, notes: FileNotes): void => {
  const at = `${place}.enum`;
  const names = new Map<string, string>();
  for (const value of values) {
    const name = isName(value) ? value : slugify(value, { decamelize: false, lowercase: false, separator: '_' });
    const same = names.get(name);
    names.set(name, value);
    if (same === value) (isComponent ? notes.warn : notes.fault)(at, `names "${value}" twice`);
    else if (isComponent) continue;
    else if (!/^[_A-Za-z]/.test(name))
      notes.fault(at, `"${value}" is rejected, as in v4: without symbols and accents a value must begin with a letter`);
    else if (same !== undefined)
      notes.fault(
        at,
        `"${same}" and "${value}" are rejected, as in v4: without symbols and accents both become "${name}"`,
      );
  }
};

/** Reports a lower bound above its upper bound; comparisons with non-numbers are false. */
const noteCrossed = <Key extends string>(
  it: Readonly<Record<Key, number | string | null>>,
  low: Key,
  high: Key,
  place: string,
  notes: FileNotes,
): boolean => {
  const [lower, upper] = [it[low], it[high]];
  const isCrossed = lower !== null && upper !== null && Number(lower) > Number(upper);
  if (isCrossed) notes.warn(`${place}.${low}`, `${lower} is above "${high}": ${upper}; no value can satisfy both`);
  return isCrossed;
};
