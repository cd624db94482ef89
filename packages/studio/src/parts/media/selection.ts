/** Which files are chosen, with a mouse and with the keyboard, as in a file manager. */

export interface Selection {
  readonly ids: ReadonlySet<number>;
  /** Where a range begins. */
  readonly anchor: number | null;
}

export const noSelection: Selection = { ids: new Set(), anchor: null };

/** @param shown ids in the order in which they are shown. */
export const selected = (
  selection: Selection,
  id: number,
  how: 'only' | 'toggle' | 'range',
  shown: readonly number[],
): Selection => {
  switch (how) {
    case 'only':
      return { ids: new Set([id]), anchor: id };
    case 'toggle': {
      const ids = new Set(selection.ids);
      if (!ids.delete(id)) ids.add(id);
      return { ids, anchor: id };
    }
    case 'range': {
      const from = selection.anchor === null ? -1 : shown.indexOf(selection.anchor);
      const to = shown.indexOf(id);
      if (from === -1 || to === -1) return { ids: new Set([id]), anchor: id };
      const range = shown.slice(Math.min(from, to), Math.max(from, to) + 1);
      return { ids: new Set([...selection.ids, ...range]), anchor: selection.anchor };
    }
  }
};

/** The place that a key leads to; null if the key does not move. @param columns of the grid; 1 in a list. */
export const placeAfter = (key: string, at: number, count: number, columns: number): number | null => {
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: -1,
    ArrowRight: 1,
    ArrowUp: -columns,
    ArrowDown: columns,
  };
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  const step = steps[key];
  if (step === undefined) return null;
  const to = at + step;
  return to < 0 || to >= count ? at : to;
};
