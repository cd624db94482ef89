/** Kysely as a compiler: fragments and DDL in, statements out. It never opens a connection. */
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
import { bug } from '../errors.js';
import type { Builder, ColumnKind, Param, Slot, Sql, Statement } from './dialect.js';

export const sqliteBuilder: Builder = new Kysely({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

export const postgresBuilder: Builder = new Kysely({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** Placeholder for ids that are known only when the statement runs. */
const idsMark = Object.freeze({ mark: 'ids' });
export const idsParameter = (): Sql => sql`${idsMark}`;

/** Placeholder for a value of the given kind that is known only when the statement runs. */
class SlotMark {
  readonly kind: ColumnKind;
  readonly slot: number;
  constructor(kind: ColumnKind, slot: number) {
    this.kind = kind;
    this.slot = slot;
  }
}
export const slotParameter = (kind: ColumnKind, slot: number): Sql => sql`${new SlotMark(kind, slot)}`;

export const compileWith = (builder: Builder, query: Sql): Statement => {
  const compiled = (query as RawBuilder<unknown>).compile(builder);
  const ids: number[] = [];
  const slots: Slot[] = [];
  const params = compiled.parameters.map((value, position): Param => {
    if (value === idsMark) {
      ids.push(position);
      return null;
    }
    if (value instanceof SlotMark) {
      slots.push({ position, kind: value.kind, slot: value.slot });
      return null;
    }
    if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint')
      return value;
    throw bug('compile.unbindable-value', { value });
  });
  return { sql: flat(compiled.sql), params, ids, ...(slots.length > 0 ? { slots } : {}) };
};

/** A statement without values. */
export const fixedStatement = (text: string): Statement => ({ sql: text, params: [], ids: [] });

/** A string built by concatenation keeps every piece alive, at ten times its length. */
const flat = (text: string): string => Buffer.from(text).toString();
