/** Checks schema files against each other: tables, routes, columns, targets, inverse sides, components. */
import { listNames, nearest, never, orKnown, orNearest } from '../errors.js';
import type { Draft, ReadFiles } from './files.js';
import { ADMIN_UID, type Uid } from './model.js';
import { type FileNotes, notesOf, type SchemaNotes } from './notes.js';
import { isOwner, type Keeper, type KeeperOf, mirror } from './relations.js';
import type { DeclaredMorphInverse, DeclaredRelation, DeclaredScalar } from './schema.js';
import { columnName, isReserved, joinColumn, linkTableName, morphOnePath } from './storage.js';
import { systemAttributes } from './system.js';

/** Reports what can be checked only once every file is read. */
export const checkDrafts = ({ drafts, unread }: ReadFiles, keeperOf: KeeperOf, notes: SchemaNotes): void => {
  const tables = new Map<string, Draft>();
  const routes = new Map<string, Draft>();
  for (const draft of drafts.values()) {
    const fileNotes = notesOf(draft.file, notes);
    const sameTable = tables.get(draft.table);
    if (sameTable) fileNotes.fault('collectionName', `the table "${draft.table}" already belongs to ${sameTable.uid}`);
    if (isReserved(draft.table))
      fileNotes.fault('collectionName', `the table "${draft.table}" is one of the server's own`);
    tables.set(draft.table, draft);
    if (draft.kind !== 'component' && draft.origin === 'project') {
      const route = draft.kind === 'single' ? draft.singular : draft.plural;
      const sameRoute = routes.get(route.toLowerCase());
      if (sameRoute) fileNotes.fault('info', `the route /api/${route} already belongs to ${sameRoute.uid}`);
      routes.set(route.toLowerCase(), draft);
    }
    checkAttributes({ draft, drafts, unread, keeperOf, notes: fileNotes });
  }
};

interface Check extends ReadFiles {
  readonly draft: Draft;
  readonly keeperOf: KeeperOf;
  /** Of the draft's file. */
  readonly notes: FileNotes;
}

const checkAttributes = (check: Check): void => {
  const { draft, unread, notes } = check;
  const columns = new Map([['id', 'id']]);
  for (const it of systemAttributes(draft))
    columns.set(it.kind === 'scalar' ? it.column : joinColumn(it.name), it.name);
  const linkTables = new Map<string, string>();
  for (const [name, declared] of draft.attributes) {
    const place = `attributes.${name}`;
    switch (declared.kind) {
      case 'scalar':
        claimColumn(columnName(name), name, place, columns, notes);
        checkTargetField(declared, place, check);
        break;
      case 'component':
        checkComponent(declared.component, `${place}.component`, check);
        break;
      case 'zone':
        if (declared.components.length === 0)
          notes.warn(
            `${place}.components`,
            'is empty, so the zone of every entry is empty: list the components that it takes',
          );
        for (const [i, uid] of declared.components.entries()) checkComponent(uid, `${place}.components.${i}`, check);
        break;
      case 'relation':
        if (!unread.has(declared.target)) checkRelation(declared, name, place, check);
        if (isOwner(declared) && declared.useJoinTable) {
          const table = linkTableName(draft.table, name);
          const same = linkTables.get(table);
          if (same !== undefined)
            notes.warn(place, `uses the same link table "${table}" as "${same}": they share their links, as in v4`);
          linkTables.set(table, name);
        }
        break;
      case 'morph':
        // two of them would share these columns of the type's table (ST14)
        if (declared.shape === 'one') checkMorphColumns(draft, name, place, columns, notes);
        break;
      case 'morphInverse':
        if (!unread.has(declared.target)) checkMorphInverse(declared, place, check);
        break;
      case 'media':
        break;
      default:
        never(declared);
    }
  }
};

const claimColumn = (
  column: string,
  name: string,
  place: string,
  columns: Map<string, string>,
  notes: FileNotes,
): void => {
  const same = columns.get(column);
  if (same !== undefined && same !== name) notes.fault(place, `uses the same column "${column}" as "${same}"`);
  columns.set(column, name);
};

const checkTargetField = ({ rules: { targetField } }: DeclaredScalar, place: string, { draft, notes }: Check): void => {
  if (targetField === null || draft.attributes.has(targetField) || draft.faulty.has(targetField)) return;
  const near = orKnown(targetField, draft.attributes.keys());
  notes.warn(`${place}.targetField`, `"${targetField}" is not an attribute${near}`);
};

const checkComponent = (uid: Uid, place: string, { drafts, unread, notes }: Check): void => {
  if (drafts.get(uid)?.kind === 'component' || unread.has(uid)) return;
  const known = [...drafts.values()].filter((it) => it.kind === 'component').map((it) => it.uid);
  notes.fault(place, `there is no component "${uid}"${orNearestUid(uid, known)}`);
};

/**
 * The nearest uid, or the one whose last part alone was given or nearly given: `cook` means `api::cook.cook`. If there is
 * none, lists the project's own.
 */
const orNearestUid = (text: string, known: readonly Uid[]): string => {
  const near = orNearest(text, known);
  if (near !== '') return near;
  const lastPart = (uid: string): string => uid.split(/::|\./).at(-1) ?? uid;
  const part = nearest(lastPart(text), known.map(lastPart));
  const meant = known.filter((it) => lastPart(it) === part);
  // a project's own types come before those of plugins
  const uid = meant.find((it) => it.startsWith('api::')) ?? meant.find((it) => it !== ADMIN_UID) ?? meant[0];
  if (uid !== undefined) return `; did you mean "${uid}"?`;
  const own = known.filter((it) => !/^(?:plugin|admin)::/.test(it));
  return own.length === 0 ? '' : `; expected one of ${listNames(own)}`;
};

// ---- relations

const checkRelation = (declared: DeclaredRelation, name: string, place: string, check: Check): void => {
  const { drafts, notes } = check;
  const target = drafts.get(declared.target);
  if (!target || target.kind === 'component') {
    noteNoTarget(declared.target, isOwner(declared), place, check);
    return;
  }
  const { relation, inversedBy, mappedBy } = declared;
  if (relation === 'oneToMany' && inversedBy !== null)
    notes.fault(
      `${place}.inversedBy`,
      'the oneToMany side never owns a relation: use mappedBy here and inversedBy on the manyToOne side',
    );
  if (relation === 'manyToOne' && mappedBy !== null && inversedBy === null)
    notes.fault(
      `${place}.mappedBy`,
      'the manyToOne side always owns a relation: use inversedBy here and mappedBy on the oneToMany side',
    );
  if (mappedBy !== null && inversedBy !== null)
    notes.warn(
      place,
      'mappedBy and inversedBy are mutually exclusive: as in v4, mappedBy has no effect; remove one of them',
    );
  const sides = { declared, name, place, target };
  if (isOwner(declared)) {
    if (inversedBy !== null) checkOwner(sides, inversedBy, check);
  } else if (mappedBy !== null) checkInverse(sides, mappedBy, check);
};

/** Types of plugins that are not built in are unknown here. @param isNeeded whether v4 checks it. */
const noteNoTarget = (target: Uid, isNeeded: boolean, place: string, { drafts, notes }: Check): void => {
  const known = [...drafts.values()].filter((it) => it.kind !== 'component').map((it) => it.uid);
  const message = `there is no content type "${target}"${orNearestUid(target, known)}`;
  if (target.startsWith('plugin::'))
    notes.warn(`${place}.target`, `${message}; types of other plugins are not loaded, and the attribute is left out`);
  else if (isNeeded || drafts.has(target)) notes.fault(`${place}.target`, message);
  else notes.warn(`${place}.target`, `${message}; until then the attribute is left out, as in v4`);
};

const checkMorphColumns = (
  draft: Draft,
  name: string,
  place: string,
  columns: Map<string, string>,
  notes: FileNotes,
): void => {
  const { to, typeColumn } = morphOnePath(draft.table);
  for (const column of [to, typeColumn]) claimColumn(column, name, place, columns, notes);
};

/** v4 does not start without the attribute that stores the links. */
const checkMorphInverse = ({ target, morphBy }: DeclaredMorphInverse, place: string, check: Check): void => {
  const holder = check.drafts.get(target);
  if (!holder || holder.kind === 'component') {
    noteNoTarget(target, true, place, check);
    return;
  }
  if (holder.attributes.get(morphBy)?.kind === 'morph' || holder.faulty.has(morphBy)) return;
  const morphs = [...holder.attributes].filter(([, it]) => it.kind === 'morph').map(([name]) => name);
  const message = `${target} has no morphToOne or morphToMany attribute "${morphBy}"${orKnown(morphBy, morphs)}`;
  check.notes.fault(`${place}.morphBy`, message);
};

interface Sides {
  readonly declared: DeclaredRelation;
  readonly name: string;
  readonly place: string;
  readonly target: Draft;
}

const describeKeeper = ({ draft, name }: Keeper): string => `"${name}" of ${draft.uid}`;

const checkOwner = ({ declared, name, place, target }: Sides, inversedBy: string, check: Check): void => {
  const { draft, keeperOf, notes } = check;
  const at = `${place}.inversedBy`;
  const back = target.attributes.get(inversedBy);
  if (target.faulty.has(inversedBy)) return;
  if (back?.kind !== 'relation') {
    notes.fault(at, `${target.uid} has no relation "${inversedBy}"${orKnown(inversedBy, relationsOf(target))}`);
    return;
  }
  if (back.target !== draft.uid) {
    const message = `"${inversedBy}" of ${target.uid} points to ${back.target} and does not show these links`;
    notes.warn(at, `${message}: name another attribute, or remove "inversedBy"`);
    return;
  }
  const own = keeperOf(draft, name);
  const inverse = keeperOf(target, inversedBy);
  if (back === declared)
    notes.warn(at, 'names its own attribute: as in v4 the links are seen from the other side; remove "inversedBy"');
  else if (own?.side === 'inverse')
    notes.warn(
      at,
      `both sides say "inversedBy": as in v4 both show the links of ${describeKeeper(own.keeper)}; rename "inversedBy" to "mappedBy" here`,
    );
  else if (inverse && inverse.keeper.declared !== declared)
    notes.warn(
      at,
      `"${inversedBy}" of ${target.uid} shows the links of ${describeKeeper(inverse.keeper)}, not these: name another attribute, or remove "inversedBy"`,
    );
};

const checkInverse = ({ declared, name, place, target }: Sides, mappedBy: string, check: Check): void => {
  const { draft, keeperOf, notes } = check;
  const at = `${place}.mappedBy`;
  const keeper = keeperOf(draft, name)?.keeper;
  if (keeper) {
    if (keeper.name !== mappedBy)
      notes.warn(
        at,
        `as in v4 the links are those of ${describeKeeper(keeper)}, which names this attribute: write its name here`,
      );
    if (keeper.declared.relation !== mirror[declared.relation])
      notes.warn(
        `${place}.relation`,
        `is ${declared.relation}, but ${describeKeeper(keeper)} is ${keeper.declared.relation}; expected ${mirror[keeper.declared.relation]}`,
      );
    return;
  }
  const back = target.attributes.get(mappedBy);
  if (target.faulty.has(mappedBy)) return;
  const leftOut = 'until then the attribute is left out, as in v4';
  if (back?.kind !== 'relation')
    notes.warn(at, `${target.uid} has no relation "${mappedBy}"${orKnown(mappedBy, relationsOf(target))}; ${leftOut}`);
  else if (back.target !== draft.uid)
    notes.warn(at, `"${mappedBy}" of ${target.uid} points to ${back.target}; ${leftOut}`);
  else notes.warn(at, `"${mappedBy}" of ${target.uid} needs "inversedBy": "${name}"; ${leftOut}`);
};

const relationsOf = (draft: Draft): readonly string[] =>
  [...draft.attributes].filter(([, it]) => it.kind === 'relation').map(([name]) => name);
