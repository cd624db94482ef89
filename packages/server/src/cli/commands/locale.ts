/** The commands `locale`. A running server sees a new locale at once, and another default within a second. */
import { sql } from 'kysely';
import { ownContext } from '../../accounts/account.js';
import { type EntryType, LOCALE_UID, typeOf } from '../../model/model.js';
import { type Locale, readLocales } from '../../read/locales.js';
import type { Site } from '../../site/site.js';
import { type Db, type Dialect, type ReadProgram, readInside } from '../../sql/dialect.js';
import { codeFault, localeName, storeDefault } from '../locales.js';
import { loadProjectHandlers } from '../project.js';
import { StartFault } from '../start-fault.js';
import { withSite } from '../with-site.js';

export interface LocaleOptions {
  readonly project: string;
}

/** Prints one line per locale, or all as JSON. */
export const listLocalesCommand = ({ project, json }: LocaleOptions & { readonly json: boolean }): Promise<void> =>
  withSite(project, async ({ locales }) => {
    const all = await locales.list();
    if (json) process.stdout.write(`${JSON.stringify(all, null, 2)}\n`);
    else
      for (const it of all) process.stdout.write(`${it.code}  ${it.isDefault ? 'default' : '-'}  ${it.name ?? ''}\n`);
  });

/** @param name as v4 names it by default: `German (de)`. */
export const addLocaleCommand = (
  code: string,
  { project, name }: LocaleOptions & { readonly name?: string | undefined },
): Promise<void> =>
  withSite(project, async (site) => {
    const known = requireCode(code);
    await site.writer.transaction(async (session) => {
      const locales = await readInside(readLocales(dbOf(site).dialect), session.tx);
      if (locales.some((it) => it.code === code)) throw new StartFault(`There already is a locale ${code}.`);
      const data = { code, name: name ?? known };
      const type = typeOf(site.model, LOCALE_UID);
      await site.writer.apply({ action: 'create', type, data }, ownContext(site.accountDeps), session);
    });
    process.stderr.write(`locale ${code} added: ${name ?? known}\n`);
  });

/** The name of the language; refuses a code that is not written as languages are. */
const requireCode = (code: string): string => {
  const fault = codeFault(code);
  if (fault !== null) throw new StartFault(fault);
  return localeName(code) ?? code;
};

export const defaultLocaleCommand = (code: string, { project }: LocaleOptions): Promise<void> =>
  withSite(project, async (site) => {
    const { dialect } = dbOf(site);
    const { name } = await site.writer.transaction(async ({ tx }) => {
      const locale = localeOf(code, await readInside(readLocales(dialect), tx));
      await storeDefault(code, dialect, tx);
      return locale;
    });
    process.stderr.write(`default locale: ${name ?? code}\n`);
  });

/** Removes a locale and its entries, which it deletes as the API does: with their links and components, and with hooks. */
export const removeLocaleCommand = (
  code: string,
  { project, deleteEntries }: LocaleOptions & { readonly deleteEntries: boolean },
): Promise<void> =>
  withSite(
    project,
    async (site) => {
      const db = dbOf(site);
      const removable = (locales: readonly Locale[]): Locale => {
        const locale = localeOf(code, locales);
        if (!locale.isDefault) return locale;
        throw new StartFault(
          `${code} is the default locale. Make another one the default first: locale default <code>`,
        );
      };
      removable(await site.locales.list());
      const types = [...site.model.types.values()].filter((it) => it.localized);
      const counts = await db.read(() => countEntries(types, code, db.dialect));
      const total = counts.reduce((sum, it) => sum + it.count, 0);
      if (total > 0 && !deleteEntries)
        throw new StartFault(
          `The locale ${code} has ${entriesInWords(counts)}.\nNothing was removed. Give --delete-entries to delete them with the locale.`,
        );
      for (const type of types) await deleteEntriesOf(type, code, site);
      await site.writer.transaction(async (session) => {
        const { id } = removable(await readInside(readLocales(db.dialect), session.tx));
        const left = await readInside(countEntries(types, code, db.dialect), session.tx);
        if (left.length > 0)
          throw new StartFault(
            `Meanwhile ${entriesInWords(left)} were added: run the command again to remove ${code}.`,
          );
        const type = typeOf(site.model, LOCALE_UID);
        await site.writer.apply({ action: 'delete', type, id }, ownContext(site.accountDeps), session);
      });
      process.stderr.write(`locale ${code} removed${total > 0 ? ` with ${entriesInWords(counts)}` : ''}\n`);
    },
    { load: loadProjectHandlers },
  );

/** Entries that are deleted in one transaction: a running server writes in between. */
const BATCH = 100;

const deleteEntriesOf = async (type: EntryType, code: string, site: Site): Promise<void> => {
  const { dialect } = dbOf(site);
  const statement = dialect.compile(
    sql`select id from ${sql.table(type.table)} where locale = ${dialect.bind('string', code)} order by id limit ${sql.lit(BATCH)}`,
  );
  for (let isDone = false; !isDone; ) {
    isDone = await site.writer.transaction(async (session) => {
      const rows = await session.tx.run(statement);
      for (const [id] of rows) {
        // the entry of a single type is the one in its locale
        const request =
          type.kind === 'single'
            ? ({ action: 'delete', type, id: null, locale: code } as const)
            : ({ action: 'delete', type, id: id as number } as const);
        await site.writer.apply(request, ownContext(site.accountDeps), session);
      }
      return rows.length < BATCH;
    });
  }
};

interface Count {
  readonly type: EntryType;
  readonly count: number;
}

/** The types with entries in a locale, drafts included. */
function* countEntries(types: readonly EntryType[], code: string, dialect: Dialect): ReadProgram<readonly Count[]> {
  const counts = yield types.map(({ table }) =>
    dialect.compile(sql`select count(*) from ${sql.table(table)} where locale = ${dialect.bind('string', code)}`),
  );
  return types.map((type, i) => ({ type, count: Number(counts[i]?.[0]?.[0]) })).filter((it) => it.count > 0);
}

/** `3 entries: api::note.note 2, api::page.page 1`. */
const entriesInWords = (counts: readonly Count[]): string => {
  const total = counts.reduce((sum, it) => sum + it.count, 0);
  return `${total} ${total === 1 ? 'entry' : 'entries'}: ${counts.map((it) => `${it.type.uid} ${it.count}`).join(', ')}`;
};

const dbOf = ({ accountDeps }: Site): Db => accountDeps.db;

const localeOf = (code: string, locales: readonly Locale[]): Locale => {
  const locale = locales.find((it) => it.code === code);
  if (locale) return locale;
  const codes = locales.flatMap((it) => it.code ?? []);
  throw new StartFault(`There is no locale ${code}. Locales: ${codes.join(', ') || '(none: start the server once)'}`);
};
