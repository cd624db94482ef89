/** What came of the last action, below the bar of an entry. */
import { Alert, Button, Group, List, Text } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import type { Type } from '../../../model/model.js';
import { ButtonLink } from '../../../parts/links.js';
import { words } from '../../../words/index.js';
import type { Unsendable } from '../form/body.js';
import { type EntryForm, isDirty } from '../form/entry-form.js';
import { pathInWords } from '../form/paths.js';
import { entryAddress, listAddress } from '../relations/entry-address.js';
import type { Saving } from './use-saving.js';

const texts = words.relations.saving;

export const Notice = ({
  saving,
  type,
  form,
}: {
  readonly saving: Saving;
  readonly type: Type;
  readonly form: EntryForm;
}) => {
  const navigate = useNavigate();
  const { outcome } = saving;
  if (outcome === null) return <div role="status" />;
  switch (outcome.kind) {
    case 'saved':
    case 'published': {
      const { compared, mismatches } = outcome.readBack;
      const [plain, whole] =
        outcome.kind === 'saved'
          ? [texts.saved, texts.savedAndCompared]
          : [texts.published, texts.publishedAndCompared];
      if (mismatches.length > 0)
        return (
          <Alert role="alert" variant="default" title={texts.differs}>
            <List size="sm">
              {mismatches.slice(0, 5).map(({ attribute, position }) => (
                <List.Item key={`${attribute} ${position}`}>{texts.differsAt(attribute, position)}</List.Item>
              ))}
            </List>
          </Alert>
        );
      return (
        <>
          <Text role="status" size="sm" c="dimmed" component="div">
            <Group gap={4}>
              <IconCheck size={16} aria-hidden />
              {compared > 0 ? whole : plain}
            </Group>
          </Text>
          {outcome.rounded.length > 0 && (
            <Alert role="alert" variant="default" p="xs">
              {outcome.rounded.map(({ path, sent, stored }) => (
                <Text key={path} size="sm">
                  {texts.rounded(path.split('/').at(-1) ?? path, sent, stored)}
                </Text>
              ))}
            </Alert>
          )}
        </>
      );
    }
    case 'unpublished':
      return (
        <Text role="status" size="sm" c="dimmed">
          {texts.unpublished}
        </Text>
      );
    case 'chosen':
      return (
        <Text role="status" size="sm">
          {isDirty(form) && texts.chosen}
        </Text>
      );
    case 'occupied':
      return (
        <Alert role="alert" variant="default" title={texts.occupied(type.displayName)}>
          <Group gap="xs">
            <Button
              size="compact-sm"
              variant="default"
              onClick={() => {
                const to = entryAddress(type, { id: null });
                const search = form.entry.locale === null ? {} : { locale: form.entry.locale };
                if (to) void navigate({ to, search } as never);
              }}
            >
              {texts.openOccupied}
            </Button>
            <Button size="compact-sm" variant="default" onClick={() => void saving[outcome.by](true)}>
              {texts.replaceOccupied}
            </Button>
          </Group>
        </Alert>
      );
    case 'gone':
      return (
        <Alert role="alert" color="red" variant="light" title={texts.gone}>
          <Text size="sm">{texts.goneHint}</Text>
          {type.kind === 'collection' && type.may.create && (
            <Button mt="xs" size="compact-sm" variant="default" onClick={() => void saving.renew()}>
              {texts.renew}
            </Button>
          )}
        </Alert>
      );
    case 'unsure': {
      const { state } = outcome;
      const search = { sort: 'id:desc', ...(form.entry.locale === null ? {} : { locale: form.entry.locale }) };
      return (
        <Alert role="alert" variant="default" title={texts.unsure}>
          <Text size="sm">{texts.unsureHint}</Text>
          <Group gap="xs" mt="xs">
            <ButtonLink
              size="compact-sm"
              variant="default"
              target="_blank"
              to={listAddress(type) as '/content'}
              search={search as never}
            >
              {texts.look}
            </ButtonLink>
            <Button size="compact-sm" variant="default" onClick={() => void saving.save(state, true)}>
              {texts.saveAgain}
            </Button>
          </Group>
        </Alert>
      );
    }
    case 'contested':
      return (
        <Alert role="alert" variant="default" title={texts.contested}>
          <Group gap="xs">
            {outcome.lists.map(({ path, attribute }) => (
              <Button
                key={path}
                size="compact-sm"
                variant="default"
                onClick={() => {
                  const to = entryAddress(type, form.entry, path);
                  if (to) void navigate({ to: to as '/content' });
                }}
              >
                {attribute.name}
              </Button>
            ))}
          </Group>
        </Alert>
      );
    case 'unsendable':
      return (
        <Alert role="alert" color="red" variant="light" title={texts.unsendable}>
          <List size="sm">
            {outcome.fields.map((field) => (
              <List.Item key={field.path}>{reasonOf(field, form)}</List.Item>
            ))}
          </List>
        </Alert>
      );
  }
};

const reasonOf = (field: Unsendable, { values }: EntryForm): string => {
  const name = pathInWords(values, field.path);
  switch (field.kind) {
    case 'not-json':
      return texts.notJson(name);
    case 'incomplete':
      return texts.incomplete(name);
    case 'too-many-digits':
      return texts.tooManyDigits(name, words.content.controls.json.inexact(field.number));
  }
};
