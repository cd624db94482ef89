/**
 * The rows of the tree: computed from request and model, those inside of a row when it is open. A row knows where it stands in
 * the query, so that faults of the server find it.
 */
import type { Attribute, Model, Type } from '../../../model/model.js';
import { writeSearch } from './brackets.js';
import { fragmentPlace, fragmentsOf, isOfAnyType, populatesAll, strategyOf } from './edits.js';
import { countOf, viewFilter } from './filters.js';
import { isList, isMembers, type Members, memberOf, type Node, noMembers, type Path } from './node.js';
import {
  nestedOptions,
  readFields,
  readLocale,
  readPaging,
  readPopulate,
  readSort,
  readState,
  rootOptions,
  type SortKey,
  type State,
} from './options.js';
import {
  type Ground,
  isMixed,
  nestedOf,
  optionsAt,
  type Place,
  pathOf,
  scalarsOf,
  typesAt,
  typesBehind,
  uidOfStep,
} from './place.js';
import type { Request } from './request.js';

interface Row {
  /** Unique, and the same as long as the row means the same. */
  readonly id: string;
  /** 1 for the root. */
  readonly level: number;
  /** The place whose options the row belongs to; of places themselves: theirs. */
  readonly place: Place;
  /** Where in the query it is written. */
  readonly path: Path;
}

export type Item = Row &
  (
    | {
        readonly kind: 'place';
        /** Null for the root and for fragments. */
        readonly attribute: Attribute | null;
        /** Of fragments. */
        readonly uid: string | null;
        readonly types: readonly Type[];
        readonly checked: boolean;
        /** Null if there is nothing inside. */
        readonly expanded: boolean | null;
        /** The permission that would open it; empty if none would. Null: it is open. */
        readonly lockedBy: string | null;
        readonly summary: Summary;
      }
    /** Every field, because none is named. */
    | { readonly kind: 'fields'; readonly checked: boolean; readonly count: number }
    | {
        readonly kind: 'field';
        readonly name: string;
        readonly checked: boolean;
        readonly attribute: Attribute;
        readonly lockedBy: string | null;
      }
    /** Everything that can be populated. */
    | { readonly kind: 'everything'; readonly checked: boolean }
    /** Whether all components of a zone have the same options. */
    | { readonly kind: 'strategy'; readonly shared: boolean; readonly types: readonly Type[] }
    /** What there is no control for; `removal` is its path in the options of the place. */
    | { readonly kind: 'text'; readonly text: string; readonly removal: Path }
  );

export type PlaceItem = Extract<Item, { kind: 'place' }>;

/** What else is said of a place, for its row. */
interface Summary {
  readonly conditions: number;
  readonly sort: readonly SortKey[];
  readonly state: State | null;
  /** What the place can be given. */
  readonly may: { readonly filter: boolean; readonly state: boolean };
}

const noSummary: Summary = { conditions: 0, sort: [], state: null, may: { filter: false, state: false } };

export const idOf = (place: Place): string => `/${place.join('/')}`;
export const rootId = idOf([]);

/** @param open ids of places that are open. */
export const itemsOf = (request: Request, ground: Ground, open: ReadonlySet<string>): readonly Item[] => {
  const items: Item[] = [];
  const isOpen = open.has(rootId);
  items.push({
    kind: 'place',
    id: rootId,
    level: 1,
    place: [],
    path: [],
    attribute: null,
    uid: null,
    types: [ground.type],
    checked: true,
    expanded: isOpen,
    lockedBy: null,
    summary: rootSummary(request, ground),
  });
  if (isOpen) addInside(items, request, ground, [], [ground.type], open);
  return items;
};

/** The places inside of which something is chosen, the outer ones first; not more than `max`. */
export const chosenPlaces = (query: Members, { leniency }: Ground, max: number): readonly Place[] => {
  const found: Place[] = [];
  let level: readonly { readonly place: Place; readonly options: Members }[] = [{ place: [], options: query }];
  while (level.length > 0 && found.length < max) {
    level = level.flatMap(({ place, options }) => {
      const on = memberOf(options, 'on');
      const fragments = isMembers(on) ? Object.entries(on) : [];
      const members = readPopulate(memberOf(options, 'populate'), leniency)?.members ?? [];
      const inner = [
        ...members.map((it) => ({ place: [...place, it.name], options: it.options })),
        ...fragments.map(([uid, it]) => ({
          place: fragmentPlace(place, uid),
          options: isMembers(it) ? it : noMembers,
        })),
      ];
      return inner.filter((it) => Object.keys(it.options).length > 0);
    });
    found.push(...level.map((it) => it.place));
  }
  return found.slice(0, max);
};

const addInside = (
  items: Item[],
  request: Request,
  ground: Ground,
  place: Place,
  types: readonly Type[],
  open: ReadonlySet<string>,
): void => {
  const given = optionsAt(request.query, place, ground.leniency);
  const options = given ?? noMembers;
  const level = place.length + 2;
  const base = { level, place };
  const path = pathOf(place);
  const id = idOf(place);
  const attribute = attributeAt(place, ground);
  const isShared = strategyOf(options) === 'shared';
  if (attribute && isMixed(attribute)) {
    items.push({ ...base, kind: 'strategy', id: `${id}#strategy`, path: [...path, 'on'], shared: isShared, types });
    if (!isShared) {
      addFragments(items, request, ground, place, options, types, open);
      addTexts(items, options, place, ground, types);
      return;
    }
  }
  addFields(items, options, place, ground, types, given !== null);
  if (nestedOf(types).length > 0)
    items.push({
      ...base,
      kind: 'everything',
      id: `${id}#*`,
      path: [...path, 'populate'],
      checked: populatesAll(options, ground),
    });
  for (const nested of nestedOf(types)) addNested(items, request, ground, place, types, nested, open);
  addTexts(items, options, place, ground, types);
};

const attributeAt = (place: Place, { model, type }: Ground): Attribute | null => {
  const last = place.at(-1);
  if (last === undefined || uidOfStep(last) !== null) return null;
  return nestedOf(typesAt(model, type, place.slice(0, -1))).find((it) => it.name === last) ?? null;
};

/** Fields that are closed to everybody are listed only if the query names them. */
const isListed = ({ mayRead, lockedBy }: Attribute): boolean => mayRead || lockedBy !== null;

const addFields = (
  items: Item[],
  options: Members,
  place: Place,
  ground: Ground,
  types: readonly Type[],
  isPopulated: boolean,
): void => {
  const fields = readFields(memberOf(options, 'fields'));
  if (!fields) return;
  const chosen = fields.kind === 'default' ? [] : fields.names;
  const all = scalarsOf(types, isOfAnyType(place, ground)).filter((it) => isListed(it) || chosen.includes(it.name));
  if (all.length === 0) return;
  const level = place.length + 2;
  const path = [...pathOf(place), 'fields'];
  const id = idOf(place);
  items.push({
    kind: 'fields',
    id: `${id}#fields`,
    level,
    place,
    path,
    checked: isPopulated && fields.kind === 'default',
    count: all.filter((it) => it.mayRead).length,
  });
  const written = options['fields'];
  for (const attribute of all) {
    const { name, mayRead, lockedBy } = attribute;
    const index = isList(written) ? written.indexOf(name) : -1;
    items.push({
      kind: 'field',
      id: `${id}#${name}`,
      level,
      place,
      path: index === -1 ? [...path, name] : [...path, `${index}`],
      name,
      attribute,
      checked: chosen.includes(name),
      lockedBy: mayRead ? null : (lockedBy ?? ''),
    });
  }
};

const addNested = (
  items: Item[],
  request: Request,
  ground: Ground,
  parent: Place,
  parentTypes: readonly Type[],
  attribute: Attribute,
  open: ReadonlySet<string>,
): void => {
  const place = [...parent, attribute.name];
  const types = typesBehind(ground.model, parentTypes, attribute.name);
  // what is closed is no part of everything
  const isOfAll =
    !attribute.mayRead && populatesAll(optionsAt(request.query, parent, ground.leniency) ?? noMembers, ground);
  const isPopulated = !isOfAll && optionsAt(request.query, place, ground.leniency) !== null;
  if (!isListed(attribute) && !isPopulated) return;
  addPlace(
    items,
    request,
    ground,
    place,
    attribute,
    types,
    attribute.mayRead ? null : (attribute.lockedBy ?? ''),
    open,
    isOfAll,
  );
};

const addFragments = (
  items: Item[],
  request: Request,
  ground: Ground,
  parent: Place,
  options: Members,
  types: readonly Type[],
  open: ReadonlySet<string>,
): void => {
  const shown = fragmentsOf(options, ground);
  // those that are shown first, in the order in which they are written
  const ordered = [...types].sort((a, b) => Number(shown.has(b.uid)) - Number(shown.has(a.uid)));
  for (const type of types.length > 12 ? ordered : types)
    addPlace(items, request, ground, fragmentPlace(parent, type.uid), null, [type], null, open);
};

const addPlace = (
  items: Item[],
  request: Request,
  ground: Ground,
  place: Place,
  attribute: Attribute | null,
  types: readonly Type[],
  lockedBy: string | null,
  open: ReadonlySet<string>,
  isLeftOut = false,
): void => {
  const options = isLeftOut ? null : optionsAt(request.query, place, ground.leniency);
  const id = idOf(place);
  const hasInside = types.length > 0;
  const isOpen = hasInside && open.has(id);
  items.push({
    kind: 'place',
    id,
    level: place.length + 1,
    place,
    path: pathOf(place),
    attribute,
    uid: uidOfStep(place.at(-1) ?? ''),
    types,
    checked: options !== null,
    expanded: hasInside ? isOpen : null,
    lockedBy,
    summary: options ? summaryOf(options, place, types, ground) : noSummary,
  });
  if (isOpen) addInside(items, request, ground, place, types, open);
};

/** One entry by its id is not filtered. */
const rootSummary = (request: Request, ground: Ground): Summary => {
  const summary = summaryOf(request.query, [], [ground.type], ground);
  return { ...summary, may: { ...summary.may, filter: request.id === null } };
};

const summaryOf = (options: Members, place: Place, types: readonly Type[], ground: Ground): Summary => ({
  conditions: countOf(viewFilter(memberOf(options, 'filters'), types, ground.model)),
  sort: readSort(memberOf(options, 'sort')) ?? [],
  state: readState(memberOf(options, 'publicationState')) ?? null,
  may: {
    filter: !isOfAnyType(place, ground) && strategyOf(options) === 'shared',
    state: types.some((it) => it.draftAndPublish || it.kind === 'component'),
  },
});

// ---- what has no control

/** Names that the model does not have here, options that nobody knows, and values in forms that cannot be shown. */
const addTexts = (items: Item[], options: Members, place: Place, ground: Ground, types: readonly Type[]): void => {
  for (const [removal, text] of textsIn(options, place, ground, types))
    items.push({
      kind: 'text',
      id: `${idOf(place)}#text:${removal.join('.')}`,
      level: place.length + 2,
      place,
      path: [...pathOf(place), ...removal],
      text,
      removal,
    });
};

const textsIn = (
  options: Members,
  place: Place,
  ground: Ground,
  types: readonly Type[],
): readonly (readonly [Path, string])[] => {
  const { leniency } = ground;
  const known: readonly string[] = place.length === 0 ? rootOptions : nestedOptions;
  return Object.entries(options).flatMap(([name, node]) => {
    if (!known.includes(name)) return [[[name], textOf(name, node)] as const];
    switch (name) {
      case 'fields': {
        const fields = readFields(node);
        if (!fields) return [[[name], textOf(name, node)] as const];
        const known = scalarsOf(types, isOfAnyType(place, ground)).map((it) => it.name);
        const names = fields.kind === 'default' ? [] : fields.names;
        return names
          .filter((it) => it !== 'id' && it !== '*' && !known.includes(it))
          .map((it) => [pathOfName(name, node, it), textOf(name, it)] as const);
      }
      case 'populate': {
        const populated = readPopulate(node, leniency);
        if (!populated) return [[[name], textOf(name, node)] as const];
        const names = nestedOf(types).map((it) => it.name);
        return populated.members
          .filter((it) => it.is === 'unreadable' || !names.includes(it.name))
          .map(
            (it) =>
              [
                [name, it.name],
                textOf(name, isMembers(node) || isMembers(it.node) ? { [it.name]: it.node } : it.name),
              ] as const,
          );
      }
      case 'sort':
        return readSort(node) ? [] : [[[name], textOf(name, node)] as const];
      case 'publicationState':
        return readState(node) === null ? [[[name], textOf(name, node)] as const] : [];
      case 'pagination':
        return readPaging(node) ? [] : [[[name], textOf(name, node)] as const];
      case 'locale':
        return readLocale(node) === null ? [[[name], textOf(name, node)] as const] : [];
      case '_q':
        return typeof node === 'string' ? [] : [[[name], textOf(name, node)] as const];
      case 'on':
        return isMembers(node)
          ? Object.entries(node).flatMap(([uid, it]) =>
              types.some((type) => type.uid === uid) ? [] : [[[name, uid], textOf(name, { [uid]: it })] as const],
            )
          : [[[name], textOf(name, node)] as const];
      // conditions without controls are shown among the others
      default:
        return [];
    }
  });
};

const pathOfName = (option: string, node: Node, name: string): Path => {
  const index = isList(node) ? node.findIndex((it) => typeof it === 'string' && it.trim() === name) : -1;
  return index === -1 ? [option] : [option, `${index}`];
};

/** As it would stand in a URL, but readable. */
export const textOf = (name: string, node: Node): string => {
  const text = writeSearch({ [name]: node });
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** What requests for a type stand on; null if it is not known. */
export const groundOf = (model: Model, uid: string): Ground | null => {
  const type = model.types.find((it) => it.uid === uid);
  return type ? { model, type, leniency: { strict: model.strict } } : null;
};
