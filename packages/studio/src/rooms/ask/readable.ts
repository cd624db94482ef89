/** An answer as people read it: entries by their names, without the envelopes. */
import { entryName } from '../../model/entry-name.js';
import { attributeOf, type Model, type Type } from '../../model/model.js';
import { words } from '../../words/index.js';
import { targetsOf } from './query/place.js';

const texts = words.ask.answer;

interface ShownEntry {
  readonly id: string;
  /** Its name to people: the text of its main field, of its first text if it has none, or its type and id. */
  readonly title: string;
  /** Of its fields, in the order of the answer. */
  readonly fields: readonly (readonly [string, unknown])[];
  readonly type: Type | null;
}

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** The entries of an answer: of a list, one entry, or the bare objects of users and files. */
export const entriesIn = (body: unknown): { readonly isList: boolean; readonly entries: readonly Json[] } => {
  const data = isObject(body) && 'data' in body ? body['data'] : body;
  if (Array.isArray(data)) return { isList: true, entries: data.filter(isObject) };
  return { isList: false, entries: isObject(data) ? [data] : [] };
};

/** The number of all entries, if the answer tells it. */
export const totalIn = (body: unknown): number | null => {
  const meta = isObject(body) ? body['meta'] : undefined;
  const pagination = isObject(meta) ? meta['pagination'] : undefined;
  const total = isObject(pagination) ? pagination['total'] : undefined;
  return typeof total === 'number' ? total : null;
};

const hidden: ReadonlySet<string> = new Set(['id', '__component', '__type', 'documentId']);

/** @param types that it may be of; where there are several it names its own. */
export const shownEntry = (entry: Json, types: readonly Type[]): ShownEntry => {
  const named = entry['__component'] ?? entry['__type'];
  const type = types.find((it) => it.uid === named) ?? (types.length === 1 ? (types[0] ?? null) : null);
  const attributes = isObject(entry['attributes']) ? entry['attributes'] : entry;
  const fields = Object.entries(attributes).filter(([name]) => !hidden.has(name) || attributes !== entry);
  const main = type?.mainField === null || type === null ? undefined : attributes[type.mainField];
  const first = fields.find(([, it]) => typeof it === 'string' && it !== '' && !instant.test(it))?.[1];
  const id = entry['id'];
  return {
    id: id === undefined ? '' : String(id),
    title: titleOf(type, id, main === undefined ? first : main, named).slice(0, TITLE_MAX),
    fields,
    type,
  };
};

const TITLE_MAX = 120;
/** A time is no name. */
const instant = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** Where entries of several types are mixed, each says its own. */
const titleOf = (type: Type | null, id: unknown, title: unknown, named: unknown): string => {
  const prefix = typeof named === 'string' ? `${named} ` : '';
  const hasTitle = (typeof title === 'string' && title.trim() !== '') || typeof title === 'number';
  if (prefix !== '' && !hasTitle) return prefix.trim();
  if (typeof id !== 'number' && !hasTitle) return '';
  return prefix + entryName(type, typeof id === 'number' ? id : 0, title);
};

/** What is inside of a value: entries, plain objects, or nothing. */
type Inside =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'entries';
      readonly entries: readonly Json[];
      readonly types: readonly Type[];
      readonly isList: boolean;
    }
  | { readonly kind: 'members'; readonly members: readonly (readonly [string, unknown])[] };

/** The value of a field of an entry. */
const insideOf = (value: unknown, name: string, type: Type | null, model: Model): Inside => {
  const attribute = type && attributeOf(type, name);
  const isNested = attribute ? attribute.kind !== 'scalar' : true;
  const types = attribute && isNested ? targetsOf(model, attribute) : [];
  const inner = isNested && isObject(value) && 'data' in value ? value['data'] : value;
  if (isNested && isObject(inner) && 'id' in inner) return { kind: 'entries', entries: [inner], types, isList: false };
  if (isNested && Array.isArray(inner) && inner.every((it) => isObject(it) && 'id' in it))
    return { kind: 'entries', entries: inner as Json[], types, isList: true };
  if (Array.isArray(inner) && inner.length > 0)
    return { kind: 'members', members: inner.map((it, i) => [`${i}`, it] as const) };
  if (isObject(inner) && Object.keys(inner).length > 0) return { kind: 'members', members: Object.entries(inner) };
  return { kind: 'text', text: textOfValue(inner) };
};

const textOfValue = (value: unknown): string => {
  if (value === null || value === undefined) return texts.value.null;
  if (typeof value === 'boolean') return value ? texts.value.true : texts.value.false;
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? String(value) : JSON.stringify(value);
};

const nameOfEntry = ({ id, title }: ShownEntry): string => (title === '' ? `#${id}` : title);

/** A value in one line, for a cell. */
export const cellText = (value: unknown, name: string, type: Type | null, model: Model): string => {
  const inside = insideOf(value, name, type, model);
  switch (inside.kind) {
    case 'text':
      return inside.text;
    case 'entries':
      return inside.entries.length === 0
        ? texts.value.null
        : inside.entries.map((it) => nameOfEntry(shownEntry(it, inside.types))).join(', ');
    case 'members':
      return JSON.stringify(value);
  }
};

// ---- rows of the tree

interface AnswerRow {
  readonly id: string;
  readonly level: number;
  readonly label: string;
  readonly text: string;
  /** Null if there is nothing inside. */
  readonly expanded: boolean | null;
  readonly isEntry: boolean;
}

/** The rows of what is open. Entries of the answer, and short lists in them, are open at first; `toggled` has the ids of rows that are not as they were at first. */
export const answerRows = (
  body: unknown,
  type: Type,
  model: Model,
  toggled: ReadonlySet<string>,
): readonly AnswerRow[] => {
  const rows: AnswerRow[] = [];
  const addEntry = (entry: Json, types: readonly Type[], id: string, level: number, isOpen: boolean): void => {
    const shown = shownEntry(entry, types);
    const has = shown.fields.length > 0;
    const expanded = has ? toggled.has(id) !== isOpen : null;
    rows.push({ id, level, label: shown.id === '' ? '' : `#${shown.id}`, text: shown.title, expanded, isEntry: true });
    if (expanded)
      for (const [name, value] of shown.fields) addField(name, value, shown.type, `${id}/${name}`, level + 1);
  };
  const addField = (name: string, value: unknown, of: Type | null, id: string, level: number): void => {
    const inside = insideOf(value, name, of, model);
    if (inside.kind === 'text') {
      rows.push({ id, level, label: name, text: inside.text, expanded: null, isEntry: false });
      return;
    }
    const count = inside.kind === 'entries' ? inside.entries.length : inside.members.length;
    const isSmall = inside.kind === 'entries' && inside.entries.length <= 20;
    const expanded = count > 0 ? toggled.has(id) !== isSmall : null;
    const text = inside.kind === 'entries' && !inside.isList ? '' : texts.items(count);
    rows.push({ id, level, label: name, text: count === 0 ? texts.value.null : text, expanded, isEntry: false });
    if (!expanded) return;
    if (inside.kind === 'entries')
      for (const [i, it] of inside.entries.entries())
        addEntry(it, inside.types, `${id}/${i}`, level + 1, !inside.isList);
    else for (const [key, it] of inside.members) addField(key, it, null, `${id}/${key}`, level + 1);
  };
  for (const [i, it] of entriesIn(body).entries.entries()) addEntry(it, [type], `/${i}`, 1, true);
  return rows;
};
