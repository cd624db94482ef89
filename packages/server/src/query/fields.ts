/** `fields`: which scalar attributes to return (F1 to F4, F5). */
import { type EntryType, type ScalarAttribute, typeLabel } from '../model/model.js';
import type { RawNode } from './raw.js';
import {
  type Draft,
  hintOf,
  type Path,
  type Resolving,
  refuse,
  scalarOfColumn,
  textsOf,
  visibleFields,
} from './resolving.js';

/** Sets the fields of every draft; each name must be a scalar attribute of each of them. */
export const resolveFields = (resolving: Resolving, drafts: readonly Draft[], node: RawNode, path: Path): void => {
  // an element without a value names nothing (F5)
  const names = textsOf(resolving, node, path, { nulls: 'skip' });
  if (!names) return;
  for (const draft of drafts) {
    const chosen = new Map<string, ScalarAttribute>();
    for (const { text, at } of names) {
      const name = text.trim();
      if (name === '*') for (const it of visibleFields(resolving, draft.type)) chosen.set(it.name, it);
      else if (name !== 'id') {
        const attribute = selectable(resolving, draft.type, name, at);
        if (attribute) chosen.set(attribute.name, attribute);
      }
    }
    draft.fields = [...chosen.values()];
  }
};

const selectable = (resolving: Resolving, type: EntryType, name: string, path: Path): ScalarAttribute | null => {
  const attribute = type.attributes.get(name) ?? byColumn(resolving, type, name);
  const facts = { type: typeLabel(type), name };
  if (!attribute)
    refuse(resolving, 'query.unknown-name', path, { ...facts, ...hintOf(resolving, name, type, 'scalar') });
  else if (!resolving.gate.allows(type, attribute, 'select')) refuse(resolving, 'query.hidden', path, facts);
  else if (attribute.kind !== 'scalar') refuse(resolving, 'query.not-selectable', path, facts);
  else return attribute;
  return null;
};

/** v4 also accepts column names: `created_at`. */
const byColumn = ({ strict }: Resolving, type: EntryType, name: string): ScalarAttribute | undefined =>
  strict ? undefined : scalarOfColumn(type, name);
