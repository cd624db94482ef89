/** A relation to several entries: the list as it will be, with all that can be done to it. */
import {
  ActionIcon,
  Alert,
  Button,
  Group,
  Modal,
  NumberInput,
  Stack,
  Text,
  TextInput,
  VisuallyHidden,
} from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconArrowBackUp, IconArrowForwardUp, IconFilter, IconX } from '@tabler/icons-react';
import { useId, useMemo, useState } from 'react';
import type { Type } from '../../../model/model.js';
import { Fault } from '../../../parts/Fault.js';
import { Waiting } from '../../../parts/Waiting.js';
import { useClient, useModel } from '../../../server/queries.js';
import { words } from '../../../words/index.js';
import { indexOfHome } from './arrangement.js';
import { BodyView } from './BodyView.js';
import { EntryLink } from './EntryLink.js';
import { EntrySelect } from './EntrySelect.js';
import { entryAddress } from './entry-address.js';
import { Filtered } from './Filtered.js';
import { Outdated } from './Outdated.js';
import { type Relation, usePartners } from './partners.js';
import { Rows } from './Rows.js';
import type { ListEdit, RelatedRow } from './relation-edit.js';
import type { RelationFieldProps } from './relation-field.js';
import './relations.css';
import { type ListSource, serverSource, titleOf, wholeSource } from './source.js';
import { type RelationList, type ShownRow, useReadAhead, useRelationList } from './use-relation-list.js';

const texts = words.relations;

export const ListField = ({
  attribute,
  entry,
  path,
  field,
  onChange,
  readOnly,
  faults,
  labelId,
  describedBy,
  target,
  isOrdered,
  isPage = false,
}: RelationFieldProps & { readonly target: Type; readonly isOrdered: boolean }) => {
  const client = useClient();
  const model = useModel();
  const { type, id, locale = null } = entry;
  const source = useMemo(
    () =>
      field.stored === null
        ? serverSource(client, model, { type, id, locale }, attribute, path)
        : wholeSource(['relation-list-whole', type.uid, id, path], field.stored),
    [client, model, type, id, locale, attribute, field.stored, path],
  );
  const edit: ListEdit | null = field.edit?.kind === 'list' ? field.edit : null;
  const list = useRelationList({ source, edit, onChange, isOrdered });
  const readAhead = useReadAhead(source);
  const [said, say] = useState('');
  const [filter, setFilter] = useState('');
  const [asked] = useDebouncedValue(filter.trim(), 250);
  const [moving, setMoving] = useState<ShownRow | null>(null);
  const [focus, setFocus] = useState<{ readonly index: number; readonly isWanted: boolean }>({
    index: 0,
    isWanted: false,
  });
  const hintId = useId();
  const relation = useMemo(() => ({ id, attribute }), [id, attribute]);
  const added = useMemo(
    () => (edit?.pieces ?? []).flatMap((it) => (it.kind === 'placed' && it.home === null ? [it.id] : [])),
    [edit],
  );
  const partners = usePartners(relation, added);
  const isReadOnly = readOnly !== null;
  const canMove = isOrdered && !isReadOnly;

  if (list.phase === 'loading') return <Waiting rows={4} />;
  if (list.phase === 'failed') return <Fault fault={list.fault} onRetry={list.retry} />;
  if (list.isOutdated && edit !== null)
    return (
      <Outdated
        source={source}
        edit={edit}
        version={list.version}
        isOrdered={isOrdered}
        target={target}
        onChange={onChange}
      />
    );

  const goTo = (index: number): void => setFocus({ index, isWanted: true });
  const move = ({ row, home, index }: ShownRow, to: number): void => {
    if (row === null || to === index || to < 0 || to >= list.length) return;
    list.put(row, home, to);
    goTo(to);
    say(texts.said.moved(titleOf(row), to + 1, list.length));
  };
  const take = ({ row, home, index }: ShownRow): void => {
    if (row === null) return;
    list.take(row, home);
    goTo(Math.min(index, list.length - 2));
    say(texts.said.removed(titleOf(row)));
  };
  const bringBack = (row: RelatedRow, home: number): void => {
    const index = indexOfHome(list.arrangement, home);
    list.put(row, home, index);
    goTo(index);
    say(texts.said.added(titleOf(row), index + 1));
  };
  const toPlace = async (shown: ShownRow, place: number): Promise<void> => {
    setMoving(null);
    setFilter('');
    // the entries around the place, so that it is known beside what the moved one will stand
    // what cannot be read is read again by the move, which says so
    for (const { home } of list.rowsIn(place - 1, place + 2))
      if (home !== null) await readAhead(home).catch(() => undefined);
    move(shown, place);
  };

  return (
    <Stack
      gap="xs"
      role="group"
      aria-labelledby={labelId}
      aria-describedby={describedBy}
      className="related"
      onKeyDown={(event) => {
        if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'z') return;
        if (event.target instanceof HTMLInputElement) return;
        event.preventDefault();
        (event.shiftKey ? list.redo : list.undo)?.();
      }}
    >
      <VisuallyHidden role="status" aria-live="polite">
        {said}
      </VisuallyHidden>
      <Group gap="xs" justify="space-between">
        <Text size="sm" c="dimmed">
          {texts.count(list.length)}
          {edit !== null && ` · ${texts.changed}`}
        </Text>
        <Group gap="xs">
          {(list.length > 10 || filter !== '') && (
            <TextInput
              size="xs"
              aria-label={texts.filter}
              placeholder={texts.filter}
              leftSection={<IconFilter size={14} />}
              value={filter}
              onChange={(event) => setFilter(event.currentTarget.value)}
              rightSection={
                filter === '' ? undefined : (
                  <ActionIcon
                    size="sm"
                    variant="subtle"
                    color="gray"
                    aria-label={texts.clearFilter}
                    onClick={() => setFilter('')}
                  >
                    <IconX size={14} />
                  </ActionIcon>
                )
              }
            />
          )}
          {!isReadOnly && (
            <>
              <ActionIcon
                variant="default"
                aria-label={texts.undo}
                disabled={list.undo === null}
                onClick={() => list.undo?.()}
              >
                <IconArrowBackUp size={16} />
              </ActionIcon>
              <ActionIcon
                variant="default"
                aria-label={texts.redo}
                disabled={list.redo === null}
                onClick={() => list.redo?.()}
              >
                <IconArrowForwardUp size={16} />
              </ActionIcon>
              {edit !== null && (
                <Button size="xs" variant="default" onClick={list.discard}>
                  {texts.discard}
                </Button>
              )}
            </>
          )}
          {!isPage && field.stored === null && id !== null && list.length > 5 && (
            <EntryLink to={entryAddress(type, { id }, path) ?? ''} size="sm">
              {texts.ownPage}
            </EntryLink>
          )}
        </Group>
      </Group>
      {list.fault !== null && <Fault fault={list.fault} onRetry={list.retry} />}
      {!isOrdered && (
        <Text size="sm" c="dimmed">
          {texts.unordered(target.displayName)}
        </Text>
      )}
      {canMove && list.length > 1 && (
        <Text size="xs" c="dimmed" id={hintId}>
          {asked === '' ? texts.keys : texts.keysFiltered}
        </Text>
      )}
      {asked !== '' ? (
        <Filtered
          source={source}
          text={asked}
          list={list}
          target={target}
          canMove={canMove}
          isReadOnly={isReadOnly}
          onMoveTo={setMoving}
          onTake={take}
          onShow={(index) => {
            setFilter('');
            goTo(index);
          }}
        />
      ) : (
        list.length > 0 && (
          <Rows
            list={list}
            target={target}
            canMove={canMove}
            isReadOnly={isReadOnly}
            showsIds={faults.length > 0}
            isPage={isPage}
            partners={partners}
            hintId={canMove && list.length > 1 ? hintId : undefined}
            labelId={labelId}
            focus={focus}
            onFocus={(index) => setFocus({ index, isWanted: false })}
            onGoTo={goTo}
            onMove={move}
            onMoveTo={setMoving}
            onTake={take}
          />
        )
      )}
      {partners.size > 0 && (
        <Alert role="status" variant="default" p="xs" title={texts.takenTitle}>
          <ul className="related-taken">
            {added.map((it) => {
              const partner = partners.get(it);
              const row = edit?.rows[it];
              return partner && row && <li key={it}>{texts.taken(titleOf(row), partner.title)}</li>;
            })}
          </ul>
        </Alert>
      )}
      {list.length === 0 && (
        <Text size="sm" c="dimmed">
          {texts.empty}
        </Text>
      )}
      {list.arrangement.removed.length > 0 && (
        <Group gap="xs">
          <Text size="sm" c="dimmed">
            {texts.removed}
          </Text>
          {list.arrangement.removed.slice(0, 20).map(({ id: removed, home }) => {
            const row = edit?.rows[removed] ?? list.rowAt(home);
            return (
              row && (
                <Button
                  key={removed}
                  size="compact-xs"
                  variant="default"
                  aria-label={texts.bringBack(titleOf(row))}
                  rightSection={<IconArrowBackUp size={12} />}
                  onClick={() => bringBack(row, home)}
                >
                  {titleOf(row)}
                </Button>
              )
            );
          })}
        </Group>
      )}
      {!isReadOnly && (
        <AddEntry
          source={source}
          list={list}
          target={target}
          relation={relation}
          locale={locale}
          isOrdered={isOrdered}
          onAdd={async (row, home, index) => {
            for (const slot of list.rowsIn(index - 1, index + 1)) if (slot.home !== null) await readAhead(slot.home);
            list.put(row, home, index);
            goTo(index);
            say(texts.said.added(titleOf(row), index + 1));
          }}
          onShow={goTo}
          say={say}
        />
      )}
      {edit !== null && <BodyView type={type} id={id} path={path} attribute={attribute} edit={edit} />}
      {moving?.row && (
        <MoveTo
          shown={moving}
          length={list.length}
          onCancel={() => setMoving(null)}
          onMove={(place) => void toPlace(moving, place)}
        />
      )}
    </Stack>
  );
};

const AddEntry = ({
  source,
  list,
  target,
  relation,
  locale,
  isOrdered,
  onAdd,
  onShow,
  say,
}: {
  readonly source: ListSource;
  readonly list: RelationList;
  readonly target: Type;
  readonly relation: Relation;
  readonly locale: string | null;
  readonly isOrdered: boolean;
  readonly onAdd: (row: RelatedRow, home: number | null, index: number) => Promise<void>;
  readonly onShow: (index: number) => void;
  readonly say: (text: string) => void;
}) => {
  const [place, setPlace] = useState<number | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<unknown>(null);
  const add = async (row: RelatedRow): Promise<void> => {
    setBusy(true);
    setFault(null);
    try {
      const home = (await source.find([row.id])).get(row.id) ?? null;
      const there = list.indexOf(row.id, home);
      // an entry that is in the list already is shown, not added
      if (there !== null) {
        say(texts.said.alreadyThere(titleOf(row), there + 1));
        onShow(there);
      } else await onAdd(row, home, place === null ? list.length : Math.min(place - 1, list.length));
    } catch (found) {
      setFault(found);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Group gap="xs" align="end">
      <EntrySelect
        label={texts.add(target.displayName)}
        placeholder={texts.pick.placeholder(target.displayName)}
        target={target}
        locale={locale}
        value={null}
        relation={relation}
        disabled={isBusy}
        noteOf={(row) => {
          const index = list.indexOf(row.id, null);
          return index === null ? null : texts.at(index + 1);
        }}
        onPick={(row) => row && void add(row)}
      />
      {fault !== null && <Fault fault={fault} />}
      {isOrdered && (
        <NumberInput
          label={texts.position}
          placeholder={texts.atTheEnd}
          min={1}
          max={list.length + 1}
          allowDecimal={false}
          w={130}
          value={place ?? ''}
          onChange={(value) => setPlace(typeof value === 'number' ? value : null)}
        />
      )}
    </Group>
  );
};

const MoveTo = ({
  shown: { row, index },
  length,
  onCancel,
  onMove,
}: {
  readonly shown: ShownRow;
  readonly length: number;
  readonly onCancel: () => void;
  readonly onMove: (index: number) => void;
}) => {
  const [place, setPlace] = useState<number | string>(index + 1);
  const isValid = typeof place === 'number' && place >= 1 && place <= length;
  return (
    <Modal
      closeButtonProps={{ 'aria-label': texts.moveTo.cancel }}
      opened
      onClose={onCancel}
      title={texts.moveTo.title(row ? titleOf(row) : '')}
      size="sm"
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isValid) onMove(place - 1);
        }}
      >
        <Stack gap="sm">
          <NumberInput
            data-autofocus
            label={texts.moveTo.label(length)}
            min={1}
            max={length}
            allowDecimal={false}
            thousandSeparator=","
            // a number that is typed takes the place of this one
            onFocus={({ currentTarget }) => currentTarget.select()}
            value={place}
            onChange={setPlace}
          />
          <Group gap="xs">
            <Button variant="default" onClick={() => onMove(0)}>
              {texts.moveTo.start}
            </Button>
            <Button variant="default" onClick={() => onMove(length - 1)}>
              {texts.moveTo.end}
            </Button>
            <Button type="submit" disabled={!isValid}>
              {texts.moveTo.move}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
};
