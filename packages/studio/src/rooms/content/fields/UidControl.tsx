/** A uid: made from its target, free or taken. */
import { Button, Group, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { encodeQuery } from 'dovetail-client';
import { useEffect, useRef } from 'react';
import type { Type } from '../../../model/model.js';
import { useClient } from '../../../server/queries.js';
import { words } from '../../../words/index.js';
import { idOf } from '../form/fields.js';
import { pathOf } from '../requests.js';
import { elementId, useForm } from './form-context.js';
import type { ScalarProps } from './scalar-control.js';
import { freeSlug, slugOf } from './slug.js';

const texts = words.content.controls.uid;

export const UidControl = ({ attribute, owner, path, field, onChange, readOnly, frame, target }: ScalarProps) => {
  const { id } = useForm();
  const uses = useUses(owner, attribute.name);
  const value = field.value === null ? '' : String(field.value);
  const source = typeof target === 'string' || typeof target === 'number' ? slugOf(String(target)) : '';

  // that the entry's own uid is free is no news
  const opened = useRef(value);

  // the uid of a new entry follows its target until somebody writes another one
  const followed = useRef(value);
  useEffect(() => {
    if (id !== null || readOnly || source === followed.current || value !== followed.current) return;
    followed.current = source;
    onChange({ kind: 'scalar', value: source === '' ? null : source });
  }, [id, readOnly, source, value, onChange]);

  const make = async (): Promise<void> => {
    const taken = await uses(source, id);
    const free = freeSlug(source, taken);
    followed.current = free;
    onChange({ kind: 'scalar', value: free });
  };

  const [settled] = useDebouncedValue(value, 300);
  const { data: taken } = useQuery({
    queryKey: ['uid', owner.uid, attribute.name, id, settled],
    queryFn: () => uses(settled, id),
    enabled: settled !== '' && owner.path !== null && !readOnly,
    retry: false,
  });
  const isCurrent = settled === value && value !== '';
  const isTaken = isCurrent && taken?.includes(value);
  return (
    <div>
      <Group align="flex-end" gap="xs" wrap="wrap">
        <TextInput
          {...frame}
          id={elementId(path)}
          style={{ flex: '1 1 240px' }}
          value={value}
          readOnly={readOnly}
          placeholder={field.value === null ? words.content.controls.none : ''}
          onChange={(event) =>
            onChange({ kind: 'scalar', value: event.currentTarget.value === '' ? null : event.currentTarget.value })
          }
        />
        {attribute.targetField !== null && !readOnly && (
          <Button variant="default" disabled={source === ''} onClick={() => void make()}>
            {texts.make(attribute.targetField)}
          </Button>
        )}
      </Group>
      <Text size="xs" mt={4} role="status" c={isTaken ? 'red' : 'dimmed'}>
        {isCurrent &&
          taken !== undefined &&
          (isTaken ? texts.taken : (id === null || value !== opened.current) && texts.free)}
        {value === '' && typeof target === 'string' && target !== '' && source === '' && texts.noLetters}
      </Text>
    </div>
  );
};

/** Asks for the values that begin with a slug, of drafts and all locales; an entry's own value does not count. */
const useUses = (owner: Type, name: string): ((slug: string, own: number | null) => Promise<readonly string[]>) => {
  const client = useClient();
  const { model } = useForm();
  return async (slug, own) => {
    if (slug === '' || owner.path === null) return [];
    const query = encodeQuery({
      fields: [name],
      filters: { [name]: { $startsWith: slug }, ...(own === null ? {} : { id: { $ne: own } }) },
      sort: `${name}:asc`,
      pagination: { pageSize: 100 },
      ...(owner.draftAndPublish ? { publicationState: 'preview' } : {}),
      ...(owner.localized ? { locale: 'all' } : {}),
    });
    const { body } = await client.send({ method: 'GET', path: pathOf(model, owner), query });
    const rows = (body as { readonly data: readonly { readonly id: number; readonly attributes: object }[] }).data;
    return rows
      .filter((row) => idOf(row) !== own)
      .map(({ attributes }) => String((attributes as Readonly<Record<string, unknown>>)[name]));
  };
};
