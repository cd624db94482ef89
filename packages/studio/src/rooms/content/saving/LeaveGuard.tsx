/** Asks before unsaved work is left, for another page or another locale. It is kept by the browser either way, unless that has no room. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useBlocker } from '@tanstack/react-router';
import { useRef } from 'react';
import { words } from '../../../words/index.js';
import type { OtherLocale } from '../locales.js';

const texts = words.relations.leaving;

export const LeaveGuard = ({
  isDirty,
  isKept,
  own,
  other,
  canSave,
  onSave,
  onDrop,
}: {
  readonly isDirty: boolean;
  readonly isKept: boolean;
  /** The address of the entry: pages below it show the same unsaved work. */
  readonly own: string | null;
  readonly other: OtherLocale | null;
  readonly canSave: boolean;
  readonly onSave: () => Promise<boolean>;
  readonly onDrop: () => void;
}) => {
  const dirty = useRef(isDirty);
  dirty.current = isDirty;
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ next }) => dirty.current && !(own !== null && isBelow(next.pathname, own)),
    enableBeforeUnload: isDirty,
    withResolver: true,
  });
  const leave = (): void => {
    proceed?.();
    other?.open();
  };
  const stay = (): void => {
    reset?.();
    other?.stay();
  };
  return (
    <Modal
      closeButtonProps={{ 'aria-label': texts.stay }}
      opened={status === 'blocked' || (other !== null && isDirty)}
      onClose={stay}
      title={texts.title}
      size="md"
    >
      <Stack gap="sm">
        <Text size="sm">{isKept ? texts.kept : texts.notKept}</Text>
        <Group gap="xs">
          {canSave && (
            <Button
              onClick={async () => {
                if (await onSave()) leave();
                else stay();
              }}
            >
              {texts.save}
            </Button>
          )}
          <Button variant="default" onClick={leave}>
            {isKept ? texts.leave : texts.leaveAnyway}
          </Button>
          <Button
            variant="default"
            onClick={() => {
              onDrop();
              leave();
            }}
          >
            {texts.drop}
          </Button>
          <Button variant="default" onClick={stay}>
            {texts.stay}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
};

const isBelow = (pathname: string, own: string): boolean => {
  const at = pathname.indexOf(own);
  if (at < 0) return false;
  const rest = pathname.slice(at + own.length);
  return rest === '' || rest.startsWith('/');
};
