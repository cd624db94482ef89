/** How lists in forms are put in order: by pointer, and by keyboard. */
import { KeyboardSensor, PointerSensor, useSensor, useSensors } from '@dnd-kit/core';
import { sortableKeyboardCoordinates } from '@dnd-kit/sortable';

// the same objects every time, or dnd-kit would draw all lists again for each key that is pressed
const pointer = { activationConstraint: { distance: 6 } };
const keyboard = { coordinateGetter: sortableKeyboardCoordinates };

export const useSortSensors = () => useSensors(useSensor(PointerSensor, pointer), useSensor(KeyboardSensor, keyboard));
