/** A polymorphic relation. REST takes it as a whole, and has no positions for it. */
import { Group, Select, Stack, Text, VisuallyHidden } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconExternalLink, IconX } from '@tabler/icons-react';
import { useId, useState } from 'react';
import { contentTypes, typeOf } from '../../../model/model.js';
import { useFocusNext } from '../../../parts/focus-next.js';
import { IconButton } from '../../../parts/IconButton.js';
import { useModel } from '../../../server/queries.js';
import { words } from '../../../words/index.js';
import { EntryLink } from './EntryLink.js';
import { EntrySelect } from './EntrySelect.js';
import { EntryState } from './EntryState.js';
import { entryAddress } from './entry-address.js';
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
  faults,
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
  const [said, say] = useState('');
  const focusNext = useFocusNext();
  const ownId = useId();
  const buttonId = (row: RelatedRow, button: string): string => `${ownId}-${button}-${keyOf(row)}`;
  // not what searches for entries: that opens when it is focused
  const typeId = `${ownId}-type`;
  const move = (row: RelatedRow, to: number, button: string): void => {
    const rest = rows.filter((it) => it !== row);
    // at an end, the button that was pressed is disabled
    focusNext.current = [button, 'up', 'down'].map((it) => buttonId(row, it));
    say(texts.said.moved(titleOf(row), to + 1, rows.length));
    become([...rest.slice(0, to), row, ...rest.slice(to)]);
  };
  const remove = (row: RelatedRow): void => {
    const place = rows.indexOf(row);
    const neighbour = rows[place + 1] ?? rows[place - 1];
    focusNext.current = [neighbour ? buttonId(neighbour, 'remove') : typeId];
    say(texts.said.removed(titleOf(row)));
    become(rows.filter((it) => it !== row));
  };
  const add = (row: RelatedRow): void => {
    const place = rows.findIndex((it) => keyOf(it) === keyOf(row));
    if (place !== -1) {
      say(texts.said.alreadyThere(titleOf(row), place + 1));
      return;
    }
    const next = isList ? [...rows, row] : [row];
    say(texts.said.added(titleOf(row), next.length));
    become(next);
  };
  const target = typeOf(model, uid ?? '');
  return (
    <Stack gap="xs" role="group" aria-labelledby={labelId} aria-describedby={describedBy}>
      <VisuallyHidden role="status">{said}</VisuallyHidden>
      {rows.length === 0 && (
        <Text size="sm" c="dimmed">
          {texts.none}
        </Text>
      )}
      {rows.length > 0 && (
        <ul className="related-morphs">
          {rows.map((row, i) => {
            const type = typeOf(model, row.type);
            const to = type?.may.findOne ? entryAddress(type, row) : null;
            return (
              <li key={keyOf(row)}>
                <Text size="sm" flex={1} truncate>
                  {titleOf(row)}
                </Text>
                <Text size="xs" c="dimmed">
                  {type?.displayName ?? row.type}
                </Text>
                {faults.length > 0 && (
                  // the server names the entries that do not exist any more by their ids
                  <Text size="xs" c="dimmed">
                    {words.content.entryId(row.id)}
                  </Text>
                )}
                <EntryState row={row} type={type} />
                {to !== null && (
                  <EntryLink to={to} aria-label={texts.open(titleOf(row))} c="dimmed" lh={1}>
                    <IconExternalLink size={16} />
                  </EntryLink>
                )}
                {readOnly === null && (
                  <Group gap={4} wrap="nowrap">
                    {isList && (
                      <>
                        <IconButton
                          id={buttonId(row, 'up')}
                          label={texts.up(titleOf(row))}
                          disabled={i === 0}
                          onClick={() => move(row, i - 1, 'up')}
                        >
                          <IconArrowUp size={16} />
                        </IconButton>
                        <IconButton
                          id={buttonId(row, 'down')}
                          label={texts.down(titleOf(row))}
                          disabled={i === rows.length - 1}
                          onClick={() => move(row, i + 1, 'down')}
                        >
                          <IconArrowDown size={16} />
                        </IconButton>
                      </>
                    )}
                    <IconButton
                      id={buttonId(row, 'remove')}
                      label={texts.remove(titleOf(row))}
                      onClick={() => remove(row)}
                    >
                      <IconX size={16} />
                    </IconButton>
                  </Group>
                )}
              </li>
            );
          })}
        </ul>
      )}
      {readOnly === null && target && (
        <Group gap="xs" align="end">
          <Select
            id={typeId}
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
            onPick={(row) => row && add(row)}
          />
        </Group>
      )}
    </Stack>
  );
};
