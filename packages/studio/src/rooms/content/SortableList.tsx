/** A list in a form that is put in order by pointer or by keyboard, and says where what is moved would be dropped. */
import {
  type Announcements,
  closestCenter,
  DndContext,
  KeyboardSensor,
  PointerSensor,
  useSensor,
  useSensors,
} from '@dnd-kit/core';
import { SortableContext, type SortingStrategy, sortableKeyboardCoordinates } from '@dnd-kit/sortable';
import { type ReactNode, useRef } from 'react';
import { words } from '../../words/index.js';

const texts = words.content.sorting;

// the same objects every time, or dnd-kit would draw all lists again for each key that is pressed
const pointer = { activationConstraint: { distance: 6 } };
const keyboard = { coordinateGetter: sortableKeyboardCoordinates };
const screenReaderInstructions = { draggable: texts.keys };

export type Id = string | number;

interface SortableListProps {
  /** In their order; the same array for as long as it is the same list. */
  readonly ids: readonly Id[];
  readonly labelOf: (id: Id) => string;
  readonly strategy: SortingStrategy;
  readonly onMove: (id: Id, to: number) => void;
  readonly children: ReactNode;
}

export const SortableList = ({ ids, labelOf, strategy, onMove, children }: SortableListProps) => {
  const sensors = useSensors(useSensor(PointerSensor, pointer), useSensor(KeyboardSensor, keyboard));
  const placeOf = (id: Id): number => ids.indexOf(id) + 1;
  /** Over what it was last: it begins over itself, which is not worth saying. */
  const last = useRef<Id | null>(null);
  const announcements: Announcements = {
    onDragStart: ({ active }) => {
      last.current = active.id;
      return texts.pickedUp(labelOf(active.id), placeOf(active.id), ids.length);
    },
    onDragOver: ({ over }) => {
      if (!over || over.id === last.current) return undefined;
      last.current = over.id;
      return texts.over(placeOf(over.id), ids.length);
    },
    onDragEnd: ({ active, over }) => texts.dropped(labelOf(active.id), placeOf((over ?? active).id), ids.length),
    onDragCancel: ({ active }) => texts.cancelled(labelOf(active.id), placeOf(active.id), ids.length),
  };
  return (
    <DndContext
      sensors={sensors}
      collisionDetection={closestCenter}
      accessibility={{ announcements, screenReaderInstructions }}
      onDragEnd={({ active, over }) => {
        if (over && over.id !== active.id) onMove(active.id, ids.indexOf(over.id));
      }}
    >
      <SortableContext items={ids as Id[]} strategy={strategy}>
        {children}
      </SortableContext>
    </DndContext>
  );
};
