/** The locales of a site as v4 stores them: rows of `i18n_locale`, and the code of the default in a setting (LO2, LO10). */
import { sql } from 'kysely';
import { limits } from '../limits.js';
import type { Ready } from '../ready.js';
import { newRecent } from '../single-flight.js';
import {
  type Db,
  type Dialect,
  type ReadProgram,
  type Rows,
  readInside,
  type Statement,
  type Tx,
} from '../sql/dialect.js';

/** As `GET /i18n/locales` shows it. */
export interface Locale {
  readonly id: number;
  readonly name: string | null;
  readonly code: string | null;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly isDefault: boolean;
}

/** v4's default where nothing else is stored. */
const FIRST_LOCALE = 'en';

export const DEFAULT_LOCALE_KEY = 'plugin_i18n_default_locale';

export interface LocaleStore {
  /** The code of the default locale: as it was at most `limits.permissionsMsMax` ago, or as the transaction sees it. */
  defaultCode(tx?: Tx): Ready<string>;
  /** All locales, by id; as the transaction sees them, if there is one. */
  list(tx?: Tx): Promise<readonly Locale[]>;
}

/** @param now milliseconds, monotonic. */
export const newLocaleStore = (db: Db, now: () => number): LocaleStore => {
  const { dialect } = db;
  const recent = newRecent(() => db.readSmall(() => readDefaultCode(dialect)), limits.permissionsMsMax, now);
  return {
    defaultCode: (tx) => (tx ? readInside(readDefaultCode(dialect), tx) : recent.current()),
    list: (tx) => (tx ? readInside(readLocales(dialect), tx) : db.read(() => readLocales(dialect))),
  };
};

export function* readDefaultCode(dialect: Dialect): ReadProgram<string> {
  const [rows = []] = yield [settingStatement(dialect)];
  return codeOf(rows);
}

export function* readLocales(dialect: Dialect): ReadProgram<readonly Locale[]> {
  const time = (name: string) => dialect.jsonValue('instant', sql`${sql.ref(`l.${name}`)}`);
  const statement = dialect.compile(
    sql`select l.id, l.name, l.code, ${time('created_at')}, ${time('updated_at')} from i18n_locale l order by l.id`,
  );
  const [setting = [], rows = []] = yield [settingStatement(dialect), statement];
  const defaultCode = codeOf(setting);
  return (rows as readonly (readonly [number, ...(string | null)[]])[]).map(
    ([id, name = null, code = null, createdAt = null, updatedAt = null]) => ({
      id,
      name,
      code,
      createdAt,
      updatedAt,
      isDefault: code === defaultCode,
    }),
  );
}

/** The key is not unique; the reference takes the first. */
const settingStatement = (dialect: Dialect): Statement =>
  dialect.compile(
    sql`select value from strapi_core_store_settings where ${sql.ref('key')} = ${dialect.bind('string', DEFAULT_LOCALE_KEY)} order by id limit 1`,
  );

const codeOf = ([row]: Rows): string => {
  try {
    const code: unknown = JSON.parse(String(row?.[0]));
    return typeof code === 'string' ? code : FIRST_LOCALE;
  } catch {
    return FIRST_LOCALE;
  }
};
