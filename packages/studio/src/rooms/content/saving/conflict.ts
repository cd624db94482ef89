/** What two people have made of one entry: where both have changed the same, and what either has changed alone. */
import type { Field, FieldPath, Fields, PartsField } from '../form/fields.js';
import { mergeFields } from '../form/merge.js';
import { fieldAt, isSameField, pathTo, withField } from '../form/paths.js';

/** Who has changed it: `both` the same thing; `apart`: components of one list, but not the same ones. */
type Changed = 'both' | 'apart' | 'theirs' | 'mine';

interface Difference {
  /** Of an attribute of the entry; where both have changed the same, also of what is inside of components. */
  readonly path: FieldPath;
  readonly by: Changed;
  /** Undefined: it did not exist. */
  readonly base: Field | undefined;
  readonly mine: Field | undefined;
  /** Undefined: it was removed. */
  readonly theirs: Field | undefined;
}

/** All that differs between two people's states of an entry, what both have changed first. */
export const conflictOf = (base: Fields, mine: Fields, theirs: Fields): readonly Difference[] => {
  const { conflicts } = mergeFields(base, mine, theirs);
  const paths = [...conflicts, ...relationConflicts(base, mine, theirs, '')];
  const contested = new Set(paths.map((it) => it.split('/')[0]));
  const isChanged = (name: string, by: Fields): boolean => {
    const [before, after] = [base[name], by[name]];
    return before !== undefined && after !== undefined && !isSameField(before, after);
  };
  const whoChanged = (name: string): Changed | null => {
    const [own, other] = [isChanged(name, mine), isChanged(name, theirs)];
    if (!own) return other ? 'theirs' : null;
    if (!other) return 'mine';
    const [one, two] = [mine[name], theirs[name]];
    if (one && two && isSameField(one, two)) return null;
    return one?.kind === 'parts' ? 'apart' : 'mine';
  };
  const at = (path: FieldPath, by: Changed): Difference => ({
    path,
    by,
    base: somethingAt(base, path),
    mine: somethingAt(mine, path),
    theirs: somethingAt(theirs, path),
  });
  const others = Object.keys(theirs).flatMap((name) => {
    const by = contested.has(name) ? null : whoChanged(name);
    return by === null ? [] : [at(name, by)];
  });
  return [...paths.map((path) => at(path, 'both')), ...others];
};

/** Relations that are sent as a whole: both have chosen other entries. Lists say by themselves what was moved. */
const relationConflicts = (base: Fields, mine: Fields, theirs: Fields, at: FieldPath): readonly FieldPath[] =>
  Object.entries(mine).flatMap(([name, field]): readonly FieldPath[] => {
    const [before, after] = [base[name], theirs[name]];
    const path = pathTo(at, name);
    if (field.kind === 'relation')
      return field.edit !== null &&
        field.edit.kind !== 'list' &&
        after?.kind === 'relation' &&
        before !== undefined &&
        storedIds(before) !== storedIds(after) &&
        editedIds(field.edit) !== storedIds(after)
        ? [path]
        : [];
    if (field.kind !== 'parts' || before?.kind !== 'parts' || after?.kind !== 'parts') return [];
    return field.parts.flatMap((part) => {
      const [was, is] = [partOf(before, part.key), partOf(after, part.key)];
      return was && is ? relationConflicts(was.fields, part.fields, is.fields, `${path}/${part.key}`) : [];
    });
  });

type WholeEdit = Exclude<(Field & { kind: 'relation' })['edit'], null | { readonly kind: 'list' }>;

const editedIds = (edit: WholeEdit): string =>
  (edit.kind === 'one' ? (edit.row ? [edit.row] : []) : edit.rows).map(({ type, id }) => `${type}:${id}`).join();

const storedIds = (field: Field): string =>
  field.kind === 'relation' ? (field.stored ?? []).map(({ type, id }) => `${type}:${id}`).join() : '';

const partOf = ({ parts }: PartsField, key: string) => parts.find((it) => it.key === key);

/** The field at a path; the path of a component leads to a list of it alone. */
const somethingAt = (fields: Fields, path: FieldPath): Field | undefined => {
  const { list, key } = parentOf(path);
  if (key === null) return fieldAt(fields, path);
  const field = fieldAt(fields, list);
  const part = field?.kind === 'parts' ? partOf(field, key) : undefined;
  return part ? { kind: 'parts', parts: [part] } : undefined;
};

/** Paths of fields have an odd number of names. */
const parentOf = (path: FieldPath): { readonly list: FieldPath; readonly key: string | null } => {
  const names = path.split('/');
  return names.length % 2 === 1
    ? { list: path, key: null }
    : { list: names.slice(0, -1).join('/'), key: names.at(-1)! };
};

/** Whose state of a path is to stand; `all`: what each has changed. */
export type Choice = 'theirs' | 'mine' | 'all';

/** What stands unless something else is chosen: everybody's changes, and where both have changed the same, mine. */
export const usualChoice = (by: Changed): Choice => (by === 'both' ? 'mine' : by === 'apart' ? 'all' : by);

/** @param choices by path, where they are not the usual ones. */
export const resolved = (
  base: Fields,
  mine: Fields,
  theirs: Fields,
  choices: ReadonlyMap<FieldPath, Choice>,
): Fields => {
  let { fields } = mergeFields(base, mine, theirs);
  for (const { path, by } of conflictOf(base, mine, theirs)) {
    const choice = choices.get(path) ?? usualChoice(by);
    if (choice === usualChoice(by)) continue;
    const { list, key } = parentOf(path);
    const field =
      choice === 'mine'
        ? fieldAt(mine, path)
        : key === null
          ? fieldAt(theirs, path)
          : withoutPart(fieldAt(fields, list), key);
    if (field) fields = withField(fields, theirs, list, field);
  }
  return fields;
};

const withoutPart = (field: Field | undefined, key: string): Field | undefined =>
  field?.kind === 'parts' ? { kind: 'parts', parts: field.parts.filter((it) => it.key !== key) } : undefined;
