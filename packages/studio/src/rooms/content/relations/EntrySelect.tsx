/** Searches the entries of a type and picks one. */
import { Group, Loader, Select, type SelectProps, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Type } from '../../../model/model.js';
import { useClient, useModel } from '../../../server/queries.js';
import { words } from '../../../words/index.js';
import { EntryState } from './EntryState.js';
import { type Relation, usePartners } from './partners.js';
import type { RelatedRow } from './relation-edit.js';
import { searchTargets, titleOf } from './source.js';

const texts = words.relations.pick;

interface EntrySelectProps
  extends Pick<
    SelectProps,
    'label' | 'placeholder' | 'disabled' | 'aria-labelledby' | 'aria-describedby' | 'size' | 'error'
  > {
  readonly target: Type;
  readonly locale: string | null;
  /** Null: nothing is chosen; after a pick the field is empty again. */
  readonly value: RelatedRow | null;
  readonly onPick: (row: RelatedRow | null) => void;
  /** The relation that the entry is picked for: whose it is now is said beside its name. */
  readonly relation: Relation | null;
  /** What else is to be said of an entry beside its name. */
  readonly noteOf?: (row: RelatedRow) => string | null;
}

export const EntrySelect = ({ target, locale, value, onPick, relation, noteOf, ...props }: EntrySelectProps) => {
  const client = useClient();
  const model = useModel();
  const [text, setText] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [asked] = useDebouncedValue(text, 250);
  // the name of the chosen entry stands in the field and is no question
  const wanted = value !== null && asked === titleOf(value) ? '' : asked;
  const { data, isFetching, isError } = useQuery({
    queryKey: ['entries-to-pick', target.uid, locale, wanted],
    queryFn: ({ signal }) => searchTargets(client, model, target, wanted, locale, signal),
    enabled: isOpen,
    placeholderData: keepPreviousData,
  });
  const rows = [...(value && !data?.some((it) => it.id === value.id) ? [value] : []), ...(data ?? [])];
  const partners = usePartners(relation, data?.map(({ id }) => id) ?? []);
  return (
    <Select
      {...props}
      searchable
      allowDeselect={false}
      data={rows.map((row) => ({ value: String(row.id), label: titleOf(row) }))}
      filter={({ options }) => options}
      value={value === null ? null : String(value.id)}
      searchValue={text}
      onSearchChange={setText}
      onDropdownOpen={() => setOpen(true)}
      onDropdownClose={() => setOpen(false)}
      onChange={(id) => {
        onPick(id === null ? null : (rows.find((it) => it.id === Number(id)) ?? null));
        if (value === null) setText('');
      }}
      rightSection={isFetching ? <Loader size="xs" /> : undefined}
      nothingFoundMessage={isError ? texts.failed : isFetching ? texts.searching : texts.nothing}
      renderOption={({ option }) => {
        const row = rows.find((it) => String(it.id) === option.value);
        if (!row) return option.label;
        const partner = partners.get(row.id);
        const note = noteOf?.(row) ?? (partner ? texts.isOf(partner.title) : null);
        return (
          <Group gap="xs" wrap="nowrap" w="100%">
            <Text size="sm" truncate flex={1}>
              {titleOf(row)}
            </Text>
            {note && (
              <Text size="xs" c="dimmed">
                {note}
              </Text>
            )}
            <EntryState row={row} type={target} />
          </Group>
        );
      }}
      maxDropdownHeight={320}
    />
  );
};
