/**
 * THE names: tables, columns and indexes of a model, by the rules of ST1, ST2, ST4, ST5, ST6, ST7. No other code builds
 * table or column names.
 */
import crypto from 'node:crypto';
import snakeCase from 'lodash/snakeCase.js';
import { never } from '../errors.js';
import type { Column, ForeignKey, Index, Table } from '../sql/schema.js';
import { isUniqueInDatabase, scalarTypes } from './attributes.js';
import type { EntryType, IndexKey, LinkAttribute, LinkPath, Model, MorphAttribute, RelationKind } from './model.js';

/** v4 names columns with lodash's snakeCase (ST1); so do we, with the same function. */
export const columnName = (attribute: string): string => snakeCase(attribute);

/** The names that a relation's storage is made of: the declaring model and its target (ST3). */
export interface Named {
  readonly table: string;
  readonly singular: string;
}

/** A link table L with its columns J, I, O and V (ST3). */
export interface LinkTable {
  readonly name: string;
  readonly owner: string;
  readonly target: string;
  /** Order of the targets in the owner's list. */
  readonly ownerRank: string | null;
  /** Order of the owners in the target's list. */
  readonly targetRank: string | null;
}

export const linkTableName = (table: string, attribute: string): string => snakeCase(`${table}_${attribute}_links`);

export const linkTable = (
  owner: Named,
  attribute: string,
  target: Named,
  relation: RelationKind,
  hasInverse: boolean,
): LinkTable => {
  const ownerColumn = snakeCase(`${owner.singular}_id`);
  const targetColumn = snakeCase(`${target.singular}_id`);
  const ownerRank =
    relation === 'oneToMany' || relation === 'manyToMany' ? snakeCase(`${target.singular}_order`) : null;
  const targetRank =
    hasInverse && (relation === 'manyToOne' || relation === 'manyToMany') ? snakeCase(`${owner.singular}_order`) : null;
  return {
    name: linkTableName(owner.table, attribute),
    owner: ownerColumn,
    target: targetColumn === ownerColumn ? `inv_${targetColumn}` : targetColumn,
    ownerRank,
    targetRank:
      relation === 'manyToMany' && targetRank === ownerRank && targetRank !== null ? `inv_${targetRank}` : targetRank,
  };
};

const plain = { fixed: [], typeColumn: null, mayRepeat: true, hasListIndex: false } as const;

export const ownerPath = (link: LinkTable): LinkPath => ({
  ...plain,
  table: link.name,
  from: link.owner,
  to: link.target,
  rank: link.ownerRank,
});
export const inversePath = (link: LinkTable): LinkPath => ({
  ...plain,
  table: link.name,
  from: link.target,
  to: link.owner,
  rank: link.targetRank,
});

/** A to-one relation kept in a column of the owner (`useJoinTable: false`, creator fields). */
export const joinColumn = (attribute: string): string => snakeCase(`${attribute}_id`);
export const joinColumnPath = (table: string, column: string): LinkPath => ({
  ...plain,
  table,
  from: 'id',
  to: column,
  rank: null,
  mayRepeat: false,
});
export const inverseJoinColumnPath = (table: string, column: string): LinkPath => ({
  ...plain,
  table,
  from: column,
  to: 'id',
  rank: null,
  mayRepeat: false,
});

type MorphPath = MorphAttribute['path'];

/** A `morphToMany` attribute has a table of its own, with the type of each entry that it leads to (ST14). */
export const morphManyPath = (owner: Named, attribute: string): MorphPath => ({
  table: snakeCase(`${owner.table}_${attribute}_morphs`),
  from: snakeCase(`${owner.singular}_id`),
  to: `${snakeCase(attribute)}_id`,
  rank: 'order',
  fixed: [],
  typeColumn: `${snakeCase(attribute)}_type`,
  mayRepeat: true,
  hasListIndex: false,
});

/** A `morphToOne` attribute is two columns of its type's table, named the same whatever it is called (ST14). */
export const morphOnePath = (table: string): MorphPath => ({
  table,
  from: 'id',
  to: 'target_id',
  rank: null,
  fixed: [],
  typeColumn: 'target_type',
  mayRepeat: false,
  hasListIndex: false,
});

/**
 * The same links from the entries that they lead to. Links of a `morphToMany` name the attribute that shows them there,
 * so those that were written from the other side appear in none (ST14).
 */
export const morphInversePath = (path: MorphPath, uid: string, attribute: string): LinkPath => ({
  table: path.table,
  from: path.to,
  to: path.from,
  rank: path.rank,
  fixed: [
    { column: path.typeColumn, value: uid },
    ...(path.from === 'id' ? [] : [{ column: 'field', value: attribute }]),
  ],
  typeColumn: null,
  mayRepeat: path.mayRepeat,
  hasListIndex: path.from !== 'id',
});

/** Media are links of the files' polymorphic relation `related` (ST5). */
export const mediaPath = (uid: string, attribute: string): LinkPath =>
  morphInversePath(morphManyPath({ table: 'files', singular: 'file' }, 'related'), uid, attribute);

const partsTable = (table: string): string => `${table}_components`;

/** Components and zones are linked through the owner's `_components` table (ST4). */
export const partPath = (table: string, attribute: string): LinkPath => ({
  table: partsTable(table),
  from: 'entity_id',
  to: 'component_id',
  rank: 'order',
  fixed: [{ column: 'field', value: attribute }],
  typeColumn: 'component_type',
  mayRepeat: true,
  hasListIndex: false,
});

// ---- the tables of a model

const column = (name: string, kind: Column['kind']): Column => ({ name, kind });
const index = (name: string, ...columns: string[]): Index => ({
  name,
  columns,
  descending: [],
  unique: false,
  own: false,
  ofIds: false,
});
const uniqueIndex = (name: string, ...columns: string[]): Index => ({ ...index(name, ...columns), unique: true });
const ownIndex = (name: string, ...columns: string[]): Index => ({ ...index(ownName(name), ...columns), own: true });
/**
 * PostgreSQL truncates names to 63 bytes (ST1), and tables and indexes share a namespace: a longer name ends in a hash,
 * so that it differs from others that begin alike.
 */
const ownName = (name: string): string => (Buffer.byteLength(name) <= 63 ? name : hashedName(name, name));
const hashedName = (name: string, content: string): string => {
  const start = Buffer.from(name)
    .subarray(0, 54)
    .toString()
    .replace(/\uFFFD+$/, '');
  return `${start}_${crypto.hash('sha1', content).slice(0, 8)}`;
};

export const uniqueIndexName = (table: string, column: string): string => `${table}_${column}_unique`;

/** What the names of all configured indexes begin with: those that the configuration no longer names are dropped. */
export const configuredPrefix = 'dovetail_';

/**
 * The columns of a configured index, for both directions: lists are of one locale, end their order with the id, and leave
 * out drafts, so that a page is found in the index alone. The name changes with the columns.
 */
const configuredIndexes = (type: EntryType, keys: readonly IndexKey[]): readonly Index[] =>
  (['asc', 'desc'] as const).map((way) => {
    const keyColumns = keys.map((it) => it.attribute.column);
    const columns = [
      ...new Set([
        ...(type.localized ? ['locale'] : []),
        ...keyColumns,
        'id',
        ...(type.draftAndPublish ? [PUBLISHED_AT] : []),
      ]),
    ];
    const descending = keys.filter((it) => it.direction !== way).map((it) => it.attribute.column);
    const words = keyColumns.map((it) => (descending.includes(it) ? `${it}_desc` : it));
    const name = [`${configuredPrefix}${type.table}`, ...words].join('_');
    return {
      name: hashedName(name, JSON.stringify([type.table, columns, descending])),
      columns,
      descending,
      unique: false,
      own: true,
      ofIds: false,
    };
  });
const PUBLISHED_AT = 'published_at';

const key = (name: string, from: string, target: string, onDelete: ForeignKey['onDelete']): ForeignKey => ({
  name,
  column: from,
  target,
  onDelete,
});

/** Both sides of a relation give the same table. */
const linkTableOf = (attribute: LinkAttribute, type: EntryType, other: EntryType): Table => {
  const { path, inverseRank } = attribute;
  const { table: name } = path;
  const isOwner = attribute.side === 'owner';
  const [owner, target] = isOwner ? [type, other] : [other, type];
  const [from, to] = isOwner ? [path.from, path.to] : [path.to, path.from];
  const [rank, targetRank] = isOwner ? [path.rank, inverseRank] : [inverseRank, path.rank];
  // lists between v4's own types get no index of ours: they are always read whole
  const isOurs = owner.origin === 'project' || target.origin === 'project';
  const ranks = [
    ...(rank === null ? [] : [{ column: rank, index: `${name}_order_fk` }]),
    ...(targetRank === null ? [] : [{ column: targetRank, index: `${name}_order_inv_fk` }]),
  ];
  return {
    name,
    columns: [
      column('id', 'id'),
      column(from, 'reference'),
      column(to, 'reference'),
      ...ranks.map((it) => column(it.column, 'rank')),
    ],
    indexes: [
      index(`${name}_fk`, from),
      index(`${name}_inv_fk`, to),
      uniqueIndex(`${name}_unique`, from, to),
      ...ranks.map((it) => index(it.index, it.column)),
      // finds the ends and neighbours within one list
      ...(rank !== null && isOurs ? [ownIndex(`${name}_list_index`, from, rank)] : []),
      ...(targetRank !== null && isOurs ? [ownIndex(`${name}_list_inv_index`, to, targetRank)] : []),
    ],
    foreignKeys: [key(`${name}_fk`, from, owner.table, 'cascade'), key(`${name}_inv_fk`, to, target.table, 'cascade')],
  };
};

const partsTableOf = (type: EntryType): Table => ({
  name: partsTable(type.table),
  columns: [
    column('id', 'id'),
    column('entity_id', 'reference'),
    column('component_id', 'reference'),
    column('component_type', 'string'),
    column('field', 'string'),
    column('order', 'rank'),
  ],
  indexes: [
    index(`${type.table}_field_index`, 'field'),
    index(`${type.table}_component_type_index`, 'component_type'),
    index(`${type.table}_entity_fk`, 'entity_id'),
    uniqueIndex(`${type.table}_unique`, 'entity_id', 'component_id', 'field', 'component_type'),
  ],
  foreignKeys: [key(`${type.table}_entity_fk`, 'entity_id', type.table, 'cascade')],
});

/** Indexes that v4 declares for the file library (ST7). */
const declaredIndexes: Readonly<Record<string, readonly Index[]>> = {
  files: ['folder_path', 'created_at', 'updated_at', 'name', 'size', 'ext'].map((name) =>
    index(`upload_files_${name}_index`, name),
  ),
  upload_folders: [
    uniqueIndex('upload_folders_path_id_index', 'path_id'),
    uniqueIndex('upload_folders_path_index', 'path'),
  ],
};

/** Tables of v4 without a content type (ST6). */
const settingsTables: readonly Table[] = [
  {
    name: 'strapi_core_store_settings',
    columns: [
      column('id', 'id'),
      column('key', 'string'),
      column('value', 'text'),
      column('type', 'string'),
      column('environment', 'string'),
      column('tag', 'string'),
    ],
    indexes: [],
    foreignKeys: [],
  },
  {
    name: 'strapi_webhooks',
    columns: [
      column('id', 'id'),
      column('name', 'string'),
      column('url', 'text'),
      column('headers', 'json'),
      column('events', 'json'),
      column('enabled', 'boolean'),
    ],
    indexes: [],
    foreignKeys: [],
  },
];

/**
 * Dovetail's own table: webhook deliveries that are not done yet. It is created once there is a webhook. `due_at` is null for
 * those that were given up; times are milliseconds since 1970 UTC.
 */
export const deliveriesTable: Table = {
  name: 'dovetail_deliveries',
  columns: [
    column('id', 'id'),
    column('webhook_id', 'integer'),
    column('subject', 'string'),
    column('message', 'string'),
    column('event', 'string'),
    column('body', 'text'),
    column('created_at', 'bigint'),
    column('due_at', 'bigint'),
    column('attempts', 'integer'),
    column('attempted_at', 'bigint'),
    column('status', 'integer'),
    column('fault', 'text'),
  ],
  indexes: [
    index('dovetail_deliveries_due_index', 'webhook_id', 'due_at', 'id'),
    index('dovetail_deliveries_subject_index', 'webhook_id', 'subject', 'id'),
  ],
  foreignKeys: [],
};

/**
 * Sessions of administrators, created when the first one signs in. `key` names the session to the outside; `secret` and `former`
 * are digests of its refresh tokens, the current one and the one before; `stamp` is a digest of the password that began it. Times
 * are milliseconds since 1970 UTC.
 */
export const sessionsTable: Table = {
  name: 'dovetail_sessions',
  columns: [
    column('id', 'id'),
    column('key', 'string'),
    column('admin_id', 'integer'),
    column('secret', 'string'),
    column('former', 'string'),
    column('stamp', 'string'),
    column('created_at', 'bigint'),
    column('rotated_at', 'bigint'),
    column('expires_at', 'bigint'),
  ],
  indexes: [
    uniqueIndex('dovetail_sessions_key_index', 'key'),
    index('dovetail_sessions_admin_index', 'admin_id', 'id'),
  ],
  foreignKeys: [],
};

const ownNames = [deliveriesTable.name, sessionsTable.name];

/** Whether the table or index is one of ours that no model asks for. */
export const isOwn = (name: string): boolean => ownNames.some((own) => name === own || name.startsWith(`${own}_`));

/** v4's internal tables: never created here, never reported as surplus. */
export const foreignTables: readonly string[] = ['strapi_migrations', 'strapi_database_schema'];

/** Whether the table is one of the server or of v4 that no type may have. SQLite ignores case. */
export const isReserved = (name: string): boolean => {
  const folded = name.toLowerCase();
  return isOwn(folded) || foreignTables.includes(folded) || settingsTables.some((it) => it.name === folded);
};

/** The table of a `morphToMany` attribute (ST14). */
const morphTable = ({ table: name, from, to, typeColumn }: MorphPath, type: EntryType): Table => ({
  name,
  columns: [
    column('id', 'id'),
    column(from, 'reference'),
    column(to, 'reference'),
    column(typeColumn, 'string'),
    column('field', 'string'),
    column('order', 'rank'),
  ],
  indexes: [
    index(`${name}_fk`, from),
    index(`${name}_order_index`, 'order'),
    index(`${name}_id_column_index`, to),
    // entries of all types share the ids, so an id alone finds the rows of many lists
    ownIndex(`${name}_list_index`, to, typeColumn, 'field', 'order', from),
  ],
  foreignKeys: [key(`${name}_fk`, from, type.table, 'cascade')],
});

const entryTable = (type: EntryType, model: Model): Table => {
  const columns: Column[] = [column('id', 'id')];
  const last: Column[] = [];
  const indexes: Index[] = [];
  const foreignKeys: ForeignKey[] = [];
  for (const attribute of type.attributes.values()) {
    switch (attribute.kind) {
      case 'scalar':
        columns.push(column(attribute.column, scalarTypes[attribute.type].column));
        if (isUniqueInDatabase(attribute.type))
          indexes.push(uniqueIndex(uniqueIndexName(type.table, attribute.column), attribute.column));
        break;
      case 'link': {
        const { from, to } = attribute.path;
        if (from !== 'id') break;
        const target = model.types.get(attribute.target)!;
        columns.push(column(to, 'reference'));
        indexes.push(index(`${type.table}_${to}_fk`, to));
        foreignKeys.push(key(`${type.table}_${to}_fk`, to, target.table, 'set null'));
        break;
      }
      case 'morph': {
        const { to, typeColumn } = attribute.path;
        if (attribute.shape === 'many') break;
        last.push(column(to, 'reference'), column(typeColumn, 'string'));
        // every deletion of an entry looks for the columns that name it
        if (type.origin === 'project') indexes.push(ownIndex(`${type.table}_${to}_index`, to));
        break;
      }
      case 'part':
        break;
      default:
        never(attribute);
    }
  }
  // without them, counting published entries and skipping to a later page read whole rows
  if (type.draftAndPublish)
    indexes.push(
      ownIndex(`${type.table}_published_at_index`, PUBLISHED_AT),
      ownIndex(`${type.table}_pages_index`, 'id', PUBLISHED_AT),
    );
  else if (type.kind === 'collection' && type.origin === 'project' && !type.localized)
    indexes.push({ ...ownIndex(`${type.table}_ids_index`, 'id'), ofIds: true });
  // a list of one locale is in order of id, and counted, in the index alone
  if (type.localized)
    indexes.push(
      ownIndex(`${type.table}_locale_index`, 'locale', 'id', ...(type.draftAndPublish ? [PUBLISHED_AT] : [])),
    );
  const configured = type.indexes.flatMap((keys) => configuredIndexes(type, keys));
  // `views` and `views:desc` mean the same two
  indexes.push(...new Map(configured.map((it) => [it.name, it])).values());
  return {
    name: type.table,
    columns: [...columns, ...last],
    indexes: [...indexes, ...(declaredIndexes[type.table] ?? [])],
    foreignKeys,
  };
};

/** Every table that the model needs, targets of foreign keys first where there is no cycle. */
export const tablesOf = (model: Model): readonly Table[] => {
  const entries: Table[] = [];
  const links = new Map<string, Table>();
  for (const type of model.types.values()) {
    entries.push(entryTable(type, model));
    for (const attribute of type.attributes.values()) {
      switch (attribute.kind) {
        case 'scalar':
          break;
        case 'link': {
          const { table, from, to } = attribute.path;
          if (attribute.source === 'relation' && from !== 'id' && to !== 'id')
            links.set(table, linkTableOf(attribute, type, model.types.get(attribute.target)!));
          break;
        }
        case 'morph':
          if (attribute.shape === 'many') links.set(attribute.path.table, morphTable(attribute.path, type));
          break;
        case 'part':
          links.set(partsTable(type.table), partsTableOf(type));
          break;
        default:
          never(attribute);
      }
    }
  }
  return [...entries, ...links.values(), ...settingsTables];
};
