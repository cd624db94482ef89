/** What code asks of v4's admin panel: `strapi.admin`, and the parts of `content-manager` that are of use without one. */
import slugify from '@sindresorhus/slugify';
import once from 'lodash/once.js';
import { createToken, type NewToken } from '../../accounts/tokens.js';
import type { Site } from '../../site/site.js';
import type { QueryEngine } from '../data/db.js';
import type { Entities } from '../data/entities.js';
import type { EntityService } from '../data/entity-service.js';
import { currentSession } from '../data/scope.js';
import type { Members } from '../loading/parts.js';
import { absentFunction, absentMembers, anyOf, unavailable, withMissing } from '../strapi-utils/missing.js';
import { ofPanel, standIn } from './absent.js';
import { type Administrators, newAdministrators } from './administrators.js';

export interface Panel extends Pick<Administrators, 'withRoles'> {
  /** `strapi.admin`. */
  readonly admin: object;
  /** `strapi.plugin('content-manager')`. */
  readonly contentManager: Members;
  /** A service of either, by its uid; undefined for those of others. */
  service(uid: string): unknown;
  /** The uids of those that v4 has. */
  readonly services: readonly string[];
  /** By uid. */
  readonly controllers: Members;
  readonly policies: Members;
}

export interface PanelDeps {
  readonly entities: Entities;
  readonly entityService: EntityService;
  readonly query: (uid: string) => QueryEngine;
  readonly site: () => Site;
  readonly apiTokenSalt: string;
  readonly warn: (text: string) => void;
}

export const newPanel = (deps: PanelDeps): Panel => {
  const administrators = newAdministrators({ ...deps, accounts: () => deps.site().accountDeps });
  const own = { permission: permissionService(deps), 'api-token': tokenService(deps), ...administrators.services };
  const services = anyOf(own, (name) => unavailable(`strapi.admin.services.${name}`));
  const ofContent = anyOf({ uid: uidService(deps) }, (name) =>
    unavailable(`strapi.plugin('content-manager').service('${name}')`),
  );
  return {
    withRoles: administrators.withRoles,
    admin: withMissing('strapi.admin', { services }),
    contentManager: withMissing("strapi.plugin('content-manager')", {
      services: ofContent,
      service: (name: string) => ofContent[name],
    }),
    services: [
      ...[...Object.keys(own), ...absentMembers['strapi.admin.services']].map((it) => `admin::${it}`),
      'plugin::content-manager.uid',
    ],
    controllers: Object.fromEntries(ofPanel.controllers.map((it) => [it, standIn(`strapi.controller('${it}')`)])),
    policies: Object.fromEntries(ofPanel.policies.map((it) => [it, absentFunction(`strapi.policy('${it}')`)])),
    service: (uid) => {
      const [, owner, name = ''] = /^(admin|plugin::content-manager)(?:::|\.)(.+)$/.exec(uid) ?? [];
      if (owner === undefined) return undefined;
      return owner === 'admin' ? services[name] : ofContent[name];
    },
  };
};

/** Conditions and actions that administrators could be given: nothing here asks for them. */
const permissionService = ({ warn }: PanelDeps): object => {
  const warnOnce = once(() =>
    warn('strapi.admin: conditions and actions for the admin panel of v4 have no effect: that panel is not here'),
  );
  const noEffect = async (): Promise<void> => warnOnce();
  const name = 'strapi.admin.services.permission';
  const registering = { register: noEffect, registerMany: noEffect };
  return withMissing(name, {
    conditionProvider: withMissing(`${name}.conditionProvider`, { ...registering }),
    actionProvider: withMissing(`${name}.actionProvider`, { ...registering }),
  });
};

const TOKEN_UID = 'admin::api-token';

const tokenService = ({ entities, entityService, site, apiTokenSalt }: PanelDeps): object =>
  withMissing("strapi.admin.services['api-token']", {
    /** @returns the token with its key, which nobody can read again. */
    create: (given: Partial<NewToken> & { readonly lifespan?: number | null; readonly permissions?: string[] }) =>
      entities.transaction(async () => {
        const { name = '', description = '', type = 'read-only', lifespan = null, permissions } = given;
        const { accountDeps } = site();
        const wanted = { name, description, type, lifetimeMs: lifespan, actions: permissions ?? [] };
        const { id, key } = await createToken(wanted, apiTokenSalt, accountDeps, currentSession()!);
        return { ...(await entityService.findOne(TOKEN_UID, id)), permissions: wanted.actions, accessKey: key };
      }),
    exists: async (filters: unknown) => (await entityService.count(TOKEN_UID, { filters })) > 0,
  });

interface UidField {
  readonly contentTypeUID: string;
  readonly field: string;
}

/** Proposals for attributes of the type uid. */
const uidService = ({ entities, query }: PanelDeps): object => {
  const findUniqueUID = async ({ contentTypeUID, field, value }: UidField & { readonly value: string }) => {
    const where = { [field]: { $contains: value } };
    const found = await query(contentTypeUID).findMany({ where, select: [field] });
    const taken = new Set(found.map((it) => it[field]));
    let free = value;
    for (let i = 1; taken.has(free); i++) free = `${value}-${i}`;
    return free;
  };
  return withMissing("strapi.plugin('content-manager').service('uid')", {
    generateUIDField: async ({ data, ...of }: UidField & { readonly data: Members }) => {
      const type = entities.typeOf(of.contentTypeUID);
      const attribute = type.attributes.get(of.field);
      if (attribute?.kind !== 'scalar') throw new Error(`${type.uid} has no attribute "${of.field}"`);
      const { targetField, defaultValue } = attribute.rules;
      const text = String((targetField === null ? undefined : data[targetField]) ?? '');
      return findUniqueUID({ ...of, value: slugify(text || String(defaultValue || type.singular)) });
    },
    findUniqueUID,
    checkUIDAvailability: async ({ contentTypeUID, field, value }: UidField & { readonly value: string }) =>
      (await query(contentTypeUID).count({ where: { [field]: value } })) === 0,
  });
};
