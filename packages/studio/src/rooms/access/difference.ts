/** What a changed role may do that it could not before, and which answers show more or less of it. */
import { type Action, applied, type Edits, isGranted, partsOf, type Role, subjectOf } from './grants.js';

/** What the difference needs to know of the model. */
export interface DifferenceType {
  readonly uid: string;
  readonly kind: 'collection' | 'single' | 'component';
  readonly displayName: string;
  readonly path: string | null;
  readonly attributes: readonly {
    readonly name: string;
    /** The target is null if entries of any type can be there. */
    readonly relation: { readonly target: string | null } | null;
    readonly component: { readonly uid: string } | null;
    readonly zone: { readonly components: readonly string[] } | null;
  }[];
}

export interface Answered {
  readonly action: Action;
  /** Null: an action without an address that is known here. */
  readonly request: { readonly method: string; readonly path: string } | null;
  /** Whether it changes something: to open it to the public is worth a warning. */
  readonly isWrite: boolean;
}

/** A relation whose entries appear in answers, or disappear from them, because their type may be found or not. */
export interface Populated {
  /** The type whose answers hold it. */
  readonly type: string;
  /** With the components on the way: `sections.related.articles`. */
  readonly path: string;
  readonly target: string;
}

export interface Difference {
  readonly role: Role;
  readonly opened: readonly Answered[];
  readonly closed: readonly Answered[];
  readonly appears: readonly Populated[];
  readonly disappears: readonly Populated[];
}

/** One for each role that has edits, in the order of the roles. */
export const differencesOf = (
  roles: readonly Role[],
  edits: Edits,
  types: readonly DifferenceType[],
): readonly Difference[] => {
  const byUid = new Map(types.map((it) => [it.uid, it]));
  return roles.flatMap((role) => {
    const own = [...(edits.get(role.id) ?? [])];
    if (own.length === 0) return [];
    const opened = own.filter((it) => isGranted(role, edits, it));
    const closed = own.filter((it) => !isGranted(role, edits, it));
    const after = applied(role.granted, opened, closed);
    return [
      {
        role,
        opened: opened.map((it) => answered(it, byUid)),
        closed: closed.map((it) => answered(it, byUid)),
        appears: populated(targetsOf(opened), types, byUid, after),
        // what could be read before, even if its own type is closed now, is in `closed` already
        disappears: populated(targetsOf(closed), types, byUid, after),
      },
    ];
  });
};

/** Types that may be found since, or not any more. */
const targetsOf = (actions: readonly Action[]): ReadonlySet<string> =>
  new Set(actions.filter((it) => partsOf(it).name === 'find').map(subjectOf));

const methods: Readonly<Record<string, { readonly method: string; readonly below: string }>> = {
  find: { method: 'GET', below: '' },
  findOne: { method: 'GET', below: '/:id' },
  create: { method: 'POST', below: '' },
  update: { method: 'PUT', below: '/:id' },
  delete: { method: 'DELETE', below: '/:id' },
  createLocalization: { method: 'POST', below: '/:id/localizations' },
};

/** The request that an action of a content type allows. */
export const requestOf = (
  action: Action,
  types: ReadonlyMap<string, Pick<DifferenceType, 'kind' | 'path'>>,
): Answered['request'] => {
  const type = types.get(subjectOf(action));
  const known = Object.hasOwn(methods, partsOf(action).name) ? methods[partsOf(action).name] : undefined;
  if (!type?.path || !known) return null;
  const below = type.kind === 'single' ? known.below.replace('/:id', '') : known.below;
  return { method: known.method, path: `${type.path}${below}` };
};

const reading: ReadonlySet<string> = new Set([
  ...['find', 'findOne', 'count', 'me', 'getPermissions', 'listLocales'],
  ...['getComponents', 'getComponent', 'getContentTypes', 'getContentType'],
]);

const answered = (action: Action, types: ReadonlyMap<string, DifferenceType>): Answered => ({
  action,
  request: requestOf(action, types),
  isWrite: !reading.has(partsOf(action).name),
});

/** The relations to these types in answers that the role may read. Components are looked into; one inside of itself once. */
const populated = (
  targets: ReadonlySet<string>,
  types: readonly DifferenceType[],
  byUid: ReadonlyMap<string, DifferenceType>,
  granted: ReadonlySet<Action>,
): readonly Populated[] => {
  if (targets.size === 0) return [];
  const within = (type: DifferenceType, path: readonly string[], passed: ReadonlySet<string>): readonly Populated[] =>
    type.attributes.flatMap((attribute) => {
      const { name, relation, component, zone } = attribute;
      const target = relation?.target ?? null;
      if (target !== null && targets.has(target))
        return [
          {
            type: '',
            path: [...path, name].join('.'),
            target: byUid.get(target)?.displayName ?? target,
          },
        ];
      const parts = component ? [component.uid] : (zone?.components ?? []);
      return parts.flatMap((uid) => {
        const part = byUid.get(uid);
        if (!part || passed.has(uid)) return [];
        return within(part, zone ? [...path, name, uid] : [...path, name], new Set([...passed, uid]));
      });
    });
  return types
    .filter((it) => it.kind !== 'component')
    .filter((it) => granted.has(`${it.uid}.find`) || granted.has(`${it.uid}.findOne`))
    .flatMap((type) => within(type, [], new Set()).map((it) => ({ ...it, type: type.displayName })));
};
