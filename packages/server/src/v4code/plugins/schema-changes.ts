/** Schemas that code gives to content types of plugins: they may repeat what the schema file says, and not change it. */
import isEqual from 'lodash/isEqual.js';
import omit from 'lodash/omit.js';
import { builtinSchemas } from '../../model/builtin.js';
import { type DeclaredAttribute, readAttribute } from '../../model/schema.js';
import { isMembers, type Members } from '../loading/parts.js';

/** A content type of a plugin. */
export interface PluginType {
  /** `plugin::users-permissions.user`. */
  readonly uid: string;
  /** As code was shown it. */
  readonly described: Members;
  /** What its schema file in the project says; undefined without one. */
  readonly file: unknown;
}

/** What a given schema changes of a type, for a message: `adds the attribute phone`. Null if it says the same. */
export const schemaChange = (given: unknown, { uid, described, file }: PluginType): string | null => {
  if (given === undefined) return null;
  if (!isMembers(given)) return 'has no schema that is an object';
  const [part] = ['kind', 'collectionName'].filter((it) => given[it] !== undefined && given[it] !== described[it]);
  if (part !== undefined) return `changes its ${part}`;
  const option = changedOption(given, { described, file });
  if (option !== null) return `changes its options.${option}`;
  const base = attributesOf(file ?? builtinSchemas.get(uid));
  const shown = attributesOf(described);
  const own = attributesOf(given);
  const isSame = (name: string): boolean =>
    isEqual(own[name], shown[name]) || isSameAttribute(own[name], base[name], file === undefined);
  const names = Object.keys(own);
  const isKnown = (name: string): boolean => Object.hasOwn(base, name) || Object.hasOwn(shown, name);
  return (
    listed(
      'adds',
      names.filter((it) => !isKnown(it)),
    ) ??
    listed(
      'changes',
      names.filter((it) => isKnown(it) && !isSame(it)),
    ) ??
    listed(
      'leaves out',
      Object.keys(base).filter((it) => !Object.hasOwn(own, it)),
    )
  );
};

/** Options that the model reads from the schema file: as code gives them they would have no effect. */
const changedOption = (given: Members, { described, file }: Pick<PluginType, 'described' | 'file'>): string | null => {
  const own = optionsOf(given);
  const known = [optionsOf(described), optionsOf(file)];
  const isSame = (read: (options: Members) => unknown): boolean => known.some((it) => isEqual(read(it), read(own)));
  // one that is left out is as the schema file says
  const isChanged = (name: string, read: (options: Members) => unknown): boolean =>
    own[name] !== undefined && !isSame(read);
  if (isChanged('privateAttributes', ({ privateAttributes: names }) => namesIn(names))) return 'privateAttributes';
  return (
    ['draftAndPublish', 'populateCreatorFields'].find((name) =>
      isChanged(name, ({ [name]: value }) => value === true),
    ) ?? null
  );
};

const optionsOf = (schema: unknown): Members => {
  const { options } = isMembers(schema) ? schema : {};
  return isMembers(options) ? options : {};
};

const namesIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? [...new Set(value.map(String))].sort() : [];

const listed = (verb: string, names: readonly string[]): string | null =>
  names.length === 0 ? null : `${verb} the attribute${names.length > 1 ? 's' : ''} ${names.join(', ')}`;

const attributesOf = (schema: unknown): Members => {
  const { attributes } = isMembers(schema) ? schema : {};
  return isMembers(attributes) ? attributes : {};
};

/** @param isBuiltin the server's own schema leaves out what its endpoints look after themselves. */
const isSameAttribute = (own: unknown, base: unknown, isBuiltin: boolean): boolean => {
  if (isEqual(bare(own), bare(base))) return true;
  const [a, b] = [declaredBy(own), declaredBy(base)];
  if (a === null || b === null) return false;
  const unread = ['required', 'rules.required', 'searchable'];
  return isBuiltin ? isEqual(omit(a, unread), omit(b, unread)) : isEqual(a, b);
};

/** Without what no model reads: custom fields of the configuration are not known here. */
const bare = (attribute: unknown): unknown => (isMembers(attribute) ? omit(attribute, ['configurable']) : attribute);

const declaredBy = (attribute: unknown): DeclaredAttribute | null =>
  readAttribute(attribute, '', {}, { fault: () => undefined, warn: () => undefined });
