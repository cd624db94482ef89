/** The editor of blocks. */
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { Editor, type Element } from 'slate';
import { Editable, Slate } from 'slate-react';
import type { Json } from '../form/fields.js';
import { isSameJson } from '../form/paths.js';
import { BlocksToolbar } from './BlocksToolbar.js';
import { type Mark, newEditor, toggleMark } from './block-edits.js';
import { type BlockElement, namedBlocks } from './block-nodes.js';
import { Block, Leaf } from './block-views.js';
import styles from './fields.module.css';

interface BlocksEditorProps {
  readonly nodes: readonly BlockElement[];
  readonly onChange: (nodes: readonly BlockElement[]) => void;
  readonly readOnly: boolean;
  readonly labelledBy: string;
  readonly describedBy: string | undefined;
}

export const BlocksEditor = ({ nodes, onChange, readOnly, labelledBy, describedBy }: BlocksEditorProps) => {
  const [editor] = useState(newEditor);
  // what was typed comes back as nodes, but maybe when more has been typed already
  const told = useRef<readonly (readonly BlockElement[])[]>([nodes]);
  const value = useRef<unknown>(editor.children);
  useEffect(() => {
    const place = told.current.findLastIndex((it) => isSameJson(it as unknown as Json, nodes as unknown as Json));
    if (place >= 0) {
      told.current = told.current.slice(place);
      return;
    }
    // changed elsewhere: discarded, restored, read again
    told.current = [nodes];
    editor.selection = null;
    editor.children = nodes as unknown as Element[];
    editor.history = { redos: [], undos: [] };
    value.current = editor.children;
    editor.onChange();
  }, [editor, nodes]);
  return (
    <Slate
      editor={editor}
      initialValue={nodes as unknown as Element[]}
      onValueChange={(next) => {
        if (next === value.current) return;
        value.current = next;
        const typed = namedBlocks(next as unknown as readonly BlockElement[]);
        told.current = [...told.current, typed];
        onChange(typed);
      }}
    >
      {!readOnly && <BlocksToolbar />}
      <div className={styles['editor']}>
        <Editable
          readOnly={readOnly}
          role="textbox"
          aria-multiline
          aria-labelledby={labelledBy}
          aria-describedby={describedBy}
          renderElement={Block}
          renderLeaf={Leaf}
          onKeyDown={(event) => onKeyDown(editor, event)}
        />
      </div>
    </Slate>
  );
};

const keys: Readonly<Record<string, Mark>> = { b: 'bold', i: 'italic', u: 'underline' };

const onKeyDown = (editor: Editor, event: KeyboardEvent): void => {
  if (event.key === 'Enter' && event.shiftKey) {
    event.preventDefault();
    Editor.insertText(editor, '\n');
    return;
  }
  const mark = event.ctrlKey || event.metaKey ? keys[event.key.toLowerCase()] : undefined;
  if (mark === undefined) return;
  event.preventDefault();
  toggleMark(editor, mark);
};
