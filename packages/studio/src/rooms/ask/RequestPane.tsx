/** The request as text, in several forms, editable in each. */
import { Button, CopyButton, Group, SegmentedControl, Text } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { lazy, Suspense, useEffect, useMemo, useState } from 'react';
import { serverUrl } from '../../server/address.js';
import { words } from '../../words/index.js';
import type { Mark } from './CodeEditor.js';
import type { Read, TextFault } from './query/brackets.js';
import { type TextForm, textForms, writeForm } from './query/code.js';
import { type Fault, spanInUrl } from './query/faults.js';
import type { Ground } from './query/place.js';
import { type Request, readUrl } from './query/request.js';

const texts = words.ask.request;

const loadEditor = () => import('./CodeEditor.js');
export const CodeEditor = lazy(loadEditor);

/** A fault of the text, and how to go back to the text of the tree. */
export interface UnreadablePart {
  readonly message: string;
  readonly discard: () => void;
}

/** What is being typed, as long as the request is what it was read as. */
interface Draft {
  readonly form: TextForm;
  readonly text: string;
  readonly request: Request;
  readonly faults: readonly TextFault[];
}

export const RequestPane = ({
  request,
  ground,
  onChange,
  faults,
  unreadable,
  onUnreadable,
  onRun,
}: {
  readonly request: Request;
  readonly ground: Ground;
  readonly onChange: (request: Request) => void;
  /** Of the server. */
  readonly faults: readonly Fault[];
  /** A URL that could not be read, to begin with. */
  readonly unreadable: string | null;
  /** Hears which part of the text cannot be read; null: all of it can. */
  readonly onUnreadable: (part: UnreadablePart | null) => void;
  readonly onRun: () => void;
}) => {
  const [form, setForm] = useState<TextForm>('url');
  const [draft, setDraft] = useState<Draft | null>(() =>
    unreadable === null
      ? null
      : { form: 'url', text: unreadable, request, faults: faultsOf(readUrl(unreadable, ground.model, request)) },
  );
  const written = useMemo(() => writeForm(form, request, ground, serverUrl), [form, request, ground]);
  const isDraft = draft !== null && draft.form === form && draft.request === request;
  const text = isDraft ? draft.text : written;
  const own = isDraft ? draft.faults : noFaults;
  const marks = useMarks(text, form, faults, own);
  const [first] = own;
  const message = first ? words.ask.faults[first.code](first.name) : null;
  useEffect(() => {
    onUnreadable(message === null ? null : { message, discard: () => setDraft(null) });
  }, [message, onUnreadable]);

  const edit = async (next: string): Promise<void> => {
    const { readAny } = await loadEditor();
    const read = readAny(next, ground.model, request);
    if (!read.ok) {
      setDraft({ form, text: next, request, faults: read.faults });
      return;
    }
    const isSame = JSON.stringify(read.value) === JSON.stringify(request);
    const result = isSame ? request : read.value;
    // what was pasted in another form is written in the form of the editor
    const stays = formOf(next) === (form === 'client' ? 'qs' : form);
    setDraft(stays ? { form, text: next, request: result, faults: [] } : null);
    if (!isSame) onChange(result);
  };

  const copied = form === 'url' ? `${serverUrl}${written}` : written;
  return (
    <section aria-label={texts.label} className="ask-request">
      <Group justify="space-between" gap="xs">
        <SegmentedControl
          size="xs"
          aria-label={texts.form}
          value={form}
          onChange={(it) => setForm(textForms.find((known) => known === it) ?? 'url')}
          data={textForms.map((it) => ({ value: it, label: texts.forms[it] }))}
        />
        <CopyButton value={copied}>
          {({ copied: isCopied, copy }) => (
            <Button
              size="compact-sm"
              variant="default"
              leftSection={isCopied ? <IconCheck size={14} /> : <IconCopy size={14} />}
              onClick={copy}
            >
              {isCopied ? words.ask.copied : words.ask.copy}
            </Button>
          )}
        </CopyButton>
      </Group>
      <Suspense fallback={<pre className="ask-editor-waiting">{text}</pre>}>
        <CodeEditor
          label={texts.editor(texts.forms[form])}
          text={text}
          language={form === 'url' || form === 'curl' ? 'text' : 'code'}
          marks={marks}
          onChange={(it) => void edit(it)}
          onRun={onRun}
        />
      </Suspense>
      {own.length > 0 ? (
        <div role="alert">
          {own.map((it) => (
            <Text key={`${it.from} ${it.code}`} size="xs" className="ask-fault">
              {words.ask.faults[it.code](it.name)}
            </Text>
          ))}
          <Text size="xs" c="dimmed">
            {texts.stays}
          </Text>
        </div>
      ) : (
        <Text size="xs" c="dimmed">
          {texts.hint}
        </Text>
      )}
    </section>
  );
};

const noFaults: readonly TextFault[] = [];
const faultsOf = (read: Read<Request>): readonly TextFault[] => (read.ok ? noFaults : read.faults);

/** Which form a text has: code of any kind is `qs`. */
const formOf = (text: string): TextForm => {
  if (/^\s*curl\s/.test(text)) return 'curl';
  return /^\s*(https?:\/\/|\/(?!\/))/.test(text) || !/[{(;]/.test(text) ? 'url' : 'qs';
};

/** Faults at their places in the text: those of reading it, else those of the server. */
const useMarks = (
  text: string,
  form: TextForm,
  faults: readonly Fault[],
  own: readonly TextFault[],
): readonly Mark[] => {
  const [marks, setMarks] = useState<readonly Mark[]>([]);
  useEffect(() => {
    if (own.length > 0) {
      setMarks(own.map(({ from, to, code, name }) => ({ from, to, message: words.ask.faults[code](name) })));
      return;
    }
    const urlAt = form === 'curl' ? text.indexOf("'") + 1 : 0;
    if (form === 'url' || form === 'curl') {
      const url = form === 'url' ? text : text.slice(urlAt).replace(/'\s*$/, '');
      setMarks(
        faults.map((it) => {
          const { from, to } = spanInUrl(url, it);
          return { from: from + urlAt, to: to + urlAt, message: it.message };
        }),
      );
      return;
    }
    let isCurrent = true;
    void loadEditor().then(({ spanInCode }) => {
      if (isCurrent) setMarks(faults.map((it) => ({ ...spanInCode(text, it.path), message: it.message })));
    });
    return () => {
      isCurrent = false;
    };
  }, [text, form, faults, own]);
  return marks;
};
