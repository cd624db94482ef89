/** `strapi.plugin('users-permissions').service('role')`: roles with v4's tree of what they may do. */
import deburr from 'lodash/deburr.js';
import snakeCase from 'lodash/snakeCase.js';
import type { Action } from '../../access/permissions.js';
import { treeOf } from '../../accounts/roles.js';
import { ROLE_UID, USER_UID } from '../../model/model.js';
import type { Entities, Entity } from '../data/entities.js';
import type { EntityService } from '../data/entity-service.js';
import { isMembers, type Members } from '../loading/parts.js';
import { NotFoundError } from '../strapi-utils/errors.js';
import { absent } from '../strapi-utils/missing.js';
import { absentMethods } from './absent.js';

export interface RoleServiceDeps {
  readonly entities: Entities;
  readonly entityService: EntityService;
  /** Those that are offered to roles. */
  readonly offered: () => readonly Action[];
}

const PERMISSION_UID = 'plugin::users-permissions.permission';

export const roleService = ({ entities, entityService, offered }: RoleServiceDeps): Record<string, unknown> => {
  const permissionsOf = async (id: unknown): Promise<readonly Entity[]> =>
    (await entityService.findMany(PERMISSION_UID, { filters: { role: id } })) as Entity[];

  const find = async (): Promise<readonly Members[]> => {
    const roles = (await entityService.findMany(ROLE_UID, { sort: 'id' })) as Entity[];
    const counts = await Promise.all(roles.map(({ id }) => entityService.count(USER_UID, { filters: { role: id } })));
    return roles.map((role, i) => ({ ...role, nb_users: counts[i] }));
  };

  const findOne = async (id: unknown): Promise<Members> => {
    const role = await entityService.findOne(ROLE_UID, id);
    if (!role) throw new NotFoundError('Role not found');
    const granted = new Set((await permissionsOf(role.id)).map((it) => String(it['action'])));
    return { ...role, permissions: treeOf([...offered(), ...granted], granted) };
  };

  /** Makes the permissions of a role those of a tree. */
  const grant = async (role: number, tree: unknown): Promise<void> => {
    const wanted = new Set(enabledIn(tree));
    const stored = await permissionsOf(role);
    for (const { id, action } of stored)
      if (!wanted.has(String(action))) await entityService.delete(PERMISSION_UID, id);
    const known = new Set(stored.map((it) => it['action']));
    for (const action of wanted)
      if (!known.has(action)) await entityService.create(PERMISSION_UID, { data: { action, role } });
  };

  return {
    ...absent("strapi.plugin('users-permissions').service('role')", absentMethods['users-permissions.role']),
    find,
    getRoles: find,
    findOne,
    getRole: findOne,
    createRole: ({ permissions, users: _users, ...given }: Members) =>
      entities.transaction(async () => {
        const type = given['type'] ?? snakeCase(deburr(String(given['name'] ?? '').toLowerCase()));
        const { id } = await entityService.create(ROLE_UID, { data: { ...given, type } });
        await grant(id, permissions);
      }),
    updateRole: (id: unknown, { name, description, permissions }: Members) =>
      entities.transaction(async () => {
        const role = await entityService.update(ROLE_UID, id, { data: { name, description } });
        if (!role) throw new NotFoundError('Role not found');
        if (permissions !== undefined) await grant(role.id, permissions);
      }),
  };
};

/** Actions that a tree enables: `{ 'api::book': { controllers: { book: { find: { enabled: true } } } } }`. */
const enabledIn = (tree: unknown): readonly string[] =>
  membersOf(tree).flatMap(([owner, group]) =>
    membersOf(isMembers(group) ? group['controllers'] : undefined).flatMap(([controller, actions]) =>
      membersOf(actions)
        .filter(([, it]) => isMembers(it) && it['enabled'] === true)
        .map(([name]) => `${owner}.${controller}.${name}`),
    ),
  );

const membersOf = (value: unknown): readonly (readonly [string, unknown])[] =>
  isMembers(value) ? Object.entries(value) : [];
