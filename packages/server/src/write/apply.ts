/**
 * The write line: one request is one transaction (contract 12, row 68). Locks, then the snapshot, then the checks that
 * only the database can make, then the planned operations, then the answer through the read line. Any issue rolls all back.
 */
import { sql } from 'kysely';
import { bug, type Issue, issue, ok, Refusal, type Result } from '../errors.js';
import { limits } from '../limits.js';
import { scalarTypes } from '../model/attributes.js';
import type { EntryType, LinkAttribute, Model } from '../model/model.js';
import type { LeftOut } from '../query/lenient.js';
import type { ResolveContext } from '../query/resolve.js';
import { namesVersion } from '../read/etag.js';
import type { Answer, Reader, ReadRequest } from '../read/find.js';
import type { AnswerForm } from '../read/plan.js';
import {
  type Cell,
  ConstraintFault,
  type Db,
  type Dialect,
  type NewRow,
  type Sql,
  type Statement,
  type Tx,
  withIds,
} from '../sql/dialect.js';
import { type Change, type ParseContext, type ParsedBody, parseChange, readData, readPublishedAt } from './change.js';
import { missingInStored } from './complete.js';
import { hashPasswords, type PasswordHashes, withHashes } from './passwords.js';
import { isUnique, lockNames, type Operation, planWrite, removalOf, type WritePlan } from './plan.js';
import { askedIds, changesOf, existingStatement, groupBy, readParts, readSnapshot, type Snapshot } from './snapshot.js';

export type WriteAction = 'create' | 'update' | 'delete';

export interface WriteRequest {
  readonly action: WriteAction;
  readonly type: EntryType;
  /** The entry of an update or delete of a collection; null for creation and for single types. */
  readonly id: number | null;
  /** The parsed JSON body; undefined where there is none. */
  readonly body: unknown;
  /** The query string; `fields` and `populate` shape the answer. */
  readonly search: string;
  /** Entity tags of which the entry must have one (If-Match); null for no condition. */
  readonly ifMatch: string | null;
  /** The administrator on whose behalf the caller writes; creator fields keep the id. */
  readonly adminId?: number | null;
  /** The form of the answer; an envelope when it is not given. */
  readonly form?: AnswerForm;
  /** Of passwords in the body, made before the transaction; any other is made inside it. */
  readonly hashes?: PasswordHashes;
}

/**
 * A project's own steps around the writes of a type, inside the transaction: what they throw rolls it back, and a
 * `Refusal` becomes the answer.
 */
export interface Hooks {
  /** Before anything is checked. `data` may be changed; it is null for a delete. */
  before?(action: WriteAction, event: HookEvent): Promise<void>;
  /** After the operations, before the answer is read. */
  after?(action: WriteAction, event: HookEvent): Promise<void>;
}

export interface HookEvent {
  /** Null before a creation. */
  readonly id: number | null;
  readonly data: Record<string, unknown> | null;
  readonly tx: Tx;
}

export type HooksOf = (type: EntryType) => Hooks | undefined;

export interface Writer {
  write(request: WriteRequest, context: ResolveContext): Promise<Result<Answer>>;
  /** The same as part of a larger transaction. Throws `Refusal`, so that the transaction ends. */
  writeInside(request: WriteRequest, context: ResolveContext, tx: Tx): Promise<Answer>;
}

/** @param now milliseconds since 1970 UTC. */
export const newWriter = (db: Db, reader: Reader, now: () => number, hooksOf: HooksOf = () => undefined): Writer => {
  const writeInside: Writer['writeInside'] = async (request, context, tx) => {
    try {
      const hooks = hooksOf(request.type);
      const write: Write = { request, context, reader, dialect: db.dialect, now, hooks, leftOut: new Map() };
      const answer = await applyWrite(write, tx);
      return { ...answer, leftOut: [...answer.leftOut, ...write.leftOut.values()] };
    } catch (fault) {
      // another program got there first: our own writers wait for each other
      throw fault instanceof ConstraintFault ? new Refusal(constraintIssue(fault, request.type)) : fault;
    }
  };
  return {
    writeInside,
    write: async (given, context) => {
      const data = given.action === 'delete' ? null : readData(given.body);
      const hashes: Result<PasswordHashes> = data?.ok
        ? await hashPasswords(data.value, given.type, context.model)
        : ok(new Map());
      if (!hashes.ok) return hashes;
      try {
        return ok(await db.write((tx) => writeInside({ ...given, hashes: hashes.value }, context, tx)));
      } catch (fault) {
        if (fault instanceof Refusal) return { ok: false, issues: fault.issues };
        // some constraints are looked at when the transaction ends
        if (fault instanceof ConstraintFault) return { ok: false, issues: [constraintIssue(fault, given.type)] };
        throw fault;
      }
    },
  };
};

interface Write {
  readonly request: WriteRequest;
  readonly context: ResolveContext;
  readonly reader: Reader;
  readonly dialect: Dialect;
  readonly now: () => number;
  readonly hooks: Hooks | undefined;
  /** Keys of the body that had no effect, by name. */
  readonly leftOut: Map<string, LeftOut>;
}

const refuse = (issues: readonly Issue[]): never => {
  // one more than are listed tells that there are more
  throw new Refusal(...issues.slice(0, limits.issuesMax + 1));
};
const granted = <T>(result: Result<T>): T => (result.ok ? result.value : refuse(result.issues));

const constraintIssue = (fault: ConstraintFault, type: EntryType): Issue => {
  if (fault.kind === 'reference') return issue('relation.absent', [], { uid: type.uid, ids: [] });
  const named = [...type.attributes.values()].find(
    (it) =>
      it.kind === 'scalar' &&
      (fault.names.includes(`.${it.column}`) || fault.names === `${type.table}_${it.column}_unique`),
  );
  return issue('body.unique', named ? [named.name] : []);
};

const applyWrite = async (write: Write, tx: Tx): Promise<Answer> => {
  const { request, context, reader, hooks } = write;
  const { type, action } = request;
  // a query that cannot be read refuses the write before anything is looked at
  granted(reader.check(answerRequest(request, request.id ?? 1), context));
  if (action === 'delete') return applyDelete(write, tx);
  const given = granted(readData(request.body));
  const stored = await findEntry(write, tx, 'plain');
  if (stored === null && type.kind !== 'single' && action === 'update') return refuse([issue('http.not-found', [])]);
  const data = { ...given };
  await hooks?.before?.(stored === null ? 'create' : 'update', { id: stored?.id ?? null, data, tx });
  const publishedAt = granted(readPublishedAt(type, data));
  return stored === null
    ? applyCreate(write, data, publishedAt, tx)
    : applyUpdate(write, data, publishedAt, stored, tx);
};

// ---- the entry

interface StoredEntry {
  readonly id: number;
  /** Epoch milliseconds as text; null for a draft. */
  readonly publishedAt: string | null;
  readonly updatedAt: number;
}

/** The entry that the request is about: by id, or the one entry of a single type. */
const findEntry = async (
  { request, dialect }: Write,
  tx: Tx,
  lock: 'plain' | 'locked',
): Promise<StoredEntry | null> => {
  const { type, action, id } = request;
  if (action === 'create') return null;
  const column = (name: string): Sql => sql`${sql.ref(`e.${name}`)}`;
  const publishedAt = type.draftAndPublish ? dialect.jsonValue('epoch', column('published_at')) : sql`''`;
  const updatedAt = dialect.jsonValue('epoch', column('updated_at'));
  const where = type.kind === 'single' ? sql`` : sql` where ${column('id')} = ${dialect.bind('id', id)}`;
  const query = sql`select ${column('id')}, ${publishedAt}, ${updatedAt} from ${sql.table(type.table)} e${where} order by ${column('id')} limit 1${lock === 'locked' ? dialect.forUpdate : sql``}`;
  const [row] = (await tx.run(dialect.compile(query))) as readonly [number, string | null, string | null][];
  return row ? { id: row[0], publishedAt: row[1], updatedAt: Number(row[2] ?? 0) } : null;
};

const takeLocks = async (names: readonly string[], { dialect }: Write, tx: Tx): Promise<void> => {
  const statement = dialect.lock(names);
  if (statement) await tx.run(statement);
};

const parseContext = ({ context }: Write, action: 'create' | 'update', draft: boolean): ParseContext => ({
  model: context.model,
  gate: context.gate,
  action,
  draft,
  strict: context.strict,
});

type Data = Record<string, unknown>;

const applyCreate = async (
  write: Write,
  data: Data,
  publishedAt: number | null | undefined,
  tx: Tx,
): Promise<Answer> => {
  const { request, context, now } = write;
  const { type, hashes = noHashes } = request;
  if (request.ifMatch !== null) return refuse([issue('http.changed-meanwhile', [])]);
  const draft = type.draftAndPublish && publishedAt === null;
  const change = await acceptBody(parseChange(data, type, parseContext(write, 'create', draft)), null, write, tx);
  const changes = changesOf(change, null);
  if (type.kind === 'single') {
    // two requests may create its entry at the same time
    await takeLocks([`single ${type.table}`], write, tx);
    if ((await findEntry(write, tx, 'plain')) !== null) return applyWrite(write, tx);
  }
  const time = now();
  const [, checked] = await together([takeLocks(lockNames(changes), write, tx), check(changes, write, tx)]);
  const snapshot: Snapshot = { ...granted(checked), parts: noParts };
  const [id] = snapshot.newIds.get(type.uid) ?? [];
  if (id === undefined) throw bug('apply.id-not-reserved', { uid: type.uid });
  const system: Cell[] = [
    instant('created_at', time),
    instant('updated_at', time),
    ...creator(request, 'created_by_id'),
    ...creator(request, 'updated_by_id'),
  ];
  if (type.draftAndPublish) system.push(instant('published_at', publishedAt === undefined ? time : publishedAt));
  else if (type.keepsPublishedAt) system.push(instant('published_at', time));
  if (type.localized && !change.values.some((it) => it.attribute.name === 'locale'))
    system.push({ column: 'locale', kind: 'string', value: context.defaultLocale });
  const plan = await planned(await withHashes(change, hashes), id, true, system, snapshot, write, tx);
  return runAndAnswer(plan.operations, 'create', id, data, write, tx);
};

const noParts: Snapshot['parts'] = new Map();
const noHashes: PasswordHashes = new Map();

const applyUpdate = async (
  write: Write,
  data: Data,
  publishedAt: number | null | undefined,
  found: StoredEntry,
  tx: Tx,
): Promise<Answer> => {
  const { request, context, now } = write;
  const { type, hashes = noHashes } = request;
  const parse = (stored: StoredEntry): Promise<Change> => {
    const draft = isDraftAfter(type, stored, publishedAt);
    return acceptBody(parseChange(data, type, parseContext(write, 'update', draft)), stored.id, write, tx);
  };
  let change = await parse(found);
  const changes = changesOf(change, found.id);
  const [, stored, parts, checked] = await together([
    takeLocks(lockNames(changes), write, tx),
    findEntry(write, tx, 'locked'),
    change.parts.length > 0 ? readParts(type, found.id, context.model, tx, write.dialect) : noParts,
    check(changes, write, tx),
  ]);
  if (stored === null) return refuse([issue('http.not-found', [])]);
  // somebody published or unpublished it while this request waited: other rules hold for it now
  if (isDraftAfter(type, stored, publishedAt) !== isDraftAfter(type, found, publishedAt)) change = await parse(stored);
  await checkIfMatch(write, stored.id, tx);
  const snapshot: Snapshot = { ...granted(checked), parts };
  const isPublishedNow =
    type.draftAndPublish && stored.publishedAt === null && publishedAt !== undefined && publishedAt !== null;
  if (isPublishedNow) {
    const missing = await missingInStored(change, stored.id, context.model, tx, write.dialect);
    if (missing.length > 0) return refuse(missing);
  }
  // never the same instant twice: the time of the last change is the entry's version
  const system: Cell[] = [
    instant('updated_at', Math.max(now(), stored.updatedAt + 1)),
    ...creator(request, 'updated_by_id'),
  ];
  if (type.draftAndPublish && publishedAt !== undefined) system.push(instant('published_at', publishedAt));
  const plan = await planned(await withHashes(change, hashes), stored.id, false, system, snapshot, write, tx);
  return runAndAnswer(plan.operations, 'update', stored.id, data, write, tx);
};

const applyDelete = async (write: Write, tx: Tx): Promise<Answer> => {
  const { request, context, dialect } = write;
  const { type } = request;
  await takeLocks(linkTablesOf(type, context.model), write, tx);
  const stored = await findEntry(write, tx, 'locked');
  if (stored === null) return refuse([issue('http.not-found', [])]);
  await checkIfMatch(write, stored.id, tx);
  await write.hooks?.before?.('delete', { id: stored.id, data: null, tx });
  const deleted = await answer(write, stored.id, tx);
  const parts = await readParts(type, stored.id, context.model, tx, dialect);
  await runOperations(removalOf(type, stored.id, parts, context.model), write, tx);
  await write.hooks?.after?.('delete', { id: stored.id, data: null, tx });
  return deleted;
};

const linkTablesOf = (type: EntryType, model: Model): readonly string[] => {
  const links = (it: EntryType): readonly LinkAttribute[] =>
    [...it.attributes.values()].filter((attribute) => attribute.kind === 'link');
  const touching = [
    ...links(type),
    ...[...model.types.values()].flatMap((other) => links(other).filter((it) => it.target === type.uid)),
  ];
  return touching.filter((it) => it.inverse !== null).map((it) => it.path.table);
};

const isDraftAfter = (type: EntryType, stored: StoredEntry, publishedAt: number | null | undefined): boolean =>
  type.draftAndPublish && (publishedAt === undefined ? stored.publishedAt === null : publishedAt === null);

const instant = (column: string, value: number | null): Cell => ({ column, kind: 'datetime', value });

/** Callers that are no administrators leave creator fields as they are (storage-layout 2). */
const creator = ({ adminId }: WriteRequest, column: string): readonly Cell[] =>
  adminId == null ? [] : [{ column, kind: 'reference', value: adminId }];

const answerRequest = ({ type, search, form = 'envelope' }: WriteRequest, id: number): ReadRequest => ({
  action: 'findOne',
  type,
  id,
  search,
  showDraft: true,
  form,
});

const answer = async ({ request, context, reader }: Write, id: number, tx: Tx): Promise<Answer> => {
  const read = granted(await reader.readInside(answerRequest(request, id), context, tx));
  if (!read) throw bug('apply.entry-not-readable', { uid: request.type.uid, id });
  return read;
};

/** `If-Match` names the version of the entry that the client has seen. */
const checkIfMatch = async (write: Write, id: number, tx: Tx): Promise<void> => {
  const { ifMatch } = write.request;
  if (ifMatch === null || ifMatch.trim() === '*') return;
  if (!namesVersion(ifMatch, (await answer(write, id, tx)).etag)) refuse([issue('http.changed-meanwhile', [])]);
};

// ---- checks that only the database can make

/** The change of a body without faults. One with faults is refused, together with what the database finds in the rest of it. */
const acceptBody = async (
  { change, issues, leftOut }: ParsedBody,
  id: number | null,
  { dialect, context, ...write }: Write,
  tx: Tx,
): Promise<Change> => {
  for (const it of leftOut) write.leftOut.set(it.name, it);
  if (issues.length === 0) return change;
  const changes = changesOf(change, id);
  const absent = await absentTargets(changes, context.model, dialect, tx);
  const taken = await takenValues(changes, dialect, tx);
  return refuse([...issues, ...absent, ...taken]);
};

/** Existence of targets, uniqueness of values; gives the snapshot that planning needs. All in one round trip. */
const check = async (
  changes: Changes,
  { dialect, context }: Write,
  tx: Tx,
): Promise<Result<Omit<Snapshot, 'parts'>>> => {
  const [absent, taken, snapshot] = await together([
    absentTargets(changes, context.model, dialect, tx),
    takenValues(changes, dialect, tx),
    readSnapshot(changes, 'excerpts', tx, dialect),
  ]);
  const issues = [...absent, ...taken];
  return issues.length > 0 ? { ok: false, issues } : ok(snapshot);
};

type Changes = readonly { readonly change: Change; readonly id: number | null }[];

const absentTargets = async (changes: Changes, model: Model, dialect: Dialect, tx: Tx): Promise<readonly Issue[]> => {
  const groups = groupBy(
    changes.flatMap(({ change }) => change.links.filter((link) => askedIds(link).length > 0)),
    (link) => link.attribute.target,
  );
  const results = await tx.runAll(
    groups.map((links) =>
      existingStatement(model.types.get(links[0]!.attribute.target)!, [...new Set(links.flatMap(askedIds))], dialect),
    ),
  );
  return groups.flatMap((links, i) => {
    const found = new Set((results[i] ?? []).map(([target]) => target as number));
    return links.flatMap((link) => {
      const { attribute, path } = link;
      const absent = askedIds(link).filter((target) => !found.has(target));
      return absent.length > 0 ? [issue('relation.absent', path, { uid: attribute.target, ids: absent })] : [];
    });
  });
};

/** Unique values, against the whole table and within the request (contract 6.3; 12, row 71). */
const takenValues = async (changes: Changes, dialect: Dialect, tx: Tx): Promise<readonly Issue[]> => {
  const values = changes.flatMap(({ change, id }) =>
    change.values
      .filter((it) => it.value !== null && isUnique(it.attribute))
      .map((it) => ({ ...it, type: change.type, id })),
  );
  const seen = new Set<string>();
  const results = await tx.runAll(
    values.map(({ type, attribute, value, id }): Statement => {
      const column = sql`${sql.ref(attribute.column)}`;
      const others = id === null ? sql`` : sql` and id <> ${dialect.bind('id', id)}`;
      return dialect.compile(
        sql`select 1 from ${sql.table(type.table)} where ${column} = ${dialect.bind(scalarTypes[attribute.type].column, value)}${others} limit 1`,
      );
    }),
  );
  return values.flatMap(({ type, attribute, value, path }, i) => {
    const key = JSON.stringify([type.uid, attribute.name, value]);
    const isTaken = results[i]!.length > 0 || seen.has(key);
    seen.add(key);
    return isTaken ? [issue('body.unique', path)] : [];
  });
};

// ---- running

/** Plans with what the snapshot has, and with whole lists where that is too little. */
const planned = async (
  change: Change,
  id: number,
  isNew: boolean,
  system: readonly Cell[],
  snapshot: Snapshot,
  { dialect, context }: Write,
  tx: Tx,
): Promise<WritePlan> => {
  const first = granted(planWrite(change, id, isNew, system, snapshot, context.model));
  if (first.kind === 'plan') return first;
  const whole = await readSnapshot(changesOf(change, isNew ? null : id), 'whole', tx, dialect);
  const second = granted(planWrite(change, id, isNew, system, { ...whole, parts: snapshot.parts }, context.model));
  if (second.kind === 'plan') return second;
  throw bug('apply.whole-lists-are-not-enough', { uid: change.type.uid, id });
};

/**
 * Steps whose statements go out without waiting for each other. A fault is thrown when all have ended: a transaction
 * must not end under a step that still runs.
 */
const together = async <const Steps extends readonly unknown[]>(
  steps: Steps,
): Promise<{ -readonly [K in keyof Steps]: Awaited<Steps[K]> }> => {
  await Promise.allSettled(steps);
  return Promise.all(steps) as Promise<{ -readonly [K in keyof Steps]: Awaited<Steps[K]> }>;
};

/** The answer's first statements travel with the operations, unless a hook wants to come between. */
const runAndAnswer = async (
  operations: readonly Operation[],
  action: WriteAction,
  id: number,
  data: Data,
  write: Write,
  tx: Tx,
): Promise<Answer> => {
  const running = runOperations(operations, write, tx);
  if (write.hooks?.after) {
    await running;
    await write.hooks.after(action, { id, data, tx });
    return answer(write, id, tx);
  }
  const [, answered] = await together([running, answer(write, id, tx)]);
  return answered;
};

const runOperations = async (operations: readonly Operation[], { dialect }: Write, tx: Tx): Promise<void> => {
  await tx.runAll(statementsOf(operations, dialect));
};

/** In their order; inserts that follow each other go together. */
const statementsOf = (operations: readonly Operation[], dialect: Dialect): readonly Statement[] => {
  const statements: Statement[] = [];
  let rows: NewRow[] = [];
  const flush = (): void => {
    statements.push(...dialect.insertRows(rows));
    rows = [];
  };
  for (const operation of operations) {
    if (operation.kind === 'insert') {
      rows.push(operation);
      continue;
    }
    flush();
    statements.push(statementOf(operation, dialect));
  }
  flush();
  return statements;
};

/** One operation as one statement; its text depends on the columns only, so it is prepared once. */
const statementOf = (operation: Exclude<Operation, { kind: 'insert' }>, dialect: Dialect): Statement => {
  const table = sql.table(operation.table);
  switch (operation.kind) {
    case 'update': {
      const cells = sql.join(
        operation.cells.map((it) => sql`${sql.ref(it.column)} = ${dialect.bind(it.kind, it.value)}`),
      );
      const update = sql`update ${table} set ${cells} where ${idIn(operation.column, operation.ids, dialect)}`;
      return withIds(dialect.compile(update), operation.ids, dialect);
    }
    case 'delete': {
      const fixed = operation.fixed.map((it) => sql` and ${sql.ref(it.column)} = ${it.value}`);
      const removal = sql`delete from ${table} where ${idIn(operation.column, operation.ids, dialect)}${sql.join(fixed, sql``)}`;
      return withIds(dialect.compile(removal), operation.ids, dialect);
    }
  }
};

const idIn = (column: string, ids: readonly number[], dialect: Dialect): Sql => {
  const [id] = ids;
  return ids.length === 1
    ? sql`${sql.ref(column)} = ${dialect.bind('id', id!)}`
    : dialect.inIds(sql`${sql.ref(column)}`);
};
