/** CodeMirror for JSON. Tab leaves it, as it leaves every other field. */
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { bidiIsolates, bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { EditorState } from '@codemirror/state';
import { drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import { styleNonce } from '../../../shell/theme.js';

const look = EditorView.theme({
  '&': {
    border: '1px solid var(--mantine-color-default-border)',
    borderRadius: 'var(--mantine-radius-sm)',
    fontSize: '13px',
  },
  '&.cm-focused': { outline: '2px solid var(--mantine-primary-color-filled)' },
  '.cm-content': { fontFamily: 'var(--mantine-font-family-monospace)', caretColor: 'var(--mantine-color-text)' },
  '.cm-scroller': { maxHeight: '420px', overflow: 'auto' },
  '.cm-gutters': {
    background: 'transparent',
    color: 'var(--mantine-color-dimmed)',
    borderRight: '1px solid var(--mantine-color-default-border)',
  },
  '.cm-cursor': { borderLeftColor: 'var(--mantine-color-text)' },
});

/** Readable on both backgrounds (4.5 : 1). */
const colours = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.string, color: 'light-dark(#0b6b3a, #8fd9a8)' },
    { tag: [tags.number, tags.bool, tags.null], color: 'light-dark(#9a3412, #f6b27a)' },
    { tag: tags.propertyName, color: 'light-dark(#1d4e89, #9cc7f5)' },
  ]),
);

interface CodeEditorProps {
  readonly id: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly readOnly: boolean;
  readonly labelledBy: string;
  readonly describedBy: string | undefined;
}

export const CodeEditor = ({ id, value, onChange, readOnly, labelledBy, describedBy }: CodeEditorProps) => {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const tell = useRef(onChange);
  tell.current = onChange;
  const first = useRef(value);
  const isSetting = useRef(false);
  // what was typed comes back as the value, but maybe when more has been typed already
  const told = useRef<readonly string[]>([value]);

  useEffect(() => {
    if (!host.current) return;
    const editor = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          EditorView.cspNonce.of(styleNonce()),
          lineNumbers(),
          history(),
          drawSelection(),
          bracketMatching(),
          colours,
          json(),
          // otherwise two adjacent right-to-left texts, such as a key and its value, are shown in swapped order
          bidiIsolates(),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          look,
          EditorState.readOnly.of(readOnly),
          EditorView.contentAttributes.of({
            id,
            'aria-labelledby': labelledBy,
            ...(describedBy === undefined ? {} : { 'aria-describedby': describedBy }),
          }),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged || isSetting.current) return;
            const text = update.state.doc.toString();
            told.current = [...told.current, text];
            tell.current(text);
          }),
        ],
      }),
    });
    view.current = editor;
    return () => {
      first.current = editor.state.doc.toString();
      editor.destroy();
      view.current = null;
    };
  }, [id, readOnly, labelledBy, describedBy]);

  // the value has changed elsewhere: discarded, restored, read again
  useEffect(() => {
    const place = told.current.lastIndexOf(value);
    if (place >= 0) {
      told.current = told.current.slice(place);
      return;
    }
    told.current = [value];
    const editor = view.current;
    if (!editor) return;
    isSetting.current = true;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
    isSetting.current = false;
  }, [value]);

  return <div ref={host} />;
};
