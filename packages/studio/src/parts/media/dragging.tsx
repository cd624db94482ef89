/** Files and folders of the library that are dragged onto a folder. With the keyboard they are moved by the dialog. */
import { createContext, type DragEvent, useContext, useState } from 'react';
import styles from './media.module.css';

export type Dragged =
  | { readonly kind: 'files'; readonly ids: readonly number[] }
  | { readonly kind: 'folder'; readonly id: number };

export interface Dragging {
  /** Kept here, because a browser tells targets nothing of what is dragged before it is dropped. */
  readonly dragged: Dragged | null;
  readonly onDragged: (dragged: Dragged | null) => void;
  readonly mayDrop: (dragged: Dragged, folder: number | null) => boolean;
  readonly onDrop: (dragged: Dragged, folder: number | null) => void;
  /** What is shown beside the pointer. */
  readonly nameOf: (dragged: Dragged) => string;
}

/** Without it nothing can be dragged: not in dialogs, and by nobody who may not move files. */
export const DraggingContext = createContext<Dragging | null>(null);

/** Marks what is dragged from here; files of the desktop have no such mark. */
const TYPE = 'application/x-dovetail-media';
export const isOwnDrag = ({ dataTransfer }: DragEvent): boolean => dataTransfer.types.includes(TYPE);

/** @param draggedOf asked when a drag begins. */
export const useDragSource = (): ((draggedOf: () => Dragged) => object) => {
  const dragging = useContext(DraggingContext);
  return (draggedOf) =>
    dragging === null
      ? // links can be dragged by themselves
        { draggable: false }
      : {
          draggable: true,
          onDragStart: (event: DragEvent) => {
            const dragged = draggedOf();
            event.dataTransfer.clearData();
            event.dataTransfer.setData(TYPE, '');
            event.dataTransfer.effectAllowed = 'move';
            showBesidePointer(dragging.nameOf(dragged), event.dataTransfer);
            dragging.onDragged(dragged);
          },
          onDragEnd: () => dragging.onDragged(null),
        };
};

/** @param folder null for the top. */
export const useDropTarget = (folder: number | null): object => {
  const dragging = useContext(DraggingContext);
  const [isOver, setIsOver] = useState(false);
  const dragged = dragging?.dragged ?? null;
  if (dragging === null || dragged === null || !dragging.mayDrop(dragged, folder)) return {};
  return {
    'data-drop': isOver ? 'over' : 'open',
    onDragEnter: () => setIsOver(true),
    onDragOver: (event: DragEvent) => {
      event.preventDefault();
      event.dataTransfer.dropEffect = 'move';
      if (!isOver) setIsOver(true);
    },
    onDragLeave: () => setIsOver(false),
    onDrop: (event: DragEvent) => {
      event.preventDefault();
      setIsOver(false);
      dragging.onDragged(null);
      dragging.onDrop(dragged, folder);
    },
  };
};

/** The browser takes its picture at once, so the element need not stay. */
const showBesidePointer = (name: string, data: DataTransfer): void => {
  const label = document.createElement('div');
  label.className = styles['dragged'] ?? '';
  label.textContent = name;
  document.body.append(label);
  data.setDragImage(label, -12, -12);
  setTimeout(() => label.remove());
};
