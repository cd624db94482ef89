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

/** As in v4, a database without locales gets one at the start: the default. */
export const prepareLocales = async (db: Db): Promise<void> => {
  const { dialect } = db;
  const isEmpty = (locales: readonly unknown[]): boolean => locales.length === 0;
  if (!isEmpty(await db.read(() => readLocales(dialect)))) return;
  await db.writeAlone(async (tx) => {
    // another process may have been first
    if (!isEmpty(await readInside(readLocales(dialect), tx))) return;
    const code = await readInside(readDefaultCode(dialect), tx);
    const now = dialect.bind('datetime', Date.now());
    await tx.run(
      dialect.compile(
        sql`insert into i18n_locale (name, code, created_at, updated_at) values (${localeName(code) ?? code}, ${code}, ${now}, ${now})`,
      ),
    );
    await storeDefault(code, dialect, tx);
  });
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
