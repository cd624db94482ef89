/** What a write does to rows: plain data, in execution order. */
import type { FixedValue } from '../model/model.js';
import type { Cell, NewRow } from '../sql/dialect.js';
import type { OwnerKey } from './keys.js';
import type { PlacedPart } from './parts.js';
import type { Snapshot } from './snapshot.js';

export type Operation =
  /** Ranks of rows by their ids. */
  | {
      readonly kind: 'rank';
      readonly table: string;
      readonly column: string;
      readonly ranks: readonly (readonly [row: number, rank: number])[];
    }
  | ({ readonly kind: 'insert' } & NewRow)
  /** Rows whose column holds one of the ids, and that have the fixed values. */
  | {
      readonly kind: 'update';
      readonly table: string;
      readonly column: string;
      readonly ids: readonly number[];
      readonly cells: readonly Cell[];
      readonly fixed?: readonly FixedValue[];
      /** Only rows that still have this cell: another writer may have changed theirs since they were read. */
      readonly still?: Cell;
    }
  /** The same. */
  | {
      readonly kind: 'delete';
      readonly table: string;
      readonly column: string;
      readonly ids: readonly number[];
      readonly fixed: readonly FixedValue[];
    }
  /** Lets the next ids of a table follow the greatest. */
  | { readonly kind: 'continue'; readonly table: string }
  /** Inserts copies of rows: those whose column holds the first id of a pair, with the second id in its place. */
  | {
      readonly kind: 'clone';
      readonly table: string;
      readonly column: string;
      readonly pairs: readonly IdPair[];
      /** The other columns. */
      readonly columns: readonly string[];
      readonly fixed: readonly FixedValue[];
    }
  /** Copies columns of the row with the first id of a pair to the row with the second. */
  | {
      readonly kind: 'assign';
      readonly table: string;
      readonly columns: readonly string[];
      readonly pairs: readonly IdPair[];
    };

export type IdPair = readonly [from: number, to: number];

export interface WritePlan {
  readonly operations: readonly Operation[];
  /** The components of the snapshot as they will be. */
  readonly parts: ReadonlyMap<OwnerKey, readonly PlacedPart[]>;
  /** Ids that the operations use: a database may know an id as taken only once its row is there. */
  readonly newIds: Snapshot['newIds'];
}
