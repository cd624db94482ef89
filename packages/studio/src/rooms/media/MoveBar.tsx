/** Says what is being moved, which can be stopped, and what was moved, which can be undone. */
import { Button, CloseButton, Group, Progress, Text } from '@mantine/core';
import { Fault } from '../../parts/Fault.js';
import type { Folder } from '../../parts/media/folders.js';
import { words } from '../../words/index.js';
import { type Moved, type MoveState, type Moving, mayUndo } from './moving.js';
import styles from './room.module.css';

const texts = words.media.moving;

export const MoveBar = ({
  moving: { state, stop, undo, dismiss },
  folders,
}: {
  readonly moving: Moving;
  readonly folders: readonly Folder[];
}) => (
  <div role="status">
    {state && (
      <div className={styles['moving']}>
        <Group gap="xs" wrap="nowrap">
          <Text size="sm" flex={1}>
            {textOf(state, folders)}
          </Text>
          {state.kind === 'moving' && state.all > 1 && (
            <Button size="compact-sm" variant="default" onClick={stop}>
              {words.media.bulk.stop}
            </Button>
          )}
          {mayUndo(state) && (
            <Button size="compact-sm" variant="default" onClick={() => void undo()}>
              {texts.undo}
            </Button>
          )}
          {state.kind === 'ended' && <CloseButton size="sm" aria-label={words.shell.close} onClick={dismiss} />}
        </Group>
        {state.kind === 'moving' && (
          <Progress
            size="sm"
            value={(state.done / state.all) * 100}
            aria-label={texts.progress(state.done, state.all)}
          />
        )}
        {state.kind === 'ended' && state.fault !== null && <Fault fault={state.fault} />}
      </div>
    )}
  </div>
);

const textOf = (state: MoveState, folders: readonly Folder[]): string => {
  if (state.kind === 'moving') return texts.progress(state.done, state.all);
  const { what, all, to } = state;
  if (what.length < all) return texts.partly(what.length, all);
  const nameOf = (id: number | null): string => folders.find((it) => it.id === id)?.name ?? words.media.top;
  const [first]: readonly Moved[] = what;
  const moved = first?.kind === 'folder' ? texts.folder(nameOf(first.id)) : words.media.files(what.length);
  return to === undefined ? texts.undone(moved) : texts.moved(moved, nameOf(to));
};
