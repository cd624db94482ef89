/** The nodes of v4's blocks: which the editor can hold without losing anything. */
import type { Json } from '../form/fields.js';

export interface BlockText {
  readonly type: 'text';
  readonly text: string;
  readonly bold?: boolean;
  readonly italic?: boolean;
  readonly underline?: boolean;
  readonly strikethrough?: boolean;
  readonly code?: boolean;
}
const blockTypes = ['paragraph', 'heading', 'quote', 'code', 'list', 'list-item', 'link', 'image'] as const;
type BlockType = (typeof blockTypes)[number];
export interface BlockElement {
  readonly type: BlockType;
  readonly children: readonly BlockNode[];
  /** Of headings, from 1 to 6. */
  readonly level?: number;
  /** Of lists. */
  readonly format?: 'ordered' | 'unordered';
  readonly indentLevel?: number;
  /** Of links. */
  readonly url?: string;
  /** Of images: the file as it was when it was chosen. */
  readonly image?: Json;
}
type BlockNode = BlockText | BlockElement;

const inline: readonly string[] = ['text', 'link'];
/** What each node may hold; as the server checks it. */
const contents: Readonly<Record<BlockType | 'root', readonly string[]>> = {
  root: ['paragraph', 'heading', 'quote', 'code', 'list', 'image'],
  paragraph: inline,
  heading: inline,
  quote: inline,
  code: inline,
  list: ['list-item', 'list'],
  'list-item': inline,
  link: ['text'],
  image: ['text'],
};

const emptyParagraph: BlockElement = { type: 'paragraph', children: [{ type: 'text', text: '' }] };

/** The document that the editor begins with; null if it has a node that the editor would change or lose. */
export const blocksOf = (value: Json): readonly BlockElement[] | null => {
  if (value === null) return [emptyParagraph];
  if (!Array.isArray(value) || !value.every((it) => isNode(it, contents.root))) return null;
  return value.length === 0 ? [emptyParagraph] : (value as unknown as readonly BlockElement[]);
};

const isNode = (node: Json, allowed: readonly string[]): boolean => {
  if (node === null || typeof node !== 'object' || Array.isArray(node)) return false;
  const { type, text, children } = node as { readonly [name: string]: Json };
  if (typeof type !== 'string' || !allowed.includes(type)) return false;
  if (type === 'text') return typeof text === 'string' && children === undefined;
  if (!Array.isArray(children) || children.length === 0 || text !== undefined) return false;
  return children.every((it: Json) => isNode(it, contents[type as BlockType]));
};

/** An emptied document is null, as if nothing had ever been written. */
export const valueOfBlocks = (nodes: readonly BlockElement[], former: Json): Json => {
  const [only] = nodes;
  const isEmpty = nodes.length <= 1 && (only === undefined || isEmptyParagraph(only));
  return isEmpty && (former === null || nodes.length === 0) ? null : (nodes as unknown as Json);
};

/** With the type of texts, which Slate does not write. */
export const namedBlocks = (nodes: readonly BlockNode[]): readonly BlockElement[] =>
  nodes.map(named) as readonly BlockElement[];

const named = (node: BlockNode): BlockNode => {
  if ('children' in node) {
    const children = node.children.map(named);
    return children.every((it, i) => it === node.children[i]) ? node : { ...node, children };
  }
  return (node as { readonly type?: string }).type === 'text' ? node : { ...node, type: 'text' };
};

const isEmptyParagraph = ({ type, children }: BlockElement): boolean =>
  type === 'paragraph' && children.every((it) => 'text' in it && it.text === '');

/** Links that a click may open; others, such as `javascript:`, are text. */
export const safeUrl = (url: string): string | undefined =>
  /^(https?:|mailto:|tel:|\/|#|\.)/i.test(url.trim()) ? url : undefined;
