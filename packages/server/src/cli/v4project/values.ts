/** Reads values of v4's configuration, which anybody may have written. */

export type Plain = Readonly<Record<string, unknown>>;

export const isPlain = (value: unknown): value is Plain =>
  value !== null && typeof value === 'object' && !Array.isArray(value) && !Buffer.isBuffer(value);

export const valueAt = (value: unknown, key: string): unknown =>
  value !== null && typeof value === 'object' ? (value as Plain)[key] : undefined;

/** An empty object where there is none. */
export const objectAt = (value: unknown, ...keys: readonly string[]): Plain => {
  const found = keys.reduce(valueAt, value);
  return isPlain(found) ? found : {};
};

/** Numbers as text; null for what is neither, or empty. */
export const textOf = (value: unknown): string | null => {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  return typeof value === 'string' && value !== '' ? value : null;
};

export const textAt = (value: unknown, key: string): string | null => textOf(valueAt(value, key));

/** A list of texts; a text alone is a list of one or, with commas, of several. */
export const listOf = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return value.split(',').map((it) => it.trim());
  return Array.isArray(value) ? value.filter((it): it is string => typeof it === 'string') : [];
};

/** What an entry of `config/middlewares` is called: its name, or what it resolves to; an empty text if it says neither. */
export const nameOfMiddleware = (entry: unknown): string =>
  typeof entry === 'string' ? entry : (textAt(entry, 'name') ?? textAt(entry, 'resolve') ?? '');
