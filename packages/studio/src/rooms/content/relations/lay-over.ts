/** Pending changes of a list, made again on the list as it is stored now. */
import type { Arrangement } from './arrangement.js';
import { type Loss, replay } from './changes.js';
import { editIds, editIntent, editOf, type ListEdit, type ListVersion } from './relation-edit.js';
import { type ListSource, titleOf } from './source.js';

interface LaidOver {
  readonly edit: ListEdit | null;
  readonly arrangement: Arrangement;
  readonly losses: readonly Loss[];
  /** Whether all that was moved, and all beside which it was put, stands where it stood. */
  readonly isSamePlaces: boolean;
  /** Of entries, by id. */
  readonly titles: ReadonlyMap<number, string>;
}

/** @param version of the list as it is stored now. */
export const layOver = async (
  source: ListSource,
  edit: ListEdit,
  version: ListVersion,
  isOrdered: boolean,
  signal?: AbortSignal,
): Promise<LaidOver> => {
  const ids = editIds(edit);
  const homes = await source.find(ids, signal);
  const titles = new Map(Object.values(edit.rows).map((row) => [row.id, titleOf(row)]));
  const { arrangement, losses } = replay(version.total, (id) => homes.get(id) ?? null, editIntent(edit));
  const idsByHome = new Map([...homes].map(([id, home]) => [home, id]));
  const make = () =>
    editOf(arrangement, { base: version, isOrdered, idAt: (home) => idsByHome.get(home) }, (id) => edit.rows[id]);
  let made = make();
  if (made.kind === 'unknown') {
    for (const home of made.homes) {
      const { rows } = await source.read(home, 1, signal);
      if (rows[0]) idsByHome.set(home, rows[0].id);
    }
    made = make();
  }
  const former = formerHomes(edit);
  return {
    edit: made.kind === 'edit' ? made.edit : null,
    arrangement,
    losses,
    isSamePlaces:
      losses.length === 0 &&
      version.total === edit.base.total &&
      ids.every((id) => (former.get(id) ?? null) === (homes.get(id) ?? null)),
    titles,
  };
};

/** Where the entries that a body names stood in the list that the edit was made on. */
const formerHomes = (edit: ListEdit): ReadonlyMap<number, number> =>
  new Map([
    ...Object.entries(edit.ids).map(([home, id]) => [id, Number(home)] as const),
    ...[...edit.pieces, ...edit.removed].flatMap((it) =>
      'id' in it && it.home !== null ? [[it.id, it.home] as const] : [],
    ),
  ]);
