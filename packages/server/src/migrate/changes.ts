/** What a migration changes, as data: the changes that people read, and the steps that a database takes. */
import type { ScalarTypeName } from '../model/attributes.js';
import type { FixedValue, Uid } from '../model/model.js';

/** One change of the model that a database has to follow. Counts are those of the database that the plan was made for. */
export type Change =
  | { readonly change: 'rename type'; readonly from: Uid; readonly to: Uid }
  | { readonly change: 'rename table'; readonly type: Uid; readonly from: string; readonly to: string }
  | { readonly change: 'rename attribute'; readonly type: Uid; readonly from: string; readonly to: string }
  /** The links of a relation whose sides have changed places. */
  | {
      readonly change: 'move links';
      readonly type: Uid;
      readonly attribute: string;
      /** The table that they are in. */
      readonly from: string;
      readonly links: number;
    }
  | ({
      readonly change: 'convert attribute';
      readonly type: Uid;
      readonly attribute: string;
      /** What it is stored as: a type, or the column's declared type where no type is stored like that. */
      readonly from: string;
      readonly to: ScalarTypeName;
    } & Losses)
  | ({ readonly change: 'keep the first'; readonly type: Uid; readonly attribute: string } & Pick<Losses, 'lost'>)
  /** An attribute that became a `uid`, or is one no longer; `repeated` values prevent the former. */
  | {
      readonly change: 'require unique values' | 'allow repeated values';
      readonly type: Uid;
      readonly attribute: string;
      readonly to: ScalarTypeName;
      readonly repeated: number;
    }
  | { readonly change: 'drop attribute'; readonly type: Uid; readonly attribute: string; readonly values: number }
  | { readonly change: 'drop type'; readonly type: Uid; readonly entries: number }
  | { readonly change: 'drop table'; readonly table: string; readonly rows: number };

export interface Losses {
  /** Values that are there. */
  readonly values: number;
  /** Those among them that become null, because the new type has nothing like them. */
  readonly lost: number;
  /** Those that are rounded or cut. */
  readonly altered: number;
  /** Ids of the first few rows that lose something. */
  readonly ids: readonly number[];
}

export type ConvertChange = Extract<Change, { change: 'convert attribute' }>;

/** One action on the database, the same for every engine. Each names all that it needs: schema files may change again. */
export type Step =
  /** @property mergeBy a column: rows that the new table holds are kept, unless both tables have some with one value of it. */
  | { readonly do: 'rename table'; readonly from: string; readonly to: string; readonly mergeBy: string | null }
  | { readonly do: 'rename column'; readonly table: string; readonly from: string; readonly to: string }
  | {
      readonly do: 'rename index';
      readonly table: string;
      readonly from: string;
      readonly to: string;
      readonly columns: readonly string[];
      readonly descending: readonly string[];
      readonly unique: boolean;
    }
  | { readonly do: 'rename foreign key'; readonly table: string; readonly from: string; readonly to: string }
  /** A type's uid, wherever it is stored: types of links, permissions, settings. */
  | { readonly do: 'rename uid'; readonly from: Uid; readonly to: Uid }
  /** An attribute's name in rows of a table; `entry` is the column of the entry that a row belongs to. */
  | {
      readonly do: 'rename field';
      readonly table: string;
      readonly entry: string;
      readonly type: Uid | null;
      readonly typeColumn: string | null;
      readonly from: string;
      readonly to: string;
    }
  /** An attribute's name in permissions and settings of the administration: a path such as `seo.metaTitle`. */
  | { readonly do: 'rename in settings'; readonly type: Uid; readonly from: string; readonly to: string }
  | {
      readonly do: 'convert column';
      readonly table: string;
      readonly column: string;
      /** Null: its texts. */
      readonly from: ScalarTypeName | null;
      readonly to: ScalarTypeName;
      /** Members of an enumeration. */
      readonly enum: readonly string[];
      readonly losesAtMost: number;
    }
  | ({
      readonly do: 'keep the first';
      /** Rows with the same value of it belong together. */
      readonly by: string;
      readonly order: readonly string[];
      /** The column that leads to another table: rows that lead nowhere are not shown, and stay. */
      readonly to: string;
      readonly target: string;
      readonly losesAtMost: number;
    } & RowsOf)
  | { readonly do: 'add unique index'; readonly table: string; readonly name: string; readonly column: string }
  | { readonly do: 'drop unique index'; readonly table: string; readonly name: string }
  | ({ readonly do: 'delete rows' } & RowsOf)
  | { readonly do: 'drop column'; readonly table: string; readonly column: string }
  | { readonly do: 'drop table'; readonly table: string }
  /** What permissions and settings say of a type that is gone. */
  | { readonly do: 'forget type'; readonly type: Uid };

/** Rows of a table, and with those that link components also the components. */
export interface RowsOf {
  readonly table: string;
  readonly where: readonly FixedValue[];
  /** Tables of components by their uid; null for rows that link none. */
  readonly components: Readonly<Record<Uid, string>> | null;
}

/** A step that another one of its kind must wait for, because it takes the other's name. */
export interface Renaming {
  readonly from: string;
  readonly to: string;
}

/**
 * Renames in an order in which no name is taken before it is free; circles go by way of another name.
 * @param within renames of different values do not concern each other.
 */
export const inOrder = <T extends Renaming>(renames: readonly T[], within: (it: T) => string): readonly T[] => {
  const ordered: T[] = [];
  let pending = renames.filter((it) => it.from !== it.to);
  let circles = 0;
  while (pending.length > 0) {
    const taken = new Set(pending.map((it) => `${within(it)}\n${it.from}`));
    const free = pending.filter((it) => !taken.has(`${within(it)}\n${it.to}`));
    if (free.length > 0) {
      ordered.push(...free);
      pending = pending.filter((it) => !free.includes(it));
      continue;
    }
    const [first, ...rest] = pending as [T, ...T[]];
    circles += 1;
    const way = `dovetail_rename_${circles}`;
    ordered.push({ ...first, to: way });
    pending = [...rest, { ...first, from: way }];
  }
  return ordered;
};
