/** `publicationState` and `locale`: which versions of an entry a request reads (LO1). */
import type { EntryType } from '../model/model.js';
import type { RawNode } from './raw.js';
import { type Path, type Resolving, refuse, shapeIn } from './resolving.js';
import type { Filter, PublicationState } from './selection.js';

/** Null when it is not given, and after a fault. */
export const resolveState = (resolving: Resolving, node: RawNode | undefined, path: Path): PublicationState | null => {
  if (!node) return null;
  const shape = shapeIn(resolving, node);
  if (shape.kind === 'text' && (shape.text === 'live' || shape.text === 'preview')) return shape.text;
  refuse(resolving, 'query.publication-state', path, { text: shape.kind === 'text' ? shape.text : shape.kind });
  return null;
};

/** The condition on `locale`; null where every locale is read, and on types without locales. */
export const resolveLocale = (resolving: Resolving, type: EntryType, node: RawNode | undefined): Filter | null => {
  const attribute = type.localized ? type.attributes.get('locale') : undefined;
  if (attribute?.kind !== 'scalar') return null;
  const shape = node ? shapeIn(resolving, node) : undefined;
  if (shape && shape.kind !== 'text') {
    refuse(resolving, 'query.expected-text', ['locale']);
    return null;
  }
  const wanted = shape?.text ?? resolving.defaultLocale;
  if (wanted === 'all' || wanted === null) return null;
  return { kind: 'compare', attribute, operator: '$eq', values: [wanted] };
};
