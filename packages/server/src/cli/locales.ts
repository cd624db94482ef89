/** Stores locales as v4's admin panel does. */
import { sql } from 'kysely';
import { DEFAULT_LOCALE_KEY, readDefaultCode, readLocales } from '../read/locales.js';
import { type Db, type Dialect, readInside, type Tx } from '../sql/dialect.js';

/** v4's name of a locale, `Portuguese (Brazil) (pt-BR)`; null if the language is unknown. */
export const localeName = (code: string): string | null => {
  const names = new Intl.DisplayNames('en', { type: 'language', languageDisplay: 'standard', fallback: 'none' });
  try {
    const name = names.of(code);
    return name === undefined ? null : `${name} (${code})`;
  } catch {
    return null;
  }
};

/** What is wrong with a locale's code, if anything: languages are written in one way, and codes are compared as they are written. */
export const codeFault = (code: string): string | null => {
  if (localeName(code) === null) return `"${code}" is not a locale code; expected one such as de, pt-BR or zh-Hans`;
  const [canonical = code] = Intl.getCanonicalLocales(code);
  return canonical === code ? null : `${code} is written ${canonical}.`;
};

/** As in v4, a database without locales gets one at the start: the default. */
export const prepareLocales = async (db: Db): Promise<void> => {
  if ((await db.read(() => readLocales(db.dialect))).length > 0) return;
  await db.writeAlone((tx) => createLocales(null, db.dialect, tx));
};

/**
 * Creates the locales that are missing.
 * @param codes the default first; null for the default alone, if there are no locales at all.
 */
export const createLocales = async (codes: readonly string[] | null, dialect: Dialect, tx: Tx): Promise<void> => {
  const existing = await readInside(readLocales(dialect), tx);
  // another process may have been first
  if (codes === null && existing.length > 0) return;
  const [code = await readInside(readDefaultCode(dialect), tx), ...others] = codes ?? [];
  const now = dialect.bind('datetime', Date.now());
  for (const it of [code, ...others].filter((one) => !existing.some((locale) => locale.code === one)))
    await tx.run(
      dialect.compile(
        sql`insert into i18n_locale (name, code, created_at, updated_at) values (${localeName(it) ?? it}, ${it}, ${now}, ${now})`,
      ),
    );
  await storeDefault(code, dialect, tx);
};

/** Makes a locale the default. */
export const storeDefault = async (code: string, dialect: Dialect, tx: Tx): Promise<void> => {
  const key = sql`${sql.ref('key')} = ${DEFAULT_LOCALE_KEY}`;
  const value = JSON.stringify(code);
  const [row] = await tx.run(dialect.compile(sql`select id from strapi_core_store_settings where ${key} limit 1`));
  await tx.run(
    dialect.compile(
      row
        ? sql`update strapi_core_store_settings set value = ${value} where ${key}`
        : sql`insert into strapi_core_store_settings (${sql.ref('key')}, value, type) values (${DEFAULT_LOCALE_KEY}, ${value}, 'string')`,
    ),
  );
};
