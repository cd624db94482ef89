/**
 * Which commits a SQLite file has seen, and what they wrote. `data_version` of a connection that never writes tells that
 * there was a commit; that of the writing connection changes only by commits of others, which may have touched any table.
 */
import { type Changes, type Consequences, joinWrites, newChangeLog, touchedBy, type Writes } from '../changes.js';
import { fixedStatement } from '../compile.js';
import type { Rows, Tx } from '../dialect.js';
import { nameOf, writesOf } from '../texts.js';
import type { DataVersion, Transaction } from './engine.js';

export interface Commits extends Changes {
  /**
   * A transaction that is recorded. One at a time, but the next one may be made once this one is to finish.
   * @param begin makes it; calls the given function as `BeginOptions` say.
   */
  recorded(begin: (onBegun: (version: DataVersion) => void) => Transaction): Transaction;
  /** The writing connection is another one now. No one has committed between the reading of the two versions. */
  replaced(former: DataVersion, next: DataVersion): void;
}

export interface Versions {
  /** `data_version` of a connection that never writes. */
  readonly read: () => DataVersion;
  /** `data_version` of the writing connection, asked after all that was asked of it before. */
  readonly readOfWriter: () => DataVersion | Promise<DataVersion>;
}

/** Errors are those of SQLite. */
export const newCommits = ({ read, readOfWriter }: Versions): Commits => {
  const log = newChangeLog();
  /** All commits up to this version are in the log. */
  let seen: DataVersion | null = null;
  /** All commits of others up to this version of the writing connection are. */
  let seenOfOthers: DataVersion | null = null;
  /** Null after changes that may have changed them. */
  let consequences: Consequences | null = null;
  let lastRead: { readonly schema: unknown; readonly consequences: Consequences } | null = null;
  /** The version of the writing connection in the open transaction, during which no one else can commit. */
  let duringTransaction: DataVersion | null = null;
  /** The commit that may be done but is not in the log yet. */
  let committing: Promise<unknown> | null = null;
  let noticing: { readonly version: DataVersion; readonly done: Promise<void> } | null = null;

  const startOver = (): void => {
    consequences = null;
    log.touch(null);
  };

  const noticeOthers = (version: DataVersion): void => {
    if (version === seenOfOthers) return;
    seenOfOthers = version;
    startOver();
  };

  /** Reading must go on when the writing connection fails: then others may have committed. */
  const versionOfWriter = (): DataVersion | Promise<DataVersion> => {
    const unknown = (): DataVersion => `unknown ${log.moment()}`;
    try {
      const version = readOfWriter();
      return typeof version === 'string' ? version : version.catch(unknown);
    } catch {
      return unknown();
    }
  };

  /** @param version read before. */
  const notice = (version: DataVersion): Promise<void> | null => {
    if (noticing?.version === version) return noticing.done;
    const ofWriter = duringTransaction ?? versionOfWriter();
    const before = committing;
    if (typeof ofWriter === 'string' && !before) {
      noticeOthers(ofWriter);
      seen = version;
      return null;
    }
    const finish = async (): Promise<void> => {
      const found = await ofWriter;
      await before;
      noticeOthers(found);
      seen = version;
    };
    const done = finish().finally(() => {
      if (noticing?.done === done) noticing = null;
    });
    noticing = { version, done };
    return done;
  };

  /** Whether a read has asked since the last commit. */
  let isAsked = false;
  const look = (): Promise<void> | null => {
    const version = read();
    return version === seen ? null : notice(version);
  };
  const catchUp = (): Promise<void> | null => {
    isAsked = true;
    return look();
  };

  /** Transactions that have not ended. */
  let running = 0;
  /**
   * So that the next read need not wait for the writing connection, which may be busy by then. Behind the response to the write,
   * and neither if there are no reads, nor if another transaction tells as much.
   */
  const catchUpSoon = (): void => {
    if (!isAsked) return;
    isAsked = false;
    setImmediate(() => {
      if (running > 0) return;
      try {
        look()?.catch(() => undefined);
      } catch {
        // the next read reports it
      }
    });
  };

  /** Reads what the tables declare as of the transaction, if that may have changed. */
  const readConsequences = async (tx: Pick<Tx, 'run'>): Promise<void> => {
    const [[schema] = []] = await tx.run(schemaStatement);
    if (lastRead && lastRead.schema === schema) {
      consequences = lastRead.consequences;
      return;
    }
    const [row = []] = await tx.run(consequencesStatement);
    consequences = consequencesOf(row);
    lastRead = { schema, consequences };
  };

  return {
    catchUp,
    moment: log.moment,
    isUnchanged: log.isUnchanged,
    replaced: (former, next) => {
      noticeOthers(former);
      seenOfOthers = next;
    },
    recorded: (begin) => {
      running += 1;
      let begun: DataVersion | null = null;
      const { tx, idle, finish, commit, abandon } = begin((version) => {
        begun = version;
        noticeOthers(version);
        duringTransaction = version;
      });
      /** What statements write, each once; joined when it is needed. */
      const written = new Set<Writes>();
      /** Then it takes no more statements. */
      let isEnding = false;
      const sending = (text: string): void => {
        const own = writesOf(text);
        // most statements only read
        if (own?.size !== 0) written.add(own);
      };
      const noteCommit = (after: DataVersion): void => {
        const writes = joinWrites([...written]);
        // null: a definition of tables, for example
        if (!writes) startOver();
        else if (writes.size > 0) log.touch(consequences && touchedBy(writes, consequences));
        noticeOthers(after);
      };
      /** From now on it may be committed: who notices a commit waits until it is in the log. */
      const noted = (committed: Promise<DataVersion | null>): Promise<DataVersion | null> => {
        duringTransaction = null;
        const note = async (): Promise<DataVersion | null> => {
          try {
            const after = await committed;
            if (after === null) duringTransaction = begun;
            else noteCommit(after);
            return after;
          } catch (fault) {
            // it may have gone through
            startOver();
            throw fault;
          } finally {
            if (committing === settled) committing = null;
          }
        };
        const noting = note();
        const settled = noting.catch(() => undefined);
        committing = settled;
        return noting;
      };
      /** Set once the work has said that it ends. */
      let finishing: Promise<DataVersion | null> | null = null;
      return {
        tx: {
          ...tx,
          run: (statement) => {
            sending(statement.sql);
            return tx.run(statement);
          },
          runAll: (statements) => {
            for (const { sql } of statements) sending(sql);
            return tx.runAll(statements);
          },
        },
        finish: () => {
          // they have to be read in the transaction
          if (!consequences) return null;
          const finished = finish();
          if (!finished) return null;
          finishing = noted(finished);
          finishing.catch(() => undefined);
          return finishing;
        },
        idle,
        commit: async () => {
          // of work that has not waited for all that it has sent
          await idle();
          let after = await finishing;
          if (after === null && begun !== null) {
            if (written.size > 0 && !written.has(null) && !consequences && !isEnding) await readConsequences(tx);
            isEnding = true;
            after = await noted(commit());
          }
          running -= 1;
          catchUpSoon();
          return after;
        },
        abandon: async () => {
          await finishing?.catch(() => undefined);
          running -= 1;
          duringTransaction = null;
          await abandon();
        },
      };
    },
  };
};

const schemaStatement = fixedStatement('pragma schema_version');

const consequencesStatement = fixedStatement(
  `select (select json_group_array(json_array(m.name, k."table", k.on_delete, k.on_update)) from sqlite_master m join pragma_foreign_key_list(m.name) k where m.type = 'table'), (select json_group_array(tbl_name) from sqlite_master where type = 'trigger' or sql like '%on conflict%')`,
);

const consequencesOf = ([keysText, tablesText]: Rows[number]): Consequences => {
  const keys = JSON.parse(String(keysText)) as readonly (readonly [string, string, string, string])[];
  const changes = (action: string): boolean => ['CASCADE', 'SET NULL', 'SET DEFAULT'].includes(action);
  const cascades = keys.flatMap(([from, to, onDelete, onUpdate]) => {
    const [table, target] = [nameOf(from), nameOf(to)];
    return [
      ...(changes(onDelete) ? [{ table, target, on: 'delete' as const }] : []),
      ...(changes(onUpdate) ? [{ table, target, on: 'update' as const }] : []),
    ];
  });
  return { cascades, unpredictable: new Set((JSON.parse(String(tablesText)) as readonly string[]).map(nameOf)) };
};
