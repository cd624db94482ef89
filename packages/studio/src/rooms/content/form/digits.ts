/** Numbers of JSON that have more digits than a browser's numbers hold: they are kept as they are written, and never altered. */

/** Strings and numbers of a JSON text. */
const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Begins the text of such a number where JSON was read; no text of an entry does, because it has no private characters. */
const MARK = '\u{F0D0E}number ';

/** Digits without zeros at the ends, and the power of ten of the last one. */
const exactOf = (number: string): string => {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^\+?(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  if (kept === '') return '0';
  return `${sign}${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`;
};

/** Whether a number reads back as it is written. */
const isExact = (number: string): boolean => exactOf(number) === exactOf(String(Number(number)));

/** Whether two texts are the same number: `+5`, `.5` and `0x10` too, which the server reads as numbers. */
export const isSameNumber = (a: string, b: string): boolean => exactOf(decimal(a)) === exactOf(decimal(b));

const decimal = (text: string): string => (/^0[xob]/i.test(text) ? String(Number(text)) : text);

/** The first number of a JSON text that cannot be held; null for none. */
export const inexactNumber = (json: string): string | null =>
  json.match(tokens)?.find((it) => !it.startsWith('"') && !isExact(it)) ?? null;

/** Why a text cannot be sent: the number in it that would lose digits, or null if it is not JSON. */
export const inexactIn = (text: string): string | null => {
  try {
    JSON.parse(text);
    return inexactNumber(text);
  } catch {
    return null;
  }
};

/** The JSON read with such numbers as marked texts; null if it has none. */
export const withMarks = (json: string): unknown => {
  if (inexactNumber(json) === null) return null;
  const marked = json.replace(tokens, (it) => (it.startsWith('"') || isExact(it) ? it : JSON.stringify(MARK + it)));
  return JSON.parse(marked);
};

export const isMarked = (value: unknown): value is string => typeof value === 'string' && value.startsWith(MARK);

export const unmarked = (text: string): string => text.slice(MARK.length);

/** A value that was read with marks, as text: the digits are those of the server. Null if it has none. */
export const exactText = (value: unknown): string | null => {
  const text = JSON.stringify(value, null, 2);
  return text.includes(MARK)
    ? text.replace(tokens, (it) => (it.startsWith(`"${MARK}`) ? unmarked(it.slice(1, -1)) : it))
    : null;
};
