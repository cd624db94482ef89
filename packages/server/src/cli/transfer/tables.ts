/** Which tables an export has, in which order, and which of their rows and columns lead to others. */
import crypto from 'node:crypto';
import { type EntryType, FILE_UID, LOCALE_UID, type Model, ROLE_UID, USER_UID } from '../../model/model.js';
import { tablesOf } from '../../model/storage.js';
import type { Column, ForeignKey, Table } from '../../sql/schema.js';

/**
 * `content`: entries, components, files, folders and locales. `users`: these, and the users of the content API with their roles and
 * permissions. `all`: every table of the model, with administrators, tokens and settings.
 */
export const scopes = ['content', 'users', 'all'] as const;
export type Scope = (typeof scopes)[number];

export interface TransferTable {
  readonly name: string;
  readonly columns: readonly Column[];
  /** Columns that hold the id of a row of a table in scope. A link row needs both of its rows; of other rows they are emptied. */
  readonly references: readonly ForeignKey[];
  /** Columns that lead to tables out of scope: they are left empty. */
  readonly emptied: ReadonlySet<string>;
  /** Columns that name an entry of any type. */
  readonly polymorphic: readonly { readonly id: string; readonly type: string }[];
  readonly isLink: boolean;
}

/** In an order in which rows come after those that they refer to, where there is no cycle; the same for equal models. */
export const transferTables = (model: Model, scope: Scope): readonly TransferTable[] => {
  const types = [...model.types.values()];
  const inScope = new Set(types.filter((it) => isInScope(it, scope)).map((it) => it.table));
  const entryTables = new Set(types.map((it) => it.table));
  const polymorphic = polymorphicColumns(types);
  const isTransferred = ({ name, foreignKeys }: Table): boolean => {
    // the copy must not send what the original has yet to send
    if (name.startsWith(ownPrefix)) return false;
    if (scope === 'all') return true;
    return entryTables.has(name)
      ? inScope.has(name)
      : foreignKeys.length > 0 && foreignKeys.every(({ target }) => inScope.has(target));
  };
  const chosen = tablesOf(model)
    .filter(isTransferred)
    .map((table): TransferTable => {
      const leadsOut = ({ target }: ForeignKey): boolean => scope !== 'all' && !inScope.has(target);
      return {
        name: table.name,
        columns: table.columns,
        references: table.foreignKeys.filter((it) => !leadsOut(it)),
        emptied: new Set(table.foreignKeys.filter(leadsOut).map((it) => it.column)),
        polymorphic: polymorphic.get(table.name) ?? [],
        isLink: !entryTables.has(table.name),
      };
    });
  return inOrder(chosen);
};

/** The types that polymorphic columns may name; null for any. */
export const namedTypes = (model: Model, scope: Scope): readonly string[] | null =>
  scope === 'all' ? null : [...model.types.values()].filter((it) => isInScope(it, scope)).map((it) => it.uid);

/** Of tables that are not v4's: what this server has under way. */
const ownPrefix = 'dovetail_';

const contentTypes: readonly string[] = [FILE_UID, 'plugin::upload.folder', LOCALE_UID];
const userTypes: readonly string[] = [USER_UID, ROLE_UID, 'plugin::users-permissions.permission'];

const isInScope = ({ uid, origin }: EntryType, scope: Scope): boolean =>
  scope === 'all' ||
  origin === 'project' ||
  contentTypes.includes(uid) ||
  (scope === 'users' && userTypes.includes(uid));

/** By table. */
const polymorphicColumns = (types: readonly EntryType[]): ReadonlyMap<string, TransferTable['polymorphic']> => {
  const found = new Map<string, TransferTable['polymorphic']>();
  for (const type of types)
    for (const attribute of type.attributes.values()) {
      if (attribute.kind !== 'morph') continue;
      const { table, to, typeColumn } = attribute.path;
      found.set(table, [{ id: to, type: typeColumn }]);
    }
  return found;
};

const inOrder = (tables: readonly TransferTable[]): readonly TransferTable[] => {
  const waiting = [...tables].sort((a, b) => (a.name < b.name ? -1 : 1));
  const ordered: TransferTable[] = [];
  const done = new Set<string>();
  while (waiting.length > 0) {
    const isFree = ({ name, references }: TransferTable): boolean =>
      references.every(({ target }) => target === name || done.has(target));
    // in a cycle the first goes first
    const [next] = waiting.splice(Math.max(0, waiting.findIndex(isFree)), 1);
    if (!next) break;
    ordered.push(next);
    done.add(next.name);
  }
  return ordered;
};

/** Tables and columns with their kinds, as the header of an export lists them. */
export type Layout = Readonly<Record<string, Readonly<Record<string, string>>>>;

export const layoutOf = (tables: readonly TransferTable[]): Layout =>
  Object.fromEntries(
    tables.map(({ name, columns }) => [name, Object.fromEntries(columns.map((it) => [it.name, it.kind]))]),
  );

export const fingerprintOf = (layout: Layout): string =>
  crypto.hash(
    'sha256',
    JSON.stringify(
      Object.entries(layout)
        .map(([table, columns]) => [table, Object.entries(columns).sort()] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  );
