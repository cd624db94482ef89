/**
 * Tables as data: wanted, found, and the statements that add the difference.
 * Nothing but indexes of our own is ever dropped, and nothing is altered (ST9).
 */
import { type CreateTableBuilder, sql } from 'kysely';
import { fixedStatement } from './compile.js';
import {
  type ColumnKind,
  type Db,
  type Dialect,
  type ReadableDb,
  type ReadProgram,
  readRows,
  type Sql,
  type Statement,
} from './dialect.js';

export interface Column {
  readonly name: string;
  readonly kind: ColumnKind;
}
export interface Index {
  readonly name: string;
  readonly columns: readonly string[];
  /** The columns among them in descending order. */
  readonly descending: readonly string[];
  readonly unique: boolean;
  /** Not in v4's layout: existing tables get it too, and v4 may drop it again (ST7). */
  readonly own: boolean;
  /** It holds ids only, and so is of use only where reading the ids of a table reads its rows. */
  readonly ofIds: boolean;
}
export interface ForeignKey {
  readonly name: string;
  readonly column: string;
  readonly target: string;
  readonly onDelete: 'cascade' | 'set null';
}
export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  readonly indexes: readonly Index[];
  readonly foreignKeys: readonly ForeignKey[];
}

/** The contents of a database: table name to column name to declared type, and the names of indexes. */
export interface Catalog {
  readonly tables: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly indexes: ReadonlySet<string>;
  /** Left unfinished when their creation was interrupted: they support nothing. */
  readonly unfinishedIndexes: ReadonlySet<string>;
}

export interface TableDiff {
  readonly missingTables: readonly Table[];
  readonly missingColumns: readonly { readonly table: string; readonly column: Column }[];
  /** Our own indexes, and those on missing columns; stored rows may violate any other. */
  readonly missingIndexes: readonly { readonly table: string; readonly index: Index }[];
  /** Tables with all unique indexes that v4 gives them, those included that additions make. Tables of long ago have none. */
  readonly uniqueTables: readonly string[];
  /** Our own indexes that exist. */
  readonly ownIndexes: readonly { readonly table: string; readonly index: Index }[];
  /** Our own indexes to drop: unfinished ones, and those that are no longer wanted. */
  readonly surplusIndexes: readonly string[];
  readonly surplusTables: readonly string[];
  readonly surplusColumns: readonly { readonly table: string; readonly column: string }[];
  readonly otherTypes: readonly OtherType[];
}

/** Nothing differs; to be spread where something does. */
export const noDiff: TableDiff = {
  missingTables: [],
  missingColumns: [],
  missingIndexes: [],
  uniqueTables: [],
  ownIndexes: [],
  surplusIndexes: [],
  surplusTables: [],
  surplusColumns: [],
  otherTypes: [],
};

/** A column whose type differs from the one that we would create. */
export interface OtherType {
  readonly table: string;
  readonly column: string;
  readonly kind: ColumnKind;
  /** Declared types. */
  readonly wanted: string;
  readonly found: string;
}

export const readCatalog = (db: ReadableDb): Promise<Catalog> => db.read(() => catalogProgram(db.dialect));

export function* catalogProgram({ schema }: Dialect): ReadProgram<Catalog> {
  const columns = yield* readRows(schema.columns);
  const indexes = yield* readRows(schema.indexes);
  const tables = new Map<string, Map<string, string>>();
  for (const [table, column, type] of columns as [string, string, string][]) {
    const known = tables.get(table);
    if (known) known.set(column, type);
    else tables.set(table, new Map([[column, type]]));
  }
  const names = (finished: boolean): ReadonlySet<string> =>
    new Set((indexes as [string, number][]).filter(([, it]) => (it === 1) === finished).map(([name]) => name));
  return { tables, indexes: names(true), unfinishedIndexes: names(false) };
}

/** @param ownPrefix names of indexes that begin with it are dropped when they are not wanted. */
export const diffTables = (
  wanted: readonly Table[],
  found: Catalog,
  db: ReadableDb,
  ownPrefix: string | null = null,
): TableDiff => {
  const { schema, columnTypes } = db.dialect;
  const missingTables: Table[] = [];
  const missingColumns: { table: string; column: Column }[] = [];
  const missingIndexes: { table: string; index: Index }[] = [];
  const uniqueTables: string[] = [];
  const ownIndexes: { table: string; index: Index }[] = [];
  const surplusColumns: { table: string; column: string }[] = [];
  const otherTypes: OtherType[] = [];
  const wantedIndexes = new Set<string>();
  const surplusIndexes: string[] = [];
  const wantedNames = new Set<string>();
  for (const it of wanted) {
    const table = schema.hasRowsById ? it : { ...it, indexes: it.indexes.filter(({ ofIds }) => !ofIds) };
    const name = schema.storedName(table.name);
    wantedNames.add(name);
    const columns = found.tables.get(name);
    const unique = table.indexes.filter((index) => index.unique);
    if (!columns) {
      missingTables.push(table);
      if (unique.length > 0) uniqueTables.push(table.name);
      continue;
    }
    const wantedColumns = new Set(table.columns.map((column) => schema.storedName(column.name)));
    for (const column of table.columns) {
      const type = columns.get(schema.storedName(column.name));
      if (type === undefined) missingColumns.push({ table: table.name, column });
      else if (!schema.holds(type, column.kind)) {
        const { name: columnName, kind } = column;
        otherTypes.push({ table: table.name, column: columnName, kind, wanted: columnTypes[kind], found: type });
      }
    }
    const isNew = (index: Index): boolean => index.columns.some((column) => !columns.has(schema.storedName(column)));
    const isThere = (index: Index): boolean => found.indexes.has(schema.storedName(index.name));
    if (unique.length > 0 && unique.every((index) => isThere(index) || isNew(index))) uniqueTables.push(table.name);
    for (const index of table.indexes) {
      const indexName = schema.storedName(index.name);
      // a column of another type may hold values that an index refuses, so that writing them would fail
      if (index.own && otherTypes.some((it) => it.table === table.name && index.columns.includes(it.column))) continue;
      wantedIndexes.add(indexName);
      if (isThere(index) && index.own) ownIndexes.push({ table: table.name, index });
      if (index.own && found.unfinishedIndexes.has(indexName)) surplusIndexes.push(indexName);
      if (!isThere(index) && (isNew(index) || index.own)) missingIndexes.push({ table: table.name, index });
    }
    for (const column of columns.keys())
      if (!wantedColumns.has(column)) surplusColumns.push({ table: table.name, column });
  }
  const surplusTables = [...found.tables.keys()].filter((name) => !wantedNames.has(name));
  if (ownPrefix !== null)
    for (const name of [...found.indexes, ...found.unfinishedIndexes])
      if (name.startsWith(ownPrefix) && !wantedIndexes.has(name)) surplusIndexes.push(name);
  return {
    missingTables,
    missingColumns,
    missingIndexes,
    uniqueTables,
    ownIndexes,
    surplusIndexes,
    surplusTables,
    surplusColumns,
    otherTypes,
  };
};

/**
 * Names that the database would cut to the same, in words: of columns, of tables, and of what is missing of v4's indexes, which
 * share the names of tables.
 */
export const sameNames = (
  wanted: readonly Table[],
  { missingTables, missingIndexes }: TableDiff,
  { dialect: { schema } }: ReadableDb,
): readonly string[] => {
  const indexes = [
    ...missingTables.flatMap((table) => table.indexes.map((index) => ({ table: table.name, index }))),
    ...missingIndexes,
  ].filter(({ index }) => !index.own);
  const names = [
    ...wanted.map(({ name }) => ({ of: '', name, what: `table ${name}` })),
    ...indexes.map(({ table, index: { name } }) => ({ of: '', name, what: `index ${name} of ${table}` })),
    ...wanted.flatMap(({ name: table, columns }) =>
      columns.map(({ name }) => ({ of: table, name, what: `column ${table}.${name}` })),
    ),
  ];
  const known = new Map<string, (typeof names)[number]>();
  return names.flatMap((it) => {
    const stored = `${it.of}\n${schema.storedName(it.name)}`;
    const other = known.get(stored);
    if (!other) known.set(stored, it);
    return other && other.name !== it.name ? [`${other.what} and ${it.what}`] : [];
  });
};

/** A statement outside the transaction of the others, and what it does: `creates articles_pages_index on articles (id)`. */
export interface IndexChange {
  readonly what: string;
  readonly statement: Statement;
}

/**
 * How our own indexes on existing tables come and go: one by one and outside a transaction, because creating one on a
 * large table takes long, and others write to it in the meantime.
 */
export const planIndexes = (
  { surplusIndexes, missingIndexes }: TableDiff,
  { dialect }: ReadableDb,
): readonly IndexChange[] => [
  ...surplusIndexes.map((name) => ({
    what: `drops ${name}`,
    statement: dialect.compile(sql`drop index ${dialect.schema.unlocked}if exists ${sql.id(name)}`),
  })),
  ...missingIndexes
    .filter(({ index }) => index.own)
    .map(({ table, index }) => ({
      what: `creates ${index.name} on ${table} (${indexColumns(index).join(', ')})`,
      // another process may have been faster
      statement: dialect.compile(createIndex(table, index, sql`${dialect.schema.unlocked}if not exists `)),
    })),
];

/** The columns as `views desc`. */
export const indexColumns = ({ columns, descending }: Pick<Index, 'columns' | 'descending'>): readonly string[] =>
  columns.map((it) => (descending.includes(it) ? `${it} desc` : it));

const createIndex = (table: string, { name, columns, descending, unique }: Index, how: Sql): Sql => {
  const keys = columns.map((it) => (descending.includes(it) ? sql`${sql.ref(it)} desc` : sql.ref(it)));
  return sql`create ${unique ? sql`unique index` : sql`index`} ${how}${sql.id(name)} on ${sql.table(table)} (${sql.join(keys)})`;
};

/** The statements that add what is missing, in an order the database accepts. */
export const planAdditions = (diff: TableDiff, db: ReadableDb): readonly Statement[] => {
  const { columnTypes, schema } = db.dialect;
  const { builder } = schema;
  const statement = (built: { compile(): { sql: string } }): Statement => fixedStatement(built.compile().sql);
  const type = (column: Column) => sql.raw(columnTypes[column.kind]);
  const statements: Statement[] = [];
  const afterwards: Statement[] = [];
  for (const table of diff.missingTables) {
    let create: CreateTableBuilder<string, string> = builder.createTable(table.name);
    for (const column of table.columns) create = create.addColumn(column.name, type(column) as never);
    for (const key of table.foreignKeys) {
      if (schema.foreignKeys === 'with the table') {
        create = create.addForeignKeyConstraint(key.name, [key.column], key.target, ['id'], (it) =>
          it.onDelete(key.onDelete),
        );
      } else {
        // foreign keys may be circular
        afterwards.push(
          statement(
            builder
              .alterTable(table.name)
              .addForeignKeyConstraint(key.name, [key.column], key.target, ['id'], (it) => it.onDelete(key.onDelete)),
          ),
        );
      }
    }
    statements.push(statement(create));
  }
  for (const { table, column } of diff.missingColumns) {
    statements.push(statement(builder.alterTable(table).addColumn(column.name, type(column) as never)));
  }
  const indexes = [
    ...diff.missingTables.flatMap((table) => table.indexes.map((index) => ({ table: table.name, index }))),
    ...diff.missingIndexes,
  ];
  for (const { table, index } of indexes) {
    if (index.unique && schema.uniqueAs === 'constraint') {
      statements.push(statement(builder.alterTable(table).addUniqueConstraint(index.name, [...index.columns])));
      continue;
    }
    statements.push(db.dialect.compile(createIndex(table, index, sql``)));
  }
  return [...statements, ...afterwards];
};

/** Adds what is missing, all or nothing. */
export const applyAdditions = (statements: readonly Statement[], db: Db): Promise<void> =>
  db.writeAlone(async (tx) => {
    for (const statement of statements) await tx.run(statement);
  });
