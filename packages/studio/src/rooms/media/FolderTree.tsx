/** All folders, those on the way to the open one unfolded. */
import { ActionIcon } from '@mantine/core';
import { IconChevronRight, IconFolder, IconFolders } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { useDragSource, useDropTarget } from '../../parts/media/dragging.js';
import { type Folder, type FolderNode, trailOf, treeOf } from '../../parts/media/folders.js';
import { words } from '../../words/index.js';
import styles from './room.module.css';

const texts = words.media;

export const FolderTree = ({
  folders,
  current,
}: {
  readonly folders: readonly Folder[];
  readonly current: number | null;
}) => {
  const [turned, setTurned] = useState<ReadonlySet<number>>(new Set());
  const onTrail = new Set(trailOf(folders, current).map((it) => it.id));
  const isOpen = (id: number): boolean => onTrail.has(id) !== turned.has(id);
  const turn = (id: number): void =>
    setTurned((before) => {
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  const tree = useMemo(() => treeOf(folders), [folders]);
  const list = (nodes: readonly FolderNode[]) => (
    <ul>
      {nodes.map(({ children, ...folder }) => {
        const { id, name } = folder;
        return (
          <li key={id}>
            <span className={styles['branch']}>
              {children.length > 0 ? (
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  size="sm"
                  aria-label={texts.folder.unfold(name)}
                  aria-expanded={isOpen(id)}
                  onClick={() => turn(id)}
                >
                  <IconChevronRight size={14} className={styles['chevron']} />
                </ActionIcon>
              ) : (
                <span className={styles['leaf']} />
              )}
              <FolderLink folder={folder} isCurrent={id === current} />
            </span>
            {children.length > 0 && isOpen(id) && list(children)}
          </li>
        );
      })}
    </ul>
  );
  return (
    <nav className={styles['tree']} aria-label={texts.folder.tree}>
      <Link
        to="/media"
        search={{}}
        activeOptions={{ exact: true, includeSearch: true }}
        aria-current={current === null ? 'page' : undefined}
        draggable={false}
        {...useDropTarget(null)}
      >
        <IconFolders size={16} aria-hidden />
        <span>{texts.top}</span>
      </Link>
      {list(tree)}
    </nav>
  );
};

const FolderLink = ({
  folder: { id, name, files },
  isCurrent,
}: {
  readonly folder: Folder;
  readonly isCurrent: boolean;
}) => {
  const dragSource = useDragSource();
  return (
    <Link
      to="/media"
      search={{ folder: id }}
      aria-current={isCurrent ? 'page' : undefined}
      {...dragSource(() => ({ kind: 'folder', id }))}
      {...useDropTarget(id)}
    >
      <IconFolder size={16} aria-hidden />
      <span dir="auto" title={name}>
        {name}
      </span>
      {files > 0 && <small>{files.toLocaleString('en')}</small>}
    </Link>
  );
};
