/**
 * Rows to JSON text, without a database and without recursion: children come before their parents, every entry of a node
 * is rendered once, and parents splice the texts of their children.
 */
import { isUtf8 } from 'node:buffer';
import { issue, never, Refusal } from '../errors.js';
import { limits } from '../limits.js';
import { freeBytes } from '../memory.js';
import type { Page } from '../query/selection.js';
import { byteText } from './joined.js';
import type { PlanEdge, PlanNode, ReadPlan, ReadShape } from './plan.js';
import type { NodeData, ReadData, TargetList } from './run.js';

/** What of a plan is needed besides the data. */
type PagePlan = Pick<ReadPlan, 'page' | 'shape'>;

/** A body in UTF-8, and where its entries are. */
export interface Assembled {
  readonly body: Buffer;
  /** What stands before and after the entries, in ASCII. */
  readonly around: readonly [start: string, end: string];
  /** Bytes of the entries in order, which are separated by a comma; null if they are unknown. */
  readonly sizes: readonly number[] | null;
}

/**
 * The envelope of a list or of one entry; without the envelope if the plan is plain; null if the entry does not exist.
 */
export const assemble = (plan: PagePlan, data: ReadData): Assembled | null => {
  if (data.whole) return assembleWhole(plan, data.whole, data.total);
  if (!plan.page && data.page.length === 0) return null;
  return assembleTexts(plan, data);
};

/** Consumes the texts. */
const assembleWhole = (
  plan: PagePlan,
  { texts, sizes }: NonNullable<ReadData['whole']>,
  total: number | null,
): Assembled => {
  if (texts.length > limits.responseCharactersMax)
    checkLength(Buffer.from(texts.buffer, texts.byteOffset, texts.byteLength).toString().length);
  const around = envelope(plan, total);
  const body = Buffer.concat([Buffer.from(around[0]), texts, Buffer.from(around[1])]);
  freeBytes(texts);
  return whenUtf8(body, around, sizes);
};

/**
 * The body of the same read from entries that were made before, as texts with a character for each byte; null if it is longer
 * than a response may be.
 */
export const assembleKept = (
  plan: PagePlan,
  entries: readonly string[],
  total: number | null,
): Omit<Assembled, 'sizes'> | null => {
  const around = envelope(plan, total);
  const text = around.join(entries.join(','));
  return text.length > limits.responseCharactersMax ? null : { body: Buffer.from(text, 'latin1'), around };
};

const COMMA = 0x2c;

const assembleTexts = (plan: PagePlan, data: ReadData): Assembled => {
  const { shape } = plan;
  const texts: Texts[] = [];
  shape.nodes.forEach((node, index) => {
    texts.push(renderNode(node, data.nodes[index]!, shape, data, texts));
  });
  const root = texts.at(-1)!;
  const { isPlain } = shape.nodes.at(-1)!;
  const around = envelope(plan, data.total);
  const [start, end] = around;
  const encoding = shape.nests ? 'latin1' : 'utf8';
  const sizes: number[] = [];
  let characters = Math.max(0, data.page.length - 1);
  let length = start.length + end.length + Math.max(0, data.page.length - 1);
  const entries = data.page.map((id) => {
    const text = isPlain ? `{${root.get(id)!}}` : root.get(id)!;
    const size = Buffer.byteLength(text, encoding);
    characters += text.length;
    length += size;
    sizes.push(size);
    return text;
  });
  if (characters > limits.responseCharactersMax)
    checkLength(entries.reduce((sum, it) => sum + charactersIn(it, shape), 0));
  const body = Buffer.allocUnsafeSlow(length);
  let at = body.write(start, 'latin1');
  for (let i = 0; i < entries.length; i++) {
    if (i > 0) body[at++] = COMMA;
    at += body.write(entries[i]!, at, encoding);
  }
  body.write(end, at, 'latin1');
  return shape.nests ? whenUtf8(body, around, sizes) : { body, around, sizes };
};

/** Texts are stored as bytes, whatever they are. */
const whenUtf8 = (body: Buffer, around: Assembled['around'], sizes: Assembled['sizes']): Assembled =>
  isUtf8(body) ? { body, around, sizes } : { body: Buffer.from(body.toString()), around, sizes: null };

/** What stands before and after the entries. */
const envelope = ({ page, shape }: PagePlan, total: number | null): readonly [start: string, end: string] => {
  if (shape.form === 'plain') return page ? ['[', ']'] : ['', ''];
  return page ? ['{"data":[', `],"meta":{${pagination(page, total)}}}`] : ['{"data":', ',"meta":{}}'];
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
  { isPlain, hasDocumentId, fields, edges }: PlanNode,
  node: NodeData,
  shape: ReadShape,
  data: ReadData,
  texts: readonly Texts[],
): Texts => {
  // rendered by the statement
  if (shape.nests && edges.every((it) => it.inline !== null)) return node.entries as Texts;
  const rendered = new Map<number, string>();
  const keys = edges.map((edge) => nameText(edge.name, shape) + (edge.wrapped ? ':{"data":' : ':'));
  for (const [id, entry] of node.entries) {
    // an object loses its braces, so that populated attributes can be appended
    const members = typeof entry === 'string' ? [entry.slice(1, -1)] : entry;
    let taken = fields.length > 0 ? 1 : 0;
    let inside = taken > 0 ? members[0]! : '';
    for (let i = 0; i < edges.length; i++) {
      const edge = edges[i]!;
      let member: string | undefined;
      if (edge.inline === null) {
        const value = renderEdge(edge, node.targets[i]!.get(id), shape, data, texts);
        if (value !== null) member = `${keys[i]}${value}${edge.wrapped ? '}' : ''}`;
      } else if (i > 0 ? edges[i - 1]!.inline === null : fields.length === 0) {
        // one text with the inline edges that follow
        member = members[taken++];
      }
      if (member !== undefined) inside += inside === '' ? member : `,${member}`;
      checkSize(inside);
    }
    let text: string;
    if (isPlain) {
      const named = hasDocumentId ? `"id":${id},"documentId":"${id}"` : `"id":${id}`;
      text = inside === '' ? named : `${named},${inside}`;
    } else text = `{"id":${id},"attributes":{${inside}}}`;
    if (text.length > limits.responseCharactersMax) checkLength(charactersIn(text, shape));
    rendered.set(id, text);
  }
  return rendered;
};

/** A name of the model as a JSON text, in the form of the entries' texts. */
const nameText = (name: string, { nests }: ReadShape): string =>
  nests ? byteText(JSON.stringify(name)) : JSON.stringify(name);

const renderEdge = (
  edge: PlanEdge,
  list: TargetList | undefined,
  shape: ReadShape,
  data: ReadData,
  texts: readonly Texts[],
): string | null => {
  if (!list) return edge.shape === 'one' ? 'null' : edge.empty;
  if (edge.typeKey !== null) return renderMixed(edge, edge.typeKey, list, shape, texts);
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
    checkSize(inside);
  }
  if (edge.shape === 'one') return 'null';
  return inside === '' ? edge.empty : `[${inside}]`;
};

/** Elements of several types, each named by its type; an entry appears as often as it is linked. */
const renderMixed = (
  edge: PlanEdge,
  typeKey: string,
  list: TargetList,
  shape: ReadShape,
  texts: readonly Texts[],
): string | null => {
  let inside = '';
  for (const [i, id] of list.ids.entries()) {
    const { node, uid } = edge.targets[list.kinds[i]!]!;
    const text = texts[node]!.get(id);
    if (text === undefined) continue;
    const whole = `{"${typeKey}":${nameText(uid, shape)},${text}}`;
    if (edge.shape === 'one') return whole;
    inside += inside === '' ? whole : `,${whole}`;
    checkSize(inside);
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

/** Of a text as it is sent, whether it has a character for each byte or not. */
const charactersIn = (text: string, { nests }: ReadShape): number =>
  nests ? Buffer.from(text, 'latin1').toString().length : text.length;

/** Stops a text that grows before V8 does, at 512 MB. Its characters are not counted yet: each takes three bytes at most. */
const checkSize = (text: string): void => {
  if (text.length > 3 * limits.responseCharactersMax) checkLength(text.length);
};

/** Entries that contain each other grow with every level: stop before building a text larger than any response may be. */
const checkLength = (characters: number): void => {
  if (characters > limits.responseCharactersMax)
    throw new Refusal(issue('read.too-large', [], { max: limits.responseCharactersMax }));
};
