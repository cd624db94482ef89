/**
 * All batches of a read as one statement, for databases that are a round trip away: ids go from one part to the next
 * inside it. Its rows are those that the batches return, each told apart by its kind, and are placed as theirs are.
 */
import { sql } from 'kysely';
import { limits } from '../limits.js';
import { slotParameter } from '../sql/compile.js';
import type { Dialect, Sql, Statement } from '../sql/dialect.js';
import type { PlanLinks, PlanNode, ReadShape } from './plan.js';

export interface UnitedRead {
  /** `[kind, number, number, text]`, of each kind in the order of its own query. */
  readonly statement: Statement;
  /** By number: what a row of the kind is. */
  readonly kinds: readonly UnitedKind[];
}

export type UnitedKind =
  /** Id, place in the node's sort or 0, JSON text. Those of the root come in the order of the page. */
  | { readonly kind: 'entry'; readonly node: number }
  /** Ids from and to. */
  | { readonly kind: 'link'; readonly node: number; readonly links: number; readonly target: number }
  /** The number of entries on all pages. */
  | { readonly kind: 'count' }
  /** As text: the version of the only entry. */
  | { readonly kind: 'version' };

/** The queries of the batches, in which ids may come from a query. */
export interface BatchQueries {
  /** What `root` and `count` read as `found`, if they share it. */
  readonly found: Sql | null;
  /** The first batch: id, JSON text if there are fields, and the version if the shape has one. */
  readonly root: Sql;
  readonly count: Sql | null;
  /** Id, JSON text if there are fields, and the place if the node has a sort. */
  readonly entries: (node: PlanNode, inIds: InIds) => Sql;
  /** Ids from and to, and the target. */
  readonly links: (links: PlanLinks, inIds: InIds) => Sql;
}

export type InIds = (column: Sql) => Sql;

/** Statements of more parts are planned for long, and too large to be kept prepared. */
const NODES_MAX = 60;

/** Null if the read is better done in batches. */
export const uniteRead = (shape: ReadShape, queries: BatchQueries, dialect: Dialect): UnitedRead | null => {
  if (!dialect.isRemote || shape.nodes.length > NODES_MAX) return null;
  // their JSON texts are in several columns
  if (shape.nodes.some((node) => node.fields.length > dialect.jsonPairsMax)) return null;
  const parts: Sql[] = [];
  const branches: Sql[] = [];
  const kinds: UnitedKind[] = [];
  const part = (name: string, columns: readonly string[], query: Sql): void => {
    parts.push(sql`${sql.id(name)}(${sql.join(columns.map((it) => sql.id(it)))}) as materialized (${query})`);
  };
  if (queries.found) parts.push(sql`found as materialized (${queries.found})`);
  const kindOf = (kind: UnitedKind): Sql => sql.lit(kinds.push(kind) - 1);

  const root = shape.nodes.length - 1;
  for (let index = root; index >= 0; index--) {
    const node = shape.nodes[index]!;
    const isRoot = index === root;
    const isFollowed = node.links.length > 0;
    const columns = columnsOf(shape, index);
    const name = sql.id(`e${index}`);
    // what several parts need is collected once
    let ids = isRoot ? null : idsOf(shape, index);
    if (ids && isFollowed) {
      part(`i${index}`, ['id'], ids);
      ids = sql`select id from ${sql.id(`i${index}`)}`;
    }
    const wanted = ids;
    const entries = wanted ? queries.entries(node, (column) => dialect.inQuery(column, wanted)) : queries.root;
    let source = sql`(${entries}) as ${name}(${sql.join(columns.map((it) => sql.id(it)))})`;
    // only entries that meet the filter are followed
    if (isRoot ? (isFollowed && shape.slice !== null) || shape.withVersion : isFollowed && node.filter) {
      part(`e${index}`, columns, entries);
      source = name;
      ids = sql`select id from ${name}`;
    }
    const [json, place] = ['json', 'place'].map((it) => columns.includes(it));
    branches.push(
      sql`select ${kindOf({ kind: 'entry', node: index })}, id, ${place ? sql`cast(place as integer)` : sql`0`}, ${json ? sql`json` : sql`null`} from ${source}`,
    );
    if (isRoot && shape.withVersion)
      branches.push(sql`select ${kindOf({ kind: 'version' })}, 0, 0, version from ${name}`);
    if (isRoot && queries.count) {
      // counted only if the number is not known
      const known = shape.slice ? slotParameter('integer', shape.slice.total) : sql`null`;
      const count = sql`cast(coalesce(${known}, (${queries.count})) as integer)`;
      branches.push(sql`select ${kindOf({ kind: 'count' })}, ${count}, 0, null`);
    }
    const followed = ids;
    const isGiven = isRoot && shape.slice === null;
    const inFollowed = (column: Sql): Sql => (isGiven ? dialect.inIds(column) : dialect.inQuery(column, followed!));
    node.links.forEach((links, k) => {
      const name = linksName(index, k);
      const query = queries.links(links, inFollowed);
      part(name, ['source', 'target', 'kind'], query);
      const [first] = links.targets.map((_target, target) => kindOf({ kind: 'link', node: index, links: k, target }));
      if (first)
        branches.push(
          sql`select ${first} + kind, source, target, null from ${sql.id(name)}${isAlways(links) ? sql`` : sql` where kind is not null`}`,
        );
    });
  }
  const withParts = parts.length > 0 ? sql`with ${sql.join(parts)} ` : sql``;
  // enough to tell that a read is too expensive: the parts after those rows do not run
  const rowsMax = 2 * limits.rowsMax + 2;
  const query = sql`${withParts}${sql.join(branches, sql` union all `)} limit ${sql.lit(rowsMax)}`;
  const statement = dialect.compile(query);
  return statement.sql.length > limits.unitedCharactersMax
    ? null
    : { statement: { ...statement, isWhole: true }, kinds };
};

/** What an entries query returns. */
const columnsOf = ({ nodes, withVersion }: ReadShape, index: number): readonly string[] => {
  const { fields, sort } = nodes[index]!;
  return [
    'id',
    ...(fields.length > 0 ? ['json'] : []),
    ...(sort.length > 0 ? ['place'] : []),
    ...(withVersion && index === nodes.length - 1 ? ['version'] : []),
  ];
};

const linksName = (node: number, links: number): string => `l${node}_${links}`;

/** Whether all rows of the links are of one kind. */
const isAlways = ({ targets, typeColumn }: PlanLinks): boolean => targets.length === 1 && typeColumn === null;

/** The ids by which a node is reached; some more than once. */
const idsOf = (shape: ReadShape, index: number): Sql => {
  const sources = shape.nodes.flatMap((node, owner) =>
    node.links.flatMap((links, k) => {
      const kinds = links.targets.flatMap(({ edge, target }, kind) =>
        node.edges[edge]!.targets[target]!.node === index ? [sql.lit(kind)] : [],
      );
      return kinds.length === 0
        ? []
        : [sql`select target from ${sql.id(linksName(owner, k))} where kind in (${sql.join(kinds)})`];
    }),
  );
  return sources.length === 1
    ? sql`select distinct target from (${sources[0]!}) as s`
    : sql.join(sources, sql` union `);
};
