/** The locales of an entry: opens another one, or adds it. */
import { Button, Group, Menu, Modal, Stack, Text } from '@mantine/core';
import { IconChevronDown, IconLanguage } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import type { Type } from '../../../model/model.js';
import { useMe, useModel } from '../../../server/queries.js';
import { mayChange } from '../../../server/rights.js';
import { chooseLocale } from '../../../shell/choices.js';
import { words } from '../../../words/index.js';
import type { EntryForm } from '../form/entry-form.js';
import { entryAddress } from '../relations/entry-address.js';
import type { Saving } from './use-saving.js';

const texts = words.relations.saving;

export const LocaleSwitch = ({
  type,
  form: { entry },
  saving,
}: {
  readonly type: Type;
  readonly form: EntryForm;
  readonly saving: Saving;
}) => {
  const { locales } = useModel();
  const navigate = useNavigate();
  const [adding, setAdding] = useState<string | null>(null);
  const button = useRef<HTMLButtonElement>(null);
  const nameOf = (code: string): string => locales.find((it) => it.code === code)?.name ?? code;
  const there = new Map(entry.localizations.map((it) => [it.locale, it]));
  const me = useMe();
  const missing = locales.filter(
    ({ code }) =>
      code !== entry.locale &&
      !there.has(code) &&
      mayChange(me, type, 'create', { id: null, locale: code, createdBy: null }),
  );
  const isSingle = type.kind === 'single';
  const open = (code: string, id: number): void => {
    chooseLocale(code);
    const to = entryAddress(type, { id });
    if (to) void navigate({ to: to as '/content' });
  };
  return (
    <>
      <Menu position="bottom-end" withInitialFocusPlaceholder={false}>
        <Menu.Target>
          <Button
            ref={button}
            variant="default"
            leftSection={<IconLanguage size={16} />}
            rightSection={<IconChevronDown size={14} />}
            loading={saving.busy === 'localize'}
          >
            {entry.locale === null ? texts.locale : nameOf(entry.locale)}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {there.size > 0 && <Menu.Label>{texts.otherLocales}</Menu.Label>}
          {[...there.values()].map(({ id, locale, publishedAt }) => (
            <Menu.Item key={locale} onClick={() => open(locale, id)}>
              {nameOf(locale)}
              {type.draftAndPublish && publishedAt === null && ` · ${texts.draft.toLowerCase()}`}
            </Menu.Item>
          ))}
          {entry.id !== null && type.may.createLocalization && missing.length > 0 && (
            <>
              <Menu.Label>{texts.addLocale}</Menu.Label>
              {missing.map(({ code }) => (
                <Menu.Item key={code} onClick={() => setAdding(code)}>
                  {nameOf(code)}
                </Menu.Item>
              ))}
            </>
          )}
          {there.size === 0 && (entry.id === null || missing.length === 0) && (
            <Menu.Item disabled>{texts.noOtherLocale}</Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {adding !== null && (
        <Modal
          closeButtonProps={{ 'aria-label': texts.close }}
          opened
          onClose={() => {
            setAdding(null);
            // the item of the menu that had it is gone
            button.current?.focus();
          }}
          title={texts.addTitle(nameOf(adding))}
          size="sm"
        >
          <Stack gap="sm">
            <Text size="sm">{texts.addLead}</Text>
            <Group gap="xs">
              {([true, false] as const).map((isCopy) => (
                <Button
                  key={String(isCopy)}
                  variant={isCopy ? 'filled' : 'default'}
                  data-autofocus={isCopy || undefined}
                  onClick={() => {
                    setAdding(null);
                    if (isSingle) chooseLocale(adding);
                    void saving.localize(adding, isCopy);
                  }}
                >
                  {isCopy ? texts.addCopy : texts.addEmpty}
                </Button>
              ))}
            </Group>
          </Stack>
        </Modal>
      )}
    </>
  );
};
