/** Dates and times that are only partly filled in: the browser has no value for them, so neither has the form. */
import { elementId } from '../fields/form-context.js';
import type { Unsendable } from '../form/body.js';
import type { FieldPath, Fields } from '../form/fields.js';
import { pathTo } from '../form/paths.js';

/** Those that are on the page; each shows its message from now on. */
export const incompleteIn = (fields: Fields, path: FieldPath = ''): readonly Unsendable[] =>
  Object.entries(fields).flatMap(([name, field]): readonly Unsendable[] => {
    const at = pathTo(path, name);
    if (field.kind === 'scalar') return isIncomplete(at) ? [{ kind: 'incomplete', path: at }] : [];
    if (field.kind !== 'parts') return [];
    return field.parts.flatMap((part) => incompleteIn(part.fields, `${at}/${part.key}`));
  });

/** Empties their inputs, which the form cannot do: to it they have no value already. */
export const emptyIncomplete = (fields: Fields): void => {
  for (const { path } of incompleteIn(fields)) {
    const input = inputOf(path)!;
    input.value = '';
    // makes its control check again, and drop its message
    input.dispatchEvent(new Event('invalid'));
  }
};

const isIncomplete = (path: FieldPath): boolean => {
  const input = inputOf(path);
  // the check tells the input that it is invalid
  return input?.validity.badInput === true && !input.checkValidity();
};

const inputOf = (path: FieldPath): HTMLInputElement | null => {
  const found = document.getElementById(elementId(path));
  return found instanceof HTMLInputElement ? found : null;
};
