/** Components and zones: each component opens in place, and lists are put in order by dragging or by keys. */
import { useSortable, verticalListSortingStrategy } from '@dnd-kit/sortable';
import { CSS } from '@dnd-kit/utilities';
import { ActionIcon, Badge, Button, Group, Input, Menu, Text, UnstyledButton, VisuallyHidden } from '@mantine/core';
import {
  IconArrowDown,
  IconArrowUp,
  IconChevronDown,
  IconChevronRight,
  IconCopy,
  IconDotsVertical,
  IconGripVertical,
  IconPlus,
  IconTrash,
} from '@tabler/icons-react';
import { memo, use, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { type Attribute, type Model, ownAttributes, type Type, typeOf } from '../../../model/model.js';
import { useFocusNext } from '../../../parts/focus-next.js';
import { useClient } from '../../../server/queries.js';
import { words } from '../../../words/index.js';
import { isSinglePart } from '../form/body.js';
import { faultsBelow } from '../form/faults.js';
import type { FieldPath, Part, PartsField } from '../form/fields.js';
import { copyOfPart, movedPart, newPart, withoutPart, withPart } from '../form/parts.js';
import { withWholePart } from '../relations/whole-lists.js';
import { SortableList } from '../SortableList.js';
import { FieldsView } from './FieldsView.js';
import { type Frame, Framed } from './Framed.js';
import styles from './fields.module.css';
import { elementId, LockedContext, MarksContext, useForm } from './form-context.js';
import { titleOfPart } from './part-titles.js';

const texts = words.content.parts;

/** Lists of more components begin collapsed, and what is collapsed is not drawn. */
const OPEN_MAX = 2;

interface PartsControlProps {
  readonly attribute: Attribute;
  readonly path: FieldPath;
  readonly field: PartsField;
  readonly onChange: (field: PartsField) => void;
  readonly readOnly: boolean;
  readonly frame: Frame;
}

export const PartsControl = ({ attribute, path, field: { parts }, onChange, readOnly, frame }: PartsControlProps) => {
  const { model, type, id, locale, writing } = useForm();
  const client = useClient();
  const { faults } = use(MarksContext);
  const isSingle = isSinglePart(attribute);
  /** What a copy lacks. */
  const [left, setLeft] = useState<string | null>(null);
  const [open, setOpen] = useState<ReadonlySet<string>>(
    () => new Set(parts.length <= OPEN_MAX ? parts.map(({ key }) => key) : []),
  );
  const [said, say] = useState('');
  const focusNext = useFocusNext();

  // a fault is never hidden in something that is collapsed
  useEffect(() => {
    const faulty = parts.filter(({ key }) => faultsBelow(faults, `${path}/${key}`) > 0).map(({ key }) => key);
    if (faulty.length > 0) setOpen((it) => (faulty.every((key) => it.has(key)) ? it : new Set([...it, ...faulty])));
  }, [faults, parts, path]);

  // a component that is stored now has another key, and stays open
  const former = useRef(parts);
  useLayoutEffect(() => {
    const before = former.current;
    former.current = parts;
    const renamed = parts.flatMap((part, place) => {
      const was = before[place];
      return was && was.id === null && part.id !== null && was.component === part.component
        ? [[was.key, part.key]]
        : [];
    });
    if (renamed.length > 0)
      setOpen((it) => new Set([...it, ...renamed.flatMap(([was = '', key = '']) => (it.has(was) ? [key] : []))]));
  }, [parts]);

  // parts call these with their keys, so that they stay the same functions and no other part is drawn again
  const now = useRef({ parts, onChange });
  now.current = { parts, onChange };
  const set = useCallback((next: readonly Part[]) => now.current.onChange({ kind: 'parts', parts: next }), []);
  const toggle = useCallback(
    (key: string) => setOpen((it) => new Set(it.has(key) ? [...it].filter((other) => other !== key) : [...it, key])),
    [],
  );
  const move = useCallback(
    (key: string, by: number, focus: string | null) => {
      const from = now.current.parts.findIndex((it) => it.key === key);
      const next = movedPart(now.current.parts, key, from + by);
      if (next === now.current.parts) return;
      focusNext.current = focus === null ? [] : [focus];
      say(texts.moved(next.findIndex((it) => it.key === key) + 1, next.length));
      set(next);
    },
    [set, focusNext],
  );
  const remove = useCallback(
    (key: string) => {
      const place = now.current.parts.findIndex((it) => it.key === key);
      const next = withoutPart(now.current.parts, key);
      const neighbour = next[Math.min(place, next.length - 1)];
      focusNext.current = [neighbour ? elementId(`${path}/${neighbour.key}`, 'open') : elementId(path, 'add')];
      say(texts.removed);
      set(next);
    },
    [set, path, focusNext],
  );
  const insert = useCallback(
    (part: Part, place: number) => {
      setOpen((it) => new Set([...it, part.key]));
      focusNext.current = [elementId(`${path}/${part.key}`, 'open')];
      set(withPart(now.current.parts, place, part));
    },
    [set, path, focusNext],
  );
  const copy = useCallback(
    (key: string) => {
      const part = now.current.parts.find((it) => it.key === key);
      if (!part) return;
      say(texts.copying);
      // its lists are not in the form
      void withWholePart({ client, model, owner: { type, id, locale } }, part, `${path}/${key}`).then(
        ({ part: whole, left }) => {
          // it may have been removed, or stored, meanwhile
          const at = now.current.parts.findIndex((it) => it.key === key);
          insert(copyOfPart(model, whole, writing), at === -1 ? now.current.parts.length : at + 1);
          setLeft(left.length > 0 ? texts.tooLong(left.map((it) => it.split('/').at(-1) ?? it)) : null);
        },
        () => setLeft(texts.notCopied),
      );
    },
    [insert, client, model, type, id, locale, writing, path],
  );

  const components = useMemo(
    () =>
      (attribute.zone?.components ?? (attribute.component ? [attribute.component.uid] : [])).flatMap(
        (uid) => typeOf(model, uid) ?? [],
      ),
    [attribute, model],
  );
  const add = (component: Type): void => {
    const part = newPart(component);
    insert(part, now.current.parts.length);
    // who adds a component begins to write
    const [first] = ownAttributes(component);
    if (first) focusNext.current = [elementId(`${path}/${part.key}/${first.name}`), ...focusNext.current];
  };
  const max = attribute.component?.max ?? attribute.zone?.max ?? null;
  const isFull = isSingle ? parts.length > 0 : max !== null && parts.length >= max;

  // the same list until a component comes, goes or moves: dnd-kit draws every component again for another one
  const joined = parts.map(({ key }) => key).join('\n');
  const keys = useMemo(() => (joined === '' ? [] : joined.split('\n')), [joined]);
  return (
    <Framed
      path={path}
      frame={frame}
      side={
        parts.length > 1 && (
          <Group gap="xs">
            <Text size="xs" c="dimmed">
              {texts.count(parts.length)}
            </Text>
            <Button size="compact-xs" variant="subtle" onClick={() => setOpen(new Set())}>
              {texts.collapseAll}
            </Button>
            <Button size="compact-xs" variant="subtle" onClick={() => setOpen(new Set(keys))}>
              {texts.openAll}
            </Button>
          </Group>
        )
      }
    >
      <SortableList
        ids={keys}
        labelOf={(key) => {
          const part = parts.find((it) => it.key === key);
          return part ? labelOfPart(model, part) : '';
        }}
        strategy={verticalListSortingStrategy}
        onMove={(key, to) => set(movedPart(parts, String(key), to))}
      >
        <ul className={styles['parts']} aria-labelledby={elementId(path, 'label')}>
          {parts.map((part, place) => (
            <PartCard
              key={part.key}
              part={part}
              path={`${path}/${part.key}`}
              isOpen={open.has(part.key)}
              isSingle={isSingle}
              isFirst={place === 0}
              isLast={place === parts.length - 1}
              isFull={isFull}
              readOnly={readOnly}
              onToggle={toggle}
              onMove={move}
              onCopy={copy}
              onRemove={remove}
            />
          ))}
        </ul>
      </SortableList>
      {!readOnly && !isFull && (
        <AddButton id={elementId(path, 'add')} attribute={attribute} components={components} onAdd={add} />
      )}
      {left !== null && (
        <Text role="alert" size="sm" c="dimmed" mt="xs">
          {left}
        </Text>
      )}
      <VisuallyHidden role="status">{said}</VisuallyHidden>
    </Framed>
  );
};

const labelOfPart = (model: Model, part: Part): string => {
  const component = typeOf(model, part.component);
  const name = component?.displayName ?? part.component;
  const title = component ? titleOfPart(component, part) : null;
  return title === null ? name : `${name}: ${title}`;
};

interface PartCardProps {
  readonly part: Part;
  readonly path: FieldPath;
  readonly isOpen: boolean;
  readonly isSingle: boolean;
  readonly isFirst: boolean;
  readonly isLast: boolean;
  readonly isFull: boolean;
  readonly readOnly: boolean;
  readonly onToggle: (key: string) => void;
  readonly onMove: (key: string, by: number, focus: string | null) => void;
  readonly onCopy: (key: string) => void;
  readonly onRemove: (key: string) => void;
}

const PartCard = memo((props: PartCardProps) => {
  const { part, path, isOpen, isSingle, isFirst, isLast, isFull, readOnly, onToggle, onMove, onCopy, onRemove } = props;
  const { model } = useForm();
  const { faults } = use(MarksContext);
  const { key } = part;
  const { setNodeRef, transform, transition, attributes, listeners, setActivatorNodeRef } = useSortable({
    id: key,
    disabled: readOnly || isSingle,
  });
  const component = typeOf(model, part.component);
  const name = component?.displayName ?? part.component;
  const title = component ? titleOfPart(component, part) : null;
  const label = labelOfPart(model, part);
  const faultCount = faultsBelow(faults, path);
  const own = faults[path];
  const handleId = elementId(path, 'handle');
  return (
    <li
      ref={setNodeRef}
      className={styles['part']}
      data-faulty={faultCount > 0 || undefined}
      style={{ transform: CSS.Translate.toString(transform), transition: transition ?? undefined }}
    >
      <div className={styles['partHead']}>
        {!readOnly && !isSingle && (
          <ActionIcon
            ref={setActivatorNodeRef}
            {...attributes}
            {...listeners}
            id={handleId}
            variant="subtle"
            color="gray"
            aria-label={texts.drag(label)}
            className={styles['handle']}
            onKeyDown={(event) => {
              if (event.altKey && (event.key === 'ArrowUp' || event.key === 'ArrowDown')) {
                event.preventDefault();
                onMove(key, event.key === 'ArrowUp' ? -1 : 1, handleId);
              } else listeners?.['onKeyDown']?.(event);
            }}
          >
            <IconGripVertical size={16} />
          </ActionIcon>
        )}
        <UnstyledButton
          id={elementId(path, 'open')}
          className={styles['partTitle']}
          aria-expanded={isOpen}
          onClick={() => onToggle(key)}
        >
          {isOpen ? <IconChevronDown size={14} aria-hidden /> : <IconChevronRight size={14} aria-hidden />}{' '}
          <Text component="span" fw={600} size="sm">
            {name}
          </Text>
          {title !== null && (
            <Text component="span" size="sm" c="dimmed">
              {' '}
              {title}
            </Text>
          )}
        </UnstyledButton>
        {faultCount > 0 && (
          <Badge color="red" variant="light">
            {texts.faults(faultCount)}
          </Badge>
        )}
        {part.id === null && <Badge variant="light">{texts.isNew}</Badge>}
        {!readOnly && isSingle && (
          <ActionIcon variant="subtle" color="gray" aria-label={texts.remove(label)} onClick={() => onRemove(key)}>
            <IconTrash size={16} />
          </ActionIcon>
        )}
        {!readOnly && !isSingle && (
          <Menu position="bottom-end" withinPortal={false} withInitialFocusPlaceholder={false}>
            <Menu.Target>
              <ActionIcon id={elementId(path, 'menu')} variant="subtle" color="gray" aria-label={texts.actions(label)}>
                <IconDotsVertical size={16} />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item
                leftSection={<IconArrowUp size={14} />}
                disabled={isFirst}
                onClick={() => onMove(key, -1, elementId(path, 'menu'))}
              >
                {texts.up}
              </Menu.Item>
              <Menu.Item
                leftSection={<IconArrowDown size={14} />}
                disabled={isLast}
                onClick={() => onMove(key, 1, elementId(path, 'menu'))}
              >
                {texts.down}
              </Menu.Item>
              <Menu.Item leftSection={<IconCopy size={14} />} disabled={isFull} onClick={() => onCopy(key)}>
                {texts.copy}
              </Menu.Item>
              <Menu.Item leftSection={<IconTrash size={14} />} color="red" onClick={() => onRemove(key)}>
                {texts.removeThis}
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        )}
      </div>
      {own && (
        <Input.Error px="sm" pb={4} role="alert">
          {own.join(' ')}
        </Input.Error>
      )}
      {isOpen && (
        <div className={styles['partBody']}>
          {component ? (
            <LockedContext value={readOnly}>
              <FieldsView type={component} path={path} fields={part.fields} />
            </LockedContext>
          ) : (
            <Text size="sm" c="dimmed">
              {texts.unknown}
            </Text>
          )}
        </div>
      )}
    </li>
  );
});
PartCard.displayName = 'PartCard';

interface AddButtonProps {
  readonly id: string;
  readonly attribute: Attribute;
  readonly components: readonly Type[];
  readonly onAdd: (component: Type) => void;
}

/** One component is added at once; of several one is chosen, by category. */
const AddButton = ({ id, attribute, components, onAdd }: AddButtonProps) => {
  const [first] = components;
  if (first === undefined) return null;
  const button = {
    id,
    mt: 'xs',
    size: 'xs',
    variant: 'default',
    leftSection: <IconPlus size={14} />,
  } as const;
  if (attribute.kind !== 'zone')
    return (
      <Button {...button} onClick={() => onAdd(first)}>
        {texts.add(attribute.name)}
      </Button>
    );
  const categories = [...new Set(components.map(({ category }) => category ?? ''))];
  return (
    <Menu position="bottom-start" withinPortal={false} withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <Button {...button}>{texts.add(attribute.name)}</Button>
      </Menu.Target>
      <Menu.Dropdown>
        {categories.map((category) => (
          // biome-ignore lint/a11y/useSemanticElements: a group of a menu is no fieldset
          <div key={category} role="group" aria-label={category}>
            <Menu.Label>{category}</Menu.Label>
            {components
              .filter((it) => (it.category ?? '') === category)
              .map((it) => (
                <Menu.Item key={it.uid} onClick={() => onAdd(it)}>
                  {it.displayName}
                </Menu.Item>
              ))}
          </div>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
};
