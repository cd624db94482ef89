/** `import`: puts an export into a database with the same model, whole or not at all, with the ids that it had. */
import fs from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { FILE_UID, USER_UID } from '../../model/model.js';
import { ConstraintFault, type Db, type DbValue, type NewRow, type Tx } from '../../sql/dialect.js';
import { savepoint } from '../../sql/savepoint.js';
import { prepareData } from '../bootstrap.js';
import { faultOfFile } from '../given-file.js';
import { bringUp, storedProject } from '../layout.js';
import { storeDefault } from '../locales.js';
import { newProgress } from '../progress.js';
import { countOf, openDatabase, openProject, type Project } from '../project.js';
import { uploadsDirOf } from '../site.js';
import { StartFault } from '../start-fault.js';
import { actionsOfCode } from '../v4project/running-code.js';
import { differences, type Header, readHeader, VERSION } from './header.js';
import { layoutOf, type TransferTable, transferTables } from './tables.js';
import { imported, type Json, jsonText, parseJson } from './values.js';

export interface ImportOptions {
  /** Deletes what is there, instead of refusing a database that has content. */
  readonly replace: boolean;
}

/** @param file `-` for standard input. */
export const importContent = async (dir: string, file: string, { replace }: ImportOptions): Promise<void> => {
  const opened = await openProject(dir);
  const absent = file === '-' ? null : faultOfFile(file);
  if (absent !== null) throw new StartFault(absent);
  const lines = linesOf(file);
  const header = await firstLine(file, lines);
  const db = await openDatabase(opened);
  try {
    const { model } = await storedProject(opened, db);
    const tables = transferTables(model, header.scope);
    const found = differences(header.tables, layoutOf(tables));
    if (found.length > 0) throw new StartFault(`${file} is of another model:${list(found)}`);
    const logger = pino({ level: 'warn' }, pino.destination(2));
    const project = await bringUp(opened, db, logger);
    // what it says is of the seeds and roles of a new database
    await prepareData(project, db, pino({ level: 'silent' }), {
      withEntries: false,
      ownActions: () => actionsOfCode(project, db),
    });
    let replaced = new Set<string>();
    const rows = await db.writeAlone(async (tx) => {
      if (replace) replaced = await readFiles(project, tx, db);
      await makeRoom(project, tables, tx, db, replace);
      const count = await insertRows(tables, lines, { file, tx, db });
      // with settings it is among them
      if (header.scope !== 'all') await storeDefault(header.defaultLocale, db.dialect, tx);
      for (const it of replaced.size > 0 ? await readFiles(project, tx, db) : []) replaced.delete(it);
      return count;
    });
    process.stderr.write(`${countOf(rows, 'row')} of ${countOf(tables.length, 'table')} imported\n`);
    const left = filesLeft(project.dir, replaced);
    if (left.length > 0)
      process.stderr.write(
        `${countOf(left.length, 'file')} of the replaced library ${left.length === 1 ? 'is' : 'are'} in no row any more, and left in public/uploads; remove what you do not need:${list(left)}\n`,
      );
  } finally {
    await db.close();
  }
};

/** Paths of files of the library and of their formats that the server itself serves: `/uploads/a.png`. */
const readFiles = async ({ model }: Project, tx: Tx, { dialect }: Db): Promise<Set<string>> => {
  const rows = await tx.run(
    dialect.compile(
      sql`select url, cast(formats as text) from ${sql.table(model.types.get(FILE_UID)!.table)} where url like '/uploads/%'`,
    ),
  );
  return new Set(
    rows.flatMap(([url, formats]) => [
      String(url),
      ...[...String(formats ?? '').matchAll(/"url": ?"(\/uploads\/[^"\\]+)"/g)].map(([, it = '']) => it),
    ]),
  );
};

/** Those that are on the disk, sorted. */
const filesLeft = (dir: string, urls: ReadonlySet<string>): readonly string[] =>
  [...urls]
    .map((it) => it.replace(/^\/uploads\//, ''))
    .filter((it) => fs.existsSync(path.join(uploadsDirOf(dir), path.basename(it))))
    .sort();

const LISTED_MAX = 10;

const list = (items: readonly string[]): string =>
  [...items.slice(0, LISTED_MAX), ...(items.length > LISTED_MAX ? [`and ${items.length - LISTED_MAX} more`] : [])]
    .map((it) => `\n  ${it}`)
    .join('');

interface Line {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

/** Ended by `\n` only: `node:readline` would also cut at U+2028, which a text of JSON may hold. */
async function* linesOf(file: string): AsyncGenerator<Line, void> {
  const input = file === '-' ? process.stdin : fs.createReadStream(file);
  input.setEncoding('utf8');
  let number = 0;
  let parts: string[] = [];
  for await (const chunk of input) {
    const [first = '', ...others] = String(chunk).split('\n');
    parts.push(first);
    for (const it of others) {
      number += 1;
      yield { number, text: parts.join('') };
      parts = [it];
    }
  }
  const last = parts.join('');
  if (last !== '') yield { number: number + 1, text: last };
}

const firstLine = async (file: string, lines: AsyncGenerator<Line, void>): Promise<Header> => {
  const { value } = await lines.next();
  const header = value ? readHeader(value.text) : null;
  if (!header) throw new StartFault(`${file}, line 1: this is no export of dovetail export`);
  if ('laterVersion' in header)
    throw new StartFault(
      `${file}, line 1: version ${header.laterVersion} of the format; this Dovetail reads version ${VERSION}`,
    );
  return header;
};

/** Empties the tables. What a start puts there (locales, roles) may go; content only if that was asked for. */
const makeRoom = async (
  { model }: Project,
  tables: readonly TransferTable[],
  tx: Tx,
  { dialect }: Db,
  replace: boolean,
): Promise<void> => {
  const isContent = ({ origin, uid }: { readonly origin: string; readonly uid: string }): boolean =>
    origin === 'project' || uid === FILE_UID || uid === USER_UID;
  const content = new Set([...model.types.values()].filter(isContent).map((it) => it.table));
  const occupied: string[] = [];
  for (const { name } of replace ? [] : tables.filter((it) => content.has(it.name))) {
    const [[count] = []] = await tx.run(dialect.compile(sql`select count(*) from ${sql.table(name)}`));
    if (Number(count) > 0) occupied.push(`${name}: ${countOf(Number(count), 'row')}`);
  }
  if (occupied.length > 0)
    throw new StartFault(`The database has content, which --replace would delete:${list(occupied)}`);
  for (const { name } of [...tables].reverse()) await tx.run(dialect.compile(sql`delete from ${sql.table(name)}`));
};

interface Inserting {
  readonly file: string;
  readonly tx: Tx;
  readonly db: Db;
}

interface ReadRow {
  readonly line: number;
  readonly row: NewRow;
}

/** A reference to a row that comes later. */
interface Deferred {
  readonly table: string;
  readonly column: string;
  readonly id: DbValue;
  readonly value: DbValue;
}

/** Rows sent to the database at a time. */
const ROWS_PER_BATCH = 200;

/** Returns their number. */
const insertRows = async (
  tables: readonly TransferTable[],
  lines: AsyncGenerator<Line, void>,
  { file, tx, db: { dialect } }: Inserting,
): Promise<number> => {
  const places = new Map(tables.map((it, place) => [it.name, { table: it, place }]));
  /** Columns that may refer to rows that come later. */
  const later = new Map(
    tables.map(({ name, references }, place) => [
      name,
      new Set(references.filter(({ target }) => (places.get(target)?.place ?? -1) >= place).map((it) => it.column)),
    ]),
  );
  const progress = newProgress('rows read');
  const deferred: Deferred[] = [];
  let batch: ReadRow[] = [];
  const flush = async (): Promise<void> => {
    const some = batch;
    batch = [];
    await insertBatch(some, file, tx, dialect);
  };
  let rows = 0;
  let announced: number | null = null;
  for await (const line of lines) {
    const fail = faultAt(file, line.number);
    if (line.text.trim() === '') continue;
    if (announced !== null) throw fail('nothing may follow the last line');
    const read = readLine(line.text, fail);
    if (read.kind === 'end') {
      announced = read.rows;
      if (read.rows !== rows) throw fail(`the file had ${countOf(read.rows, 'row')}, and has ${rows}`);
      continue;
    }
    const known = places.get(read.table);
    if (!known) throw fail(`there is no table ${read.table} in line 1`);
    batch.push({ line: line.number, row: newRow(known.table, read.row, later.get(read.table)!, deferred, fail) });
    rows += 1;
    progress.count(rows);
    if (batch.length === ROWS_PER_BATCH) await flush();
  }
  await flush();
  progress.end();
  if (announced === null) throw new StartFault(`${file} ends before its last line: it was cut off`);
  for (const { table, column, id, value } of deferred)
    await tx.run(
      dialect.compile(
        sql`update ${sql.table(table)} set ${sql.ref(column)} = ${dialect.bind('reference', value)} where id = ${dialect.bind('id', id)}`,
      ),
    );
  for (const { name } of tables) {
    const statement = dialect.continueIds(name);
    if (statement) await tx.run(statement);
  }
  return rows;
};

type Fail = (words: string) => StartFault;

const faultAt =
  (file: string, line: number): Fail =>
  (words) =>
    new StartFault(`${file}, line ${line}: ${words}`);

type Read =
  | { readonly kind: 'row'; readonly table: string; readonly row: ReadonlyMap<string, Json> }
  | { readonly kind: 'end'; readonly rows: number };

const readLine = (text: string, fail: Fail): Read => {
  let value: Json;
  try {
    value = parseJson(text);
  } catch {
    throw fail('not valid JSON');
  }
  const members = value instanceof Map ? (value as ReadonlyMap<string, Json>) : new Map<string, Json>();
  const [table, row, end, rows] = ['table', 'row', 'end', 'rows'].map((it) => members.get(it));
  if (end === true && typeof rows === 'number') return { kind: 'end', rows };
  if (typeof table === 'string' && row instanceof Map)
    return { kind: 'row', table, row: row as ReadonlyMap<string, Json> };
  throw fail('expected {"table": …, "row": {…}}');
};

const newRow = (
  { name, columns }: TransferTable,
  given: ReadonlyMap<string, Json>,
  later: ReadonlySet<string>,
  deferred: Deferred[],
  fail: Fail,
): NewRow => {
  for (const key of given.keys())
    if (!columns.some((it) => it.name === key)) throw fail(`there is no column ${name}.${key} in line 1`);
  const valueFor = (column: TransferTable['columns'][number]): DbValue => {
    const written = given.get(column.name) ?? null;
    const value = imported(column.kind, written);
    if (value === undefined)
      throw fail(
        `${name}.${column.name} is of the kind ${column.kind}, and cannot be ${jsonText(written).slice(0, 100)}`,
      );
    return value;
  };
  const cells = columns.map((it) => ({ column: it.name, kind: it.kind, value: valueFor(it) }));
  const id = cells.find((it) => it.kind === 'id')?.value ?? null;
  return {
    table: name,
    cells: cells.map((cell) => {
      if (!later.has(cell.column) || cell.value === null) return cell;
      deferred.push({ table: name, column: cell.column, id, value: cell.value });
      return { ...cell, value: null };
    }),
  };
};

/** A fault is that of one line. */
const insertBatch = async (batch: readonly ReadRow[], file: string, tx: Tx, dialect: Db['dialect']): Promise<void> => {
  if (batch.length === 0) return;
  const insert = (rows: readonly ReadRow[]): Promise<void> =>
    savepoint(tx, async () => {
      for (const statement of dialect.insertRows(rows.map((it) => it.row))) await tx.run(statement);
    });
  try {
    await insert(batch);
  } catch (fault) {
    for (const one of batch) {
      try {
        await insert([one]);
      } catch (own) {
        const fail = faultAt(file, one.line);
        if (own instanceof ConstraintFault) throw fail(`${one.row.table}: ${own.kind} constraint ${own.names}`);
        const place = await refusedPlace(one, insert);
        if (place === null) throw fault;
        throw fail(`${place}: ${(own as Error).message}`);
      }
    }
    throw fault;
  }
};

/**
 * The column whose value is refused, or else the table; null if every insert fails, as over a lost connection. PostgreSQL does
 * not say which value is too long, but refuses it alone too, before it looks at constraints.
 */
const refusedPlace = async (
  { line, row: { table, cells } }: ReadRow,
  insert: (rows: readonly ReadRow[]) => Promise<void>,
): Promise<string | null> => {
  const refused: string[] = [];
  for (const cell of cells) {
    try {
      await insert([{ line, row: { table, cells: [cell] } }]);
    } catch (fault) {
      if (!(fault instanceof ConstraintFault)) refused.push(cell.column);
    }
  }
  const [column] = refused;
  if (column === undefined) return table;
  return refused.length === cells.length ? null : `${table}.${column}`;
};
