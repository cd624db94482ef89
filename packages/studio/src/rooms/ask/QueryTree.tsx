/** The tree: what can be asked for, and what is. Rows inside of a row are made when it is opened. */
import { ActionIcon, VisuallyHidden } from '@mantine/core';
import {
  IconAdjustments,
  IconChevronDown,
  IconChevronRight,
  IconLock,
  IconSquare,
  IconSquareCheckFilled,
  IconTrash,
} from '@tabler/icons-react';
import {
  type CSSProperties,
  Fragment,
  type KeyboardEvent,
  memo,
  type ReactNode,
  type RefObject,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { nameOf } from '../../model/model.js';
import { words } from '../../words/index.js';
import { PlaceOptions } from './PlaceOptions.js';
import { removeText, setAllFields, setAllPopulated, setStrategy, toggleField, togglePlace } from './query/edits.js';
import { type Fault, faultsByRow } from './query/faults.js';
import { chosenPlaces, type Item, idOf, itemsOf, type PlaceItem, rootId } from './query/items.js';
import type { Members } from './query/node.js';
import { type Ground, uidOfStep } from './query/place.js';
import type { Request } from './query/request.js';
import { keyedRows, moveIn } from './tree-keys.js';

const texts = words.ask.tree;

interface Props {
  readonly request: Request;
  readonly ground: Ground;
  readonly onChange: (request: Request) => void;
  readonly faults: readonly Fault[];
  /** As whom the answer is made. */
  readonly who: string;
  /** Whether there is a newer text, which cannot be read. */
  readonly isOld: boolean;
}

export const QueryTree = ({ request, ground, onChange, faults, who, isOld }: Props) => {
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set([rootId]));
  const [seen, setSeen] = useState<ReadonlySet<string>>(() => new Set());
  const unseen = chosenPlaces(request.query, ground, OPENED_MAX)
    .map(idOf)
    .filter((it) => !seen.has(it));
  // what came with a text is opened once, and stays closed when somebody closes it
  if (unseen.length > 0) {
    setSeen(new Set([...seen, ...unseen]));
    setOpen(new Set([...open, ...unseen]));
  }
  /** The place whose conditions are shown below its row. */
  const [editedId, setEditedId] = useState<string | null>(null);
  const [activeId, setActiveId] = useState(rootId);
  const items = useMemo(() => itemsOf(request, ground, open), [request, ground, open]);
  const faulty = useMemo(() => faultsByRow(faults, items, request.query), [faults, items, request.query]);
  const active = items.some((it) => it.id === activeId) ? activeId : rootId;

  const toggleOpen = (id: string, is = !open.has(id)): void => setOpen(withIn(open, id, is));
  const toggleOptions = (id: string): void => setEditedId(editedId === id ? null : id);
  const edited = items.find((it) => it.kind === 'place' && it.id === editedId && it.checked);

  const toggle = (item: Item): void => {
    const query = toggled(item, request.query, ground);
    if (query === null) return;
    // what is ticked is opened, to choose what it shows
    if (item.kind === 'place' && !item.checked && item.expanded === false) toggleOpen(item.id, true);
    onChange({ ...request, query });
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    const item = items.find((it) => it.id === active);
    // keys of inputs inside of a row are theirs
    if (!item || (event.target as HTMLElement).getAttribute('role') !== 'treeitem') return;
    const rows = keyedRows(items, labelOf);
    const move = moveIn(rows, active, event);
    if (move === null) {
      if (event.key === ' ') toggle(item);
      else if (event.key === 'Enter' && item.kind === 'place') toggleOptions(item.id);
      else if (event.key === 'Enter') toggle(item);
      else if (event.key === 'Delete' && (item.kind === 'text' || ('checked' in item && item.checked))) toggle(item);
      else return;
    } else if ('open' in move) toggleOpen(active, move.open);
    else if (move.to !== null) {
      setActiveId(move.to);
      document.getElementById(domId(move.to))?.focus();
    }
    event.preventDefault();
  };

  const acts = useRef<Acts>({ toggle, toggleOpen, toggleOptions, focus: setActiveId });
  acts.current = { toggle, toggleOpen, toggleOptions, focus: setActiveId };

  const gap = useRef<HTMLDivElement>(null);
  const row = (item: Item): ReactNode => (
    <Fragment key={item.id}>
      <Row
        item={item}
        isActive={item.id === active}
        isEdited={item === edited}
        who={who}
        faults={faulty.get(item.id) ?? noFaults}
        acts={acts}
      />
      {item === edited && <div ref={gap} role="none" />}
    </Fragment>
  );

  return (
    <div className="ask-tree" data-old={isOld || undefined}>
      <div role="tree" aria-label={texts.label} onKeyDown={onKeyDown}>
        {groupsOf(items).map((group) =>
          group.length === 1 && group[0] ? (
            row(group[0])
          ) : (
            <div
              key={group[0]?.id}
              role="none"
              className="ask-fields"
              style={{ '--level': (group[0]?.level ?? 1) - 1 } as CSSProperties}
            >
              {group.map(row)}
            </div>
          ),
        )}
      </div>
      {edited?.kind === 'place' && (
        <InGap gap={gap} key={edited.id}>
          <PlaceOptions
            item={edited}
            request={request}
            ground={ground}
            onChange={onChange}
            name={labelOf(edited)}
            onClose={() => {
              setEditedId(null);
              document.getElementById(domId(edited.id))?.focus();
            }}
          />
        </InGap>
      )}
    </div>
  );
};

/**
 * Draws something in a gap between the rows, which is made as high as that. A tree has nothing but its rows inside, so it stands
 * behind the tree in the document.
 */
const InGap = ({ gap, children }: { readonly gap: RefObject<HTMLDivElement | null>; readonly children: ReactNode }) => {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const [inner, outer] = [box.current, gap.current];
    const tree = outer?.closest('[role=tree]');
    if (!inner || !outer || !tree) return;
    const place = (): void => {
      outer.style.height = `${inner.offsetHeight}px`;
      inner.style.top = `${outer.offsetTop}px`;
    };
    place();
    const sizes = new ResizeObserver(place);
    sizes.observe(inner);
    // rows above it may come and go, or take another line
    sizes.observe(tree);
    return () => sizes.disconnect();
  });
  return (
    <div ref={box} className="ask-in-gap">
      {children}
    </div>
  );
};

/** Places that are opened because something is chosen inside. */
const OPENED_MAX = 30;

/** The query after a click on a row; null for the root, which is always asked for. */
const toggled = (item: Item, query: Members, ground: Ground): Members | null => {
  switch (item.kind) {
    case 'place':
      return item.place.length === 0 ? null : togglePlace(query, item.place, ground);
    case 'fields':
      return setAllFields(query, item.place, ground, !item.checked);
    case 'field':
      return toggleField(query, item.place, ground, item.name);
    case 'everything':
      return setAllPopulated(query, item.place, ground, !item.checked);
    case 'strategy':
      return setStrategy(query, item.place, ground, item.shared ? 'by type' : 'shared');
    case 'text':
      return removeText(query, item.place, ground, item.removal);
  }
};

const noFaults: readonly Fault[] = [];

const withIn = (set: ReadonlySet<string>, id: string, is: boolean): ReadonlySet<string> => {
  const next = new Set(set);
  if (is) next.add(id);
  else next.delete(id);
  return next;
};

/** Fields stand beside each other, all else below. */
const groupsOf = (items: readonly Item[]): readonly (readonly Item[])[] => {
  const groups: Item[][] = [];
  let before: Item | null = null;
  for (const item of items) {
    const joins =
      item.kind === 'field' && (before?.kind === 'field' || before?.kind === 'fields') && before.level === item.level;
    if (joins) groups.at(-1)?.push(item);
    else groups.push([item]);
    before = item;
  }
  return groups;
};

const domId = (id: string): string => `ask${id}`;

/** The name of a row, as it stands in the query. */
const labelOf = (item: Item): string => {
  switch (item.kind) {
    case 'place': {
      const step = item.place.at(-1);
      if (step === undefined) return item.types[0] ? nameOf(item.types[0]) : '';
      return uidOfStep(step) ?? step;
    }
    case 'fields':
      return texts.allFields(item.count);
    case 'field':
      return item.name;
    case 'everything':
      return texts.everything;
    case 'strategy':
      return texts.shared;
    case 'text':
      return item.text;
  }
};

/** What rows do; always the newest, so that a row need not be drawn anew for it. */
interface Acts {
  readonly toggle: (item: Item) => void;
  readonly toggleOpen: (id: string) => void;
  readonly toggleOptions: (id: string) => void;
  readonly focus: (id: string) => void;
}

interface RowProps {
  readonly item: Item;
  readonly isActive: boolean;
  readonly isEdited: boolean;
  readonly who: string;
  readonly faults: readonly Fault[];
  readonly acts: RefObject<Acts>;
}

/** Items are made anew with every change, most of them with what they had. */
const isSameRow = (a: RowProps, b: RowProps): boolean =>
  a.isActive === b.isActive &&
  a.isEdited === b.isEdited &&
  a.who === b.who &&
  a.faults === b.faults &&
  factsOf(a.item) === factsOf(b.item);

const factsOf = (item: Item): string =>
  JSON.stringify(item, (key, value: unknown) =>
    key === 'attribute' || key === 'types' || key === 'path' ? null : value,
  );

const Row = memo(({ item, isActive, isEdited, who, faults, acts }: RowProps) => {
  const onToggle = (): void => acts.current.toggle(item);
  const onOpen = (): void => acts.current.toggleOpen(item.id);
  const label = labelOf(item);
  const isRoot = item.id === rootId;
  const checked = item.kind === 'strategy' ? item.shared : 'checked' in item ? item.checked : null;
  const expanded = item.kind === 'place' ? item.expanded : null;
  const locked = 'lockedBy' in item && item.lockedBy !== null ? lockText(item.lockedBy, who) : null;
  const isNoted = item.kind === 'place' || checked === true;
  const visible: readonly Said[] = [
    ...(item.kind === 'place' ? hintsOf(item) : []),
    ...(item.kind === 'text' ? [{ text: texts.kept, className: 'ask-said' }] : []),
    ...(locked !== null && isNoted ? [{ text: locked, className: 'ask-said' }] : []),
    ...faults.map((it) => ({ text: it.message, className: 'ask-fault' })),
  ];
  const attributeKind = item.kind === 'place' ? item.attribute?.kind : undefined;
  // a scalar needs no word for what it is
  const kind = attributeKind === undefined || attributeKind === 'scalar' ? '' : texts.kinds[attributeKind];
  const hidden = [kind, isNoted ? '' : (locked ?? '')].filter((it) => it !== '').join(', ');
  const Box = checked ? IconSquareCheckFilled : IconSquare;
  const nameId = `${domId(item.id)} name`.replaceAll(' ', '~');
  return (
    <div
      role="treeitem"
      id={domId(item.id)}
      aria-level={item.level}
      aria-labelledby={nameId}
      aria-checked={isRoot || checked === null ? undefined : checked}
      aria-expanded={expanded ?? undefined}
      aria-invalid={faults.length > 0 || undefined}
      tabIndex={isActive ? 0 : -1}
      className={`ask-row ask-row-${item.kind}`}
      data-locked={locked !== null || undefined}
      style={{ '--level': item.level - 1 } as CSSProperties}
      onFocus={(event) => event.target === event.currentTarget && acts.current.focus(item.id)}
    >
      <div className="ask-line">
        {expanded !== null && (
          <ActionIcon
            size="sm"
            variant="subtle"
            color="gray"
            tabIndex={-1}
            aria-label={expanded ? texts.close(label) : texts.open(label)}
            onClick={onOpen}
          >
            {expanded ? <IconChevronDown size={16} /> : <IconChevronRight size={16} />}
          </ActionIcon>
        )}
        {/* the keyboard has the row itself */}
        {/* biome-ignore lint/a11y/noStaticElementInteractions: see above */}
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: see above */}
        <span id={nameId} className="ask-name" onClick={item.kind === 'text' ? undefined : isRoot ? onOpen : onToggle}>
          {checked !== null && !isRoot && <Box size={18} className={checked ? 'ask-tick' : 'ask-box'} aria-hidden />}
          {locked !== null && <IconLock size={14} aria-hidden />}{' '}
          <span className={item.kind === 'text' ? 'ask-kept' : 'ask-label'}>{label}</span>
          {visible.map(({ text, className }) => (
            <Fragment key={text}>
              {' '}
              <span className={className}>{text}</span>
            </Fragment>
          ))}
          {hidden !== '' && <VisuallyHidden> {hidden}</VisuallyHidden>}
        </span>
        {item.kind === 'text' && (
          <ActionIcon
            size="sm"
            variant="subtle"
            color="gray"
            tabIndex={-1}
            aria-label={texts.remove(label)}
            onClick={onToggle}
          >
            <IconTrash size={14} />
          </ActionIcon>
        )}
        {item.kind === 'place' && (item.checked || isRoot) && (
          <ActionIcon
            size="sm"
            variant={isEdited ? 'light' : 'subtle'}
            color={isEdited ? 'harbour' : 'gray'}
            tabIndex={-1}
            aria-label={isEdited ? texts.closeOptions(label) : texts.options(label)}
            aria-expanded={isEdited}
            onClick={() => acts.current.toggleOptions(item.id)}
          >
            <IconAdjustments size={16} />
          </ActionIcon>
        )}
      </div>
    </div>
  );
}, isSameRow);

const lockText = (action: string, who: string): string =>
  action === '' ? texts.closed(who) : texts.locked(who, action);

const targetOf = ({ types }: PlaceItem): string => {
  const [first] = types;
  if (types.length > 1) return texts.several(types.length);
  return first ? texts.leadsTo(first.kind === 'component' ? first.uid : nameOf(first)) : '';
};

const saidOf = ({ summary }: PlaceItem): readonly string[] => {
  const { conditions, sort, state } = summary;
  const keys = sort.map((it) => `${it.path.join('.')}${it.direction === 'desc' ? ' ↓' : ''}`).join(', ');
  return [
    conditions > 0 ? texts.conditions(conditions) : '',
    sort.length > 0 ? texts.sorted(keys) : '',
    state ? texts.state[state] : '',
  ].filter((it) => it !== '');
};

interface Said {
  readonly text: string;
  readonly className: string;
}

const hintsOf = (item: PlaceItem): readonly Said[] => [
  ...(item.attribute ? [{ text: targetOf(item), className: 'ask-said' }] : []),
  ...saidOf(item).map((text) => ({ text, className: 'ask-badge' })),
];
