/** Checks of a write that need the database: targets exist, files are of an allowed type, unique values are not taken (BO8, CO10). */
import { sql } from 'kysely';
import { type Issue, issue, ok, type Result, refuseAll } from '../errors.js';
import { scalarTypes } from '../model/attributes.js';
import { FILE_UID, type Model, typeOf, type Uid } from '../model/model.js';
import type { Dialect, Statement, Tx } from '../sql/dialect.js';
import { pipeline } from '../sql/pipeline.js';
import type { Change, ParsedBody } from './change.js';
import { askedTargets } from './morphs.js';
import { isUnique } from './plan.js';
import {
  askedIds,
  changesOf,
  existingStatement,
  groupBy,
  listKey,
  pathKey,
  readSnapshot,
  type Snapshot,
} from './snapshot.js';

export interface CheckContext {
  readonly model: Model;
  readonly dialect: Dialect;
  readonly tx: Tx;
}

/** Returns the change of a valid body. An invalid body is refused; its issues include those found in the database. */
export const acceptBody = async (
  { change, issues }: ParsedBody,
  id: number | null,
  context: CheckContext,
): Promise<Change> => {
  if (issues.length === 0) return change;
  const changes = changesOf(change, id);
  const { absent } = await findTargets(changes, context);
  return refuseAll([...issues, ...absent, ...(await takenValues(changes, context))]);
};

/**
 * Checks that targets exist and unique values are not taken, and reads the snapshot for planning, in one round trip.
 * Returns issues instead of throwing, because other steps run concurrently.
 */
export const checkChanges = async (
  changes: Changes,
  context: CheckContext,
): Promise<Result<Omit<Snapshot, 'parts'>>> => {
  const [{ absent, mediaTypes }, taken, snapshot] = await pipeline(
    () => findTargets(changes, context),
    () => takenValues(changes, context),
    () => readSnapshot(changes, context.tx, context.dialect),
  );
  const issues = [...absent, ...refusedFiles(changes, mediaTypes, snapshot), ...taken];
  return issues.length > 0 ? { ok: false, issues } : ok(snapshot);
};

/** The changes of one body with the ids of their owners; null for new ones. */
type Changes = readonly { readonly change: Change; readonly id: number | null }[];

interface Targets {
  /** One issue for each link that names entries that do not exist. */
  readonly absent: readonly Issue[];
  /** The media types of the files that are named; null for a file without one. */
  readonly mediaTypes: ReadonlyMap<number, string | null>;
}

/** Entries of one type that a value of the body names. */
interface Asked {
  readonly uid: Uid;
  readonly ids: readonly number[];
  readonly path: readonly string[];
}

const askedBy = ({ links, morphs }: Change): readonly Asked[] =>
  [
    ...links.map((link): Asked => ({ uid: link.attribute.target, ids: askedIds(link), path: link.path })),
    ...morphs.flatMap((morph) =>
      groupBy(askedTargets(morph), (it) => it.uid).map(
        (targets): Asked => ({ uid: targets[0]!.uid, ids: targets.map((it) => it.id), path: morph.path }),
      ),
    ),
  ].filter((it) => it.ids.length > 0);

const findTargets = async (changes: Changes, { model, dialect, tx }: CheckContext): Promise<Targets> => {
  const groups = groupBy(
    changes.flatMap(({ change }) => askedBy(change)),
    (it) => it.uid,
  );
  const results = await tx.runAll(
    groups.map((asked) =>
      existingStatement(typeOf(model, asked[0]!.uid), [...new Set(asked.flatMap((it) => it.ids))], dialect),
    ),
  );
  const mediaTypes = new Map<number, string | null>();
  const absent = groups.flatMap((asked, i) => {
    const rows = results[i] ?? [];
    const found = new Set(rows.map(([target]) => target as number));
    if (asked[0]!.uid === FILE_UID) for (const [id, mime] of rows) mediaTypes.set(id as number, mime as string | null);
    return asked.flatMap(({ uid, ids, path }) => {
      const missing = ids.filter((target) => !found.has(target));
      return missing.length > 0 ? [issue('relation.absent', path, { uid, ids: missing })] : [];
    });
  });
  return { absent, mediaTypes };
};

/** Files of another type than the attribute allows. Those that it holds already may stay. */
const refusedFiles = (
  changes: Changes,
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
      return wrong.length > 0 ? [issue('media.type', path, { allowed: allowedTypes, ids: wrong })] : [];
    }),
  );

/** What v4 calls a file of that media type in `allowedTypes`. */
const kindOf = (mediaType: string | null): string => {
  const kind = `${mediaType?.split('/', 1)[0]}s`;
  return kind === 'images' || kind === 'videos' || kind === 'audios' ? kind : 'files';
};

/** Unique values, against the whole table and within the request (BO8). */
const takenValues = async (changes: Changes, { dialect, tx }: CheckContext): Promise<readonly Issue[]> => {
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
      // a table that v4 has made may lack the index
      const guard = dialect.stillRunning ? sql`${dialect.stillRunning.someRows(sql`id`)} and ` : sql``;
      return dialect.compile(
        sql`select 1 from ${sql.table(type.table)} where ${guard}${column} = ${dialect.bind(scalarTypes[attribute.type].column, value)}${others} limit 1`,
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
