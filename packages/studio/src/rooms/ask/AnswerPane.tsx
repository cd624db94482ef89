/** What the server answers: as JSON, as a tree, as a table; and how it was read. */
import { ActionIcon, Group, Loader, SegmentedControl, Text } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { IconCheck, IconCopy, IconDownload, IconRefresh } from '@tabler/icons-react';
import { Suspense, useMemo, useState } from 'react';
import { byteSize } from '../../parts/ByteSize.js';
import { download } from '../../parts/download.js';
import { EmptyState } from '../../parts/EmptyState.js';
import { Fault } from '../../parts/Fault.js';
import { Waiting } from '../../parts/Waiting.js';
import { words } from '../../words/index.js';
import { AnswerTable } from './AnswerTable.js';
import { AnswerTree } from './AnswerTree.js';
import { type Answer, faultsOf, type useAnswer, useExplanation } from './answer.js';
import { PlanView } from './PlanView.js';
import type { Ground } from './query/place.js';
import { CodeEditor } from './RequestPane.js';
import { entriesIn, totalIn } from './readable.js';

const texts = words.ask.answer;
const views = ['json', 'tree', 'table', 'plan'] as const;
type View = (typeof views)[number];

export const AnswerPane = ({
  answer,
  url,
  ground,
  who,
  isOld,
}: {
  readonly answer: ReturnType<typeof useAnswer>;
  /** Of the request that is asked; null while there is none. */
  readonly url: string | null;
  readonly ground: Ground;
  readonly who: string;
  /** Whether there is a newer text, which cannot be read. */
  readonly isOld: boolean;
}) => {
  const [view, setView] = useState<View>('json');
  const { data, error, isFetching, refetch } = answer;
  // an answer that went wrong has no plan
  const explained = useExplanation(error ? null : url, { analyze: false }).data;
  return (
    <section aria-label={texts.label} className="ask-answer">
      <Group justify="space-between" gap="xs">
        <SegmentedControl
          size="xs"
          aria-label={texts.view}
          value={view}
          onChange={(it) => setView(views.find((known) => known === it) ?? 'json')}
          data={views.map((it) => ({ value: it, label: texts.views[it] }))}
        />
        <Group gap={8} className="ask-figures">
          {isFetching && <Loader size={14} className="late" aria-hidden />}
          <Figures answer={data} statements={error ? null : (explained?.statements.length ?? null)} />
          {data && !error && <TakeAway answer={data} />}
          <ActionIcon size="sm" variant="subtle" color="gray" aria-label={texts.again} onClick={() => void refetch()}>
            <IconRefresh size={16} />
          </ActionIcon>
        </Group>
      </Group>
      {error && <Fault fault={error} {...(faultsOf(error).length === 0 ? { onRetry: () => void refetch() } : {})} />}
      {isOld && (
        <Text size="xs" c="dimmed">
          {texts.old}
        </Text>
      )}
      {!error && data?.ignored && (
        <Text size="sm" className="ask-fault" role="status">
          {texts.ignored(data.ignored)}
        </Text>
      )}
      {!error && explained && explained.leftOut.length > 0 && view !== 'plan' && (
        <Text size="xs" c="dimmed" role="status">
          {texts.leftOut(who)} {explained.leftOut.map((it) => `${it.name} (${it.why})`).join(', ')}
        </Text>
      )}
      {!error && explained?.code && (
        <Text size="xs" c="dimmed" role="status">
          {texts.byCode(explained.code)}
        </Text>
      )}
      {view === 'plan' ? (
        <PlanView url={error ? null : url} />
      ) : data && !error ? (
        <Shown answer={data} view={view} ground={ground} />
      ) : (
        !error && <Waiting />
      )}
    </section>
  );
};

const Figures = ({
  answer,
  statements,
}: {
  readonly answer: Answer | undefined;
  readonly statements: number | null;
}) => {
  if (!answer) return null;
  const { isList, entries } = entriesIn(answer.body);
  return (
    <Text size="xs" c="dimmed" role="status">
      {[
        isList ? texts.entries(entries.length, totalIn(answer.body)) : null,
        statements === null ? null : texts.statements(statements),
        texts.ms(answer.ms),
        byteSize(answer.bytes),
      ]
        .filter((it) => it !== null)
        .join(' · ')}
    </Text>
  );
};

const textOfAnswer = (body: unknown): string => JSON.stringify(body, null, 2);

/** Characters that the editor shows: more would make the page slow. */
const SHOWN_MAX = 300_000;

/** Whole lines of a text; of a line that is longer its beginning. */
const shortened = (text: string): { readonly text: string; readonly length: number; readonly all: number } => {
  if (text.length <= SHOWN_MAX) return { text, length: text.length, all: text.length };
  const end = text.lastIndexOf('\n', SHOWN_MAX);
  const shown = text.slice(0, end > SHOWN_MAX / 2 ? end : SHOWN_MAX);
  return { text: `${shown}\n…`, length: shown.length, all: text.length };
};

/** All of the answer, to be used elsewhere. */
const TakeAway = ({ answer: { body } }: { readonly answer: Answer }) => {
  const clipboard = useClipboard();
  const store = (): void => download('answer.json', textOfAnswer(body), 'application/json');
  return (
    <>
      <ActionIcon
        size="sm"
        variant="subtle"
        color="gray"
        aria-label={clipboard.copied ? words.ask.copied : texts.copy}
        onClick={() => clipboard.copy(textOfAnswer(body))}
      >
        {clipboard.copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
      </ActionIcon>
      <ActionIcon size="sm" variant="subtle" color="gray" aria-label={texts.download} onClick={store}>
        <IconDownload size={16} />
      </ActionIcon>
    </>
  );
};

const Shown = ({
  answer,
  view,
  ground,
}: {
  readonly answer: Answer;
  readonly view: Exclude<View, 'plan'>;
  readonly ground: Ground;
}) => {
  const { body } = answer;
  const json = useMemo(() => (view === 'json' ? shortened(textOfAnswer(body)) : null), [body, view]);
  if (json)
    return (
      <>
        {json.length < json.all && (
          <Text size="sm" role="status">
            {texts.part(byteSize(json.length), byteSize(json.all))}
          </Text>
        )}
        <Suspense
          fallback={
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
            <section className="ask-scroll ask-editor-waiting" tabIndex={0} aria-label={texts.json}>
              {json.text.slice(0, 5000)}
            </section>
          }
        >
          <div className="ask-json">
            <CodeEditor label={texts.json} text={json.text} language="json" onChange={null} />
          </div>
        </Suspense>
      </>
    );
  if (entriesIn(body).entries.length === 0) return <EmptyState title={texts.empty} text={texts.emptyHint} />;
  return view === 'tree' ? (
    <AnswerTree body={body} type={ground.type} model={ground.model} />
  ) : (
    <AnswerTable body={body} type={ground.type} model={ground.model} />
  );
};
