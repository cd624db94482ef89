/** `fields`: which scalar attributes to return (F1 to F4, F5). */
import { nearest } from '../errors.js';
import { type EntryType, type ScalarAttribute, typeLabel } from '../model/model.js';
import type { RawNode } from './raw.js';
import {
  type Draft,
  hintOf,
  isIdName,
  type Path,
  type Resolving,
  refuse,
  scalarOfColumn,
  textsOf,
  visibleFields,
  visibleNames,
} from './resolving.js';

/**
 * Sets the fields of every draft. Each name must be a scalar attribute of each of them; of drafts of any type it is enough
 * that one has it (Q19).
 */
export const resolveFields = (
  resolving: Resolving,
  drafts: readonly Draft[],
  node: RawNode,
  path: Path,
  { ofAnyType = false }: { readonly ofAnyType?: boolean } = {},
): void => {
  // an element without a value names nothing (F5)
  const names = textsOf(resolving, node, path, { nulls: 'skip' });
  if (!names) return;
  const asked = names.map(({ text, at }) => {
    const name = text.trim();
    return { name, at, owners: ofAnyType && name !== '*' ? ownersOf(resolving, drafts, name) : drafts };
  });
  for (const draft of drafts) {
    const chosen = new Map<string, ScalarAttribute>();
    for (const { name, at, owners } of asked) {
      if (isIdName(resolving, draft.type, name) || !owners.includes(draft)) continue;
      if (name === '*') for (const it of visibleFields(resolving, draft.type)) chosen.set(it.name, it);
      else {
        const attribute = selectable(resolving, draft.type, name, at);
        if (attribute) chosen.set(attribute.name, attribute);
      }
    }
    draft.fields = [...chosen.values()];
  }
};

/** The drafts that have the field; if none has, one that can say why. */
const ownersOf = (resolving: Resolving, drafts: readonly Draft[], name: string): readonly Draft[] => {
  const owners = drafts.filter(({ type }) => {
    const attribute = type.attributes.get(name);
    return attribute?.kind === 'scalar' && resolving.gate.allows(type, attribute, 'select');
  });
  if (owners.length > 0) return owners;
  const isNear = ({ type }: Draft): boolean => nearest(name, visibleNames(resolving, type)) !== undefined;
  return [drafts.find(({ type }) => type.attributes.has(name)) ?? drafts.find(isNear) ?? drafts[0]].filter(
    (it) => it !== undefined,
  );
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
