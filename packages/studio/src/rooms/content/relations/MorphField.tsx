/** A polymorphic relation. REST takes it as a whole, and has no positions for it. */
import { ActionIcon, Group, Select, Stack, Text } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconX } from '@tabler/icons-react';
import { useState } from 'react';
import { contentTypes, typeOf } from '../../../model/model.js';
import { useModel } from '../../../server/queries.js';
import { words } from '../../../words/index.js';
import { EntrySelect } from './EntrySelect.js';
import { EntryState } from './EntryState.js';
import type { RelatedRow } from './relation-edit.js';
import type { RelationFieldProps } from './relation-field.js';
import { titleOf } from './source.js';

const texts = words.relations;

const keyOf = ({ type, id }: RelatedRow): string => `${type}:${id}`;

export const MorphField = ({
  attribute,
  entry,
  field,
  onChange,
  readOnly,
  labelId,
  describedBy,
}: RelationFieldProps) => {
  const model = useModel();
  const types = contentTypes(model).filter((it) => it.may.find);
  const [uid, setUid] = useState(types[0]?.uid ?? null);
  const stored = field.stored ?? [];
  const rows = field.edit?.kind === 'morph' ? field.edit.rows : stored;
  const isList = attribute.relation?.list ?? attribute.type !== 'morphToOne';
  const become = (next: readonly RelatedRow[]): void =>
    onChange(next.map(keyOf).join() === stored.map(keyOf).join() ? null : { kind: 'morph', isList, rows: next });
  const moved = (from: number, to: number): readonly RelatedRow[] => {
    const rest = rows.filter((_row, i) => i !== from);
    return [...rest.slice(0, to), rows[from]!, ...rest.slice(to)];
  };
  const target = typeOf(model, uid ?? '');
  return (
    <Stack gap="xs" role="group" aria-labelledby={labelId} aria-describedby={describedBy}>
      {rows.length === 0 && (
        <Text size="sm" c="dimmed">
          {texts.none}
        </Text>
      )}
      {rows.length > 0 && (
        <ul className="related-morphs">
          {rows.map((row, i) => (
            <li key={keyOf(row)}>
              <Text size="sm" flex={1} truncate>
                {titleOf(row)}
              </Text>
              <Text size="xs" c="dimmed">
                {typeOf(model, row.type)?.displayName ?? row.type}
              </Text>
              <EntryState row={row} type={typeOf(model, row.type)} />
              {readOnly === null && (
                <Group gap={4} wrap="nowrap">
                  {isList && (
                    <>
                      <ActionIcon
                        variant="subtle"
                        color="gray"
                        aria-label={texts.up(titleOf(row))}
                        disabled={i === 0}
                        onClick={() => become(moved(i, i - 1))}
                      >
                        <IconArrowUp size={16} />
                      </ActionIcon>
                      <ActionIcon
                        variant="subtle"
                        color="gray"
                        aria-label={texts.down(titleOf(row))}
                        disabled={i === rows.length - 1}
                        onClick={() => become(moved(i, i + 1))}
                      >
                        <IconArrowDown size={16} />
                      </ActionIcon>
                    </>
                  )}
                  <ActionIcon
                    variant="subtle"
                    color="gray"
                    aria-label={texts.remove(titleOf(row))}
                    onClick={() => become(rows.filter((it) => it !== row))}
                  >
                    <IconX size={16} />
                  </ActionIcon>
                </Group>
              )}
            </li>
          ))}
        </ul>
      )}
      {readOnly === null && target && (
        <Group gap="xs" align="end">
          <Select
            label={texts.pick.type}
            data={types.map((it) => ({ value: it.uid, label: it.displayName }))}
            value={uid}
            onChange={setUid}
            allowDeselect={false}
            w={180}
          />
          <EntrySelect
            label={texts.pick.entry}
            placeholder={texts.pick.placeholder(target.displayName)}
            target={target}
            locale={entry.locale ?? null}
            value={null}
            relation={null}
            onPick={(row) => {
              if (row && !rows.some((it) => keyOf(it) === keyOf(row))) become(isList ? [...rows, row] : [row]);
            }}
          />
        </Group>
      )}
    </Stack>
  );
};
