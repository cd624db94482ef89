/** Dates in data and conditions of code, which v4 stores as what they are where the server is. */
import isPlainObject from 'lodash/isPlainObject.js';
import { type ScalarTypeName, scalarTypes } from '../../model/attributes.js';
import type { EntryType, Model, ScalarAttribute } from '../../model/model.js';
import { placesOf } from '../../write/places.js';
import type { Members } from '../loading/parts.js';

const two = (value: number): string => String(value).padStart(2, '0');

export const dayOf = (date: Date): string => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;

export const timeOf = (date: Date): string =>
  `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`;

const isDate = (value: unknown): value is Date => value instanceof Date && !Number.isNaN(value.getTime());

/** A day or a time of day as its text; an instant stays a date. */
const asStored = (date: Date, type: ScalarTypeName): Date | string => {
  const { column } = scalarTypes[type];
  if (column === 'date') return dayOf(date);
  return column === 'time' ? timeOf(date) : date;
};

/** An object of conditions. Any other is refused, as it is. */
export const isPlainCondition = (given: unknown): given is Members =>
  isPlainObject(given) && Object.getOwnPropertySymbols(given).length === 0;

/** A condition on an attribute of the type: a value, a list, or operators. */
export const conditionDates = (condition: unknown, type: ScalarTypeName): unknown => {
  if (isDate(condition)) return asStored(condition, type);
  if (Array.isArray(condition)) return condition.map((it) => conditionDates(it, type));
  if (!isPlainCondition(condition)) return condition;
  return Object.fromEntries(Object.entries(condition).map(([name, it]) => [name, conditionDates(it, type)]));
};

/** The dates that code gave for attributes, with where they stand in a copy that is JSON. */
function* datesIn(copy: Members, given: Members, type: EntryType, model: Model) {
  const at = (path: readonly string[]): string => path.join('.');
  const originals = new Map([...placesOf(given, type, model)].map((it) => [at(it.path), it]));
  for (const place of placesOf(copy, type, model)) {
    const original = originals.get(at(place.path));
    // the copy of a new locale has components of the others
    if (original?.type !== place.type) continue;
    for (const [name, value] of Object.entries(original.data)) {
      const attribute = place.type.attributes.get(name);
      if (isDate(value) && attribute?.kind === 'scalar')
        yield { holder: place.data as Record<string, unknown>, attribute, date: value };
    }
  }
}

/** Writes days and times of day into the copy, of which JSON has made instants. */
export const storeLocalDates = (copy: Members, given: Members, type: EntryType, model: Model): void => {
  for (const { holder, attribute, date } of datesIn(copy, given, type, model)) {
    const stored = asStored(date, attribute.type);
    if (typeof stored === 'string') holder[attribute.name] = stored;
  }
};

/** Puts the dates of code back into a copy, for hooks, which find them as they were given. */
export const keepDates = (copy: Members, given: Members, type: EntryType, model: Model): void => {
  for (const { holder, attribute, date } of datesIn(copy, given, type, model))
    if (isOfTime(attribute)) holder[attribute.name] = new Date(date);
};

const isOfTime = ({ type }: ScalarAttribute): boolean =>
  ['date', 'time', 'datetime'].includes(scalarTypes[type].column);
