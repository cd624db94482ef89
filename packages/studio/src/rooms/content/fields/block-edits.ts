/** What can be done in the editor of blocks: Slate with the nodes and marks of v4. */
import { createEditor, Editor, Element, Node, type Path, Range, Transforms } from 'slate';
import { withHistory } from 'slate-history';
import { ReactEditor, withReact } from 'slate-react';
import { addressOf, type MediaFile } from '../../../parts/media/files.js';
import { serverUrl } from '../../../server/address.js';
import type { Json } from '../form/fields.js';
import type { BlockElement, BlockText } from './block-nodes.js';

declare module 'slate' {
  interface CustomTypes {
    Editor: import('slate').BaseEditor & ReactEditor & import('slate-history').HistoryEditor;
    Element: Mutable<BlockElement>;
    Text: Mutable<BlockText>;
  }
}
/** Slate's types are not readonly; its values are never changed in place all the same. */
type Mutable<T> = { -readonly [K in keyof T]: K extends 'children' ? import('slate').Descendant[] : T[K] };

export const marks = ['bold', 'italic', 'underline', 'strikethrough', 'code'] as const;
export type Mark = (typeof marks)[number];

/** What the block under the cursor can become. */
export const shapes = [
  'paragraph',
  'heading-1',
  'heading-2',
  'heading-3',
  'heading-4',
  'heading-5',
  'heading-6',
  'unordered',
  'ordered',
  'quote',
  'code',
] as const;
export type Shape = (typeof shapes)[number];

export const newEditor = (): Editor => {
  const editor = withHistory(withReact(createEditor()));
  const { isVoid, isInline, insertBreak, deleteBackward } = editor;
  editor.isVoid = (element) => element.type === 'image' || isVoid(element);
  editor.isInline = (element) => element.type === 'link' || isInline(element);
  editor.insertBreak = () => {
    const entry = blockAt(editor);
    if (entry === null) return insertBreak();
    const [block] = entry;
    const isEmpty = Node.string(block) === '';
    if (block.type === 'code') return Editor.insertText(editor, '\n');
    if (block.type === 'list-item') return isEmpty ? shape(editor, 'paragraph') : insertBreak();
    insertBreak();
    // after a heading or a quote goes on what stands below it
    if (block.type !== 'paragraph') setParagraph(editor);
  };
  editor.deleteBackward = (unit) => {
    const { selection } = editor;
    const entry = blockAt(editor);
    if (entry && selection && Range.isCollapsed(selection) && Editor.isStart(editor, selection.anchor, entry[1])) {
      const [block] = entry;
      if (block.type !== 'paragraph' && block.type !== 'image') return shape(editor, 'paragraph');
    }
    deleteBackward(unit);
  };
  return editor;
};

type BlockEntry = [Element, Path];

/** The innermost block around the cursor. */
const blockAt = (editor: Editor): BlockEntry | null => {
  const { selection } = editor;
  if (!selection) return null;
  const entry = Editor.above<Element>(editor, {
    match: (it) => Element.isElement(it) && !editor.isInline(it),
    mode: 'lowest',
  });
  return entry ? [entry[0], entry[1]] : null;
};

const setParagraph = (editor: Editor): void => {
  Transforms.unsetNodes(editor, ['level', 'format', 'image'] as never);
  Transforms.setNodes(editor, { type: 'paragraph' });
};

export const shapeAt = (editor: Editor): Shape => {
  const entry = blockAt(editor);
  if (entry === null) return 'paragraph';
  const [block, path] = entry;
  switch (block.type) {
    case 'heading':
      return `heading-${block.level ?? 1}` as Shape;
    case 'quote':
    case 'code':
      return block.type;
    case 'list-item': {
      const list = Editor.parent(editor, path)[0];
      return Element.isElement(list) && list.format === 'ordered' ? 'ordered' : 'unordered';
    }
    default:
      return 'paragraph';
  }
};

export const shape = (editor: Editor, to: Shape): void => {
  Editor.withoutNormalizing(editor, () => {
    const isInList = (): boolean => {
      const entry = blockAt(editor);
      return entry?.[0].type === 'list-item';
    };
    if (to === 'ordered' || to === 'unordered') {
      if (isInList()) {
        Transforms.setNodes<Element>(
          editor,
          { format: to },
          { match: (it) => Element.isElement(it) && it.type === 'list', mode: 'lowest' },
        );
        return;
      }
      setParagraph(editor);
      Transforms.setNodes(editor, { type: 'list-item' });
      Transforms.wrapNodes(
        editor,
        { type: 'list', format: to, children: [] },
        { match: (it) => Element.isElement(it) && it.type === 'list-item' },
      );
      return;
    }
    for (let i = 0; isInList() && i < 10; i++)
      Transforms.liftNodes(editor, { match: (it) => Element.isElement(it) && it.type === 'list-item' });
    setParagraph(editor);
    const [kind, level] = to.split('-');
    if (kind === 'heading') Transforms.setNodes(editor, { type: 'heading', level: Number(level) });
    else Transforms.setNodes(editor, { type: to as 'paragraph' | 'quote' | 'code' });
  });
};

export const isMarked = (editor: Editor, mark: Mark): boolean => Editor.marks(editor)?.[mark] === true;

/** Slate hears of the browser's selection with a delay, which a quick hand outruns. */
export const takeSelection = (editor: Editor): void => {
  const selection = getSelection();
  if (!selection || !ReactEditor.hasSelectableTarget(editor, selection.anchorNode)) return;
  const range = ReactEditor.toSlateRange(editor, selection, { exactMatch: false, suppressThrow: true });
  if (range) Transforms.select(editor, range);
};

export const toggleMark = (editor: Editor, mark: Mark): void => {
  if (isMarked(editor, mark)) Editor.removeMark(editor, mark);
  else Editor.addMark(editor, mark, true);
};

export const linkAt = (editor: Editor): BlockEntry | null => {
  if (!editor.selection) return null;
  const entry = Editor.above<Element>(editor, { match: (it) => Element.isElement(it) && it.type === 'link' });
  return entry ? [entry[0], entry[1]] : null;
};

/** @param url empty: the link is taken away, its text stays. */
export const setLink = (editor: Editor, url: string, at: Range): void => {
  Transforms.select(editor, at);
  const match = (it: Node): boolean => Element.isElement(it) && it.type === 'link';
  const link = linkAt(editor);
  if (url === '') Transforms.unwrapNodes(editor, { match });
  else if (link) Transforms.setNodes<Element>(editor, { url }, { at: link[1] });
  else if (Range.isCollapsed(at))
    Transforms.insertNodes(editor, { type: 'link', url, children: [{ type: 'text', text: url }] });
  else Transforms.wrapNodes(editor, { type: 'link', url, children: [] }, { split: true });
};

export const insertImage = (editor: Editor, file: MediaFile): void => {
  const image = { type: 'image', image: { ...file, url: addressOf(file.url, serverUrl) } as unknown as Json };
  Transforms.insertNodes(editor, [
    { ...image, type: 'image', children: [{ type: 'text', text: '' }] },
    { type: 'paragraph', children: [{ type: 'text', text: '' }] },
  ]);
};
