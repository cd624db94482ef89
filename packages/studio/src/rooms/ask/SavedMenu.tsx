/** Queries that were saved under a name: opened, deleted, and the one at hand saved. */
import { ActionIcon, Button, Group, Popover, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { IconBookmark, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { words } from '../../words/index.js';
import { keepSaved, readSaved, type SavedQuery, withSaved } from './saved.js';

const texts = words.ask.saved;

/** @param url of the query at hand. */
export const SavedMenu = ({ url, onOpen }: { readonly url: string; readonly onOpen: (url: string) => void }) => {
  const [isOpen, setOpen] = useState(false);
  const [saved, setSaved] = useState<readonly SavedQuery[]>(readSaved);
  const [name, setName] = useState('');
  const keep = (next: readonly SavedQuery[]): void => {
    setSaved(next);
    keepSaved(next);
  };
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-end" width={280} trapFocus returnFocus>
      <Popover.Target>
        <ActionIcon
          variant="default"
          size="md"
          aria-label={texts.label}
          onClick={() => {
            setSaved(readSaved());
            setOpen(!isOpen);
          }}
        >
          <IconBookmark size={16} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown aria-label={texts.label}>
        <Stack gap="xs">
          {saved.length === 0 && (
            <Text size="xs" c="dimmed">
              {texts.none}
            </Text>
          )}
          {saved.map((it) => (
            <Group key={it.name} gap={4} wrap="nowrap" justify="space-between">
              <UnstyledButton
                className="ask-saved"
                title={it.url}
                onClick={() => {
                  onOpen(it.url);
                  setOpen(false);
                }}
              >
                {it.name}
              </UnstyledButton>
              <ActionIcon
                size="sm"
                variant="subtle"
                color="gray"
                aria-label={texts.remove(it.name)}
                onClick={() => keep(saved.filter((other) => other.name !== it.name))}
              >
                <IconTrash size={14} />
              </ActionIcon>
            </Group>
          ))}
          <form
            onSubmit={(event) => {
              event.preventDefault();
              if (name.trim() === '') return;
              keep(withSaved(saved, { name: name.trim(), url }));
              setName('');
            }}
          >
            <Group gap={4} align="flex-end" wrap="nowrap">
              <TextInput
                size="xs"
                flex={1}
                label={texts.name}
                value={name}
                onChange={({ currentTarget: { value } }) => setName(value)}
              />
              <Button size="xs" type="submit" disabled={name.trim() === ''}>
                {texts.save}
              </Button>
            </Group>
          </form>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
};
