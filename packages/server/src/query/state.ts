/** `publicationState` and `locale`: which versions of an entry a request reads (LO1). */
import { issue, refuse as refuseRequest, unwrap } from '../errors.js';
import { limits } from '../limits.js';
import { type EntryType, typeLabel } from '../model/model.js';
import { noteIgnored } from './lenient.js';
import { STATUS } from './parameters.js';
import { type QuerySource, type RawNode, shapeOf } from './raw.js';
import { type Path, type Resolving, refuse, shapeIn } from './resolving.js';
import type { Filter, PublicationState } from './selection.js';

/** Null when it is not given, and after a fault. */
export const resolveState = (
  resolving: Resolving,
  given: Pick<ReadonlyMap<string, RawNode>, 'get'>,
  path: Path,
): PublicationState | null => {
  const node = given.get('publicationState');
  const status = resolving.format === 'v5' ? given.get(STATUS) : undefined;
  if (status) {
    if (node) refuse(resolving, 'query.two-states', [...path, STATUS]);
    const shape = shapeIn(resolving, status);
    if (shape.kind === 'text' && isStatus(shape.text)) return stateOf[shape.text];
    refuse(resolving, 'query.status', [...path, STATUS], { text: shape.kind === 'text' ? shape.text : null });
    return null;
  }
  if (!node) return null;
  const shape = shapeIn(resolving, node);
  if (shape.kind === 'text' && (shape.text === 'live' || shape.text === 'preview')) return shape.text;
  const text = shape.kind === 'text' ? shape.text : null;
  refuse(resolving, 'query.publication-state', [...path, 'publicationState'], { text });
  return null;
};

/** v5's `status`. Its drafts are one version of every entry, so they are all entries (VF4). */
export type Status = 'published' | 'draft';

const stateOf = { published: 'live', draft: 'preview' } as const satisfies Record<Status, PublicationState>;

const isStatus = (text: string): text is Status => Object.hasOwn(stateOf, text);

/**
 * The state that `status` gives a new entry: undefined if it says nothing. It says nothing of types without drafts, and must
 * not be sent with an update, because v5 would keep a published version beside the draft (VF4). Throws `Refusal`.
 */
export const readQueryStatus = (
  type: EntryType,
  action: 'create' | 'update',
  query: QuerySource,
): Status | undefined => {
  const node = type.draftAndPublish ? unwrap(query.read()).get(STATUS) : undefined;
  const shape = node && shapeOf(node);
  if (!shape) return undefined;
  if (action === 'update') return refuseRequest(issue('query.status-of-update', [STATUS]));
  return shape.kind === 'text' && isStatus(shape.text) ? shape.text : undefined;
};

/**
 * The locale that the query gives a new entry of a collection in v5's format; undefined if it names none. It must not be sent with
 * a change or a deletion, which would concern a version of the document that is not this entry (VF8). Throws `Refusal`.
 */
export const readDocumentLocale = (
  type: EntryType,
  action: 'create' | 'update' | 'delete',
  query: QuerySource,
): string | undefined => {
  const node = type.localized && type.kind !== 'single' ? unwrap(query.read()).get('locale') : undefined;
  if (!node) return undefined;
  if (action !== 'create') return refuseRequest(issue('query.locale-of-version', ['locale']));
  const shape = shapeOf(node);
  return shape.kind === 'text' ? shape.text : refuseRequest(issue('query.expected-text', ['locale']));
};

/** The entries that `locale` selects on a list or a single type: a condition, or null for all locales. */
export interface LocaleChoice {
  readonly filter: Filter | null;
  /** Whether a single type is read in all locales, which is a list of its entries. */
  readonly isEvery: boolean;
}

/** The default locale without the parameter. No condition on types without locales, where the parameter has no effect. */
export const resolveLocale = (resolving: Resolving, type: EntryType, node: RawNode | undefined): LocaleChoice => {
  const attribute = type.localized ? type.attributes.get('locale') : undefined;
  if (attribute?.kind !== 'scalar') {
    if (node) noteIgnored(resolving, issue('query.locale-of-type', ['locale'], { type: typeLabel(type) }));
    return { filter: null, isEvery: false };
  }
  const codes = node ? readCodes(resolving, type, node) : [resolving.defaultLocale ?? ALL];
  if (codes.length === 1 && codes[0] === ALL) return { filter: null, isEvery: node !== undefined };
  return {
    filter: {
      kind: 'compare',
      attribute,
      operator: codes.length === 1 ? '$eq' : '$in',
      values: codes,
      blanks: codes.map(() => null),
    },
    isEvery: false,
  };
};

const ALL = 'all';

/** The codes that a request names: none for `locale` without a value, which matches no entry. */
const readCodes = (resolving: Resolving, type: EntryType, node: RawNode): readonly string[] => {
  const shape = shapeIn(resolving, node);
  if (shape.kind === 'null') return [];
  if (shape.kind === 'text') return [shape.text];
  const items = shape.kind === 'list' ? shape.items.map((it) => shapeIn(resolving, it)) : [];
  const codes = items.flatMap((it) => (it.kind === 'text' && it.text !== ALL ? [it.text] : []));
  if (shape.kind !== 'list' || type.kind === 'single' || codes.length < items.length)
    refuse(resolving, type.kind === 'single' ? 'query.one-locale' : 'query.locales', ['locale']);
  else if (codes.length > limits.inListMax)
    refuse(resolving, 'query.list-too-long', ['locale'], { max: limits.inListMax });
  return codes;
};

/** `locale` of a request for one entry, which its id determines, as its body does for a new one. */
export const ignoreLocale = (resolving: Resolving, type: EntryType): void =>
  noteIgnored(
    resolving,
    type.localized
      ? issue('query.locale-of-entry', ['locale'])
      : issue('query.locale-of-type', ['locale'], { type: typeLabel(type) }),
  );
