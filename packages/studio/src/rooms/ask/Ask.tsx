/** The room Ask: a request as a tree and as text, always in step, and its answer. */
import { ActionIcon, Button, Group, Select, Tooltip, VisuallyHidden } from '@mantine/core';
import { useClipboard, useDebouncedValue, useHotkeys } from '@mantine/hooks';
import { IconArrowBackUp, IconArrowForwardUp, IconCheck, IconEraser, IconLink } from '@tabler/icons-react';
import { useMemo, useState } from 'react';
import { collectiveName } from '../../model/entry-name.js';
import { nameOf, typeOf } from '../../model/model.js';
import { EmptyState } from '../../parts/EmptyState.js';
import { useAdministrator, useModelAs } from '../../server/queries.js';
import { nameOfAs, useAs } from '../../shell/choices.js';
import { usePageTitle } from '../../shell/page-title.js';
import { words } from '../../words/index.js';
import { AnswerPane } from './AnswerPane.js';
import { faultsOf, useAnswer } from './answer.js';
import './ask.css';
import { DraftInput } from './DraftInput.js';
import { QueryTree } from './QueryTree.js';
import { groundOf } from './query/items.js';
import { askable, newRequest, readUrl, writeUrl } from './query/request.js';
import { RequestPane, type UnreadablePart } from './RequestPane.js';
import { SavedMenu } from './SavedMenu.js';
import { useAsking } from './state.js';

const texts = words.ask;
/** A request is made when it has been still for so long. */
const STILL_MS = 300;

export const Ask = () => {
  const model = useModelAs();
  const asking = useAsking(model);
  if (!asking) return <EmptyState title={texts.noTypes.title} text={texts.noTypes.text} />;
  return <Room asking={asking} model={model} />;
};

const Room = ({
  asking: { request, change, undo, redo, unreadable },
  model,
}: {
  readonly asking: NonNullable<ReturnType<typeof useAsking>>;
  readonly model: ReturnType<typeof useModelAs>;
}) => {
  const { type: uid } = request;
  const type = typeOf(model, uid);
  usePageTitle(words.shell.pageOf(type === null ? uid : collectiveName(type), words.shell.rooms.ask));
  const ground = useMemo(() => groundOf(model, uid), [model, uid]);
  const isSignedIn = useAdministrator() !== null;
  const who = nameOfAs(useAs()) ?? (isSignedIn ? words.shell.as.self : words.shell.as.public);
  const url = writeUrl(model, request);
  const [stillUrl] = useDebouncedValue(url, STILL_MS);
  const answer = useAnswer(stillUrl, model.prefix);
  // faults are those of the text that was asked; while another one is written they may be anywhere
  const faults = useMemo(() => (stillUrl === url ? faultsOf(answer.error) : []), [answer.error, stillUrl, url]);
  const [unread, setUnread] = useState<UnreadablePart | null>(null);
  const clipboard = useClipboard();
  useHotkeys(
    [
      ['mod+Z', () => undo?.()],
      ['mod+shift+Z', () => redo?.()],
    ],
    ['INPUT', 'TEXTAREA', 'SELECT'],
  );
  if (!ground) return null;
  const types = askable(model);
  return (
    <div className="ask">
      <VisuallyHidden component="h1">{texts.title}</VisuallyHidden>
      <div className="ask-query">
        <div className="ask-head">
          <Select
            size="sm"
            flex="1 1 160px"
            label={texts.type}
            searchable
            allowDeselect={false}
            data={types.map((it) => ({ value: it.uid, label: nameOf(it) }))}
            value={request.type}
            onChange={(uid) => {
              const type = types.find((it) => it.uid === uid);
              if (type && type.uid !== request.type) change(newRequest(type));
            }}
          />
          {ground.type.kind === 'collection' && (
            <DraftInput
              size="sm"
              w={112}
              inputMode="numeric"
              label={texts.id.label}
              placeholder={texts.id.placeholder}
              value={request.id ?? ''}
              onCommit={(text) =>
                /^\d*$/.test(text.trim()) && change({ ...request, id: text.trim() === '' ? null : text.trim() })
              }
            />
          )}
          <Group gap={8} wrap="nowrap" className="ask-actions">
            <Action label={texts.undo} onClick={undo} icon={<IconArrowBackUp size={16} />} />
            <Action label={texts.redo} onClick={redo} icon={<IconArrowForwardUp size={16} />} />
            <Action
              label={texts.clear}
              onClick={url === writeUrl(model, newRequest(ground.type)) ? null : () => change(newRequest(ground.type))}
              icon={<IconEraser size={16} />}
            />
            <Action
              label={clipboard.copied ? texts.copied : texts.copyLink}
              onClick={() => clipboard.copy(location.href)}
              icon={clipboard.copied ? <IconCheck size={16} /> : <IconLink size={16} />}
            />
            <SavedMenu
              url={url}
              onOpen={(it) => {
                const read = readUrl(it, model, request);
                if (read.ok) change(read.value);
              }}
            />
          </Group>
        </div>
        {unread && (
          <Group gap="xs" justify="space-between" className="ask-old" role="status">
            <span>
              {texts.tree.old} {unread.message}
            </span>
            <Button size="compact-sm" variant="default" onClick={unread.discard}>
              {texts.tree.discard}
            </Button>
          </Group>
        )}
        <QueryTree
          key={request.type}
          request={request}
          ground={ground}
          onChange={change}
          faults={faults}
          who={who}
          isOld={unread !== null}
        />
        <p className="ask-hint">{texts.tree.hint}</p>
      </div>
      <div className="ask-result">
        <RequestPane
          request={request}
          ground={ground}
          onChange={change}
          faults={faults}
          unreadable={unreadable}
          onUnreadable={setUnread}
          onRun={() => void answer.refetch()}
        />
        <AnswerPane answer={answer} url={stillUrl} ground={ground} who={who} isOld={unread !== null} />
      </div>
    </div>
  );
};

const Action = ({
  label,
  icon,
  onClick,
}: {
  readonly label: string;
  readonly icon: React.ReactNode;
  readonly onClick: (() => void) | null;
}) => (
  <Tooltip label={label}>
    <ActionIcon
      variant="default"
      size="md"
      aria-label={label}
      disabled={onClick === null}
      onClick={onClick ?? undefined}
    >
      {icon}
    </ActionIcon>
  </Tooltip>
);
