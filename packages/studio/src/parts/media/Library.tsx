/** The library as the room shows it and as a form picks from it: folders, search, kinds, order, pages, uploads. */
import {
  Alert,
  Anchor,
  Breadcrumbs,
  Button,
  CloseButton,
  FileButton,
  Group,
  NativeSelect,
  SegmentedControl,
  Stack,
  Text,
  VisuallyHidden,
} from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconFolder, IconLayoutGrid, IconList, IconUpload } from '@tabler/icons-react';
import { type ReactNode, useContext, useEffect, useState } from 'react';
import { words } from '../../words/index.js';
import { EmptyState } from '../EmptyState.js';
import { Fault } from '../Fault.js';
import { MayButton } from '../MayButton.js';
import { Pages } from '../Pages.js';
import { SearchField } from '../SearchField.js';
import { Waiting } from '../Waiting.js';
import { DropZone, OverFolderContext } from './DropZone.js';
import { useDragSource, useDropTarget } from './dragging.js';
import { FileList, type FileListProps } from './FileList.js';
import { acceptOf, kinds as allKinds, type Kind, type MediaFile } from './files.js';
import { type Folder, foldersShown, pathOf, trailOf } from './folders.js';
import { useFiles, useFolders, useMediaRights, useUploads } from './library.js';
import { type FileSort, type Listing, PAGE_SIZE, pagesOf, sorts } from './listing.js';
import styles from './media.module.css';
import { UploadPanel } from './UploadPanel.js';

const texts = words.media;

interface LibraryProps
  extends Pick<FileListProps, 'selection' | 'onSelection' | 'mode' | 'note' | 'onDelete' | 'onMove'> {
  readonly listing: Listing;
  readonly onListing: (change: Partial<Listing>) => void;
  /** Those that are shown at all; all by default. */
  readonly kinds?: readonly Kind[];
  readonly single?: boolean;
  /** Beside the button for uploads. */
  readonly actions?: ReactNode;
  /** Between the bar and the files. */
  readonly children?: ReactNode;
  readonly onUploaded?: (files: readonly MediaFile[]) => void;
  /** Told of the files of each page that is looked at. */
  readonly onShown?: (files: readonly MediaFile[]) => void;
}

export const Library = (props: LibraryProps) => {
  const { listing, kinds = allKinds, onUploaded, onShown, actions, children, ...list } = props;
  const [typed, setTyped] = useState(listing.q);
  // the address may change by itself: back, forward, a folder
  useEffect(() => setTyped(listing.q), [listing.q]);
  const search = useDebouncedCallback((q: string) => props.onListing({ q }), SEARCH_MS);
  const onListing: LibraryProps['onListing'] = (change) => {
    // another search takes the place of the one that is still being typed
    if (change.q !== undefined) {
      search.cancel();
      setTyped(change.q);
    }
    props.onListing(change);
  };
  const rights = useMediaRights();
  const folders = useFolders();
  const page = useFiles(listing, kinds);
  const shown = page.data?.files;
  useEffect(() => {
    if (shown) onShown?.(shown);
  });
  // a page may be gone since it was opened: its files were deleted
  const pages = page.data && !page.isPlaceholderData ? pagesOf(page.data.total) : null;
  const isGone = pages !== null && listing.page > pages;
  useEffect(() => {
    if (isGone) onListing({ page: pages });
  });
  const { uploads, list: underWay } = useUploads();
  const [hadFolders, setHadFolders] = useState(false);

  const trail = trailOf(folders.data ?? [], listing.folder);
  const where = trail.at(-1)?.name ?? texts.top;
  const send = async (files: readonly File[], folder = listing.folder): Promise<void> => {
    if (files.length === 0) return;
    const stored = await uploads.add(files, folder, (it) => onUploaded?.([it]));
    onUploaded?.(stored);
  };
  const accept = acceptOf(kinds);
  const inside = foldersShown(folders.data ?? [], listing);
  const noted = (file: MediaFile): string | null =>
    list.note?.(file) ?? (listing.q === '' || !file.folder ? null : pathOf(folders.data ?? [], file.folder.id));
  return (
    <DropZone
      where={where}
      nameOf={(id) => inside.find((it) => it.id === id)?.name ?? null}
      disabled={!rights.create}
      onFiles={(files, had, folder) => {
        setHadFolders(had);
        void send(files, folder ?? listing.folder);
      }}
    >
      <Stack gap="sm">
        <Group justify="space-between" gap="xs">
          <Trail trail={trail} onFolder={(folder) => onListing({ folder, q: '' })} />
          <Group gap="xs">
            {actions}
            <FileButton
              multiple
              {...(accept ? { accept } : {})}
              // the same file can be chosen again
              inputProps={{
                onClick: ({ currentTarget }) => {
                  currentTarget.value = '';
                },
              }}
              onChange={(files) => void send(files)}
            >
              {({ onClick }) => (
                <MayButton
                  size="xs"
                  leftSection={<IconUpload size={16} />}
                  may={rights.create}
                  why={texts.may.notCreate}
                  onClick={onClick}
                >
                  {texts.upload.action}
                </MayButton>
              )}
            </FileButton>
          </Group>
        </Group>
        <Bar
          listing={listing}
          onListing={onListing}
          kinds={kinds}
          typed={typed}
          onTyped={(q) => {
            setTyped(q);
            search(q);
          }}
        />
        {hadFolders && (
          <Alert
            color="yellow"
            variant="light"
            withCloseButton
            closeButtonLabel={texts.upload.clear}
            onClose={() => setHadFolders(false)}
          >
            {texts.upload.folders}
          </Alert>
        )}
        <UploadPanel uploads={uploads} list={underWay} />
        {children}
        {listing.page === 1 && listing.kind === null && (
          <FolderTiles
            key={`${listing.folder} ${listing.q}`}
            folders={inside}
            onFolder={(folder) => onListing({ folder, q: '' })}
          />
        )}
        {page.error ? (
          <Fault fault={page.error} onRetry={() => void page.refetch()} />
        ) : !page.data ? (
          <Waiting />
        ) : page.data.total === 0 ? (
          // a folder that only holds folders has something to show
          (listing.q === '' || inside.length === 0) && (
            <Nothing listing={listing} onListing={onListing} mayUpload={rights.create} />
          )
        ) : (
          <>
            <VisuallyHidden>{texts.keys}</VisuallyHidden>
            <FileList {...list} note={noted} files={page.data.files} view={listing.view} />
            <Pages
              page={listing.page}
              pageSize={PAGE_SIZE}
              total={page.data.total}
              onPage={(it) => onListing({ page: it })}
            />
          </>
        )}
      </Stack>
    </DropZone>
  );
};

const Trail = ({
  trail,
  onFolder,
}: {
  readonly trail: readonly Folder[];
  readonly onFolder: (id: number | null) => void;
}) => (
  <nav aria-label={texts.trail}>
    <Breadcrumbs separatorMargin={6}>
      {[null, ...trail].map((it, i) =>
        i === trail.length ? (
          <Text key={it?.id ?? 0} fw={600} aria-current="page">
            {it?.name ?? texts.top}
          </Text>
        ) : (
          <Anchor key={it?.id ?? 0} component="button" type="button" onClick={() => onFolder(it?.id ?? null)}>
            {it?.name ?? texts.top}
          </Anchor>
        ),
      )}
    </Breadcrumbs>
  </nav>
);

const SEARCH_MS = 250;

const Bar = ({
  listing,
  onListing,
  kinds,
  typed,
  onTyped,
}: {
  readonly listing: Listing;
  readonly onListing: LibraryProps['onListing'];
  readonly kinds: readonly Kind[];
  /** In the field of the search; the listing follows. */
  readonly typed: string;
  readonly onTyped: (text: string) => void;
}) => (
  <Group gap="xs" align="end">
    <SearchField
      label={texts.search}
      placeholder={texts.searchHint}
      value={typed}
      onSearch={onTyped}
      rightSection={
        typed !== '' && <CloseButton size="sm" aria-label={texts.empty.clear} onClick={() => onListing({ q: '' })} />
      }
    />
    {kinds.length > 1 && (
      <NativeSelect
        size="xs"
        aria-label={texts.kindLabel}
        value={listing.kind ?? ''}
        data={[{ value: '', label: texts.allKinds }, ...kinds.map((it) => ({ value: it, label: texts.kinds[it] }))]}
        onChange={({ currentTarget: { value } }) => onListing({ kind: kinds.find((it) => it === value) ?? null })}
      />
    )}
    <NativeSelect
      size="xs"
      aria-label={texts.sortLabel}
      value={listing.sort}
      data={sorts.map((it) => ({ value: it, label: texts.sorts[it] }))}
      onChange={({ currentTarget: { value } }) => onListing({ sort: value as FileSort })}
    />
    <SegmentedControl
      size="xs"
      aria-label={texts.viewLabel}
      value={listing.view}
      data={[
        { value: 'grid', label: <ViewIcon icon={<IconLayoutGrid size={16} />} label={texts.views.grid} /> },
        { value: 'list', label: <ViewIcon icon={<IconList size={16} />} label={texts.views.list} /> },
      ]}
      onChange={(view) => onListing({ view: view === 'list' ? 'list' : 'grid' })}
    />
  </Group>
);

const ViewIcon = ({ icon, label }: { readonly icon: ReactNode; readonly label: string }) => (
  <>
    {icon}
    <VisuallyHidden>{label}</VisuallyHidden>
  </>
);

/** More would push the files out of sight. */
const TILES_MAX = 12;

const FolderTiles = ({
  folders,
  onFolder,
}: {
  readonly folders: readonly Folder[];
  readonly onFolder: (id: number) => void;
}) => {
  const [isWhole, setIsWhole] = useState(false);
  if (folders.length === 0) return null;
  const shown = isWhole ? folders : folders.slice(0, TILES_MAX);
  return (
    <div>
      <ul className={styles['folders']} aria-label={texts.folder.tree}>
        {shown.map((it) => (
          <li key={it.id}>
            <FolderTile folder={it} onFolder={onFolder} />
          </li>
        ))}
      </ul>
      {shown.length < folders.length && (
        <Button mt="xs" size="compact-sm" variant="subtle" onClick={() => setIsWhole(true)}>
          {texts.folder.all(folders.length)}
        </Button>
      )}
    </div>
  );
};

const FolderTile = ({
  folder: { id, name, files },
  onFolder,
}: {
  readonly folder: Folder;
  readonly onFolder: (id: number) => void;
}) => {
  const dragSource = useDragSource();
  const isOver = useContext(OverFolderContext) === id;
  return (
    <button
      type="button"
      className={styles['folder']}
      data-folder={id}
      data-drop={isOver ? 'over' : undefined}
      onClick={() => onFolder(id)}
      {...dragSource(() => ({ kind: 'folder', id }))}
      {...useDropTarget(id)}
    >
      <IconFolder size={18} aria-hidden />
      <span className={styles['cut']}>
        <bdi>{name}</bdi>
        <span className={styles['facts']}>{files === 0 ? texts.folder.none : texts.folder.count(files)}</span>
      </span>
    </button>
  );
};

const Nothing = ({
  listing,
  onListing,
  mayUpload,
}: {
  readonly listing: Listing;
  readonly onListing: LibraryProps['onListing'];
  readonly mayUpload: boolean;
}) => {
  if (listing.q !== '')
    return (
      <EmptyState title={texts.empty.found(listing.q)} text={texts.empty.foundHint}>
        <Button variant="default" onClick={() => onListing({ q: '' })}>
          {texts.empty.clear}
        </Button>
      </EmptyState>
    );
  if (listing.kind !== null)
    return (
      <EmptyState title={texts.empty.kind(texts.kinds[listing.kind])}>
        <Button variant="default" onClick={() => onListing({ kind: null })}>
          {texts.empty.allKinds}
        </Button>
      </EmptyState>
    );
  return (
    <EmptyState title={texts.empty.folder} text={mayUpload ? texts.empty.folderHint : texts.empty.folderReadOnly} />
  );
};
