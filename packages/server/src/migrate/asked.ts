/** The words of a command that name types and attributes: `article.titel=title`, `api::post.post=api::article.article`. */
import { orNearest } from '../errors.js';
import type { EntryType, Model, Uid } from '../model/model.js';
import type { AttributeRename } from '../model/renames.js';
import { MigrationFault } from './faults.js';

/** What somebody asks for, as given. */
export interface Asked {
  readonly rename: readonly string[];
  readonly renameType: readonly string[];
  /** Attributes to convert even if values are lost, or although they can be served as they are. */
  readonly convert: readonly string[];
  /** Attributes and types. */
  readonly drop: readonly string[];
  readonly dropTable: readonly string[];
}
export const nothingAsked: Asked = { rename: [], renameType: [], convert: [], drop: [], dropTable: [] };

/** @param option for messages. */
const halves = (text: string, option: string, example: string): readonly [string, string] => {
  const [from = '', to = '', ...rest] = text.split('=').map((it) => it.trim());
  if (from === '' || to === '' || rest.length > 0)
    throw new MigrationFault(`${option} ${text}: expected an old and a new name, as in ${option} ${example}`);
  return [from, to];
};

export interface AskedTypeRename {
  readonly from: Uid;
  readonly to: Uid;
  /** What it is stored in, where the database does not remember that: v4 remembers no components. */
  readonly table: string | undefined;
}

/** `api::post.post=api::article.article`, `shared.seo@components_shared_seos=shared.meta`. */
export const readTypeRename = (text: string, model: Model): AskedTypeRename => {
  const [given, label] = halves(text, '--rename-type', 'api::post.post=api::article.article');
  const [from = '', table] = given.split('@');
  const { uid: to } = findType(label, model, '--rename-type');
  if (model.types.has(from)) throw new MigrationFault(`--rename-type ${text}: ${from} is still in the schema files.`);
  if (!from.includes('.'))
    throw new MigrationFault(`--rename-type ${text}: write the old type as its uid, such as ${to}`);
  return { from, to, table };
};

/** @param formerly old uids of renamed types, which may be used too. */
export const readRename = (
  text: string,
  model: Model,
  formerly: readonly { readonly from: Uid; readonly to: Uid }[],
): AttributeRename => {
  const [place, given] = halves(text, '--rename', 'article.titel=title');
  const { type: label, attribute: from } = splitPlace(place, '--rename');
  const type = findType(formerly.find((it) => it.from === label)?.to ?? label, model, '--rename');
  // the new name may be written as a place too
  const to = given.includes('.') ? splitPlace(given, '--rename').attribute : given;
  if (!type.attributes.has(to))
    throw new MigrationFault(
      `--rename ${text}: ${type.uid} has no attribute "${to}"${orNearest(to, [...type.attributes.keys()])}. Change the schema file first.`,
    );
  return { type: type.uid, from, to };
};

export const readAttribute = (text: string, model: Model, option: string) => {
  const { type: label, attribute } = splitPlace(text, option);
  const type = findType(label, model, option);
  return { type: type.uid, attribute };
};

/** `article.titel`, `api::article.article.titel`, `shared.seo.metaTitle`. */
const splitPlace = (place: string, option: string): { readonly type: string; readonly attribute: string } => {
  const dot = place.lastIndexOf('.');
  if (dot <= 0 || dot === place.length - 1)
    throw new MigrationFault(`${option} ${place}: expected a type and an attribute, as in article.title`);
  return { type: place.slice(0, dot), attribute: place.slice(dot + 1) };
};

/** By uid, or by singular name if one type has it. */
const findType = (label: string, { types }: Model, option: string): EntryType => {
  const byUid = types.get(label);
  if (byUid) return byUid;
  const bySingular = [...types.values()].filter((it) => it.kind !== 'component' && it.singular === label);
  const own = bySingular.filter((it) => it.origin === 'project');
  const [found, ...others] = own.length > 0 ? own : bySingular;
  if (!found) {
    const known = [...types.values()].filter((it) => it.origin === 'project').flatMap((it) => [it.uid, it.singular]);
    throw new MigrationFault(`${option}: there is no type "${label}"${orNearest(label, known)}`);
  }
  if (others.length > 0)
    throw new MigrationFault(
      `${option}: several types are named "${label}": write one of ${[found, ...others].map((it) => it.uid).join(', ')}`,
    );
  return found;
};
