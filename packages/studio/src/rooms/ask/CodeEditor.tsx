/** CodeMirror, for the request and for the answer. A chunk of its own: loaded when the room is open, behind its first view. */
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { typescriptLanguage } from '@codemirror/lang-javascript';
import { jsonLanguage } from '@codemirror/lang-json';
import {
  bidiIsolates,
  codeFolding,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  syntaxHighlighting,
} from '@codemirror/language';
import { type Diagnostic, setDiagnostics } from '@codemirror/lint';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, keymap } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import { styleNonce } from '../../shell/theme.js';
import type { Span } from './query/faults.js';

export interface Mark extends Span {
  readonly message: string;
}

type Language = 'text' | 'code' | 'json';

interface Props {
  readonly label: string;
  readonly text: string;
  readonly language: Language;
  readonly marks?: readonly Mark[];
  /** Null for a text that is only read. */
  readonly onChange: ((text: string) => void) | null;
  /** Ctrl+Enter. */
  readonly onRun?: () => void;
}

/** Colours are variables, which have values for light and dark. */
const highlighting = syntaxHighlighting(
  HighlightStyle.define([
    { tag: [tags.string, tags.special(tags.string)], color: 'var(--ask-string)' },
    { tag: [tags.number, tags.bool, tags.null], color: 'var(--ask-number)' },
    { tag: [tags.keyword, tags.operatorKeyword], color: 'var(--ask-keyword)' },
    { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--ask-name)' },
    { tag: tags.comment, color: 'var(--mantine-color-dimmed)' },
  ]),
);

const theme = EditorView.theme({
  '&': { fontSize: '13px', backgroundColor: 'transparent', color: 'var(--mantine-color-text)', maxHeight: '100%' },
  '.cm-content': { fontFamily: 'var(--mantine-font-family-monospace)', caretColor: 'var(--mantine-color-text)' },
  '.cm-scroller': { overflow: 'auto' },
  '.cm-gutters': { backgroundColor: 'transparent', border: 'none', color: 'var(--mantine-color-dimmed)' },
  '.cm-cursor': { borderLeftColor: 'var(--mantine-color-text)' },
  '&.cm-focused': { outline: '2px solid var(--mantine-primary-color-filled)', outlineOffset: '1px' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--ask-selection)',
  },
  '.cm-foldPlaceholder': { backgroundColor: 'transparent', border: 'none', color: 'var(--mantine-color-dimmed)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--mantine-color-body)',
    color: 'var(--mantine-color-text)',
    border: '1px solid var(--mantine-color-default-border)',
  },
});

const languageOf = (language: Language): Extension => {
  switch (language) {
    case 'text':
      return [];
    // each text of a program or of JSON keeps its place in it, whatever its direction
    case 'code':
      return [typescriptLanguage, bidiIsolates()];
    case 'json':
      return [jsonLanguage, bidiIsolates(), codeFolding(), foldGutter(), keymap.of(foldKeymap)];
  }
};

const CodeEditor = ({ label, text, language, marks, onChange, onRun }: Props) => {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const current = useRef({ onChange, onRun });
  current.current = { onChange, onRun };
  const languages = useRef(new Compartment());
  const isReadOnly = onChange === null;

  // biome-ignore lint/correctness/useExhaustiveDependencies: the text is set below, and kept while the editor stays
  useEffect(() => {
    if (!host.current) return;
    const editor = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: text,
        extensions: [
          EditorView.cspNonce.of(styleNonce()),
          keymap.of([
            { key: 'Mod-Enter', run: () => current.current.onRun?.() === undefined },
            ...defaultKeymap,
            ...historyKeymap,
          ]),
          history(),
          drawSelection(),
          EditorView.lineWrapping,
          languages.current.of(languageOf(language)),
          highlighting,
          theme,
          EditorState.readOnly.of(isReadOnly),
          EditorView.editable.of(true),
          EditorView.contentAttributes.of({
            'aria-label': label,
            tabindex: '0',
            spellcheck: 'false',
            autocapitalize: 'off',
            ...(isReadOnly ? { 'aria-readonly': 'true' } : {}),
          }),
          EditorView.updateListener.of((update) => {
            const isTyped = update.transactions.some(
              (it) =>
                it.isUserEvent('input') ||
                it.isUserEvent('delete') ||
                it.isUserEvent('undo') ||
                it.isUserEvent('redo') ||
                it.isUserEvent('move'),
            );
            if (update.docChanged && isTyped) current.current.onChange?.(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    return () => {
      editor.destroy();
      view.current = null;
    };
  }, [label, isReadOnly]);

  useEffect(() => {
    view.current?.dispatch({ effects: languages.current.reconfigure(languageOf(language)) });
  }, [language]);

  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === text) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
  }, [text]);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const { length } = editor.state.doc;
    const diagnostics = (marks ?? []).map(
      ({ from, to, message }): Diagnostic => ({
        from: Math.min(from, length),
        to: Math.min(Math.max(to, from), length),
        severity: 'error',
        message,
      }),
    );
    editor.dispatch(setDiagnostics(editor.state, diagnostics));
  }, [marks]);

  return <div ref={host} className="ask-editor" />;
};

export default CodeEditor;
export { readAny, spanInCode } from './query/read-code.js';
