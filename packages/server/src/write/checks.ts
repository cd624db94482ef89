/** Checks of a write that need the database: targets exist, files are of an allowed type, unique values are not taken (BO8, CO10). */
import { sql } from 'kysely';
import { type Issue, issue, ok, type Result, refuseAll } from '../errors.js';
import { limits } from '../limits.js';
import { scalarTypes } from '../model/attributes.js';
import { type EntryType, FILE_UID, type Model, type ScalarAttribute, typeOf, type Uid } from '../model/model.js';
import type { Gate } from '../query/selection.js';
import { type Counted, type DbValue, type Dialect, type Statement, withIds, withValues } from '../sql/dialect.js';
import { keptStatement } from '../sql/kept.js';
import type { Change, ParsedBody, ValueChange } from './change.js';
import { groupBy, type ListKey, listKey, type OwnerKey, ownerKey } from './keys.js';
import { pathKey } from './lists.js';
import { askedTargets, type MorphChange, type MorphTarget, removedTargets } from './morphs.js';
import { readParts } from './parts.js';
import { isUnique } from './plan.js';
import { columnsOf, newQuestions, type Questions } from './questions.js';
import { removedBy } from './removal.js';
import {
  anchorIds,
  askedIds,
  askSnapshot,
  changesOf,
  existingStatement,
  governedStatement,
  type OwnedChange,
  type ReadingSnapshot,
  type Snapshot,
} from './snapshot.js';
import { addUnseen, isBounded, isRowSeen, staysUnseen, type Unseen } from './unseen.js';

export interface CheckContext extends ReadingSnapshot {
  readonly model: Model;
  readonly gate: Gate;
}

/** Returns the change of a valid body. An invalid body is refused; its issues include those found in the database. */
export const acceptBody = async (
  { change, issues }: ParsedBody,
  id: number | null,
  context: CheckContext,
): Promise<Change> => {
  if (issues.length === 0) return change;
  const changes = changesOf(change, id);
  const questions = newQuestions();
  const targets = askTargets(changes, questions, context);
  const taken = askTaken(changes, questions, context.dialect);
  await questions.answer(context.tx, context.dialect);
  return refuseAll([...issues, ...targets(null).absent, ...(await takenIssues(taken, changes, context))]);
};

/**
 * Checks that targets exist and unique values are not taken, and reads the snapshot for planning, in one round trip.
 * Returns issues instead of throwing, because other steps run concurrently.
 */
export const checkChanges = async (
  changes: readonly OwnedChange[],
  context: CheckContext,
): Promise<Result<Omit<Snapshot, 'parts'>>> => {
  const { tx, dialect } = context;
  const questions = newQuestions();
  const targets = askTargets(changes, questions, context);
  const taken = askTaken(changes, questions, dialect);
  const complete = askSnapshot(changes, questions, context);
  await questions.answer(tx, dialect);
  const snapshot = await complete(tx);
  const { absent, mediaTypes, unseen } = targets(snapshot);
  const refused = refusedFiles(changes, mediaTypes, snapshot);
  const issues = [...absent, ...refused, ...(await takenIssues(taken, changes, context))];
  if (issues.length > 0) return { ok: false, issues };
  await addHeld(unseen, changes, snapshot, context);
  return ok(unseen.size > 0 ? { ...snapshot, unseen } : snapshot);
};

interface Targets {
  /** One issue for each link that names entries that do not exist, or that the caller must not see. */
  readonly absent: readonly Issue[];
  /** The same, whatever the caller may see. */
  readonly gone: readonly Issue[];
  /** Entries that the caller may not see, and that positions name or the change disconnects. */
  readonly unseen: Unseen;
  /** The media types of the files that are named; null for a file without one. */
  readonly mediaTypes: ReadonlyMap<number, string | null>;
}

/** Entries of one type that a value of the body names. */
interface Asked {
  readonly uid: Uid;
  readonly ids: readonly number[];
  readonly path: readonly string[];
  /** Entries beside which it places these, and those that it disconnects. */
  readonly others: readonly number[];
  /** The list of files that the owner has, if the value is all of the list; null for that of a new one. */
  readonly list: ListKey | null;
  /** Whether a lock has to keep the entries until they are linked, because no foreign key does. */
  readonly isKept: boolean;
}

/** Of each type those that must exist, and those that it disconnects. */
const askedByMorph = (morph: MorphChange): readonly Asked[] => {
  const ofTypes = (
    targets: readonly MorphTarget[],
    asked: (ids: readonly number[]) => Pick<Asked, 'ids' | 'others' | 'isKept'>,
  ): readonly Asked[] =>
    groupBy(targets, (it) => it.uid).map((them) => ({
      uid: them[0]!.uid,
      path: morph.path,
      list: null,
      ...asked(them.map((it) => it.id)),
    }));
  return [
    ...ofTypes(askedTargets(morph), (ids) => ({ ids, others: [], isKept: true })),
    ...ofTypes(removedTargets(morph), (others) => ({ ids: [], others, isKept: false })),
  ];
};

const askedBy = ({ change: { links, morphs }, id }: OwnedChange): readonly Asked[] =>
  [
    ...links.map((link): Asked => {
      const { target, path } = link.attribute;
      const { change } = link;
      const isOfFiles = change.kind === 'set' && target === FILE_UID;
      return {
        uid: target,
        ids: askedIds(link),
        path: link.path,
        others: change.kind === 'set' ? [] : [...anchorIds(link), ...change.disconnect],
        list: id === null || !isOfFiles ? null : listKey(pathKey(path), id),
        isKept: false,
      };
    }),
    ...morphs.flatMap(askedByMorph),
  ].filter((it) => it.ids.length + it.others.length > 0);

const askedByType = (changes: readonly OwnedChange[]): readonly Asked[][] =>
  groupBy(changes.flatMap(askedBy), (it) => it.uid);

const distinctIds = (asked: readonly Asked[]): readonly number[] => [...new Set(asked.flatMap((it) => it.ids))];

interface Missing {
  readonly asked: Asked;
  readonly id: number;
  readonly exists: boolean;
}

const issuesOf = (missing: readonly Missing[]): readonly Issue[] =>
  [...new Set(missing.map((it) => it.asked))].map((asked) => {
    const ids = missing.filter((it) => it.asked === asked).map((it) => it.id);
    return issue('relation.absent', asked.path, { uid: asked.uid, ids });
  });

/** Returns what to call once the questions are answered. */
const askTargets = (
  changes: readonly OwnedChange[],
  { ask }: Questions,
  { model, dialect, gate }: CheckContext,
  locks: 'locks' | 'plain' = 'locks',
): ((snapshot: Pick<Snapshot, 'lists'> | null) => Targets) => {
  const mediaTypes = new Map<number, string | null>();
  const missing: Missing[] = [];
  const unseen: Unseen = new Map();
  for (const asked of askedByType(changes)) {
    const { uid } = asked[0]!;
    const type = typeOf(model, uid);
    const sees = isBounded(type, gate) ? isRowSeen(gate, type) : null;
    const others = staysUnseen(type, gate) ? asked.flatMap((it) => it.others) : [];
    const wanted = [...new Set([...distinctIds(asked), ...others])];
    if (wanted.length === 0) continue;
    const lock = locks === 'locks' && asked.some((it) => it.isKept) ? 'referenced' : 'plain';
    ask((sees ? governedStatement : existingStatement)(type, wanted, dialect, lock), (rows) => {
      const found = new Set(rows.flatMap((row) => (sees?.(row) === false ? [] : [row[0]!])));
      if (uid === FILE_UID) for (const [id, , , , mime] of rows) mediaTypes.set(id!, mime);
      addUnseen(
        others.filter((id) => !found.has(id)),
        uid,
        unseen,
      );
      const existing = sees ? new Set(rows.map(([id]) => id)) : found;
      for (const it of asked)
        for (const id of it.ids) if (!found.has(id)) missing.push({ asked: it, id, exists: existing.has(id) });
    });
  }
  return (snapshot) => {
    // files that the entry holds already, which it shows, may stay
    const isHeld = ({ list }: Asked, id: number): boolean =>
      list !== null && snapshot?.lists.get(list)?.some((it) => it.to === id) === true;
    const left = missing.filter(({ asked, id, exists }) => !(exists && isHeld(asked, id)));
    return { absent: issuesOf(left), gone: issuesOf(missing.filter((it) => !it.exists)), mediaTypes, unseen };
  };
};

/** Adds those in lists that are set: the body does not name them. */
const addHeld = async (
  unseen: Unseen,
  changes: readonly OwnedChange[],
  { lists, morphs }: Pick<Snapshot, 'lists' | 'morphs'>,
  { model, gate, tx, dialect }: CheckContext,
): Promise<void> => {
  const mayBeUnseen = (uid: Uid): boolean => {
    // links may name a type that is gone
    const type = model.types.get(uid);
    return type !== undefined && staysUnseen(type, gate);
  };
  const held = changes.flatMap(({ change, id }): readonly MorphTarget[] => {
    if (id === null) return [];
    const linked = change.links.flatMap(({ attribute: { target: uid, path }, change: { kind } }) =>
      kind === 'set' && mayBeUnseen(uid)
        ? (lists.get(listKey(pathKey(path), id)) ?? []).map((it) => ({ uid, id: it.to }))
        : [],
    );
    const morphed = change.morphs.flatMap(({ attribute: { path }, change: { kind } }) =>
      kind === 'set' ? (morphs.get(listKey(pathKey(path), id)) ?? []).filter((it) => mayBeUnseen(it.uid)) : [],
    );
    return [...linked, ...morphed];
  });
  const questions = newQuestions();
  for (const them of groupBy(held, (it) => it.uid)) {
    const type = typeOf(model, them[0]!.uid);
    const ids = [...new Set(them.map((it) => it.id))];
    questions.ask(governedStatement(type, ids, dialect, 'plain'), (rows) => {
      const seen = new Set(rows.filter(isRowSeen(gate, type)).map(([id]) => id));
      addUnseen(
        ids.filter((id) => !seen.has(id)),
        type.uid,
        unseen,
      );
    });
  }
  await questions.answer(tx, dialect);
};

/** Files of another type than the attribute allows. Those that it holds already may stay. */
const refusedFiles = (
  changes: readonly OwnedChange[],
  mediaTypes: ReadonlyMap<number, string | null>,
  { lists }: Pick<Snapshot, 'lists'>,
): readonly Issue[] =>
  changes.flatMap(({ change, id }) =>
    change.links.flatMap((link) => {
      const { attribute, path } = link;
      const { allowedTypes } = attribute;
      if (allowedTypes.length === 0) return [];
      const held = id === null ? [] : (lists.get(listKey(pathKey(attribute.path), id)) ?? []);
      const wrong = askedIds(link).filter((file) => {
        const type = mediaTypes.get(file);
        return type !== undefined && !allowedTypes.includes(kindOf(type)) && !held.some((it) => it.to === file);
      });
      return wrong.length > 0 ? [issue('media.type', path, { allowed: allowedTypes, files: wrong })] : [];
    }),
  );

/** What v4 calls a file of that media type in `allowedTypes`. */
const kindOf = (mediaType: string | null): string => {
  const kind = `${mediaType?.split('/', 1)[0]}s`;
  return kind === 'images' || kind === 'videos' || kind === 'audios' ? kind : 'files';
};

/** A unique value that other rows have, or that the request has twice. */
interface Taken {
  readonly path: readonly string[];
  readonly isRepeated: boolean;
  /** The other rows. */
  readonly holders: readonly OwnerKey[];
}

/** Unique values, against the whole table and within the request (BO8). Returns what is filled once the questions are answered. */
const askTaken = (changes: readonly OwnedChange[], { ask }: Questions, dialect: Dialect): readonly Taken[] => {
  const taken: Taken[] = [];
  const seen = new Set<string>();
  for (const { change, id } of changes)
    for (const value of change.values) {
      if (!isToBeUnique(value)) continue;
      ask(takenStatement(change.type, value, id, dialect), (rows) => {
        const key = JSON.stringify([change.type.uid, value.attribute.name, heldValue(value, dialect)]);
        const holders = rows.map(([holder]) => ownerKey(change.type.uid, holder!));
        if (rows.length > 0 || seen.has(key)) taken.push({ path: value.path, isRepeated: seen.has(key), holders });
        seen.add(key);
      });
    }
  return taken;
};

/** Components that the changes remove give their values back. */
const takenIssues = async (
  taken: readonly Taken[],
  changes: readonly OwnedChange[],
  { model, tx, dialect }: CheckContext,
): Promise<readonly Issue[]> => {
  const [root] = changes;
  if (taken.length === 0 || !root) return [];
  const { change, id } = root;
  const removed: ReadonlySet<OwnerKey> =
    id === null || change.parts.length === 0
      ? new Set()
      : removedBy(change, id, await readParts(change.type, [id], model, tx, dialect));
  return taken
    .filter((it) => it.isRepeated || it.holders.some((holder) => !removed.has(holder)))
    .map((it) => issue('body.unique', it.path));
};

/** What is looked for before hooks run, without locks: throws a `Refusal` for targets that do not exist, and for unique values that others have. */
export const checkBeforeHooks = async (changes: readonly OwnedChange[], context: CheckContext): Promise<void> => {
  const questions = newQuestions();
  const targets = askTargets(changes, questions, context, 'plain');
  const taken = askTaken(changes, questions, context.dialect);
  await questions.answer(context.tx, context.dialect);
  const issues = [...targets(null).gone, ...(await takenIssues(taken, changes, context))];
  if (issues.length > 0) refuseAll(issues);
};

/** A unique attribute of a stored row. */
export interface UniqueCell {
  readonly type: EntryType;
  readonly id: number;
  readonly attribute: ScalarAttribute;
  /** Of its value in the body. */
  readonly path: readonly string[];
}

/** One that has a value. */
export interface HeldValue extends UniqueCell {
  /** As text. */
  readonly value: string;
}

/** The cells that hold a value, with it. */
export const findHeld = async (cells: readonly UniqueCell[], context: CheckContext): Promise<readonly HeldValue[]> =>
  (await foundBy(heldStatement, cells, context)).map(({ cell, text }) => ({ ...cell, value: text }));

/** Issues of values that other rows have too. @param cells that hold one: for each, the whole table may be searched. */
export const askUsed = async (cells: readonly UniqueCell[], context: CheckContext): Promise<readonly Issue[]> =>
  (await foundBy(usedStatement, cells, context)).map(({ cell }) => issue('body.unique', cell.path));

/** The cells whose rows are found by the statement of their column, with what it selects beside the id. */
const foundBy = async (
  statementOf: (cell: UniqueCell, dialect: Dialect) => Statement,
  cells: readonly UniqueCell[],
  { tx, dialect }: CheckContext,
): Promise<readonly { readonly cell: UniqueCell; readonly text: string }[]> => {
  const columns = groupBy(cells, (it) => `${it.type.table} ${it.attribute.column}`);
  const results = await tx.runAll(
    columns.map((them) => {
      const ids = them.map((it) => it.id);
      return withIds(statementOf(them[0]!, dialect), ids, dialect);
    }),
  );
  return columns.flatMap((them, i) => {
    const found = new Map(results[i]!.map(([id, text]) => [Number(id), String(text)]));
    return them.flatMap((cell) => {
      const text = found.get(cell.id);
      return text === undefined ? [] : [{ cell, text }];
    });
  });
};

/** Selects those of given rows that have a value, with it. */
const heldStatement = ({ type: { table }, attribute: { column } }: UniqueCell, dialect: Dialect): Statement =>
  keptStatement(dialect, `held ${table} ${column}`, () => {
    const value = sql.ref(`e.${column}`);
    return sql`select e.id, cast(${value} as text) from ${sql.table(table)} e where ${dialect.inIds(sql.ref('e.id'))} and ${value} is not null`;
  });

/** Selects those of given rows of which another row has the value. */
const usedStatement = ({ type: { table }, attribute: { column } }: UniqueCell, dialect: Dialect): Statement =>
  keptStatement(dialect, `used ${table} ${column}`, () => {
    const [own, other] = [sql.ref(`e.${column}`), sql.ref(`o.${column}`)];
    const guard = dialect.stillRunning ? sql`${dialect.stillRunning.someRows(sql`o.id`)} and ` : sql``;
    return sql`select distinct e.id from ${sql.table(table)} e join ${sql.table(table)} o on ${other} = ${own} and o.id <> e.id where ${guard}${dialect.inIds(sql.ref('e.id'))}`;
  });

/** The questions of `checkChanges` about other entries, and how many rows answer them if nothing is to be refused. */
export const countedQuestions = (
  changes: readonly OwnedChange[],
  { model, dialect }: Pick<CheckContext, 'model' | 'dialect'>,
): readonly Counted[] => [
  ...askedByType(changes).flatMap((asked): readonly Counted[] => {
    const wanted = distinctIds(asked);
    if (wanted.length === 0) return [];
    return [{ query: existingStatement(typeOf(model, asked[0]!.uid), wanted, dialect), rows: wanted.length }];
  }),
  ...changes.flatMap(({ change, id }) =>
    change.values
      .filter(isToBeUnique)
      .map((value): Counted => ({ query: takenStatement(change.type, value, id, dialect), rows: 0 })),
  ),
];

const isToBeUnique = ({ attribute, value }: ValueChange): boolean => value !== null && isUnique(attribute);

const heldValue = ({ attribute, value }: Pick<ValueChange, 'attribute' | 'value'>, dialect: Dialect): DbValue =>
  dialect.held(scalarTypes[attribute.type].column, value);

/** Selects rows of other entries with the value: one, or of components as many as a write may remove and one more. */
const takenStatement = (
  { table, kind: ofType }: EntryType,
  { attribute, value }: ValueChange,
  id: number | null,
  dialect: Dialect,
): Statement => {
  const kind = scalarTypes[attribute.type].column;
  const statement = keptStatement(dialect, `taken ${table} ${attribute.column} ${id === null}`, () => {
    const others = id === null ? sql`` : sql` and id <> ${dialect.bindSlot('id', 1)}`;
    // a table that v4 has made may lack the index
    const guard = dialect.stillRunning ? sql`${dialect.stillRunning.someRows(sql`id`)} and ` : sql``;
    return sql`select ${columnsOf({ id: sql`id` })} from ${sql.table(table)} where ${guard}${sql.ref(attribute.column)} = ${dialect.bindSlot(kind, 0)}${others} limit ${sql.lit(ofType === 'component' ? limits.partsMax + 1 : 1)}`;
  });
  return withValues(statement, [heldValue({ attribute, value }, dialect), id], dialect);
};
