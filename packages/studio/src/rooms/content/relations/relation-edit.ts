/** Unsaved changes of one relation: plain JSON, so that it is kept with the rest of the form, and what a save sends for it. */
import type { Attribute } from '../../../model/model.js';
import {
  type Arrangement,
  isUntouched,
  lengthOf,
  type Named,
  type Piece,
  sentOf,
  slotsOf,
  untouched,
} from './arrangement.js';
import { type Bodied, bodyOf, type Intent, idsIn, intentOf, type RelationBody } from './changes.js';

/** How an entry is shown in a list. */
export interface RelatedRow {
  readonly id: number;
  /** The uid of its type. */
  readonly type: string;
  readonly title: string | null;
  readonly publishedAt: string | null;
  readonly locale: string | null;
}

export type RelationEdit = ListEdit | OneEdit | MorphEdit;

/** A relation to several entries of one type: what was moved, added and removed, and never the whole list. */
export interface ListEdit {
  readonly kind: 'list';
  /** The list that it was made on. */
  readonly base: ListVersion;
  readonly pieces: readonly Piece[];
  readonly removed: readonly (Named & { readonly home: number })[];
  /** By place in the base: the ids of the entries beside which others are put. */
  readonly ids: Readonly<Record<string, number>>;
  /** By id: how the entries that were moved, added or removed are shown. */
  readonly rows: Readonly<Record<string, RelatedRow>>;
  /** Whether the database keeps an order of this side. */
  readonly isOrdered: boolean;
}

export interface ListVersion {
  /** Of the entry that has the list; null of one that is new, and of components. */
  readonly version: string | null;
  readonly total: number;
}

/** A relation to one entry. */
interface OneEdit {
  readonly kind: 'one';
  readonly row: RelatedRow | null;
}

/** A polymorphic relation, which is sent as a whole. */
interface MorphEdit {
  readonly kind: 'morph';
  readonly isList: boolean;
  readonly rows: readonly RelatedRow[];
}

/** The value of the relation in the body of a save. */
export const relationBody = (edit: RelationEdit): unknown => {
  switch (edit.kind) {
    case 'one':
      return edit.row?.id ?? null;
    case 'morph': {
      const targets = edit.rows.map(({ id, type }) => ({ id, __type: type }));
      return edit.isList ? targets : (targets[0] ?? null);
    }
    case 'list':
      return listBody(edit);
  }
};

export const listBody = (edit: ListEdit): unknown => {
  const { connect, ...rest } = positionedBody(edit);
  // positions say nothing where there is no order
  return connect === undefined
    ? rest
    : { connect: edit.isOrdered ? connect : connect.map(({ id }) => ({ id })), ...rest };
};

const positionedBody = (edit: ListEdit): RelationBody => {
  const bodied = bodyOf(arrangementOf(edit), (home) => edit.ids[home]);
  if (bodied.kind === 'unknown')
    throw new Error(`A list was changed beside entries that are not known: ${bodied.homes}`);
  return bodied.body;
};

const arrangements = new WeakMap<ListEdit, Arrangement>();

export const arrangementOf = (edit: ListEdit): Arrangement => {
  const known = arrangements.get(edit);
  if (known) return known;
  const made = { total: edit.base.total, pieces: edit.pieces, removed: edit.removed };
  arrangements.set(edit, made);
  return made;
};

export const arrangementAt = (edit: ListEdit | null, total: number): Arrangement =>
  edit === null ? untouched(total) : arrangementOf(edit);

/** What is known of the list that an edit is made on. */
interface KnownList {
  readonly base: ListVersion;
  readonly isOrdered: boolean;
  idAt(home: number): number | undefined;
}

/** An edit; null if nothing is changed; or places of the base that must be read first. */
export type Edited =
  | { readonly kind: 'edit'; readonly edit: ListEdit | null }
  | { readonly kind: 'unknown'; readonly homes: readonly number[] };

/** The arrangement as it is kept. @param rows how its entries are shown, by id. */
export const editOf = (
  arrangement: Arrangement,
  { base, isOrdered, idAt }: KnownList,
  rows: (id: number) => RelatedRow | undefined,
): Edited => {
  if (isUntouched(arrangement)) return { kind: 'edit', edit: null };
  const bodied: Bodied = bodyOf(arrangement, idAt);
  if (bodied.kind === 'unknown') return bodied;
  if (Object.keys(bodied.body).length === 0) return { kind: 'edit', edit: null };
  const named = [...arrangement.pieces, ...arrangement.removed].flatMap((it) => ('id' in it ? [it.id] : []));
  const edit: ListEdit = {
    kind: 'list',
    base,
    pieces: arrangement.pieces,
    removed: arrangement.removed,
    ids: Object.fromEntries(
      anchorHomes(arrangement).flatMap((home) => {
        const id = idAt(home);
        return id === undefined ? [] : [[home, id]];
      }),
    ),
    rows: Object.fromEntries(
      named.flatMap((id) => {
        const row = rows(id);
        return row ? [[id, row]] : [];
      }),
    ),
    isOrdered,
  };
  return { kind: 'edit', edit };
};

/** The places of the base beside the entries that a body names. */
const anchorHomes = (arrangement: Arrangement): readonly number[] => {
  const sent = sentOf(arrangement);
  return arrangement.pieces.flatMap((piece, i) => {
    if (piece.kind === 'run' || !sent.has(piece)) return [];
    const [previous, next] = [arrangement.pieces[i - 1], arrangement.pieces[i + 1]];
    return [
      ...(previous?.kind === 'run' ? [previous.home + previous.count - 1] : []),
      ...(next?.kind === 'run' ? [next.home] : []),
    ];
  });
};

/** What is to be done again on another list. */
export const editIntent = (edit: ListEdit): Intent => intentOf(arrangementOf(edit), positionedBody(edit));

/** The entries whose places in the other list are needed for that. */
export const editIds = (edit: ListEdit): readonly number[] => idsIn(positionedBody(edit));

/** Whether two lists are the same one, as far as can be told without reading them whole. */
export const isSameVersion = (a: ListVersion, b: ListVersion): boolean =>
  a.version === b.version && a.total === b.total;

/** The part of an entity tag that stays the same whatever fields were read. */
export const versionOf = (etag: string | null): string | null => {
  if (etag === null) return null;
  const opaque = /^(?:W\/)?"(.*)"$/.exec(etag)?.[1] ?? etag;
  return opaque.includes('.') ? opaque.slice(0, opaque.indexOf('.')) : opaque;
};

/** The edit of a list that is gone: the entries that it puts into a new one. */
export const withoutPlaces = (edit: ListEdit): ListEdit | null =>
  newList(edit.pieces.flatMap((it) => (it.kind === 'placed' ? (edit.rows[it.id] ?? []) : [])));

/** The entries of a relation as edited, as far as they are known. */
export const rowsAfter = (stored: readonly RelatedRow[] | null, edit: RelationEdit | null): readonly RelatedRow[] => {
  if (edit === null) return stored ?? [];
  if (edit.kind === 'morph') return edit.rows;
  if (edit.kind === 'one') return edit.row === null ? [] : [edit.row];
  const arrangement = arrangementOf(edit);
  return slotsOf(arrangement, 0, lengthOf(arrangement)).flatMap(({ id, home }) => {
    const row = id === null ? stored?.[home ?? -1] : edit.rows[id];
    return row ? [row] : [];
  });
};

/** Puts entries into a relation that has none; null if there is nothing to say of it: a list that stays empty. */
export const editOfRows = ({ kind, relation }: Attribute, rows: readonly RelatedRow[]): RelationEdit | null => {
  if (kind === 'morph') return { kind, isList: relation?.list ?? true, rows };
  return relation?.list ? newList(rows) : { kind: 'one', row: rows[0] ?? null };
};

const newList = (rows: readonly RelatedRow[]): ListEdit | null =>
  rows.length === 0
    ? null
    : {
        kind: 'list',
        base: { version: null, total: 0 },
        pieces: rows.map(({ id }) => ({ kind: 'placed', id, home: null })),
        removed: [],
        ids: {},
        rows: Object.fromEntries(rows.map((row) => [row.id, row])),
        isOrdered: true,
      };
