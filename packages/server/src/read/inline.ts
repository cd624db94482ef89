/**
 * Entries as texts inside a statement: the scalar part of a node, and the entries of its inline edges as correlated
 * subqueries. The texts are those that `assemble` makes of the same entries.
 */
import { sql } from 'kysely';
import { bug } from '../errors.js';
import { limits } from '../limits.js';
import type { Dialect, JsonTexts, Sql } from '../sql/dialect.js';
import {
  all,
  column,
  condition,
  guardExpensive,
  guardSome,
  listColumn,
  sortExpression,
  tableAs,
  visible,
} from './conditions.js';
import type { PlanEdge, PlanField, PlanLinks, PlanNode, ReadShape } from './plan.js';

type Part = string | Sql;

interface Rendering {
  readonly shape: ReadShape;
  readonly dialect: Dialect;
  readonly texts: JsonTexts;
}

/** Whether all edges of a node are inline, so that one text is the whole entry. */
export const isWhole = ({ edges }: PlanNode): boolean => edges.every((it) => it.inline !== null);

/** An entry of a whole node as it is shown: an object, or the inside of one for plain entries. @param alias of its table. */
export const entryText = (shape: ReadShape, node: PlanNode, alias: string, dialect: Dialect): Sql => {
  const rendering = renderingOf(shape, dialect);
  return rendering.texts.concat(entryParts(node, alias, 0, rendering));
};

/** The same as an object in every form. */
export const objectText = (shape: ReadShape, node: PlanNode, alias: string, dialect: Dialect): Sql => {
  const rendering = renderingOf(shape, dialect);
  return rendering.texts.concat(objectParts(node, alias, 0, rendering));
};

/**
 * The members of an entry's object that are not fetched by batches: those before the first edge of which that is so, and
 * those between such edges and after them; none where there are no members.
 */
export const memberTexts = (shape: ReadShape, node: PlanNode, alias: string, dialect: Dialect): readonly Sql[] => {
  const rendering = renderingOf(shape, dialect);
  const runs: (readonly Part[])[][] = [node.fields.map((it) => fieldParts(it, alias, rendering))];
  for (const edge of node.edges) {
    if (edge.inline === null) runs.push([]);
    else runs.at(-1)!.push(edgeParts(edge, edge.inline, alias, 0, rendering));
  }
  return runs.filter((it) => it.length > 0).map((members) => rendering.texts.concat(separated(members)));
};

const renderingOf = (shape: ReadShape, dialect: Dialect): Rendering => {
  if (!dialect.jsonTexts) throw bug('inline.without-texts', {});
  return { shape, dialect, texts: dialect.jsonTexts };
};

const entryParts = (node: PlanNode, alias: string, depth: number, rendering: Rendering): readonly Part[] => {
  const members = separated([
    ...node.fields.map((it) => fieldParts(it, alias, rendering)),
    ...node.edges.flatMap((it) => (it.inline === null ? [] : [edgeParts(it, it.inline, alias, depth, rendering)])),
  ]);
  const id = column(alias, 'id');
  if (!node.isPlain) return ['{"id":', id, ',"attributes":{', ...members, '}}'];
  const named = node.hasDocumentId ? ['"id":', id, ',"documentId":"', id, '"'] : ['"id":', id];
  return members.length === 0 ? named : [...named, ',', ...members];
};

const objectParts = (node: PlanNode, alias: string, depth: number, rendering: Rendering): readonly Part[] => {
  const parts = entryParts(node, alias, depth, rendering);
  return node.isPlain ? ['{', ...parts, '}'] : parts;
};

const separated = (members: readonly (readonly Part[])[]): readonly Part[] =>
  members.flatMap((it, i) => (i === 0 ? it : [',', ...it]));

const fieldParts = (field: PlanField, alias: string, { texts }: Rendering): readonly Part[] => [
  `${JSON.stringify(field.name)}:`,
  texts.value(field.form, column(alias, field.column)),
];

const edgeParts = (
  edge: PlanEdge,
  links: PlanLinks,
  owner: string,
  depth: number,
  rendering: Rendering,
): readonly Part[] => {
  const key = `${JSON.stringify(edge.name)}:`;
  const value = edgeText(edge, links, owner, depth + 1, rendering);
  return edge.wrapped ? [`${key}{"data":`, value, '}'] : [key, value];
};

/** @param depth makes the aliases of a level differ from those that enclose it. */
const edgeText = (edge: PlanEdge, links: PlanLinks, owner: string, depth: number, rendering: Rendering): Sql => {
  if (edge.typeKey !== null) return mixedText(edge, links, owner, depth, rendering);
  return edge.shape === 'one'
    ? oneText(edge, links, owner, depth, rendering)
    : manyText(edge, links, owner, depth, rendering);
};

/**
 * The first visible entry in stored order (ST10). There is one link at most, so nothing is sorted unless there are more: the
 * table for that takes longer to make than the entry to find.
 */
const oneText = (edge: PlanEdge, links: PlanLinks, owner: string, depth: number, rendering: Rendering): Sql => {
  const { shape, dialect, texts } = rendering;
  const node = targetOf(edge, shape);
  const [entry, source, link] = [`e${depth}`, `s${depth}`, `l${depth}`];
  const text = texts.concat(objectParts(node, entry, depth, rendering));
  const { from, order } = shownRows(node, links, owner, { link, entry: source }, dialect);
  const first = sql`select ${column(source, 'id')} ${from} order by ${order} limit 1`;
  const only = sql`select iif(count(*) > 1, (${first}), min(${column(link, links.to)})) from ${tableAs(links.table, link)}${all(linkRows(links, link, owner, dialect))}`;
  const where = [sql`${column(entry, 'id')} = (${only})`, ...shownConditions(node, entry, dialect)];
  return sql`coalesce((select ${text} from ${tableAs(node.table, entry)}${all(where)}), 'null')`;
};

/** All visible entries, in the order of the node's own sort; ties keep the stored order (Q8). */
const manyText = (edge: PlanEdge, links: PlanLinks, owner: string, depth: number, rendering: Rendering): Sql => {
  const { shape, dialect, texts } = rendering;
  const node = targetOf(edge, shape);
  const [entry, link, found] = [`e${depth}`, `l${depth}`, `k${depth}`];
  const text = texts.concat(objectParts(node, entry, depth, rendering));
  // to count them apart takes a table for each list
  const [ids, isOdd] = links.mayRepeat
    ? [sql`, count(distinct ${column(found, 'id')}) as ids`, sql`n > ids`]
    : [sql``, null];
  const list = (joined: Sql, from: Sql): Sql =>
    sql`select count(*) as n, ${texts.joined(joined)} as texts${ids} from ${from}`;
  if (node.filter !== null || node.sort.length > 0) {
    // the entries are read to choose or sort them, so they are rendered at once
    const { from, order } = shownRows(node, links, owner, { link, entry }, dialect);
    const rows = sql`select ${column(entry, 'id')} as id, ${text} as text ${from} order by ${order}`;
    return listText(edge, isOdd, list(column(found, 'text'), atMost(rows, found)), rendering);
  }
  const rows = sql`select ${column(link, links.to)} as id from ${tableAs(links.table, link)}${all(linkRows(links, link, owner, dialect))} order by ${sql.join(storedOrder(links, link, dialect))}`;
  const on = [sql`${column(entry, 'id')} = ${column(found, 'id')}`, ...visible(node, entry, dialect)];
  const from = sql`${atMost(rows, found)} left join ${tableAs(node.table, entry)} on ${sql.join(on, sql` and `)}`;
  return listText(edge, isOdd, list(sql`iif(${column(entry, 'id')} is null, null, ${text})`, from), rendering);
};

/** Elements of several types, each named by its type; an entry appears as often as it is linked. */
const mixedText = (edge: PlanEdge, links: PlanLinks, owner: string, depth: number, rendering: Rendering): Sql => {
  const { shape, dialect, texts } = rendering;
  const [entry, link, found] = [`e${depth}`, `l${depth}`, `k${depth}`];
  const { typeColumn } = links;
  if (typeColumn === null) throw bug('inline.mixed-without-type', { edge });
  const cases = edge.targets.map(({ uid, node: index }) => {
    const node = shape.nodes[index]!;
    const inside = entryParts(node, entry, depth, rendering);
    const text = texts.concat([`{"${edge.typeKey}":${JSON.stringify(uid)},`, ...inside, '}']);
    const where = [sql`${column(entry, 'id')} = ${column(found, 'id')}`, ...shownConditions(node, entry, dialect)];
    return sql`when ${sql.lit(uid)} then (select ${text} from ${tableAs(node.table, entry)}${all(where)})`;
  });
  const text = cases.length === 0 ? sql`null` : sql`case ${column(found, 'type')} ${sql.join(cases, sql` `)} end`;
  const rows = sql`select ${column(link, links.to)} as id, ${column(link, typeColumn)} as type from ${tableAs(links.table, link)}${all(linkRows(links, link, owner, dialect))} order by ${sql.join(storedOrder(links, link, dialect))}`;
  const list = sql`select count(*) as n, ${texts.joined(text)} as texts from ${atMost(rows, found)}`;
  return listText(edge, null, list, rendering);
};

/**
 * The list, or `nul` if it is long, or holds what only batches render right.
 * @param isOdd the latter. @param list selects the number of links (`n`) and the texts.
 */
const listText = (edge: PlanEdge, isOdd: Sql | null, list: Sql, { texts }: Rendering): Sql => {
  const { inlineRowsMax, inlineListBytesMax } = limits;
  const isLong = sql`n > ${sql.lit(inlineRowsMax)} or ${texts.size(sql`texts`)} > ${sql.lit(inlineListBytesMax)}`;
  const refused = isOdd ? sql`${isLong} or ${isOdd}` : isLong;
  const empty = edge.empty === '[]' ? sql`` : sql` when texts is null then ${sql.lit(edge.empty)}`;
  return sql`(select case when ${refused} then ${texts.nul}${empty} else ${texts.concat(['[', sql`texts`, ']'])} end from (${list}))`;
};

/**
 * The first rows of a query, in its order, one more than a list may have. Because of the limit the order is not left out, and
 * what is joined to the rows or aggregated from them follows it.
 */
const atMost = (rows: Sql, alias: string): Sql =>
  sql`(${rows} limit ${sql.lit(limits.inlineRowsMax + 1)}) ${sql.id(alias)}`;

/** The entries that an owner shows: where they are found, and their order. */
const shownRows = (
  node: PlanNode,
  links: PlanLinks,
  owner: string,
  { link, entry }: { readonly link: string; readonly entry: string },
  dialect: Dialect,
) => {
  const where = [
    ...linkRows(links, link, owner, dialect),
    sql`${column(entry, 'id')} = ${column(link, links.to)}`,
    ...shownConditions(node, entry, dialect),
  ];
  const order = [...node.sort.map((key) => sortExpression(key, entry, dialect)), ...storedOrder(links, link, dialect)];
  return {
    from: sql`from ${tableAs(links.table, link)} cross join ${tableAs(node.table, entry)}${all(where)}`,
    order: sql.join(order),
  };
};

const shownConditions = (node: PlanNode, alias: string, dialect: Dialect): readonly Sql[] => [
  ...guardExpensive(node.filter, alias, dialect),
  ...visible(node, alias, dialect),
  ...(node.filter ? [condition(node.filter, alias, dialect)] : []),
];

/** Conditions on the links of one edge and one owner. */
const linkRows = (links: PlanLinks, link: string, owner: string, dialect: Dialect): readonly Sql[] => {
  const is = (name: string, value: string): Sql => sql`${listColumn(links, link, name, dialect)} = ${sql.lit(value)}`;
  const { from, to, fixed, nameColumn, typeColumn, edges, targets } = links;
  const [edge] = edges;
  const [target] = targets;
  return [
    ...guardSome(link, dialect),
    sql`${column(link, from)} = ${column(owner, 'id')}`,
    sql`${dialect.unindexed(column(link, to))} is not null`,
    ...fixed.map((it) => is(it.column, it.value)),
    ...(nameColumn === null || !edge || edge.name === null ? [] : [is(nameColumn, edge.name)]),
    ...(typeColumn === null || !edge || edge.isMixed || !target ? [] : [is(typeColumn, target.uid)]),
  ];
};

/** Equal ranks are ordered by link id if types are mixed, by target id elsewhere (ST8). */
const storedOrder = (links: PlanLinks, link: string, dialect: Dialect): readonly Sql[] => {
  const { rank, to, edges } = links;
  const tie = edges.some((it) => it.isMixed) ? 'id' : to;
  return [...(rank === null ? [] : [rank]), tie].map((name) => listColumn(links, link, name, dialect));
};

const targetOf = (edge: PlanEdge, { nodes }: ReadShape): PlanNode => {
  const node = nodes[edge.targets[0]?.node ?? -1];
  if (!node) throw bug('inline.without-target', { edge });
  return node;
};
