/**
 * Which commits became visible between two looks at a PostgreSQL, and what they wrote. Ids of transactions in two snapshots
 * tell which ones have ended in between. Those of this process are known from their statements, those of other Dovetail
 * processes from what they announce; any other may have touched every table.
 */
import { limits } from '../../limits.js';
import { shareNext } from '../../single-flight.js';
import { type Changes, type Consequences, joinWrites, newChangeLog, touchedBy, type Writes } from '../changes.js';
import { fixedStatement } from '../compile.js';
import type { Rows, Statement } from '../dialect.js';
import { nameOf, writesOf } from '../texts.js';
import type { Peers } from './peers.js';
import { endedBetween, fullId, hasEnded, isCovered, type State, stateColumn, stateOf } from './states.js';

/** What a transaction of this process has done so far. */
export interface OwnTransaction {
  /** Its id, and those of its savepoints that are known. */
  readonly ids: readonly string[];
  readonly writes: Writes;
  /** Its id, which it must have before it commits. */
  begun(id: string): void;
  /** To be called before the statement is sent. */
  sending(text: string): void;
  /** Rows of `savepointIdsStatement`. */
  foundIds(rows: Rows): void;
  /** It takes no more statements. */
  ended(): void;
}

export interface Commits extends Changes {
  begin(): OwnTransaction;
  /** Brings the log up to a state (`stateColumn`), in whatever order states arrive. */
  notice(state: string): Promise<void>;
}

/** @param look asks for the state. @param read runs a statement in a transaction of its own. */
export const newCommits = (
  look: () => Promise<string>,
  read: (statement: Statement) => Promise<Rows>,
  peers: Peers,
): Commits => {
  const log = newChangeLog();
  const own = new Map<number, { writes: Writes }>();
  let seen: State | null = null;
  /** Null after changes that may have changed them. */
  let consequences: Consequences | null = null;
  /** Running transactions of this process that have savepoints. */
  let withSavepoints = 0;

  const begin = (): OwnTransaction => {
    const ids: string[] = [];
    const record: { writes: Writes } = { writes: new Map() };
    let hasSavepoints = false;
    const add = (text: string): void => {
      ids.push(text);
      const id = Number(text);
      // a savepoint's id may have been passed already
      if (seen && hasEnded(seen, id)) return;
      // nobody looks
      if (own.size >= limits.transactionsMax) own.clear();
      own.set(id, record);
    };
    return {
      ids,
      get writes() {
        return record.writes;
      },
      begun: add,
      sending: (text) => {
        if (!hasSavepoints && text.startsWith('savepoint')) {
          hasSavepoints = true;
          withSavepoints += 1;
        }
        const writes = writesOf(text);
        // most statements only read
        if (writes?.size !== 0) record.writes = joinWrites([record.writes, writes]);
      },
      foundIds: (rows) => {
        const [first = '0'] = ids;
        for (const [short] of rows) {
          const id = fullId(Number(short), Number(first));
          if (!ids.includes(String(id))) add(String(id));
        }
      },
      ended: () => {
        if (hasSavepoints) withSavepoints -= 1;
      },
    };
  };

  /** Takes note of a state in which any table may have changed. */
  const startOver = (state: State | null): void => {
    seen = state;
    consequences = null;
    log.touch(null);
  };

  const known = (id: number): { readonly writes: Writes } | undefined => own.get(id) ?? peers.announced(id);
  const isUnknown = (id: number): boolean => known(id) === undefined;

  /**
   * Without those that are unknown and have changed nothing: savepoints of running transactions look like ended transactions, but
   * end with the transaction around them, and what was rolled back leaves nothing behind.
   */
  const withoutIneffective = async (ids: readonly number[]): Promise<readonly number[]> => {
    const unknown = ids.filter(isUnknown);
    if (unknown.length === 0) return ids;
    const rows = await read({ ...statusStatement, params: [`{${unknown.join(',')}}`] });
    const ineffective = new Set(
      rows.filter(([, status]) => status === 'in progress' || status === 'aborted').map(([id]) => Number(id)),
    );
    return ids.filter((id) => !ineffective.has(id));
  };

  const noticeInTurn = async (text: string): Promise<void> => {
    let found: Rows[number] = [text];
    let isFull = false;
    for (;;) {
      const state = stateOf(String(found[0]), seen);
      if (state !== null && seen && isCovered(state, seen)) return;
      let ended = state && seen && endedBetween(seen, state);
      if (!ended) {
        // ids of another server mean other transactions
        if (seen) own.clear();
        peers.forgetAll();
        return startOver(state);
      }
      if (withSavepoints > 0) ended = await withoutIneffective(ended);
      if (ended.some(isUnknown)) {
        await peers.hear(ended.filter(isUnknown));
        ended = await withoutIneffective(ended);
      }
      // now that nothing is waited for any more: what is known may also be forgotten
      const writes = joinWrites(ended.map((id) => known(id)?.writes ?? null));
      if (isFull) consequences = consequencesOf(found);
      if (writes && writes.size > 0 && !consequences) {
        // read together with a state, so that no commit can have changed them unnoticed
        [found = []] = await read(fullStatement);
        isFull = true;
        continue;
      }
      for (const id of ended) own.delete(id);
      peers.forget(ended);
      if (!writes) return startOver(state);
      seen = state;
      if (consequences) log.touch(touchedBy(writes, consequences));
      return;
    }
  };

  // one after the other: each state is compared with the one before
  let noticing: Promise<unknown> = Promise.resolve();
  const notice = async (state: string): Promise<void> => {
    // the log is complete up to `seen`, whatever is being noticed
    if (state === seen?.text) return;
    const turn = noticing.then(() => noticeInTurn(state));
    noticing = turn.catch(() => undefined);
    await turn;
  };

  return {
    catchUp: shareNext(async () => notice(await look())),
    moment: log.moment,
    isUnchanged: log.isUnchanged,
    begin,
    notice,
  };
};

// ---- statements

/** What became of some ids. */
const statusStatement = fixedStatement('select id::text, pg_xact_status(id) from unnest($1::xid8[]) as i(id)');

/** Ids of the own transaction and of its open savepoints. */
export const savepointIdsStatement = fixedStatement(
  `select transactionid::text from pg_locks where pid = pg_backend_pid() and locktype = 'transactionid' and mode = 'ExclusiveLock'`,
);

const changing = `('c', 'n', 'd')`;
const keys = `select json_build_array(r.relname, t.relname, confdeltype in ${changing}, confupdtype in ${changing}) as key
  from pg_constraint join pg_class r on r.oid = conrelid join pg_class t on t.oid = confrelid
  where contype = 'f' and (confdeltype in ${changing} or confupdtype in ${changing})`;

/** Triggers, rules, partitions, and what calls functions that may write. Of the system's own tables none has any. */
const unpredictable = `select relname from pg_class where oid >= 16384 and oid in (
  select tgrelid from pg_trigger where not tgisinternal
  union all select ev_class from pg_rewrite where rulename <> '_RETURN'
  union all select inhrelid from pg_inherits
  union all select inhparent from pg_inherits
  union all select coalesce(a.adrelid, c.conrelid, i.indrelid) from pg_depend d
    join pg_proc f on f.oid = d.refobjid and f.oid >= 16384 and f.provolatile = 'v'
    left join pg_attrdef a on d.classid = 'pg_attrdef'::regclass and a.oid = d.objid
    left join pg_constraint c on d.classid = 'pg_constraint'::regclass and c.oid = d.objid
    left join pg_index i on d.classid = 'pg_class'::regclass and i.indexrelid = d.objid
    where d.refclassid = 'pg_proc'::regclass
      and not exists (select from pg_depend e where e.classid = d.refclassid and e.objid = f.oid and e.deptype = 'e'))`;

/** Whether policies restrict what this user reads: they may read any table. */
const isRestricted = 'exists (select from pg_class where relrowsecurity and row_security_active(oid))';

const fullStatement = fixedStatement(
  `select ${stateColumn}, (select json_agg(key) from (${keys}) k)::text, (select json_agg(relname) from (${unpredictable}) u)::text, ${isRestricted}`,
);

const consequencesOf = ([, keysText, tablesText, restricted]: Rows[number]): Consequences => {
  const found = JSON.parse((keysText as string | null) ?? '[]') as readonly (readonly [
    string,
    string,
    boolean,
    boolean,
  ])[];
  const cascades = found.flatMap(([from, to, onDelete, onUpdate]) => {
    const [table, target] = [nameOf(from), nameOf(to)];
    return [
      ...(onDelete ? [{ table, target, on: 'delete' as const }] : []),
      ...(onUpdate ? [{ table, target, on: 'update' as const }] : []),
    ];
  });
  const tables = JSON.parse((tablesText as string | null) ?? '[]') as readonly string[];
  return { cascades, unpredictable: restricted === true ? null : new Set(tables.map(nameOf)) };
};
