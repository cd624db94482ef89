/** The query of a window: a part of one entry's relation list, in the order of the list (SU2). */
import { ok, type Result } from '../errors.js';
import { type EntryType, type LinkAttribute, type PartAttribute, typeOf, type Uid } from '../model/model.js';
import { allOf } from './filters.js';
import { boundsOf } from './page.js';
import type { RawQuery } from './raw.js';
import { type ResolveContext, resolveQuery } from './resolve.js';
import { beginResolving, refuse } from './resolving.js';
import type { Filter, Gate, Page, Query } from './selection.js';
import { ignoreLocale, resolveLocale } from './state.js';

/** A component on the way from an entry to a list. */
export interface PartStep {
  readonly attribute: PartAttribute;
  readonly component: Uid;
  readonly id: number;
}

/** Where a list is: in the entry itself, or in a component of it. */
export interface ListPlace {
  /** From the entry down to the component that has the list; empty for a list of the entry. */
  readonly parts: readonly PartStep[];
  readonly attribute: LinkAttribute;
}

export interface WindowQuery {
  /** The entries of the list; its page is an offset, it has no sort, and no condition on the locale. */
  readonly entries: Query & { readonly page: Extract<Page, { kind: 'offset' }> };
  /** Which entries of the list the caller may see: a condition, or null for all. */
  readonly seen: Filter | null;
  /** The same of the entry that has the list, with the locale of a single type, whose path has no id. */
  readonly owner: Filter | null;
}

/** Resolves the parameters of a list on the target of the attribute. Issues carry the bracket path of the parameter. */
export const resolveWindow = (
  raw: RawQuery,
  type: EntryType,
  attribute: LinkAttribute,
  context: ResolveContext,
): Result<WindowQuery> => {
  const resolving = beginResolving(context);
  if (raw.has('sort')) refuse(resolving, 'query.window-sort', ['sort']);
  const ownerLocale = type.kind === 'single' ? resolveLocale(resolving, type, raw.get('locale')) : null;
  // an entry has one list in each locale
  if (ownerLocale?.isEvery) refuse(resolving, 'query.window-locale', ['locale']);
  if (type.kind !== 'single' && raw.has('locale')) ignoreLocale(resolving, type);
  const ofList = new Map([...raw].filter(([name]) => name !== 'sort' && name !== 'locale'));
  const target = typeOf(context.model, attribute.target);
  const { gate } = context;
  const entriesOf = gate.entries;
  // apart from the filter: what is hidden from the caller has no place in the list
  const ofAll: Gate = entriesOf
    ? { ...gate, entries: (it, place) => (place === 'root' ? null : entriesOf(it, place)) }
    : gate;
  const resolved = resolveQuery(ofList, target, 'find', { ...context, gate: ofAll });
  if (resolving.issues.length > 0)
    return { ok: false, issues: [...resolving.issues, ...(resolved.ok ? [] : resolved.issues)] };
  if (!resolved.ok) return resolved;
  const query = resolved.value;
  const { limit, offset } = boundsOf(query.page);
  return ok({
    entries: {
      ...query,
      // a list may lead to entries of several locales, and shows them all
      locale: null,
      page: { kind: 'offset', start: offset, limit },
      leftOut: [...resolving.leftOut, ...query.leftOut],
    },
    seen: entriesOf?.(target, 'nested') ?? null,
    owner: allOf([ownerLocale?.filter ?? null, entriesOf?.(type, 'root') ?? null]),
  });
};
