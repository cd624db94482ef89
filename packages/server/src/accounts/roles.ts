/** Roles and their permissions (AC16), for v4's front ends and the command line. */
import { sql } from 'kysely';
import snakeCase from 'lodash/snakeCase.js';
import { actionsOf } from '../access/actions.js';
import type { Action } from '../access/permissions.js';
import {
  catchRefusal,
  hintAt,
  type Issue,
  issue,
  nearest,
  ok,
  type Result,
  refuse,
  refused,
  unwrap,
} from '../errors.js';
import { limits } from '../limits.js';
import { type LeftOut, leaveOut } from '../query/lenient.js';
import { type Dialect, readRows, type Tx, withIds } from '../sql/dialect.js';
import { isObject } from '../write/ids.js';
import type { WriteRequest } from '../write/request.js';
import type { Session } from '../write/session.js';
import {
  type AccountAction,
  type AccountDeps,
  type AccountRequest,
  asAction,
  changeAccounts,
  jsonAnswer,
  ownContext,
  roleType,
} from './account.js';

export interface RoleActions {
  readonly find: AccountAction;
  readonly findOne: AccountAction;
  readonly create: AccountAction;
  readonly update: AccountAction;
  readonly remove: AccountAction;
  readonly permissions: AccountAction;
}

/** A role as responses show it. */
export interface RoleRow {
  readonly id: number;
  readonly name: string | null;
  readonly description: string | null;
  readonly type: string | null;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly nb_users: number;
}

export const newRoleActions = (deps: AccountDeps): RoleActions => {
  const { db, model } = deps;
  const done = (leftOut: readonly LeftOut[] = []): ReturnType<typeof jsonAnswer> => jsonAnswer({ ok: true }, leftOut);
  const offered = (): readonly Action[] => offeredActions(deps);

  const roleOf = (roles: readonly RoleRow[], { id }: AccountRequest): RoleRow =>
    roles.find((it) => it.id === id) ?? refuse(issue('account.role-absent', []));

  /** A change of one role, which cannot be deleted meanwhile. */
  const changeRole = (
    request: AccountRequest,
    work: (role: RoleRow, session: Session) => Promise<void>,
  ): Promise<void> =>
    changeAccounts(deps, async (session) => {
      const rows = await session.tx.run(rolesStatement(db.dialect));
      await work(roleOf(rolesOf(rows), request), session);
    });

  return {
    find: asAction(async () => jsonAnswer({ roles: await readRoles(deps) })),

    findOne: asAction(async (request) => {
      const { nb_users: _count, ...role } = roleOf(await readRoles(deps), request);
      const actions = await readActions(deps);
      const granted = new Set(actions.filter((it) => it.roleId === role.id).map((it) => it.action));
      return jsonAnswer({ role: { ...role, permissions: treeOf([...offered(), ...granted], granted) } });
    }),

    create: asAction(async ({ body }) => {
      const { role, leftOut } = unwrap(readRole(body, deps.settings.strict));
      const { permissions, ...given } = role;
      const wanted = permissions === undefined ? new Set<Action>() : unwrap(await readTree(permissions, deps));
      const { name } = given;
      // a name that is not a string is refused by the write
      const type = given['type'] ?? snakeCase(typeof name === 'string' ? name.toLowerCase() : '');
      await changeAccounts(deps, async (session) => {
        const roleId = await writeRole(deps, null, { ...given, type }, session);
        await setActions(deps, roleId, wanted, session.tx);
      });
      return done(leftOut);
    }),

    update: asAction(async (request) => {
      const form = await readChange(request.body, deps);
      await changeRole(request, async ({ id }, session) => {
        const { given, wanted } = unwrap(form);
        if (Object.keys(given).length > 0) await writeRole(deps, id, given, session);
        if (wanted) await setActions(deps, id, wanted, session.tx);
      });
      return done(unwrap(form).leftOut);
    }),

    remove: asAction(async (request) => {
      await changeRole(request, async ({ id, type }, session) => {
        if (type === 'public') return refuse(issue('account.public-role', []));
        await moveUsers(id, db.dialect, session.tx);
        await setActions(deps, id, new Set(), session.tx);
        await deps.writer.apply({ action: 'delete', type: roleType(model), id }, ownContext(deps), session);
      });
      return done();
    }),

    permissions: asAction(async () => jsonAnswer({ permissions: treeOf(offered(), new Set()) })),
  };
};

// ---- reading

export const readRoles = async ({ db }: Pick<AccountDeps, 'db'>): Promise<readonly RoleRow[]> =>
  rolesOf(await db.read(() => readRows(rolesStatement(db.dialect))));

const rolesStatement = (dialect: Dialect) => {
  const time = (name: string) => dialect.jsonValue('instant', sql`${sql.ref(`r.${name}`)}`);
  return dialect.compile(sql`
    select r.id, r.name, r.description, r.type, ${time('created_at')}, ${time('updated_at')},
      (select count(*) from up_users_role_links l where l.role_id = r.id)
    from up_roles r order by r.id`);
};

const rolesOf = (rows: readonly (readonly unknown[])[]): readonly RoleRow[] =>
  (rows as readonly (readonly [number, ...(string | null)[]])[]).map(
    ([id, name = null, description = null, type = null, createdAt = null, updatedAt = null, count]) => ({
      id,
      name,
      description,
      type,
      createdAt,
      updatedAt,
      nb_users: Number(count),
    }),
  );

interface StoredAction {
  readonly permissionId: number;
  readonly roleId: number;
  readonly action: Action;
}

const actionsStatement = (dialect: Dialect) =>
  dialect.compile(sql`
    select p.id, l.role_id, p.action from up_permissions p
    join up_permissions_role_links l on l.permission_id = p.id
    where p.action is not null order by p.id`);

const storedActions = (rows: readonly (readonly unknown[])[]): readonly StoredAction[] =>
  (rows as readonly (readonly [number, number, string])[]).map(([permissionId, roleId, action]) => ({
    permissionId,
    roleId,
    action,
  }));

export const readActions = async ({ db }: Pick<AccountDeps, 'db'>): Promise<readonly StoredAction[]> =>
  storedActions(await db.read(() => readRows(actionsStatement(db.dialect))));

type ActionDeps = Pick<AccountDeps, 'model' | 'isServed' | 'ownActions'>;

/** A permission for any other action would have no effect. */
export const offeredActions = ({ model, isServed, ownActions }: ActionDeps): readonly Action[] =>
  actionsOf(model, ownActions?.()).filter((it) => isServed?.(it) !== false);

/** Actions of the model and of the project's code, and those that a role already has: code may have given them to it. */
export const grantableActions = async (
  deps: Pick<AccountDeps, 'db' | 'model' | 'ownActions'>,
): Promise<ReadonlySet<Action>> =>
  new Set([...actionsOf(deps.model, deps.ownActions?.()), ...(await readActions(deps)).map((it) => it.action)]);

// ---- v4's tree: `{ "api::article": { controllers: { article: { find: { enabled, policy } } } } }`

type Tree = Record<string, { controllers: Record<string, Record<string, { enabled: boolean; policy: string }>> }>;

export const treeOf = (actions: readonly Action[], granted: ReadonlySet<Action>): Tree => {
  // without prototypes, because the stored names may be any text
  const tree: Tree = Object.create(null);
  for (const action of new Set(actions)) {
    // names of APIs, plugins and controllers contain no dots
    const [owner, controller, name] = action.split('.');
    if (owner === undefined || controller === undefined || name === undefined) continue;
    tree[owner] ??= { controllers: Object.create(null) };
    const { controllers } = tree[owner];
    controllers[controller] ??= Object.create(null) as (typeof controllers)[string];
    controllers[controller][name] = { enabled: granted.has(action), policy: '' };
  }
  return tree;
};

/** The enabled actions of a tree. Unknown names are refused rather than silently dropped. */
const readTree = async (tree: unknown, deps: AccountDeps): Promise<Result<ReadonlySet<Action>>> => {
  const known = await grantableActions(deps);
  const wanted = new Set<Action>();
  const issues: Issue[] = [];
  const members = (value: unknown, path: readonly string[]): readonly (readonly [string, unknown])[] => {
    if (isObject(value)) return Object.entries(value);
    // v4 reads an empty list as an empty object
    if (Array.isArray(value) && value.length === 0) return [];
    if (issues.length <= limits.issuesMax) issues.push(issue('body.type', path, { expected: 'object', value }));
    return [];
  };
  for (const [owner, group] of members(tree, ['permissions'])) {
    const path = ['permissions', owner];
    const controllers = isObject(group) ? group['controllers'] : group;
    for (const [controller, actions] of members(controllers, [...path, 'controllers'])) {
      for (const [name, state] of members(actions, [...path, 'controllers', controller])) {
        const at = [...path, 'controllers', controller, name];
        const action = `${owner}.${controller}.${name}`;
        // no need to look for faults that will not be listed
        if (issues.length > limits.issuesMax) break;
        const enabled = isObject(state) ? state['enabled'] : undefined;
        if (typeof enabled !== 'boolean')
          issues.push(issue('body.type', [...at, 'enabled'], { expected: 'boolean', value: enabled ?? null }));
        else if (enabled && !known.has(action))
          issues.push(issue('account.unknown-action', at, { action, near: nearest(action, known) }));
        else if (enabled) wanted.add(action);
      }
    }
  }
  return issues.length > 0 ? { ok: false, issues } : ok(wanted);
};

/** Keys of a role in responses, ignored when sent back. */
const ignored: ReadonlySet<string> = new Set(['id', 'createdAt', 'updatedAt', 'nb_users']);
const writable: readonly string[] = ['name', 'description', 'type', 'permissions'];

interface RoleForm {
  readonly role: Readonly<Record<string, unknown>>;
  readonly leftOut: readonly LeftOut[];
}

const readRole = (body: unknown, strict: boolean): Result<RoleForm> => {
  if (!isObject(body) || Object.keys(body).length === 0) return refused(issue('account.body-empty', []));
  const issues: Issue[] = [];
  const leftOut: LeftOut[] = [];
  for (const name of Object.keys(body)) {
    if (ignored.has(name) || writable.includes(name) || issues.length > limits.issuesMax) continue;
    const fault = issue('body.unknown-key', [name], { type: 'role', name, ...hintAt(name, writable) });
    leaveOut({ strict, issues, leftOut }, fault);
  }
  if (issues.length > 0) return { ok: false, issues };
  return ok({ role: Object.fromEntries(Object.entries(body).filter(([name]) => writable.includes(name))), leftOut });
};

interface RoleChange {
  readonly given: Readonly<Record<string, unknown>>;
  /** Null leaves the permissions as they are. */
  readonly wanted: ReadonlySet<Action> | null;
  readonly leftOut: readonly LeftOut[];
}

const readChange = (body: unknown, deps: AccountDeps): Promise<Result<RoleChange>> =>
  catchRefusal(async () => {
    const { role, leftOut } = unwrap(readRole(body, deps.settings.strict));
    const { permissions, type: _type, ...given } = role;
    const wanted = permissions === undefined ? null : unwrap(await readTree(permissions, deps));
    return { given, wanted, leftOut };
  });

// ---- writing

const writeRole = async (
  deps: AccountDeps,
  id: number | null,
  data: Readonly<Record<string, unknown>>,
  session: Session,
): Promise<number> => {
  const type = roleType(deps.model);
  const request: WriteRequest = id === null ? { action: 'create', type, data } : { action: 'update', type, id, data };
  return (await deps.writer.apply(request, ownContext(deps), session)).id;
};

/** Replaces the actions of a role. Each permission row belongs to one role (ST11). */
export const setActions = async (
  deps: AccountDeps,
  roleId: number,
  wanted: ReadonlySet<Action>,
  tx: Tx,
): Promise<void> => {
  const { dialect } = deps.db;
  const own = storedActions(await tx.run(actionsStatement(dialect))).filter((it) => it.roleId === roleId);
  const gone = own.filter((it) => !wanted.has(it.action)).map((it) => it.permissionId);
  const kept = new Set(own.map((it) => it.action));
  if (gone.length > 0) {
    const links = dialect.compile(
      sql`delete from up_permissions_role_links where ${dialect.inIds(sql`permission_id`)}`,
    );
    const rows = dialect.compile(sql`delete from up_permissions where ${dialect.inIds(sql`id`)}`);
    await tx.runAll([withIds(links, gone, dialect), withIds(rows, gone, dialect)]);
  }
  const added = [...wanted].filter((action) => !kept.has(action)).sort();
  const time = dialect.bind('datetime', deps.now());
  const id = dialect.bind('id', roleId);
  for (const action of added) {
    const [[permissionId] = []] = await tx.run(
      dialect.compile(
        sql`insert into up_permissions (action, created_at, updated_at) values (${dialect.bind('string', action)}, ${time}, ${time}) returning id`,
      ),
    );
    await tx.run(
      dialect.compile(
        sql`insert into up_permissions_role_links (permission_id, role_id, permission_order) select ${dialect.bind('id', permissionId as number)}, ${id}, coalesce(max(permission_order), 0) + 1 from up_permissions_role_links where role_id = ${id}`,
      ),
    );
  }
};

/** Users of a deleted role get the role public. */
const moveUsers = async (roleId: number, dialect: Dialect, tx: Tx): Promise<void> => {
  await tx.run(
    dialect.compile(sql`
      insert into up_users_role_links (user_id, role_id, user_order)
      select l.user_id, r.id, (select coalesce(max(user_order), 0) from up_users_role_links where role_id = r.id) + row_number() over (order by l.user_order, l.id)
      from up_users_role_links l, (select min(id) as id from up_roles where type = 'public') r
      where l.role_id = ${dialect.bind('id', roleId)} and r.id is not null
        and not exists (select 1 from up_users_role_links o where o.user_id = l.user_id and o.role_id = r.id)`),
  );
};
