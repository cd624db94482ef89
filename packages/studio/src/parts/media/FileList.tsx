/** Files as a grid or as a table, which can be chosen with the mouse and with the keyboard. */
import { Checkbox, Table, Text, VisuallyHidden } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type KeyboardEvent, type MouseEvent, type ReactNode, useRef, useState } from 'react';
import { words } from '../../words/index.js';
import { ByteSize } from '../ByteSize.js';
import { Instant } from '../Instant.js';
import { useDragSource } from './dragging.js';
import { bytesOf, kindOf, type MediaFile } from './files.js';
import styles from './media.module.css';
import { Picture } from './Picture.js';
import { noSelection, placeAfter, type Selection, selected } from './selection.js';

const texts = words.media;

export interface FileListProps {
  readonly files: readonly MediaFile[];
  readonly view: 'grid' | 'list';
  readonly selection: Selection;
  readonly onSelection: (next: Selection) => void;
  /** One file at most. */
  readonly single?: boolean;
  /** `open`: names lead to the page of a file; `choose`: they choose it. */
  readonly mode: 'open' | 'choose';
  /** What is noted beside a file's name. */
  readonly note?: (file: MediaFile) => string | null;
  /** The Delete key. */
  readonly onDelete?: () => void;
  /** The key M. */
  readonly onMove?: () => void;
}

export const FileList = (props: FileListProps) => {
  const { files, view, selection, onSelection, single = false, mode, onDelete, onMove } = props;
  const box = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState(0);
  const dragSource = useDragSource();
  const ids = files.map((it) => it.id);
  const at = Math.min(current, Math.max(0, files.length - 1));

  const choose = (id: number, how: 'only' | 'toggle' | 'range'): void => {
    if (single) onSelection(selection.ids.has(id) ? noSelection : selected(selection, id, 'only', ids));
    else onSelection(selected(selection, id, how, ids));
  };

  const focus = (place: number): void => {
    setCurrent(place);
    box.current?.querySelectorAll<HTMLElement>('[data-file]')[place]?.focus();
  };

  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    const id = ids[at];
    if (id === undefined || !(event.target as HTMLElement).hasAttribute('data-file')) return;
    const hasMod = event.ctrlKey || event.metaKey;
    if (event.key === ' ') choose(id, event.shiftKey ? 'range' : 'toggle');
    else if (event.key === 'Escape' && selection.ids.size > 0) onSelection(noSelection);
    else if (event.key === 'Delete' && onDelete && selection.ids.size > 0) onDelete();
    else if (event.key.toLowerCase() === 'm' && !hasMod && !event.altKey && onMove) {
      if (selection.ids.size === 0) choose(id, 'only');
      onMove();
    } else if (hasMod && event.key.toLowerCase() === 'a' && !single) onSelection({ ids: new Set(ids), anchor: id });
    else {
      const place = hasMod || event.altKey ? null : placeAfter(event.key, at, ids.length, columnsIn(box.current, view));
      if (place === null) return;
      focus(place);
      if (event.shiftKey && !single) {
        const begun = selection.anchor === null ? selected(selection, id, 'only', ids) : selection;
        onSelection(selected(begun, ids[place]!, 'range', ids));
      }
    }
    event.preventDefault();
    event.stopPropagation();
  };

  const mainOf = (file: MediaFile, place: number, children: ReactNode): ReactNode => {
    const shared = {
      className: styles['main'],
      'data-file': file.id,
      tabIndex: place === at ? 0 : -1,
      onFocus: () => setCurrent(place),
      // a chosen file brings the others along
      ...dragSource(() => ({ kind: 'files', ids: selection.ids.has(file.id) ? [...selection.ids] : [file.id] })),
    };
    const onClick = (event: MouseEvent): void => {
      if (!event.shiftKey && !event.ctrlKey && !event.metaKey && mode === 'open') return;
      event.preventDefault();
      choose(file.id, event.shiftKey ? 'range' : 'toggle');
    };
    return mode === 'open' ? (
      <Link {...shared} to={`/media/${file.id}` as string} onClick={onClick}>
        {children}
      </Link>
    ) : (
      <button {...shared} type="button" onClick={onClick} aria-pressed={selection.ids.has(file.id)}>
        {children}
      </button>
    );
  };
  const checkOf = (file: MediaFile): ReactNode => (
    <Checkbox
      size="sm"
      checked={selection.ids.has(file.id)}
      aria-label={texts.select(file.name)}
      tabIndex={-1}
      onChange={() => choose(file.id, 'toggle')}
    />
  );
  const layout = { ...props, checkOf, mainOf };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys move between the links and buttons inside
    <div ref={box} onKeyDown={onKeyDown}>
      {view === 'grid' ? <Grid {...layout} /> : <Rows {...layout} />}
    </div>
  );
};

interface LayoutProps extends FileListProps {
  readonly checkOf: (file: MediaFile) => ReactNode;
  readonly mainOf: (file: MediaFile, place: number, children: ReactNode) => ReactNode;
}

const Grid = ({ files, selection, note, checkOf, mainOf }: LayoutProps) => (
  <ul className={styles['grid']} aria-label={texts.list}>
    {files.map((file, place) => (
      <li key={file.id} className={styles['tile']} data-selected={selection.ids.has(file.id) || undefined}>
        {mainOf(
          file,
          place,
          <>
            <Picture file={file} />
            <span dir="auto" className={styles['name']} title={file.name}>
              {file.name}
            </span>
            <span className={styles['facts']}>
              {note?.(file) ?? (
                <>
                  {dimensionsOf(file) ?? texts.kind[kindOf(file.mime)]} · <ByteSize bytes={bytesOf(file.size)} />
                </>
              )}
            </span>
          </>,
        )}
        <span className={styles['check']}>{checkOf(file)}</span>
      </li>
    ))}
  </ul>
);

const Rows = ({ files, selection, note, checkOf, mainOf }: LayoutProps) => (
  <Table.ScrollContainer type="native" minWidth={560} tabIndex={0} role="group" aria-label={texts.list}>
    <Table verticalSpacing={4} aria-label={texts.list}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th w={32}>
            <VisuallyHidden>{texts.selectColumn}</VisuallyHidden>
          </Table.Th>
          <Table.Th>{texts.columns.file}</Table.Th>
          <Table.Th>{texts.columns.kind}</Table.Th>
          <Table.Th ta="right">{texts.columns.size}</Table.Th>
          <Table.Th ta="right">{texts.columns.dimensions}</Table.Th>
          <Table.Th>{texts.columns.created}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {files.map((file, place) => (
          <Table.Tr key={file.id} data-selected={selection.ids.has(file.id) || undefined}>
            <Table.Td>{checkOf(file)}</Table.Td>
            <Table.Td>
              {mainOf(
                file,
                place,
                <span className={styles['row']}>
                  <Picture file={file} size="row" />
                  <span dir="auto" className={styles['cut']}>
                    {file.name}
                  </span>
                </span>,
              )}
            </Table.Td>
            <Table.Td>
              {texts.kind[kindOf(file.mime)]}
              {note?.(file) && (
                <Text size="xs" c="dimmed">
                  {note(file)}
                </Text>
              )}
            </Table.Td>
            <Table.Td ta="right">
              <ByteSize bytes={bytesOf(file.size)} />
            </Table.Td>
            <Table.Td ta="right">{dimensionsOf(file) ?? '–'}</Table.Td>
            <Table.Td>
              <Instant value={file.createdAt} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  </Table.ScrollContainer>
);

const dimensionsOf = ({ width, height }: MediaFile): string | null =>
  width === null || height === null ? null : texts.dimensions(width, height);

/** How many tiles stand in the first row. */
const columnsIn = (box: HTMLElement | null, view: 'grid' | 'list'): number => {
  if (view === 'list') return 1;
  const tiles = [...(box?.querySelectorAll<HTMLElement>('li') ?? [])];
  const { top } = tiles[0]?.getBoundingClientRect() ?? { top: 0 };
  return Math.max(1, tiles.filter((it) => it.getBoundingClientRect().top === top).length);
};
