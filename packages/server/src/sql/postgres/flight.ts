/**
 * Statements that travel to PostgreSQL together: one packet, one answer. They run in order, and if one fails, the server
 * skips those behind it. The driver would end each statement with a Sync, and the server answer each with a packet.
 */
import { LRUCache } from 'lru-cache';
import { type PoolClient, Query, types, type Connection as Wire } from 'pg';
import { limits } from '../../limits.js';
import type { Rows, Statement } from '../dialect.js';

export interface Outcome {
  /** Such as `COMMIT`. */
  readonly tag: string;
  readonly rows: Rows;
}

/** A statement on its way. */
export interface Sent {
  readonly statement: Statement;
  /** Called once the whole flight is answered. */
  done(outcome: Outcome): void;
}

// ---- prepared statements

type ReadText = (text: string) => unknown;

export interface PreparedStatement {
  readonly name: string;
  /** Whether it has been sent to the server. */
  isSent: boolean;
  /** How its columns are read; null until the server has described them. */
  columns: readonly ReadText[] | null;
}

/** The statements prepared by name on a connection; the least recently used are evicted. */
export interface PreparedStatements {
  /** Undefined for a text that is too long to be kept. */
  of(text: string): PreparedStatement | undefined;
  forget(text: string): void;
}

export const newPreparedStatements = ({ connection }: PoolClient): PreparedStatements => {
  let count = 0;
  const known = new LRUCache<string, PreparedStatement>({
    max: limits.statementsMax,
    maxSize: limits.preparedCharactersMax,
    sizeCalculation: (_name, text) => text.length,
    // sent before the next statement; closing an unknown name is not an error
    dispose: ({ name }) => connection.close({ type: 'S', name }, true),
  });
  return {
    of: (text) => {
      const found = known.get(text);
      if (found) return found;
      // a text this long would evict too many others
      if (text.length > limits.preparedCharactersMax / 10) return undefined;
      count += 1;
      const made: PreparedStatement = { name: `s${count}`, isSent: false, columns: null };
      known.set(text, made);
      return made;
    },
    forget: (text) => {
      known.delete(text);
    },
  };
};

// ---- flights

export interface Flight {
  readonly statements: readonly Sent[];
  readonly prepared: PreparedStatements | null;
  /** Called before the outcomes are. */
  landed(): void;
  /** @param at which statement failed; those before it have run. */
  failed(fault: unknown, at: number): void;
}

/**
 * A flight as a query of the driver. What the driver calls it with:
 * https://github.com/brianc/node-postgres/blob/master/packages/pg/lib/query.js
 */
export const newFlight = ({ statements, prepared, landed, failed }: Flight): Query => {
  const outcomes: Outcome[] = [];
  const started: string[] = [];
  const uses: (PreparedStatement | undefined)[] = [];
  let columns: readonly ReadText[] | null = null;
  let rows: (readonly unknown[])[] = [];

  const write = (wire: Wire, { sql, params }: Statement): void => {
    const use = prepared?.of(sql);
    uses.push(use);
    const name = use?.name ?? '';
    if (!use?.isSent) wire.parse({ name, text: sql, types: [] }, true);
    if (use && !use.isSent) {
      use.isSent = true;
      started.push(sql);
    }
    const values = params.map((value) => (value === null ? null : String(value)));
    wire.bind({ statement: name, values } as unknown as Parameters<Wire['bind']>[0], true);
    if (!use?.columns) wire.describe({ type: 'P', name: '' }, true);
    wire.execute(null, true);
  };

  return Object.assign(new Query(''), {
    submit: (wire: Wire): void => {
      // one packet: some versions of node:net send each write alone
      wire.stream.cork();
      for (const { statement } of statements) write(wire, statement);
      wire.sync();
      wire.stream.uncork();
    },
    handleRowDescription: ({ fields }: { readonly fields: readonly { readonly dataTypeID: number }[] }): void => {
      columns = fields.map((it) => readerOf(it.dataTypeID));
      const use = uses[outcomes.length];
      if (use) use.columns = columns;
    },
    handleDataRow: ({ fields }: { readonly fields: (string | null)[] }): void => {
      columns ??= uses[outcomes.length]!.columns!;
      const row: unknown[] = fields;
      for (let i = 0; i < fields.length; i++) {
        const text = fields[i]!;
        if (text !== null) row[i] = columns[i]!(text);
      }
      rows.push(row);
    },
    handleCommandComplete: ({ text }: { readonly text: string }): void => {
      const use = uses[outcomes.length];
      // one that returns no rows is not described
      if (use && !columns) use.columns ??= [];
      outcomes.push({ tag: text, rows });
      rows = [];
      columns = null;
    },
    handleReadyForQuery: (): void => {
      landed();
      statements.forEach((it, i) => {
        it.done(outcomes[i]!);
      });
    },
    handleError: (fault: unknown): void => {
      // whether the server has prepared them is unknown
      for (const text of started) prepared?.forget(text);
      const at = outcomes.length;
      statements.slice(0, at).forEach((it, i) => {
        it.done(outcomes[i]!);
      });
      failed(fault, at);
    },
  });
};

const asText: ReadText = (text) => text;

/** Numbers and booleans are read as such, all else as text. */
const readerOf = (type: number): ReadText => {
  switch (type) {
    case types.builtins.INT2:
    case types.builtins.INT4:
    case types.builtins.OID:
    case types.builtins.FLOAT4:
    case types.builtins.FLOAT8:
      return Number;
    case types.builtins.BOOL:
      return (text) => text === 't';
    default:
      return asText;
  }
};
