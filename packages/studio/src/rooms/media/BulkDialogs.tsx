/** What is asked before several files are moved or deleted. */
import { Button, Group, List, Modal, Progress, Stack, Text } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { entryName } from '../../model/entry-name.js';
import { typeOf } from '../../model/model.js';
import { Fault } from '../../parts/Fault.js';
import type { Folder } from '../../parts/media/folders.js';
import { type Use, useRefresh, useUsesOfAll } from '../../parts/media/library.js';
import { useClient, useModel } from '../../server/queries.js';
import { words } from '../../words/index.js';
import { FolderSelect } from './FolderSelect.js';
import { oneByOne } from './one-by-one.js';

const texts = words.media;

const Dialog = ({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) => (
  <Modal opened onClose={onClose} title={title} closeButtonProps={{ 'aria-label': words.shell.close }}>
    <Stack gap="md">{children}</Stack>
  </Modal>
);

export const MoveDialog = ({
  count,
  folders,
  from,
  onClose,
  onMove,
}: {
  readonly count: number;
  readonly folders: readonly Folder[];
  /** The folder that all of them are in; undefined if they were found by a search. */
  readonly from: number | null | undefined;
  readonly onClose: () => void;
  readonly onMove: (to: number | null) => void;
}) => {
  const [folder, setFolder] = useState<number | null>(null);
  return (
    <Dialog title={texts.bulk.moveTitle(count)} onClose={onClose}>
      <FolderSelect
        label={texts.folder.to}
        folders={folders}
        value={folder}
        onChange={setFolder}
        isTarget={(it) => it !== from}
      />
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          {words.shell.cancel}
        </Button>
        <Button
          disabled={folder === from}
          onClick={() => {
            onMove(folder);
            onClose();
          }}
        >
          {texts.bulk.moveAction}
        </Button>
      </Group>
    </Dialog>
  );
};

/** Deletes one after the other: what is done when it is stopped stays done. */
export const DeleteDialog = ({
  ids,
  nameOf,
  onClose,
  onDeleted,
}: {
  readonly ids: readonly number[];
  readonly nameOf: (id: number) => string;
  readonly onClose: () => void;
  /** Told of those that were deleted. */
  readonly onDeleted: (ids: readonly number[]) => void;
}) => {
  const client = useClient();
  const refresh = useRefresh();
  // those that were chosen when it was opened: fewer are left while it runs
  const [asked] = useState(ids);
  const [done, setDone] = useState<number | null>(null);
  const [fault, setFault] = useState<unknown>(null);
  const abort = useRef<AbortController | null>(null);
  // whether it is closed or the page is left
  useEffect(() => () => abort.current?.abort(), []);
  const count = asked.length;
  const run = async (): Promise<void> => {
    const running = new AbortController();
    abort.current = running;
    const { done: deleted, fault: refused } = await oneByOne(asked, (id) => client.files.delete(id), {
      signal: running.signal,
      onProgress: setDone,
    });
    if (refused !== null) {
      setFault(refused);
      setDone(null);
    } else if (!running.signal.aborted) onClose();
    onDeleted(deleted);
    await refresh();
  };
  return (
    <Dialog title={texts.bulk.deleteTitle(count)} onClose={onClose}>
      {done === null && fault === null && <Used ids={asked} nameOf={nameOf} />}
      {done !== null && (
        <>
          <Progress value={(done / count) * 100} aria-label={texts.bulk.progress(done, count)} />
          <Text size="sm" role="status">
            {texts.bulk.progress(done, count)}
          </Text>
        </>
      )}
      {fault !== null && <Fault fault={fault} />}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          {done === null ? words.shell.cancel : texts.bulk.stop}
        </Button>
        {fault === null && (
          <Button color="red.8" loading={done !== null} onClick={() => void run()}>
            {texts.bulk.deleteAction(count)}
          </Button>
        )}
      </Group>
    </Dialog>
  );
};

/** Files of a dialog whose uses are named. */
const NAMED_MAX = 8;

const Used = ({ ids, nameOf }: { readonly ids: readonly number[]; readonly nameOf: (id: number) => string }) => {
  const model = useModel();
  const asked = useUsesOfAll(ids);
  const entryOf = ({ type, id, title }: Use): string => entryName(typeOf(model, type), id, title);
  const isKnown = asked.every((it) => it.data);
  if (asked.some((it) => it.error)) return <Text>{texts.bulk.deleteUnknown}</Text>;
  if (!isKnown) return <Text role="status">{texts.bulk.looking}</Text>;
  const used = asked.flatMap(({ data }, i) => (data!.total > 0 ? [{ id: ids[i]!, ...data! }] : []));
  if (used.length === 0) return <Text>{texts.bulk.deleteUnused}</Text>;
  return (
    <>
      <Text>{texts.bulk.deleteUsed(used.length, ids.length)}</Text>
      <List size="sm">
        {used.slice(0, NAMED_MAX).map(({ id, uses, total }) => (
          <List.Item key={id}>{texts.bulk.usedBy(nameOf(id), uses.slice(0, 2).map(entryOf), total)}</List.Item>
        ))}
      </List>
      {used.length > NAMED_MAX && (
        <Text size="sm" c="dimmed">
          {texts.bulk.usedMore(used.length - NAMED_MAX)}
        </Text>
      )}
    </>
  );
};
