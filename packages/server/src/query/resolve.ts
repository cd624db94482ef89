/**
 * `RawQuery` to `Query`: names of a request become attributes, texts become values. Nothing else can build a `Selection`,
 * so what the gate hides here cannot be selected, filtered or sorted by anywhere. Each parameter has its own file.
 * All issues of a request are collected; strict by default (Q13).
 */
import { type Issue, issue, ok, type Result } from '../errors.js';
import type { EntryType } from '../model/model.js';
import { resolveFields } from './fields.js';
import { allOf, resolveFilters, resolveSearch } from './filters.js';
import { leaveOut } from './lenient.js';
import { resolvePage } from './page.js';
import { parameterName } from './parameters.js';
import { resolvePopulate } from './populate.js';
import type { RawQuery } from './raw.js';
import { beginResolving, newDraft, type ResolveContext, type Resolving, refuse } from './resolving.js';
import type { Query, ReadAction } from './selection.js';
import { resolveSort } from './sort.js';
import { ignoreLocale, type LocaleChoice, resolveLocale, resolveState } from './state.js';

export type { ResolveContext } from './resolving.js';

/** Resolves a read of `type`. Issues carry the bracket path of the parameter. */
export const resolveQuery = (
  raw: RawQuery,
  type: EntryType,
  action: ReadAction,
  context: ResolveContext,
): Result<Query> => {
  const resolving = beginResolving(context);
  const isList = action === 'find';
  for (const name of raw.keys()) checkParameter(resolving, name, isList);
  const state = resolveState(resolving, raw, []) ?? 'live';
  const root = newDraft(resolving, type, state, 'root');
  const fields = raw.get('fields');
  if (fields) resolveFields(resolving, [root], fields, ['fields']);
  const populate = raw.get('populate');
  if (populate) resolvePopulate(resolving, root, populate);
  const filters = raw.get('filters');
  const filter = filters ? resolveFilters(resolving, type, state, filters, ['filters']) : null;
  const sort = raw.get('sort');
  const keys = sort ? resolveSort(resolving, type, state, sort, ['sort']) : [];
  const { page, blank, withCount } = isList
    ? resolvePage(resolving, raw.get('pagination'))
    : { page: null, blank: null, withCount: false };
  let locale: LocaleChoice = { filter: null, isEvery: false };
  // one entry by id: filters and sort are checked but have no effect (SO8)
  if (action !== 'findOne') {
    const search = isList ? resolveSearch(resolving, type, raw.get('_q')) : null;
    locale = resolveLocale(resolving, type, raw.get('locale'));
    root.filter = allOf([root.seen, filter, search]);
    root.sort = keys;
  } else if (raw.has('locale') && !(type.localized && type.kind === 'single')) ignoreLocale(resolving, type);
  return resolving.issues.length > 0
    ? { ok: false, issues: inPathOrder(resolving.issues) }
    : ok({
        action,
        format: context.format ?? 'v4',
        selection: root,
        locale: locale.filter,
        page: locale.isEvery && !isList ? { kind: 'every' } : page,
        pageBlank: blank,
        withCount,
        leftOut: resolving.leftOut,
        hidden: [...resolving.hidden.values()],
      });
};

const checkParameter = (resolving: Resolving, name: string, isList: boolean): void => {
  const given = parameterName(name, resolving.format);
  switch (given.kind) {
    case 'known':
    case 'other':
      return;
    case 'misplaced':
      if (isList) refuse(resolving, 'pagination.top-level', [name], { name });
      return;
    case 'near':
      leaveOut(resolving, issue('query.unknown-parameter', [name], { name, near: given.meant }));
      return;
    case 'malformed':
      if (given.ignoredByV4) leaveOut(resolving, issue('query.malformed-key', [name], { key: name }));
      else refuse(resolving, 'query.malformed-key', [name], { key: name });
  }
};

/** Without duplicates, ordered by path. */
const inPathOrder = (issues: readonly Issue[]): readonly Issue[] => {
  const placeOf = (it: Issue): string => `${it.path.join('\n')}\n${it.code}`;
  const distinct = new Map(issues.map((it) => [`${placeOf(it)}\n${JSON.stringify(it.facts)}`, it]));
  return [...distinct.values()]
    .map((it) => ({ place: placeOf(it), it }))
    .sort((a, b) => (a.place < b.place ? -1 : a.place > b.place ? 1 : 0))
    .map(({ it }) => it);
};
