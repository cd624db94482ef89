/** `export`: content as lines of JSON, for another database, of either kind. One state of the database, whatever its size. */
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import { makeFolder } from '../../folders.js';
import { readDefaultCode } from '../../read/locales.js';
import type { Dialect, JsonField, Snapshot, Sql } from '../../sql/dialect.js';
import { postgresUrl } from '../config.js';
import { requireComplete } from '../layout.js';
import { newProgress } from '../progress.js';
import { countOf, openDatabase, openProject, type Project } from '../project.js';
import { StartFault } from '../start-fault.js';
import { endLine, headerLine } from './header.js';
import { layoutOf, namedTypes, type Scope, type TransferTable, transferTables } from './tables.js';
import { exported, formOf, type Json, jsonText, parseJson } from './values.js';

export interface ExportOptions {
  readonly scope: Scope;
}

/** @param file `-` for standard output. */
export const exportContent = async (dir: string, file: string, { scope }: ExportOptions): Promise<void> => {
  const opened = await openProject(dir);
  if (file !== '-' && fs.existsSync(file)) throw new StartFault(`${file} exists already.`);
  const db = await openDatabase(opened, { readOnly: true });
  try {
    const project = await requireComplete(opened, db);
    const defaultLocale = await db.read(() => readDefaultCode(db.dialect));
    const tables = transferTables(project.model, scope);
    const out = openOutput(file);
    try {
      await out.write(headerLine({ scope, defaultLocale, tables: layoutOf(tables) }));
      const snapshot = await openSnapshot(project);
      const writing = { snapshot, dialect: db.dialect, write: out.write };
      const said = await writeRows(tables, namedTypes(project.model, scope), writing).finally(() => snapshot.close());
      await out.end();
      process.stderr.write(said);
    } catch (fault) {
      out.discard();
      throw fault;
    }
  } finally {
    await db.close();
  }
};

const openSnapshot = async ({ dir, env }: Project): Promise<Snapshot> => {
  if (env.DATABASE_CLIENT === 'sqlite') {
    const { openSqliteSnapshot } = await import('../../sql/sqlite/snapshot.js');
    return openSqliteSnapshot(path.resolve(dir, env.DATABASE_FILENAME));
  }
  const { openPostgresSnapshot } = await import('../../sql/postgres/snapshot.js');
  return openPostgresSnapshot(postgresUrl(env));
};

interface Output {
  /** A line. */
  write(line: string): Promise<void>;
  /** Only now does the file have its name. */
  end(): Promise<void>;
  discard(): void;
}

const openOutput = (file: string): Output => {
  const part = `${file}.part`;
  if (file !== '-') makeFolder(path.dirname(path.resolve(file)));
  const stream = file === '-' ? process.stdout : fs.createWriteStream(part, { mode: 0o600 });
  let fault: Error | null = null;
  stream.on('error', (it) => {
    fault ??= it;
  });
  const check = (): void => {
    if (fault) throw fault;
  };
  return {
    write: async (line) => {
      check();
      if (stream.write(`${line}\n`)) return;
      await whenDrained(stream);
      check();
    },
    end: async () => {
      if (stream instanceof fs.WriteStream) {
        stream.end();
        await once(stream, 'close');
      }
      check();
      if (file !== '-') fs.renameSync(part, file);
    },
    discard: () => {
      if (!(stream instanceof fs.WriteStream)) return;
      stream.destroy();
      fs.rmSync(part, { force: true });
    },
  };
};

/** Also resolves if the stream fails or closes. */
const whenDrained = async (stream: NodeJS.WritableStream): Promise<void> => {
  const over = new AbortController();
  const { signal } = over;
  try {
    await Promise.race([once(stream, 'drain', { signal }), once(stream, 'close', { signal })]);
  } catch {
    // its listener keeps the fault
  } finally {
    over.abort();
  }
};

interface Writing {
  readonly snapshot: Snapshot;
  readonly dialect: Dialect;
  readonly write: (line: string) => Promise<void>;
}

/** Rows in memory at a time. */
const ROWS_PER_PAGE = 500;

/** Returns what to say of them once the file has its name. */
const writeRows = async (
  tables: readonly TransferTable[],
  types: readonly string[] | null,
  { snapshot, dialect, write }: Writing,
): Promise<string> => {
  const progress = newProgress('rows written');
  let rows = 0;
  let left = 0;
  for (const table of tables) {
    const before = rows;
    const start = `{"table":${JSON.stringify(table.name)},"row":`;
    for (let last: number | null = null; ; ) {
      const page = await snapshot.rows(dialect.compile(pageQuery(table, types, last, dialect)));
      for (const [, ...texts] of page) await write(`${start}${rowText(table, texts as readonly string[])}}`);
      rows += page.length;
      progress.count(rows);
      if (page.length < ROWS_PER_PAGE) break;
      last = Number(page.at(-1)![0]);
    }
    if (!table.isLink) continue;
    const [[count] = []] = await snapshot.rows(dialect.compile(sql`select count(*) from ${sql.table(table.name)}`));
    left += Number(count) - (rows - before);
  }
  await write(endLine(rows));
  progress.end();
  const written = `${countOf(rows, 'row')} of ${countOf(tables.length, 'table')}\n`;
  if (left === 0) return written;
  return `${written}${countOf(left, 'link')} left out: they are repeated, or lead to entries that do not exist or are not exported\n`;
};

const rowText = ({ columns }: TransferTable, texts: readonly string[]): string => {
  const values = new Map(texts.flatMap((text) => [...(parseJson(text) as ReadonlyMap<string, Json>)]));
  const members = columns.flatMap(({ name, kind }) => {
    const value = exported(kind, values.get(name) ?? null);
    return value === null ? [] : [`${JSON.stringify(name)}:${jsonText(value)}`];
  });
  return `{${members.join(',')}}`;
};

/** The id and all columns of the rows that follow, as texts of JSON. */
const pageQuery = (
  table: TransferTable,
  types: readonly string[] | null,
  last: number | null,
  dialect: Dialect,
): Sql => {
  const { name, columns, references, emptied, polymorphic, isLink } = table;
  const at = (column: string): Sql => sql.ref(`t.${column}`);
  const leads = (reference: TransferTable['references'][number]): Sql =>
    sql`exists (select 1 from ${sql.table(reference.target)} as ${sql.id('r')} where ${sql.ref('r.id')} = ${at(reference.column)})`;
  const isNamed = ({ type }: TransferTable['polymorphic'][number]): Sql | null =>
    types && sql`${at(type)} in (${sql.join(types)})`;
  const fields = columns.map(({ name: column, kind }): JsonField | null => {
    if (emptied.has(column)) return null;
    const conditions: Sql[] = isLink
      ? []
      : [
          ...references.filter((it) => it.column === column).map(leads),
          ...polymorphic.filter((it) => it.id === column || it.type === column).flatMap((it) => isNamed(it) ?? []),
        ];
    const value = conditions.reduce((inner, it) => sql`case when ${it} then ${inner} end`, at(column));
    return { name: column, form: formOf[kind], column: value };
  });
  const objects = chunks(
    fields.filter((it) => it !== null),
    Math.min(dialect.jsonPairsMax, 40),
  ).map((some) => dialect.jsonObject(some));
  const where = [
    ...(last === null ? [] : [sql`${at('id')} > ${last}`]),
    ...(isLink ? [...references.map(leads), ...polymorphic.flatMap((it) => isNamed(it) ?? [])] : []),
    ...(isLink && references.length === 2 ? [isFirst(table)] : []),
  ];
  return sql`select ${at('id')}, ${sql.join(objects)} from ${sql.table(name)} as ${sql.id('t')}${where.length === 0 ? sql`` : sql` where ${sql.join(where, sql` and `)}`} order by ${at('id')} limit ${sql.lit(ROWS_PER_PAGE)}`;
};

/** Databases of long ago may hold a pair twice (ST10), which newer tables refuse. */
const isFirst = ({ name, references: [from, to] }: TransferTable): Sql =>
  sql`not exists (select 1 from ${sql.table(name)} as ${sql.id('p')} where ${sql.ref(`p.${from!.column}`)} = ${sql.ref(`t.${from!.column}`)} and ${sql.ref(`p.${to!.column}`)} = ${sql.ref(`t.${to!.column}`)} and ${sql.ref('p.id')} < ${sql.ref('t.id')})`;

const chunks = <T>(items: readonly T[], size: number): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_none, i) => items.slice(i * size, (i + 1) * size));
