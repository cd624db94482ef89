/** The columns that somebody has chosen, kept in the browser for each type. */
import { useLocalStorage } from '@mantine/hooks';
import type { Type } from '../../../model/model.js';
import { columnsOf, defaultColumns } from './list-state.js';

export const useColumns = (type: Type): readonly [readonly string[], (next: readonly string[] | null) => void] => {
  const [kept, keep] = useLocalStorage<readonly string[] | null>({
    key: `dovetail.columns.${type.uid}`,
    defaultValue: null,
    getInitialValueInEffect: false,
  });
  // a column may be gone since: the model changes
  const able = new Set(columnsOf(type).map(({ name }) => name));
  const chosen = Array.isArray(kept) ? kept.filter((it) => able.has(it)) : null;
  return [chosen === null || chosen.length === 0 ? defaultColumns(type) : chosen, keep];
};
