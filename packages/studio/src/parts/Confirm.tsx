/** A question before something is done that cannot be taken back. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { type ReactNode, type RefObject, useState } from 'react';
import { words } from '../words/index.js';
import { Fault } from './Fault.js';

export interface Question {
  readonly title: string;
  readonly text: string;
  /** Below the text: what it concerns. */
  readonly details?: ReactNode;
  /** What the button says: what happens. Null: there is nothing to confirm, only to read. */
  readonly action: string | null;
  /** Stays open with the fault if it fails. */
  readonly run: () => Promise<unknown>;
  /** Where the focus goes when it is done, if what opened the question is gone then. */
  readonly focusAfter?: RefObject<HTMLElement | null>;
}

export const Confirm = ({
  question,
  onClose,
}: {
  /** Null: nothing is asked. */
  readonly question: Question | null;
  readonly onClose: () => void;
}) => {
  const [state, setState] = useState<{ readonly isRunning: boolean; readonly fault: unknown }>(idle);
  const close = (): void => {
    setState(idle);
    onClose();
  };
  // what runs cannot be taken back: to close it would only let its end close the next question
  const cancel = (): void => {
    if (!state.isRunning) close();
  };
  const run = async (): Promise<void> => {
    setState({ isRunning: true, fault: null });
    try {
      await question?.run();
      close();
      question?.focusAfter?.current?.focus();
    } catch (fault) {
      setState({ isRunning: false, fault });
    }
  };
  return (
    <Modal
      opened={question !== null}
      onClose={cancel}
      title={question?.title}
      closeButtonProps={{ 'aria-label': words.shell.close, disabled: state.isRunning }}
    >
      <Stack gap="md">
        <Text>{question?.text}</Text>
        {question?.details}
        {state.fault !== null && <Fault fault={state.fault} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" disabled={state.isRunning} onClick={cancel} data-autofocus>
            {question?.action === null ? words.shell.close : words.shell.cancel}
          </Button>
          {question !== null && question.action !== null && (
            <Button color="red.8" loading={state.isRunning} onClick={() => void run()}>
              {question.action}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
};

const idle = { isRunning: false, fault: null } as const;
