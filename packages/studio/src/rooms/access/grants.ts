/** Roles and what they may do, as `/users-permissions` writes it. */

/** `api::article.article.find`. */
export type Action = string;

/** v4's tree: owner, then controller, then action. */
export type PermissionTree = Readonly<
  Record<
    string,
    { readonly controllers: Readonly<Record<string, Readonly<Record<string, { readonly enabled: boolean }>>>> }
  >
>;

export interface Role {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  /** `public`, `authenticated`, or the type of a custom role. */
  readonly type: string;
  readonly users: number;
  readonly granted: ReadonlySet<Action>;
}

/** All actions that a tree names, in its order. */
export const actionsIn = (tree: PermissionTree): readonly Action[] =>
  Object.entries(tree).flatMap(([owner, { controllers }]) =>
    Object.entries(controllers).flatMap(([controller, actions]) =>
      Object.keys(actions).map((name) => `${owner}.${controller}.${name}`),
    ),
  );

export const grantedIn = (tree: PermissionTree): ReadonlySet<Action> =>
  new Set(
    Object.entries(tree).flatMap(([owner, { controllers }]) =>
      Object.entries(controllers).flatMap(([controller, actions]) =>
        Object.entries(actions)
          .filter(([, { enabled }]) => enabled)
          .map(([name]) => `${owner}.${controller}.${name}`),
      ),
    ),
  );

/** The body of a change: what is not in it is not granted. */
export const treeOf = (granted: Iterable<Action>): PermissionTree => {
  const tree: Record<string, { controllers: Record<string, Record<string, { enabled: boolean }>> }> = {};
  for (const action of [...granted].sort()) {
    const { owner, controller, name } = partsOf(action);
    tree[owner] ??= { controllers: {} };
    const { controllers } = tree[owner];
    controllers[controller] ??= {};
    controllers[controller][name] = { enabled: true };
  }
  return tree;
};

/** Of `api::article.article.find`: `api::article`, `article`, `find`. Names of owners and controllers have no dots. */
export const partsOf = (
  action: Action,
): { readonly owner: string; readonly controller: string; readonly name: string } => {
  const [owner = '', controller = '', ...name] = action.split('.');
  return { owner, controller, name: name.join('.') };
};

/** The type, or the controller of a plugin, that an action is about: its uid. */
export const subjectOf = (action: Action): string => {
  const { owner, controller } = partsOf(action);
  return `${owner}.${controller}`;
};

// ---- edits that are not saved yet

/** By role: the actions that are the other way round than the server has them. */
export type Edits = ReadonlyMap<number, ReadonlySet<Action>>;

export const noEdits: Edits = new Map();

export const isGranted = (role: Role, edits: Edits, action: Action): boolean =>
  role.granted.has(action) !== (edits.get(role.id)?.has(action) ?? false);

/** Grants or withdraws actions; one that is as the server has it is no edit any more. */
export const edited = (edits: Edits, role: Role, actions: Iterable<Action>, granted: boolean): Edits => {
  const own = new Set(edits.get(role.id));
  for (const action of actions) {
    if (role.granted.has(action) === granted) own.delete(action);
    else own.add(action);
  }
  const next = new Map(edits);
  if (own.size === 0) next.delete(role.id);
  else next.set(role.id, own);
  return next;
};

/** What a role may do with its edits, on what the server says now: others may have changed it meanwhile. */
export const applied = (
  granted: ReadonlySet<Action>,
  opened: Iterable<Action>,
  closed: Iterable<Action>,
): ReadonlySet<Action> => {
  const next = new Set(granted);
  for (const action of opened) next.add(action);
  for (const action of closed) next.delete(action);
  return next;
};

/** Edits of roles that are still there; ones that somebody else has saved are dropped. */
export const remaining = (before: readonly Role[], after: readonly Role[], edits: Edits): Edits => {
  let next = noEdits;
  for (const role of after) {
    const known = before.find((it) => it.id === role.id);
    if (!known) continue;
    for (const action of edits.get(role.id) ?? []) next = edited(next, role, [action], !known.granted.has(action));
  }
  return next;
};
