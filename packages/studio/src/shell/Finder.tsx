/** The palette: finds pages, types and entries by a few letters. */
import { Combobox, Input, Loader, Modal, ScrollArea, Text, useCombobox } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useRouter } from '@tanstack/react-router';
import { useLayoutEffect, useState } from 'react';
import { Fault } from '../parts/Fault.js';
import { studioPath } from '../server/address.js';
import { words } from '../words/index.js';
import { type Found, useFound } from './found.js';

const texts = words.shell.find;

export const Finder = ({ onClose }: { readonly onClose: () => void }) => {
  const router = useRouter();
  const [text, setText] = useState('');
  const [wanted] = useDebouncedValue(text, 200);
  const { groups, isSearching, fault } = useFound(wanted);
  const combobox = useCombobox({ opened: true });
  const all = groups.flatMap((it) => it.found);
  const { selectFirstOption } = combobox;
  // Enter opens the first of what has just been found
  const shown = all.map(keyOf).join(' ');
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is shown has changed in the document
  useLayoutEffect(() => {
    selectFirstOption();
  }, [shown]);
  const open = (key: string): void => {
    const found = all.find((it) => keyOf(it) === key);
    if (!found) return;
    onClose();
    router.history.push(studioPath + found.address);
  };
  return (
    <Modal.Root opened onClose={onClose} size="lg" yOffset="10vh">
      <Modal.Overlay />
      <Modal.Content aria-label={texts.title}>
        <Combobox store={combobox} onOptionSubmit={open}>
          <Combobox.EventsTarget>
            <Input
              size="md"
              variant="unstyled"
              px="md"
              data-autofocus
              aria-label={texts.placeholder}
              placeholder={texts.placeholder}
              leftSection={<IconSearch size={18} />}
              rightSection={isSearching && <Loader size={16} className="late" />}
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key === 'Escape') onClose();
              }}
            />
          </Combobox.EventsTarget>
          <ScrollArea.Autosize mah="60vh" type="auto">
            <Combobox.Options aria-label={texts.label} p="xs">
              {fault !== null && <Fault fault={fault} />}
              {all.length === 0 && !isSearching && <Combobox.Empty>{texts.nothing}</Combobox.Empty>}
              {groups
                .filter((it) => it.found.length > 0)
                .map(({ name, found }) => (
                  <Combobox.Group key={name} label={name}>
                    {found.map((it) => (
                      <Combobox.Option key={keyOf(it)} value={keyOf(it)}>
                        <bdi>{it.name}</bdi>
                        {it.hint && (
                          <Text span size="sm" ml="xs">
                            {it.hint}
                          </Text>
                        )}
                      </Combobox.Option>
                    ))}
                  </Combobox.Group>
                ))}
            </Combobox.Options>
          </ScrollArea.Autosize>
        </Combobox>
      </Modal.Content>
    </Modal.Root>
  );
};

const keyOf = ({ address }: Found): string => address;
