/** Locales of writes: which locale an entry is in, and what of a request cannot change it (LO4). */
import { sql } from 'kysely';
import { issue, refuse, unwrap } from '../errors.js';
import { type EntryType, LOCALE_UID, typeOf } from '../model/model.js';
import type { LeftOut } from '../query/lenient.js';
import { type QuerySource, shapeOf } from '../query/raw.js';
import type { ResolveContext } from '../query/resolve.js';
import type { Dialect, Tx } from '../sql/dialect.js';

interface LocaleContext {
  readonly context: ResolveContext;
  readonly dialect: Dialect;
  readonly tx: Tx;
}

// ---- what a request says

/** `locale` of a write's query: which entry of a single type it writes; null for others, on which it has no effect. */
export const readQueryLocale = (type: EntryType, query: QuerySource): string | null => {
  const node = type.localized && type.kind === 'single' ? unwrap(query.read()).get('locale') : undefined;
  if (!node) return null;
  const shape = shapeOf(node);
  return shape.kind === 'text' ? shape.text : refuse(issue('query.expected-text', ['locale']));
};

/** Keys of the data that have no effect, because an entry keeps its locale and its siblings. @param locale undefined if the data decides. */
export const ignoredKeys = (
  type: EntryType,
  data: Readonly<Record<string, unknown>>,
  locale: string | null | undefined,
): readonly LeftOut[] => {
  if (!type.localized) return [];
  const isKept = locale !== undefined && data['locale'] !== undefined && data['locale'] !== locale;
  return [
    ...(isKept ? [{ name: 'data.locale', issue: issue('body.locale-kept', ['locale']) }] : []),
    ...(data['localizations'] === undefined
      ? []
      : [{ name: 'data.localizations', issue: issue('body.localizations', ['localizations']) }]),
  ];
};

// ---- new entries

/** The locale of a new entry: the one given, or the default. Refuses one that does not exist. */
export const localeOfNew = async (
  given: unknown,
  { context: { model, defaultLocale }, dialect, tx }: LocaleContext,
): Promise<string | null> => {
  if (given === undefined || given === null || given === defaultLocale) return defaultLocale;
  if (Array.isArray(given)) return refuse(issue('body.type', ['locale'], { expected: 'string', value: given }));
  const { table } = typeOf(model, LOCALE_UID);
  const isKnown =
    typeof given === 'string' &&
    (
      await tx.run(
        dialect.compile(sql`select 1 from ${sql.table(table)} where code = ${dialect.bind('string', given)} limit 1`),
      )
    ).length > 0;
  return isKnown ? given : refuse(issue('body.locale', ['locale'], { value: given }));
};
