/** A text that is taken when typing pauses, on Enter and when the input is left. */
import { TextInput, type TextInputProps } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';

const PAUSE_MS = 400;

export const DraftInput = ({
  value,
  onCommit,
  ...props
}: Omit<TextInputProps, 'value' | 'onChange'> & {
  readonly value: string;
  readonly onCommit: (text: string) => void;
}) => {
  const [draft, setDraft] = useState<string | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const commit = (text: string | null): void => {
    if (timer.current !== null) clearTimeout(timer.current);
    timer.current = null;
    if (text !== null && text !== value) onCommit(text);
  };
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
    },
    [],
  );
  return (
    <TextInput
      size="xs"
      {...props}
      value={draft ?? value}
      onChange={({ currentTarget: { value: text } }) => {
        setDraft(text);
        if (timer.current !== null) clearTimeout(timer.current);
        timer.current = setTimeout(() => commit(text), PAUSE_MS);
      }}
      onBlur={() => {
        commit(draft);
        setDraft(null);
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter') commit(draft);
      }}
    />
  );
};
