/** Queries as text. */

export type QueryValue =
  | string
  | number
  | boolean
  | Date
  | null
  | undefined
  | readonly QueryValue[]
  | { readonly [name: string]: QueryValue };

/**
 * The query string of a query, without `?`: `fields[0]=title&filters[views][$gt]=5`. Members that are undefined, and
 * empty lists and objects, are left out, but what is populated without options is `true`; null is refused, because no
 * parameter is written so.
 */
export const encodeQuery = (query: object): string => {
  const pairs: string[] = [];
  const add = (key: string, value: QueryValue): void => {
    if (value === undefined) return;
    if (value === null) throw new TypeError(`${key} is null; compare with $null`);
    if (value instanceof Date) pairs.push(`${key}=${encodeURIComponent(value.toISOString())}`);
    else if (typeof value !== 'object') pairs.push(`${key}=${encodeURIComponent(String(value))}`);
    else
      for (const [name, member] of Object.entries(value)) {
        const place = key === '' ? encodeURIComponent(name) : `${key}[${encodeURIComponent(name)}]`;
        const count = pairs.length;
        add(place, member);
        if (pairs.length === count && isOptions(member) && holdsPopulated(key)) pairs.push(`${place}=true`);
      }
  };
  add('', query as QueryValue);
  return pairs.join('&');
};

const isOptions = (value: QueryValue): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether the members of this object are attributes that are populated, or components of a zone. */
const holdsPopulated = (key: string): boolean =>
  /^populate(\[[^\]]+\](\[on\]\[[^\]]+\])?\[populate\])*(\[[^\]]+\]\[on\])?$/.test(key);
