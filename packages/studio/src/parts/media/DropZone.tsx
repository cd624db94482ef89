/** Where files of the desktop can be dropped: on the folder that is shown, or on one of those in it. */
import { createContext, type DragEvent, type ReactNode, useRef, useState } from 'react';
import { words } from '../../words/index.js';
import { isOwnDrag } from './dragging.js';
import styles from './media.module.css';

const texts = words.media.upload;

/** The folder that files are held over; null: none. */
export const OverFolderContext = createContext<number | null>(null);

export const DropZone = ({
  where,
  nameOf = () => null,
  disabled,
  onFiles,
  children,
}: {
  /** The name of the folder that is shown. */
  readonly where: string;
  /** Of one whose tile is in it. */
  readonly nameOf?: (folder: number) => string | null;
  readonly disabled: boolean;
  /**
   * @param hadFolders whether folders were among them, which are left out
   * @param folder on whose tile they were dropped; null: anywhere else
   */
  readonly onFiles: (files: readonly File[], hadFolders: boolean, folder: number | null) => void;
  readonly children: ReactNode;
}) => {
  const [over, setOver] = useState<{ readonly folder: number | null } | null>(null);
  // leaving a child is not leaving: the two events are counted
  const depth = useRef(0);
  const ends = (): void => {
    depth.current = 0;
    setOver(null);
  };
  const handlers = disabled
    ? {}
    : {
        onDragEnter: (event: DragEvent) => {
          if (!hasFiles(event)) return;
          event.preventDefault();
          depth.current += 1;
          setOver({ folder: folderAt(event) });
        },
        onDragOver: (event: DragEvent) => {
          if (hasFiles(event)) event.preventDefault();
        },
        onDragLeave: () => {
          depth.current -= 1;
          if (depth.current <= 0) ends();
        },
        onDrop: (event: DragEvent) => {
          if (!hasFiles(event)) return;
          event.preventDefault();
          ends();
          const { files, hadFolders } = filesIn(event.dataTransfer);
          onFiles(files, hadFolders, folderAt(event));
        },
      };
  return (
    <div className={styles['drop']} data-over={over !== null || undefined} {...handlers}>
      <OverFolderContext value={over?.folder ?? null}>{children}</OverFolderContext>
      {over && (
        <div className={styles['over']}>{texts.drop((over.folder !== null && nameOf(over.folder)) || where)}</div>
      )}
    </div>
  );
};

const hasFiles = (event: DragEvent): boolean => event.dataTransfer.types.includes('Files') && !isOwnDrag(event);

/** The folder below the pointer, by the attribute of its tile. */
const folderAt = ({ target }: DragEvent): number | null => {
  const id = target instanceof Element ? target.closest('[data-folder]')?.getAttribute('data-folder') : null;
  return id == null ? null : Number(id);
};

const filesIn = (data: DataTransfer): { readonly files: readonly File[]; readonly hadFolders: boolean } => {
  const items = [...data.items].filter((it) => it.kind === 'file');
  const folders = items.filter((it) => it.webkitGetAsEntry?.()?.isDirectory === true);
  const files = items.filter((it) => !folders.includes(it)).flatMap((it) => it.getAsFile() ?? []);
  return { files, hadFolders: folders.length > 0 };
};
