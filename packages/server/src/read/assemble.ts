/**
 * Rows to JSON text, without a database and without recursion: children come before their parents, every entry of a node
 * is rendered once, and parents splice the texts of their children.
 */
import { issue, never, Refusal } from '../errors.js';
import { limits } from '../limits.js';
import type { Page } from '../query/selection.js';
import type { PlanEdge, PlanNode, ReadPlan, ReadShape } from './plan.js';
import type { NodeData, ReadData, TargetList } from './run.js';

/**
 * The envelope of a list or of one entry; without the envelope if the plan is plain; null if the entry does not exist.
 */
export const assemble = ({ page, shape }: Pick<ReadPlan, 'page' | 'shape'>, data: ReadData): string | null => {
  const texts: ReadonlyMap<number, string>[] = [];
  shape.nodes.forEach((node, index) => {
    texts.push(renderNode(node, data.nodes[index]!, shape, data, texts));
  });
  const root = texts.at(-1)!;
  const isPlain = shape.form === 'plain';
  const textOf = (id: number): string => (isPlain ? `{${root.get(id)!}}` : root.get(id)!);
  if (!page) {
    const [id] = data.page;
    if (id === undefined) return null;
    return isPlain ? textOf(id) : `{"data":${textOf(id)},"meta":{}}`;
  }
  // not join, which copies every text twice; a concatenation is copied once, when the body is encoded
  let entries = '';
  for (const id of data.page) entries += entries === '' ? textOf(id) : `,${textOf(id)}`;
  checkLength(entries.length);
  if (isPlain) return `[${entries}]`;
  return `{"data":[${entries}],"meta":{${pagination(page, data.total)}}}`;
};

/** `meta.pagination` (PA1). */
const pagination = (page: Page, total: number | null): string => {
  switch (page.kind) {
    case 'page': {
      const counted = total === null ? {} : { pageCount: Math.ceil(total / page.pageSize), total };
      return `"pagination":${JSON.stringify({ page: page.page, pageSize: page.pageSize, ...counted })}`;
    }
    case 'offset': {
      const counted = total === null ? {} : { total };
      return `"pagination":${JSON.stringify({ start: page.start, limit: page.limit, ...counted })}`;
    }
    case 'every':
      return '';
    default:
      return never(page);
  }
};

type Texts = ReadonlyMap<number, string>;

/**
 * The text of every entry of a node: a whole object for entries, the inside of the object for plain ones, because the
 * name of its type joins it where types are mixed.
 */
const renderNode = (
  { isPlain, edges }: PlanNode,
  node: NodeData,
  shape: ReadShape,
  data: ReadData,
  texts: readonly Texts[],
): Texts => {
  const rendered = new Map<number, string>();
  const keys = edges.map((edge) => `${JSON.stringify(edge.name)}:${edge.wrapped ? '{"data":' : ''}`);
  for (const [id, scalars] of node.entries) {
    // strip the braces, to append the populated attributes
    let inside = isPlain || edges.length > 0 ? scalars.slice(1, -1) : '';
    for (let i = 0; i < edges.length; i++) {
      const edge = edges[i]!;
      const value = renderEdge(edge, node.targets[i]!.get(id), shape, data, texts);
      if (value === null) continue;
      inside += `${inside === '' ? '' : ','}${keys[i]}${value}${edge.wrapped ? '}' : ''}`;
    }
    let text: string;
    if (isPlain) text = inside === '' ? `"id":${id}` : `"id":${id},${inside}`;
    else text = edges.length > 0 ? `{"id":${id},"attributes":{${inside}}}` : `{"id":${id},"attributes":${scalars}}`;
    checkLength(text.length);
    rendered.set(id, text);
  }
  return rendered;
};

const renderEdge = (
  edge: PlanEdge,
  list: TargetList | undefined,
  shape: ReadShape,
  data: ReadData,
  texts: readonly Texts[],
): string | null => {
  if (!list) return edge.shape === 'one' ? 'null' : edge.empty;
  if (edge.typeKey !== null) return renderMixed(edge, edge.typeKey, list, texts);
  const { node } = edge.targets[0]!;
  const { isPlain } = shape.nodes[node]!;
  const known = texts[node]!;
  let inside = '';
  for (const id of inOrder(distinct(list.ids), data.nodes[node]!.places)) {
    const text = known.get(id);
    if (text === undefined) continue;
    const whole = isPlain ? `{${text}}` : text;
    // several rows of a to-one link happen (races, imports): the first visible one wins (ST10)
    if (edge.shape === 'one') return whole;
    inside += inside === '' ? whole : `,${whole}`;
  }
  if (edge.shape === 'one') return 'null';
  return inside === '' ? edge.empty : `[${inside}]`;
};

/** Elements of several types, each named by its type; an entry appears as often as it is linked. */
const renderMixed = (edge: PlanEdge, typeKey: string, list: TargetList, texts: readonly Texts[]): string | null => {
  let inside = '';
  for (const [i, id] of list.ids.entries()) {
    const { node, uid } = edge.targets[list.kinds[i]!]!;
    const text = texts[node]!.get(id);
    if (text === undefined) continue;
    const whole = `{"${typeKey}":${JSON.stringify(uid)},${text}}`;
    if (edge.shape === 'one') return whole;
    inside += inside === '' ? whole : `,${whole}`;
  }
  if (edge.shape === 'one') return 'null';
  return inside === '' ? edge.empty : `[${inside}]`;
};

/** Upgraded databases may hold a pair twice (ST10); an entry appears once. */
const distinct = (ids: readonly number[]): readonly number[] => {
  if (ids.length < 2) return ids;
  const set = new Set(ids);
  return set.size === ids.length ? ids : [...set];
};

/** The node's own sort; ties keep the stored order (Q8). */
const inOrder = (ids: readonly number[], places: ReadonlyMap<number, number> | null): readonly number[] =>
  places ? [...ids].sort((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0)) : ids;

/** Entries that contain each other grow with every level: stop before building a text larger than any response may be. */
const checkLength = (characters: number): void => {
  if (characters > limits.responseCharactersMax)
    throw new Refusal(issue('read.too-large', [], { max: limits.responseCharactersMax }));
};
