/** The state of resolving one request: its context, its cost so far, and the issues found. */
import { type Hint, hintAt, type Issue, type IssueCode, issue, never } from '../errors.js';
import {
  type Attribute,
  DOCUMENT_ID,
  type EntryType,
  hasDocumentId,
  type Model,
  type ScalarAttribute,
  typeOf,
} from '../model/model.js';
import type { LeftOut } from './lenient.js';
import { type RawNode, type Shape, shapeOf, valueShapes } from './raw.js';
import type {
  EntryFormat,
  Filter,
  Gate,
  HiddenAttribute,
  Populate,
  PublicationState,
  SortKey,
  Step,
} from './selection.js';

export interface ResolveContext {
  readonly model: Model;
  readonly gate: Gate;
  readonly rest: { readonly defaultLimit: number; readonly maxLimit: number | null; readonly withCount: boolean };
  /** False restores v4's leniency, see `lenient.ts`. */
  readonly strict: boolean;
  /** The locale of entries when a request names none; null for a type without locales. */
  readonly defaultLocale: string | null;
  /** `v4` by default. */
  readonly format?: EntryFormat;
  /** Whether every ignored part is noted, not only those that are reported. */
  readonly notesAll?: boolean;
}

/** The place of a parameter: `['populate', 'author', 'fields', '0']`. */
export type Path = readonly string[];

export interface Resolving extends ResolveContext {
  readonly issues: Issue[];
  /** Ignored parts of the request; none in strict mode. */
  readonly leftOut: LeftOut[];
  /** Hidden attributes that the request populates, by type and name. */
  readonly hidden: Map<string, HiddenAttribute>;
  /** Selections made so far; `limits.selectionsMax` bounds them. */
  selections: number;
  /** Conditions and steps through relations made so far; `limits.conditionsMax` bounds them. */
  conditions: number;
  /** Types reached only through hidden attributes: no message suggests their names. */
  readonly unseen: Set<EntryType>;
}

export const beginResolving = (context: ResolveContext): Resolving => ({
  ...context,
  issues: [],
  leftOut: [],
  hidden: new Map(),
  selections: 0,
  conditions: 0,
  unseen: new Set(),
});

export const refuse = <Code extends IssueCode>(
  resolving: Resolving,
  ...given: Parameters<typeof issue<Code>>
): void => {
  resolving.issues.push(issue(...given));
};

/** A selection under construction. */
export interface Draft {
  readonly type: EntryType;
  fields: readonly ScalarAttribute[];
  readonly populate: Populate[];
  filter: Filter | null;
  /** The part of the filter that hides entries from the caller. */
  readonly seen: Filter | null;
  sort: readonly SortKey[];
  state: PublicationState;
}

/** A selection of all default fields and nothing else (F2, Q10). */
export const newDraft = (
  resolving: Resolving,
  type: EntryType,
  state: PublicationState,
  place: 'root' | 'nested' = 'nested',
): Draft => {
  resolving.selections += 1;
  const seen = resolving.gate.entries?.(type, place) ?? null;
  return { type, fields: visibleFields(resolving, type), populate: [], filter: seen, seen, sort: [], state };
};

/** The fields that the caller may see: private ones too for administrators, few of administrators (Q9, AD9). */
export const visibleFields = ({ gate }: Resolving, type: EntryType): readonly ScalarAttribute[] =>
  [...type.attributes.values()].filter(
    (it): it is ScalarAttribute => it.kind === 'scalar' && gate.allows(type, it, 'select'),
  );

/** The scalar attribute stored in a column: `created_at` is that of `createdAt`. */
export const scalarOfColumn = (type: EntryType, column: string): ScalarAttribute | undefined =>
  [...type.attributes.values()].find((it): it is ScalarAttribute => it.kind === 'scalar' && it.column === column);

/** The step through a link or component; null where entries of several types have no attributes in common. */
export const stepThrough = (
  resolving: Resolving,
  attribute: Exclude<Attribute, ScalarAttribute>,
  state: PublicationState,
): Step | null => {
  switch (attribute.kind) {
    case 'link': {
      const target = typeOf(resolving.model, attribute.target);
      return { attribute, target, state, seen: resolving.gate.entries?.(target, 'nested') ?? null };
    }
    case 'part': {
      const [component] = attribute.components;
      if (attribute.shape === 'zone' || component === undefined) return null;
      return { attribute, target: typeOf(resolving.model, component), state, seen: null };
    }
    case 'morph':
      return null;
    default:
      return never(attribute);
  }
};

/** Whether the name is that of the id. */
export const isIdName = ({ format }: ResolveContext, type: EntryType, name: string): boolean =>
  name === 'id' || (format === 'v5' && name === DOCUMENT_ID && hasDocumentId(type));

/** The names of a type that may be suggested to the caller. */
export const visibleNames = ({ gate, unseen }: Resolving, type: EntryType): readonly string[] =>
  unseen.has(type)
    ? []
    : ['id', ...[...type.attributes.values()].filter((it) => gate.allows(type, it, 'select')).map((it) => it.name)];

/** @param wanted whether to list scalar attributes only. */
export const hintOf = (resolving: Resolving, name: string, type: EntryType, wanted: 'scalar' | 'any'): Hint => {
  const names = visibleNames(resolving, type);
  const isScalar = (it: string): boolean => it === 'id' || type.attributes.get(it)?.kind === 'scalar';
  return hintAt(name, names, wanted === 'any' ? names : names.filter(isScalar));
};

/** The shape of a node. v4 reads `fields=title&fields[]=kind` as one list; strict mode requires one form. */
export const shapeIn = ({ strict }: Pick<Resolving, 'strict'>, node: RawNode): Shape => {
  const shape = shapeOf(node);
  if (strict || shape.kind !== 'mixed') return shape;
  const { written } = shape;
  const members = shapeOf({ ...written, values: [], blanks: null });
  return members.kind === 'list' ? { kind: 'list', items: [...valueShapes(written), ...members.items] } : shape;
};

/** One text of a parameter that takes one text or a list of them. */
export interface TextAt {
  readonly text: string;
  readonly at: Path;
}

/** A text or a list of texts; null after an issue, and for a parameter without a value (`fields` without `=`). */
export const textsOf = (
  resolving: Resolving,
  node: RawNode,
  path: Path,
  { nulls }: { readonly nulls: 'skip' | 'refuse' },
): readonly TextAt[] | null => {
  const shape = shapeIn(resolving, node);
  if (shape.kind === 'null') return null;
  if (shape.kind === 'text') return [{ text: shape.text, at: path }];
  if (shape.kind !== 'list') {
    refuse(resolving, shape.kind === 'mixed' ? 'query.mixed-forms' : 'query.expected-names', path);
    return null;
  }
  const texts: TextAt[] = [];
  shape.items.forEach((item, position) => {
    const at = [...path, String(position)];
    const inner = shapeIn(resolving, item);
    if (inner.kind === 'text') texts.push({ text: inner.text, at });
    else if (inner.kind !== 'null' || nulls === 'refuse') refuse(resolving, 'query.expected-names', at);
  });
  return texts;
};
