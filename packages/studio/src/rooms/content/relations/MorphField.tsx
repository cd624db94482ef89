/** A polymorphic relation. REST takes it as a whole, and has no positions for it. */
import { useSortable, verticalListSortingStrategy } from '@dnd-kit/sortable';
import { CSS } from '@dnd-kit/utilities';
import { ActionIcon, Button, Group, Select, Stack, Text, VisuallyHidden } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconExternalLink, IconGripVertical, IconX } from '@tabler/icons-react';
import { useId, useMemo, useState } from 'react';
import { typeName } from '../../../model/entry-name.js';
import { contentTypes, FILE_UID, type Model, type Type, typeOf, USER_UID } from '../../../model/model.js';
import { useFocusNext } from '../../../parts/focus-next.js';
import { IconButton } from '../../../parts/IconButton.js';
import type { MediaFile } from '../../../parts/media/files.js';
import { MediaPicker } from '../../../parts/media/LazyMediaPicker.js';
import { useMediaRights } from '../../../parts/media/library.js';
import { useModel } from '../../../server/queries.js';
import { words } from '../../../words/index.js';
import { type Id, SortableList } from '../SortableList.js';
import { EntryId } from './EntryId.js';
import { EntryLink } from './EntryLink.js';
import { EntrySelect } from './EntrySelect.js';
import { EntryState } from './EntryState.js';
import { entryAddress } from './entry-address.js';
import type { RelatedRow } from './relation-edit.js';
import type { RelationFieldProps } from './relation-field.js';
import { titleOf } from './source.js';
import { useUnseen } from './unseen.js';

const texts = words.relations;

const keyOf = ({ type, id }: RelatedRow): string => `${type}:${id}`;

export const MorphField = ({
  attribute,
  entry,
  path,
  field,
  onChange,
  readOnly,
  faults,
  labelId,
  describedBy,
}: RelationFieldProps) => {
  const model = useModel();
  const mayReadFiles = useMediaRights().read;
  const types = pickableTypes(model, mayReadFiles);
  const [isPicking, setPicking] = useState(false);
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
  const keys = useMemo(() => rows.map(keyOf), [rows]);
  const rowOf = (key: Id): RelatedRow | undefined => rows.find((it) => keyOf(it) === key);
  const labelOf = (key: Id): string => {
    const row = rowOf(key);
    return row ? titleOf(row) : '';
  };
  const move = (row: RelatedRow, to: number): void => {
    const rest = rows.filter((it) => it !== row);
    become([...rest.slice(0, to), row, ...rest.slice(to)]);
  };
  /** The list itself says where it was dropped. */
  const drop = (key: Id, to: number): void => {
    const row = rowOf(key);
    if (row) move(row, to);
  };
  const moveByButton = (row: RelatedRow, to: number, button: string): void => {
    // at an end, the button that was pressed is disabled
    focusNext.current = [button, 'up', 'down'].map((it) => buttonId(row, it));
    say(texts.said.moved(titleOf(row), to + 1, rows.length));
    move(row, to);
  };
  const remove = (row: RelatedRow): void => {
    const place = rows.indexOf(row);
    const neighbour = rows[place + 1] ?? rows[place - 1];
    focusNext.current = [neighbour ? buttonId(neighbour, 'remove') : typeId];
    say(texts.said.removed(titleOf(row)));
    become(rows.filter((it) => it !== row));
  };
  const addedText = (row: RelatedRow, place: number): string =>
    isList ? texts.said.added(titleOf(row), place + 1) : texts.said.chosen(titleOf(row));
  const addFiles = (files: readonly MediaFile[]): void => {
    const picked = files.map(({ id, name }) => ({ ...newRow, id, type: FILE_UID, title: name }));
    const fresh = picked.filter((it) => !keys.includes(keyOf(it)));
    const [first] = picked;
    if (fresh.length === 0 && first) add(first);
    if (fresh.length === 0) return;
    const next = isList ? [...rows, ...fresh] : fresh.slice(-1);
    say(fresh.map((it) => addedText(it, next.indexOf(it))).join(' '));
    become(next);
  };
  const add = (row: RelatedRow): void => {
    const place = rows.findIndex((it) => keyOf(it) === keyOf(row));
    if (place !== -1) {
      say(isList ? texts.said.alreadyThere(titleOf(row), place + 1) : texts.said.alreadyChosen(titleOf(row)));
      return;
    }
    const next = isList ? [...rows, row] : [row];
    say(addedText(row, next.length - 1));
    become(next);
  };
  const target = typeOf(model, uid ?? '');
  const found = useUnseen(entry, path);
  const unseen = isList || stored.length === 0 ? found : 'none';
  return (
    <Stack gap="xs" role="group" aria-labelledby={labelId} aria-describedby={describedBy}>
      <VisuallyHidden role="status">{said}</VisuallyHidden>
      {(rows.length === 0 || unseen !== 'none') && (
        <Text size="sm" c="dimmed">
          {unseen === 'none' ? texts.none : unseenText(unseen, isList, rows.length)}
        </Text>
      )}
      {rows.length > 0 && (
        <SortableList ids={keys} labelOf={labelOf} strategy={verticalListSortingStrategy} onMove={drop}>
          <ul className="related-morphs">
            {rows.map((row, place) => (
              <MorphRow
                key={keyOf(row)}
                row={row}
                place={place}
                count={rows.length}
                canMove={isList && readOnly === null}
                showsId={faults.length > 0}
                buttonId={(button) => buttonId(row, button)}
                onMove={(to, button) => moveByButton(row, to, button)}
                onRemove={readOnly === null ? () => remove(row) : null}
              />
            ))}
          </ul>
        </SortableList>
      )}
      {readOnly === null && target && (
        <Group gap="xs" align="end">
          <Select
            id={typeId}
            label={texts.pick.type}
            data={types.map((it) => ({ value: it.uid, label: typeName(it) }))}
            value={uid}
            onChange={setUid}
            allowDeselect={false}
            w={180}
          />
          {target.uid === FILE_UID ? (
            <Button variant="default" onClick={() => setPicking(true)}>
              {texts.pick.file(isList)}
            </Button>
          ) : (
            <EntrySelect
              label={isList || rows.length === 0 ? texts.pick.entry : texts.pick.another}
              placeholder={texts.pick.placeholder(typeName(target))}
              target={target}
              locale={entry.locale ?? null}
              value={null}
              relation={null}
              onPick={(row) => row && add(row)}
            />
          )}
        </Group>
      )}
      {isPicking && (
        <MediaPicker
          opened
          onClose={() => setPicking(false)}
          multiple={isList}
          chosen={rows.flatMap(({ type, id }) => (type === FILE_UID ? [id] : []))}
          onPick={addFiles}
        />
      )}
    </Stack>
  );
};

/** Those whose entries the caller may look for, and that have something to pick them with. */
const pickableTypes = (model: Model, mayReadFiles: boolean): readonly Type[] => [
  ...contentTypes(model).filter((it) => it.may.find),
  ...model.types.filter(({ uid, may }) => (uid === USER_UID && may.find) || (uid === FILE_UID && mayReadFiles)),
];

const newRow = { publishedAt: null, locale: null } as const;

const unseenText = (unseen: 'some' | 'unknown', isList: boolean, shown: number): string => {
  const { one, replaced, list, onlyList, unknown } = texts.unseen;
  if (unseen === 'unknown') return unknown;
  if (isList) return shown === 0 ? onlyList : list;
  return shown === 0 ? one : replaced;
};

interface MorphRowProps {
  readonly row: RelatedRow;
  readonly place: number;
  readonly count: number;
  readonly canMove: boolean;
  readonly showsId: boolean;
  /** The id of one of its buttons. */
  readonly buttonId: (button: string) => string;
  readonly onMove: (to: number, button: string) => void;
  /** Null: it cannot be removed. */
  readonly onRemove: (() => void) | null;
}

const MorphRow = ({ row, place, count, canMove, showsId, buttonId, onMove, onRemove }: MorphRowProps) => {
  const model = useModel();
  const { setNodeRef, transform, transition, attributes, listeners, setActivatorNodeRef } = useSortable({
    id: keyOf(row),
    disabled: !canMove || count < 2,
  });
  const type = typeOf(model, row.type);
  const mayReadFiles = useMediaRights().read;
  const page = row.type === FILE_UID ? (mayReadFiles ? `/media/${row.id}` : null) : type && entryAddress(type, row);
  const to = type?.may.findOne ? page : null;
  const title = titleOf(row);
  return (
    <li ref={setNodeRef} style={{ transform: CSS.Translate.toString(transform), transition: transition ?? undefined }}>
      {canMove && count > 1 && (
        <ActionIcon
          ref={setActivatorNodeRef}
          {...attributes}
          {...listeners}
          variant="subtle"
          color="gray"
          aria-label={texts.drag(title)}
          className="related-grip"
        >
          <IconGripVertical size={16} />
        </ActionIcon>
      )}
      <Text size="sm" flex={1} truncate>
        {title}
      </Text>
      <Text size="xs" c="dimmed">
        {type ? typeName(type) : row.type}
      </Text>
      {showsId && <EntryId id={row.id} />}
      <EntryState row={row} type={type} />
      {to !== null && (
        <EntryLink to={to} aria-label={texts.open(title)} c="dimmed" lh={1}>
          <IconExternalLink size={16} />
        </EntryLink>
      )}
      {onRemove !== null && (
        <Group gap={4} wrap="nowrap">
          {canMove && (
            <>
              <IconButton
                id={buttonId('up')}
                label={texts.up(title)}
                disabled={place === 0}
                onClick={() => onMove(place - 1, 'up')}
              >
                <IconArrowUp size={16} />
              </IconButton>
              <IconButton
                id={buttonId('down')}
                label={texts.down(title)}
                disabled={place === count - 1}
                onClick={() => onMove(place + 1, 'down')}
              >
                <IconArrowDown size={16} />
              </IconButton>
            </>
          )}
          <IconButton id={buttonId('remove')} label={texts.remove(title)} onClick={onRemove}>
            <IconX size={16} />
          </IconButton>
        </Group>
      )}
    </li>
  );
};
