/**
 * Relations whose sides have changed places: `inversedBy` and `mappedBy` of the two schema files were swapped, so that the links are
 * now kept under the name of the other attribute. They are the same links, with the same columns.
 */
import { type Attribute, type EntryType, type LinkAttribute, type Model, typeOf } from '../model/model.js';
import { linkTableName, tablesOf } from '../model/storage.js';
import { type Change, inOrder, type Step } from './changes.js';
import { tableNeed } from './state.js';
import { countRows, type Survey } from './survey.js';

export interface Moved {
  readonly change: Change;
  readonly steps: readonly Step[];
  readonly needs: readonly string[];
  /** The table that the links are in. */
  readonly table: string;
  /** The one for them, under its former name. */
  readonly to: string;
}

interface Search {
  readonly survey: Survey;
  readonly former: Model;
  readonly types: readonly (readonly [former: EntryType, type: EntryType])[];
}

export const findMoved = async ({ survey, former, types }: Search): Promise<readonly Moved[]> => {
  const layout = new Set(tablesOf(former).map((it) => it.name));
  const found: Moved[] = [];
  for (const [formerType, type] of types) {
    const attributes = [...type.attributes.values()];
    for (const [i, before] of [...formerType.attributes.values()].entries()) {
      const attribute = attributes[i]!;
      if (!isKept(before) || !isKept(attribute)) continue;
      const { path, inverse, target } = before;
      const table = linkTableName(typeOf(former, target).table, inverse!);
      const hasColumns = [path.from, path.to].every((it) => survey.declared(table, it) !== undefined);
      if (layout.has(table) || !hasColumns) continue;
      const isEmpty = !survey.hasTable(path.table) || (await countRows(survey, path.table)) === 0;
      const links = await countRows(survey, table);
      if (!isEmpty || links === 0) continue;
      found.push({
        change: { change: 'move links', type: type.uid, attribute: attribute.name, from: table, links },
        steps: stepsOf(table, before, attribute, target === formerType.uid),
        needs: [tableNeed(table)],
        table,
        to: path.table,
      });
    }
  }
  return found;
};

/** The side of a pair that keeps the links. */
const isKept = (attribute: Attribute): attribute is LinkAttribute =>
  attribute.kind === 'link' &&
  attribute.source === 'relation' &&
  attribute.side === 'owner' &&
  attribute.inverse !== null &&
  attribute.path.from !== 'id';

const stepsOf = (from: string, before: LinkAttribute, attribute: LinkAttribute, isSelf: boolean): readonly Step[] => {
  const { table: to } = attribute.path;
  const columns = (it: LinkAttribute) => [it.path.from, it.path.to, it.path.rank, it.inverseRank] as const;
  const [source, target, rank, inverseRank] = columns(attribute);
  // a type's links to itself have names by side, all others by type
  const names = isSelf ? [target, source, inverseRank, rank] : [source, target, rank, inverseRank];
  const renamed = columns(before).flatMap((name, i) => {
    const other = names[i];
    return name === null || other == null ? [] : [{ do: 'rename column', table: to, from: name, to: other } as const];
  });
  const index = (suffix: string, other: string, ...on: readonly (string | null)[]): readonly Step[] =>
    on.includes(null)
      ? []
      : [
          {
            do: 'rename index',
            table: to,
            from: `${from}_${suffix}`,
            to: `${to}_${other}`,
            columns: on.filter((it) => it !== null),
            descending: [],
            unique: suffix === 'unique',
          },
        ];
  const key = (suffix: string, other: string): Step => ({
    do: 'rename foreign key',
    table: to,
    from: `${from}_${suffix}`,
    to: `${to}_${other}`,
  });
  return [
    { do: 'rename table', from, to, mergeBy: null },
    ...inOrder(renamed, () => ''),
    ...index('fk', 'inv_fk', target),
    ...index('inv_fk', 'fk', source),
    ...index('unique', 'unique', source, target),
    ...index('order_fk', 'order_inv_fk', inverseRank),
    ...index('order_inv_fk', 'order_fk', rank),
    ...index('list_index', 'list_inv_index', target, inverseRank),
    ...index('list_inv_index', 'list_index', source, rank),
    key('fk', 'inv_fk'),
    key('inv_fk', 'fk'),
  ];
};
