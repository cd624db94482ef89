/** A relation to one entry. */
import { Button, Group, Stack, Text } from '@mantine/core';
import type { Type } from '../../../model/model.js';
import { words } from '../../../words/index.js';
import { EntryId } from './EntryId.js';
import { EntryLink } from './EntryLink.js';
import { EntrySelect } from './EntrySelect.js';
import { entryAddress } from './entry-address.js';
import { usePartners } from './partners.js';
import type { RelatedRow } from './relation-edit.js';
import type { RelationFieldProps } from './relation-field.js';
import { titleOf } from './source.js';
import { useUnseen } from './unseen.js';

export const OneField = ({
  attribute,
  target,
  entry,
  path,
  field,
  onChange,
  readOnly,
  faults,
  labelId,
  describedBy,
}: RelationFieldProps & { readonly target: Type }) => {
  const stored = field.stored?.[0] ?? null;
  const row = field.edit?.kind === 'one' ? field.edit.row : stored;
  const to = row && entryAddress(target, row);
  const relation = { id: entry.id, attribute };
  const partner = usePartners(relation, field.edit?.kind === 'one' && row ? [row.id] : []).get(row?.id ?? 0);
  const found = useUnseen(entry, path);
  const unseen = stored === null ? found : 'none';
  return (
    <Stack gap={4}>
      {readOnly === null ? (
        <EntrySelect
          aria-labelledby={labelId}
          aria-describedby={describedBy}
          target={target}
          locale={entry.locale ?? null}
          value={row}
          relation={relation}
          placeholder={words.relations.pick.placeholder(target.displayName)}
          error={faults.length > 0}
          onPick={(picked) => onChange(picked?.id === stored?.id ? null : { kind: 'one', row: picked })}
        />
      ) : (
        unseen === 'none' && <Text size="sm">{row ? titleOf(row) : words.relations.none}</Text>
      )}
      {unseen !== 'none' && (
        <Text size="sm" c="dimmed" role="status">
          {unseen === 'unknown' ? words.relations.unseen.unknown : unseenText(row)}
        </Text>
      )}
      {row && partner && (
        <Text size="sm" role="status" fw={600}>
          {words.relations.taken(titleOf(row), partner.title)}
        </Text>
      )}
      {row && (
        <Group gap="sm">
          {faults.length > 0 && <EntryId id={row.id} />}
          {to && (
            <EntryLink to={to} size="xs">
              {words.relations.open(titleOf(row))}
            </EntryLink>
          )}
          {readOnly === null && (
            <Button
              size="compact-xs"
              variant="subtle"
              color="gray"
              onClick={() => onChange(stored === null ? null : { kind: 'one', row: null })}
            >
              {words.relations.pick.clear}
            </Button>
          )}
        </Group>
      )}
    </Stack>
  );
};

const unseenText = (row: RelatedRow | null): string =>
  row ? words.relations.unseen.replaced : words.relations.unseen.one;
