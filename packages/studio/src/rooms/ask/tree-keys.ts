/** The keys of a tree, as the WAI-ARIA practices have them. */
import type { KeyboardEvent } from 'react';

interface KeyedRow {
  readonly id: string;
  readonly level: number;
  /** Null if there is nothing inside. */
  readonly expanded: boolean | null;
  readonly label: string;
}

export const keyedRows = <
  T extends { readonly id: string; readonly level: number; readonly expanded?: boolean | null },
>(
  items: readonly T[],
  labelOf: (item: T) => string,
): readonly KeyedRow[] =>
  items.map((it) => ({ id: it.id, level: it.level, expanded: it.expanded ?? null, label: labelOf(it) }));

/** Where a key leads from a row, or whether it opens or closes it; null for keys that are not the tree's. */
type Move = { readonly to: string | null } | { readonly open: boolean };

export const moveIn = (rows: readonly KeyedRow[], id: string, event: KeyboardEvent): Move | null => {
  const at = rows.findIndex((it) => it.id === id);
  const row = rows[at];
  if (!row || event.ctrlKey || event.metaKey || event.altKey) return null;
  switch (event.key) {
    case 'ArrowDown':
      return { to: rows[at + 1]?.id ?? null };
    case 'ArrowUp':
      return { to: rows[at - 1]?.id ?? null };
    case 'Home':
      return { to: rows[0]?.id ?? null };
    case 'End':
      return { to: rows.at(-1)?.id ?? null };
    case 'ArrowRight':
      if (row.expanded === false) return { open: true };
      return { to: row.expanded ? (rows[at + 1]?.id ?? null) : null };
    case 'ArrowLeft': {
      if (row.expanded) return { open: false };
      const parent = rows.slice(0, at).findLast((it) => it.level < row.level);
      return { to: parent?.id ?? null };
    }
    default: {
      if (event.key.length !== 1 || event.key === ' ') return null;
      const key = event.key.toLowerCase();
      const next = [...rows.slice(at + 1), ...rows.slice(0, at)].find((it) => it.label.toLowerCase().startsWith(key));
      return { to: next?.id ?? null };
    }
  }
};
