/** Numbers that the database has stored with fewer digits than were sent. */
import { isSameNumber } from '../form/digits.js';
import type { FieldPath, Fields } from '../form/fields.js';
import { pathTo } from '../form/paths.js';

export interface Rounded {
  readonly path: FieldPath;
  readonly sent: string;
  readonly stored: string;
}

/** Components are compared by their places, because their keys are new. */
export const roundedNumbers = (sent: Fields, stored: Fields, at: FieldPath = ''): readonly Rounded[] =>
  Object.entries(sent).flatMap(([name, field]): readonly Rounded[] => {
    const now = stored[name];
    const path = pathTo(at, name);
    if (field.kind === 'scalar' && now?.kind === 'scalar' && typeof now.value === 'number') {
      const text = String(field.value);
      return isSameNumber(text, String(now.value)) ? [] : [{ path, sent: text, stored: String(now.value) }];
    }
    if (field.kind !== 'parts' || now?.kind !== 'parts') return [];
    return field.parts.flatMap((part, i) => {
      const other = now.parts[i];
      return other?.component === part.component
        ? roundedNumbers(part.fields, other.fields, `${path}/${part.key}`)
        : [];
    });
  });
