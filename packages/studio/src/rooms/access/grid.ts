/** The rows of the grid: types and plugins, each with its actions. */
import { type Action, partsOf, subjectOf } from './grants.js';

/** What the grid needs to know of a type. */
interface GridType {
  readonly uid: string;
  readonly displayName: string;
  readonly plural: string;
}

export interface Section {
  /** The uid of the type, or `plugin::upload.content-api`. */
  readonly subject: string;
  readonly kind: 'content' | 'plugin';
  readonly label: string;
  readonly actions: readonly Action[];
}

/** In the order of the actions, which has the project's types first. */
export const sectionsOf = (actions: readonly Action[], types: readonly GridType[]): readonly Section[] => {
  const typeOf = new Map(types.map((it) => [it.uid, it]));
  const bySubject = new Map<string, Action[]>();
  for (const action of actions) {
    const subject = subjectOf(action);
    const own = bySubject.get(subject);
    if (own) own.push(action);
    else bySubject.set(subject, [action]);
  }
  return [...bySubject].map(([subject, own]) => {
    const isPlugin = subject.startsWith('plugin::');
    const label = isPlugin ? pluginLabel(subject) : (typeOf.get(subject)?.displayName ?? subject);
    return { subject, kind: isPlugin ? 'plugin' : 'content', label, actions: own };
  });
};

/** `users-permissions · auth` of `plugin::users-permissions.auth`. */
const pluginLabel = (subject: string): string => {
  const [owner = '', controller = ''] = subject.split('.');
  return `${owner.replace(/^plugin::/, '')} · ${controller}`;
};

export type Shown = 'all' | 'changed' | 'granted';

export interface GridFilter {
  /** Words; a row has all of them in its type, uid or action. */
  readonly text: string;
  readonly shown: Shown;
}

/** @param isMarked whether any role is granted the action, or has it changed, as `shown` asks. */
export const filtered = (
  sections: readonly Section[],
  { text, shown }: GridFilter,
  isMarked: (action: Action) => boolean,
): readonly Section[] => {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return sections.flatMap((section) => {
    const actions = section.actions.filter((action) => {
      if (shown !== 'all' && !isMarked(action)) return false;
      const name = `${section.label} ${action}`.toLowerCase();
      return words.every((it) => name.includes(it));
    });
    return actions.length === 0 ? [] : [{ ...section, actions }];
  });
};

type Tri = 'all' | 'some' | 'none';

export const triOf = (actions: readonly Action[], isGranted: (action: Action) => boolean): Tri => {
  const count = actions.filter(isGranted).length;
  return count === 0 ? 'none' : count === actions.length ? 'all' : 'some';
};

/** A cell of the grid, and where an arrow key leads from it: over the border of a section, never out of the grid. */
export const neighbour = (
  key: string,
  at: { readonly row: number; readonly column: number },
  size: { readonly rows: number; readonly columns: number },
): { readonly row: number; readonly column: number } | null => {
  const bounded = (value: number, count: number): number => Math.max(0, Math.min(count - 1, value));
  const moved = (row: number, column: number) => ({
    row: bounded(row, size.rows),
    column: bounded(column, size.columns),
  });
  switch (key) {
    case 'ArrowUp':
      return moved(at.row - 1, at.column);
    case 'ArrowDown':
      return moved(at.row + 1, at.column);
    case 'ArrowLeft':
      return moved(at.row, at.column - 1);
    case 'ArrowRight':
      return moved(at.row, at.column + 1);
    case 'Home':
      return moved(at.row, 0);
    case 'End':
      return moved(at.row, size.columns - 1);
    case 'PageUp':
      return moved(at.row - 10, at.column);
    case 'PageDown':
      return moved(at.row + 10, at.column);
    default:
      return null;
  }
};

export const actionName = (action: Action): string => partsOf(action).name;
