/**
 * What a statement returns in one row, joined by commas. Entries that come so stay the bytes that the database has: a row for
 * each, whose texts are decoded and encoded again, took a tenth of the time of a large response.
 */
import { freeBytes } from '../memory.js';
import type { Rows } from '../sql/dialect.js';

/** Numbers as a statement joins them. */
export type Joined = string | number | null;
export const numbersIn = (joined: Joined): readonly number[] =>
  joined === null || joined === '' ? [] : String(joined).split(',').map(Number);

/** What a row of an entry consists of: its id, its texts, and perhaps its place among the others. */
export interface EntryColumns {
  readonly texts: number;
  readonly hasPlaces: boolean;
}

/** In place of what a statement does not render (`nul` of `JsonTexts`). */
export const UNRENDERED = 0;

/**
 * The rows again, their texts with a character for each byte; null if not all are rendered. Consumes the bytes.
 * @param joined the only row: texts, ids, bytes of each text, places. All are null if there is no entry.
 */
export const rowsIn = (joined: Rows, { texts, hasPlaces }: EntryColumns): Rows | null => {
  const [[bytes = null, ids = null, sizes = null, places = null] = []] = joined as readonly [
    (readonly [Buffer | null, Joined, Joined, Joined])?,
  ];
  if (bytes === null) return [];
  if (bytes.includes(UNRENDERED)) return null;
  const sizeOf = numbersIn(sizes);
  const placeOf = hasPlaces ? numbersIn(places) : [];
  let at = 0;
  const rows = numbersIn(ids).map((id, i) => {
    const cells: (number | string)[] = [id];
    for (const size of sizeOf.slice(i * texts, (i + 1) * texts)) {
      cells.push(bytes.toString('latin1', at, at + size));
      at += size;
    }
    // the comma
    at += 1;
    if (hasPlaces) cells.push(placeOf[i]!);
    return cells;
  });
  freeBytes(bytes);
  return rows;
};

/** A text with a character for each of its bytes in UTF-8. */
export const byteText = (text: string): string => Buffer.from(text).toString('latin1');
