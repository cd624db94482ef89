/** The relation lists of a form around a save: whether they were made on the lists that are stored, and what became of them. */
import { DovetailError } from 'dovetail-client';
import { type Attribute, attributeOf, type Model, type Type, typeOf } from '../../../model/model.js';
import type { FieldPath, Fields, RelationField } from '../form/fields.js';
import { fieldAt, pathTo, withField } from '../form/paths.js';
import { lengthOf, slotsOf } from '../relations/arrangement.js';
import { layOver } from '../relations/lay-over.js';
import { arrangementOf, isSameVersion, type ListEdit } from '../relations/relation-edit.js';
import { type ListSource, type OwnerContext, serverSource, WINDOW_MAX, wholeSource } from '../relations/source.js';

export interface PendingList {
  readonly path: FieldPath;
  readonly attribute: Attribute;
  readonly field: RelationField;
  readonly edit: ListEdit;
}

/** All lists with pending changes, those inside of components as well. */
export const pendingLists = (model: Model, type: Type, fields: Fields, at: FieldPath = ''): readonly PendingList[] =>
  Object.entries(fields).flatMap(([name, field]): readonly PendingList[] => {
    const path = pathTo(at, name);
    const attribute = attributeOf(type, name);
    if (!attribute) return [];
    if (field.kind === 'relation')
      return field.edit?.kind === 'list' ? [{ path, attribute, field, edit: field.edit }] : [];
    if (field.kind !== 'parts') return [];
    return field.parts.flatMap((part) => {
      const component = typeOf(model, part.component);
      return component ? pendingLists(model, component, part.fields, `${path}/${part.key}`) : [];
    });
  });

const sourceOf = ({ client, model, owner }: OwnerContext, { field, attribute, path }: PendingList): ListSource =>
  field.stored === null
    ? serverSource(client, model, owner, attribute, path)
    : wholeSource(['relation-list-whole', owner.type.uid, owner.id, path], field.stored);

interface Settled {
  readonly fields: Fields;
  /** Lists that somebody else has changed where it matters: their changes must be looked at first. */
  readonly contested: readonly PendingList[];
}

/** Lays pending changes over the lists as they are stored now. */
export const settleLists = async (context: OwnerContext, stored: Fields, fields: Fields): Promise<Settled> => {
  const { model, owner } = context;
  const contested: PendingList[] = [];
  let now = fields;
  for (const list of pendingLists(model, owner.type, fields)) {
    const source = sourceOf(context, list);
    const first = await source.read(0, 1).catch((fault: unknown) => {
      // its component is gone: the save is refused, and says so
      if (fault instanceof DovetailError && fault.status === 404 && list.path.includes('/')) return null;
      throw fault;
    });
    if (first === null) continue;
    const { version, total } = first;
    if (isSameVersion(list.edit.base, { version, total })) continue;
    const laid = await layOver(source, list.edit, { version, total }, list.edit.isOrdered);
    if (laid.isSamePlaces) now = withField(now, stored, list.path, { ...list.field, edit: laid.edit });
    else contested.push(list);
  }
  return { fields: now, contested };
};

/** A place of a list at which something else is stored than what was shown. */
interface Mismatch {
  readonly attribute: string;
  /** From 1. */
  readonly position: number;
}

export interface ReadBack {
  /** How many rows were compared. */
  readonly compared: number;
  readonly mismatches: readonly Mismatch[];
}

/** The most windows that are read to compare one list. */
const WINDOWS_MAX = 10;

/** Reads lists after a save, around everything that was moved, and compares them with what was shown. */
export const readBack = async (
  context: OwnerContext,
  lists: readonly PendingList[],
  saved: Fields,
): Promise<ReadBack> => {
  const mismatches: Mismatch[] = [];
  let compared = 0;
  for (const list of lists) {
    if (!list.edit.isOrdered) continue;
    const field = fieldAt(saved, list.path);
    // a component that is new has another path now
    if (field?.kind !== 'relation') continue;
    const source = sourceOf(context, { ...list, field });
    const arrangement = arrangementOf(list.edit);
    const length = lengthOf(arrangement);
    const wrong = (index: number): void => {
      mismatches.push({ attribute: list.attribute.name, position: index + 1 });
    };
    for (const start of windowsOf(list.edit)) {
      const { rows, total } = await source.read(start, WINDOW_MAX);
      if (total !== length) wrong(Math.min(total, length));
      slotsOf(arrangement, start, start + WINDOW_MAX).forEach((slot, i) => {
        const id = slot.id ?? list.edit.ids[slot.home!] ?? list.field.stored?.[slot.home!]?.id;
        if (id === undefined) return;
        compared += 1;
        if (rows[i]?.id !== id) wrong(start + i);
      });
    }
  }
  return { compared, mismatches };
};

/** The starts of windows that have everything that was moved, with its neighbours. */
const windowsOf = (edit: ListEdit): readonly number[] => {
  const starts: number[] = [];
  let at = 0;
  let end = -1;
  for (const piece of edit.pieces) {
    if (piece.kind === 'run') at += piece.count;
    else {
      if (at + 1 >= end) {
        const start = Math.max(0, at - 1);
        starts.push(start);
        end = start + WINDOW_MAX;
      }
      at += 1;
    }
  }
  return starts.length === 0 ? [0] : starts.slice(0, WINDOWS_MAX);
};
