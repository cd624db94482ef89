/** How a request is read, as `/_dovetail/explain` tells it. */

export interface Explanation {
  /** The route of the project's code that takes part in the read; null where the server reads by itself. */
  readonly code: { readonly path: string; readonly place: string } | null;
  readonly leftOut: readonly { readonly name: string; readonly why: string }[];
  readonly plan: { readonly shape: { readonly nodes: readonly PlanNode[] } };
  readonly statements: readonly Statement[];
  /** `isUnited`: whether the database gets them as one. */
  readonly counts: { readonly isUnited: boolean };
}
interface PlanNode {
  readonly uid: string;
  readonly fields: readonly { readonly name: string }[];
  readonly edges: readonly { readonly name: string; readonly targets: readonly { readonly node: number }[] }[];
}
export interface Statement {
  readonly sql: string;
  readonly params: readonly unknown[];
  /** What it is for: `page`, `count`, `node 0, entries of …`. */
  readonly fetches: string;
  readonly reads: readonly TableRead[];
  /** What would end reading a whole table. */
  readonly advice: { readonly text: string } | null;
  readonly ran?: { readonly times: number; readonly rows: number; readonly ms: number };
}
export interface TableRead {
  readonly table: string;
  readonly index: string | null;
  readonly extent: 'some' | 'range' | 'ordered' | 'locale' | 'all';
  /** Expected. */
  readonly rows: number | null;
}

/** What a statement reads all of; the server's advice is about both. */
export const wholeOf = (reads: readonly TableRead[]): 'table' | 'locale' | null => {
  if (reads.some(({ extent, index }) => extent === 'all' && index === null)) return 'table';
  return reads.some(({ extent }) => extent === 'locale') ? 'locale' : null;
};
