/** Keeps secrets out of what `adopt` prints: reports are pasted into tickets and kept by CI. */

const HIDDEN = '…';
const secretName =
  /pass(word|wd|phrase)?$|secret|token|salt|credential|(^|[^a-z])auth$|private_?key|api_?key|access_?key|_keys?$|^keys?$/i;

/** Shorter ones are left, as they would be found in any word. */
const SECRET_CHARACTERS_MIN = 4;

export interface Hide {
  /** Without the secrets that are known, and without credentials in URLs. */
  readonly text: (text: string) => string;
  /** A setting without credentials in URLs, and without what is named like a secret. Equal texts stay: a bucket may be named like a password. */
  readonly value: (value: unknown) => unknown;
  /** The same of a setting with a path: `ratelimit.password`. */
  readonly setting: (name: string, value: unknown) => unknown;
}

/** @param known values by name, nested or not: variables of the environment, the configuration. Those named like secrets count. */
export const hideSecrets = (...known: readonly unknown[]): Hide => {
  // the longest first: one may contain another
  const secrets = [...new Set(known.flatMap((it) => secretsIn(it, false)))].sort((a, b) => b.length - a.length);
  const text = (given: string): string =>
    withoutCredentials(secrets.reduce((all, it) => all.replaceAll(it, HIDDEN), given));
  const value = (given: unknown): unknown => {
    if (typeof given === 'string') return withoutCredentials(given);
    if (Array.isArray(given)) return given.map(value);
    if (given === null || typeof given !== 'object') return given;
    return Object.fromEntries(
      Object.entries(given).map(([name, it]) => [name, secretName.test(name) && isText(it) ? HIDDEN : value(it)]),
    );
  };
  const setting = (name: string, given: unknown): unknown => {
    const last = name.split('.').at(-1) ?? name;
    return (value({ [last]: given }) as Readonly<Record<string, unknown>>)[last];
  };
  return { text, value, setting };
};

const isText = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number';

const secretsIn = (value: unknown, isSecret: boolean): readonly string[] => {
  if (typeof value === 'string') return isSecret && value.length >= SECRET_CHARACTERS_MIN ? [value] : [];
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, it]) =>
    secretsIn(it, secretName.test(name) || (isSecret && Array.isArray(value))),
  );
};

/** `https://…@example.com` */
const withoutCredentials = (text: string): string =>
  text.replace(/(\w:\/\/)[^\s/?#"'@]+(?:@[^\s/?#"'@]+)*@/g, `$1${HIDDEN}@`);

/** A URL of an access log, without the values of parameters that let somebody in. */
export const withoutTokens = (url: string): string =>
  url.replace(/([?&][^=&]*(?:token|secret|password|jwt|api_?key|signature)[^=&]*=)[^&#\s]*/gi, `$1${HIDDEN}`);
