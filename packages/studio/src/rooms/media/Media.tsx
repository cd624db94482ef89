/** The media library: folders, files, uploads. */
import { Button, Text, Title } from '@mantine/core';
import { IconArrowsMove, IconTrash } from '@tabler/icons-react';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { EmptyState } from '../../parts/EmptyState.js';
import { MayButton } from '../../parts/MayButton.js';
import { type Dragged, type Dragging, DraggingContext } from '../../parts/media/dragging.js';
import type { MediaFile } from '../../parts/media/files.js';
import { mayMoveTo } from '../../parts/media/folders.js';
import { Library } from '../../parts/media/Library.js';
import { useFolders, useMediaRights } from '../../parts/media/library.js';
import { addressParts, changed, type Listing, listingOf } from '../../parts/media/listing.js';
import { noSelection, type Selection } from '../../parts/media/selection.js';
import { NeedsAccount } from '../../parts/NeedsAccount.js';
import { Waiting } from '../../parts/Waiting.js';
import { useAdministrator, useMe } from '../../server/queries.js';
import { usePageTitle } from '../../shell/page-title.js';
import { words } from '../../words/index.js';
import { DeleteDialog, MoveDialog } from './BulkDialogs.js';
import { FolderActions } from './FolderDialogs.js';
import { FolderTree } from './FolderTree.js';
import { MoveBar } from './MoveBar.js';
import { type Moved, useMoving } from './moving.js';
import styles from './room.module.css';

const texts = words.media;
const { pageOf, rooms } = words.shell;

export const Media = () => {
  const isSignedIn = useAdministrator() !== null;
  const isKnown = useMe() !== undefined;
  const { read } = useMediaRights();
  if (!isSignedIn) return <NeedsAccount title={texts.title} text={texts.may.signIn} />;
  if (!isKnown) return <Waiting />;
  return read ? <Room /> : <EmptyState title={texts.title} level={1} text={texts.may.notRead} />;
};

const Room = () => {
  const listing = listingOf(useSearch({ strict: false }));
  const navigate = useNavigate();
  const folders = useFolders().data ?? [];
  const [selection, setSelection] = useState<Selection>(noSelection);
  const [asked, setAsked] = useState<'move' | 'delete' | null>(null);
  const [dragged, setDragged] = useState<Dragged | null>(null);
  const rights = useMediaRights();
  // files that are dragged or chosen are known by the page that shows them
  const shown = useRef<ReadonlyMap<number, MediaFile>>(new Map());

  const forget = (ids: readonly number[]): void =>
    setSelection((it) => ({ ids: new Set([...it.ids].filter((id) => !ids.includes(id))), anchor: null }));
  const moving = useMoving(forget);
  const isSearch = listing.q !== '';
  const fromOf = (id: number): number | null | undefined => {
    if (!isSearch) return listing.folder;
    const file = shown.current.get(id);
    return file && (file.folder?.id ?? null);
  };
  const moveFiles = (ids: readonly number[], to: number | null): void => {
    const what = ids.map((id): Moved => ({ kind: 'file', id, from: fromOf(id) })).filter((it) => it.from !== to);
    if (what.length > 0) void moving.move(what, to);
  };
  const dragging: Dragging | null = rights.update
    ? {
        dragged,
        onDragged: setDragged,
        mayDrop: (it, to) =>
          it.kind === 'files'
            ? it.ids.some((id) => fromOf(id) !== to)
            : rights.updateFolders && mayMoveTo(folders, it.id, to),
        onDrop: (it, to) => {
          if (it.kind === 'files') moveFiles(it.ids, to);
          else
            void moving.move(
              [{ kind: 'folder', id: it.id, from: folders.find(({ id }) => id === it.id)?.parent ?? null }],
              to,
            );
        },
        nameOf: (it) =>
          it.kind === 'files'
            ? it.ids.length === 1
              ? (shown.current.get(it.ids[0]!)?.name ?? '')
              : texts.files(it.ids.length)
            : (folders.find(({ id }) => id === it.id)?.name ?? ''),
      }
    : null;

  const show = (change: Partial<Listing>): void => {
    if (Object.keys(change).some((it) => it !== 'view')) setSelection(noSelection);
    // a search is one step back, however many letters it has
    const isTyping = change.q !== undefined && change.q !== '' && isSearch;
    void navigate({ to: '/media', search: addressParts(changed(listing, change)), replace: isTyping });
  };
  const folder = folders.find((it) => it.id === listing.folder) ?? null;
  const count = selection.ids.size;
  usePageTitle(folder === null ? rooms.media : pageOf(folder.name, rooms.media));
  return (
    <DraggingContext value={dragging}>
      <div className={folders.length === 0 ? `${styles['room']} ${styles['alone']}` : styles['room']}>
        {folders.length > 0 && <FolderTree folders={folders} current={isSearch ? -1 : listing.folder} />}
        <div>
          <Title order={1} mb="sm">
            {texts.title}
          </Title>
          <Library
            mode="open"
            listing={listing}
            onListing={show}
            selection={selection}
            onSelection={setSelection}
            onShown={(files) => {
              shown.current = new Map(files.map((it) => [it.id, it]));
            }}
            {...(rights.update ? { onDelete: () => setAsked('delete'), onMove: () => setAsked('move') } : {})}
            actions={<FolderActions folders={folders} folder={folder} onFolder={(it) => show({ folder: it })} />}
          >
            <MoveBar moving={moving} folders={folders} />
            {count > 0 && (
              <section className={styles['bulk']} aria-label={texts.selected(count)}>
                <Text size="sm" fw={600} flex={1} role="status">
                  {texts.selected(count)}
                </Text>
                <MayButton
                  size="xs"
                  variant="default"
                  leftSection={<IconArrowsMove size={16} />}
                  may={rights.update}
                  why={texts.may.notUpdate}
                  onClick={() => setAsked('move')}
                >
                  {texts.bulk.move}
                </MayButton>
                <MayButton
                  size="xs"
                  variant="default"
                  leftSection={<IconTrash size={16} />}
                  may={rights.update}
                  why={texts.may.notDelete}
                  onClick={() => setAsked('delete')}
                >
                  {texts.bulk.delete}
                </MayButton>
                <Button size="xs" variant="subtle" onClick={() => setSelection(noSelection)}>
                  {texts.selectNone}
                </Button>
              </section>
            )}
          </Library>
        </div>
        {asked === 'move' && (
          <MoveDialog
            count={count}
            folders={folders}
            from={isSearch ? undefined : listing.folder}
            onClose={() => setAsked(null)}
            onMove={(to) => moveFiles([...selection.ids], to)}
          />
        )}
        {asked === 'delete' && (
          <DeleteDialog
            ids={[...selection.ids]}
            nameOf={(id) => shown.current.get(id)?.name ?? `#${id}`}
            onClose={() => setAsked(null)}
            onDeleted={forget}
          />
        )}
      </div>
    </DraggingContext>
  );
};
