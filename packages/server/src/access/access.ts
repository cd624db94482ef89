/** Authorisation: implements the `Gate` that every name in a query must pass. */
import { never } from '../errors.js';
import { ADMIN_UID, type Attribute, type EntryType, type Model, ROLE_UID, type Uid, USER_UID } from '../model/model.js';
import type { Gate, Use } from '../query/selection.js';
import { findAction } from './actions.js';
import { newAdminGate } from './admin-gate.js';
import type { Action, Permissions } from './permissions.js';
import type { Rights } from './rights.js';

/** The rights of whoever makes a request; `caller.ts` identifies them. */
export interface Caller {
  /** Differs between callers with different rights; part of the cache key of plans. */
  readonly version: string;
  may(action: Action): boolean;
  /** What is granted by name; undefined for tokens of full access or reading, and for administrators. */
  readonly actions?: ReadonlySet<Action>;
  /** Those of an administrator, by entries and fields; everybody else has actions only. */
  readonly rights?: Rights;
}

const noActions: ReadonlySet<Action> = new Set();

/** A request without credentials: the role of type `public` (AC2). */
export const publicCaller = (permissions: Permissions): Caller => {
  const role = permissions.roles.find((it) => it.type === 'public');
  const actions = role?.actions ?? noActions;
  return { version: `public:${permissions.version}`, may: (action) => actions.has(action), actions };
};

const creatorNames: ReadonlySet<string> = new Set(['firstname', 'lastname']);

export interface GateOptions {
  /** The type whose handler adds creator fields; the schema file must enable the option too (Q9). */
  readonly creatorFieldsOf?: Uid | null;
}

/**
 * Hidden attributes are hidden from everybody; relations also need `findAction` of the type they lead to, components and media need
 * nothing of their own (AC5).
 */
export const newGate = (caller: Caller, model: Model, { creatorFieldsOf = null }: GateOptions = {}): Gate => {
  if (caller.rights) return newAdminGate(caller.rights, caller.version, model);
  const reaches = (uid: Uid): boolean => model.types.has(uid) && caller.may(findAction(uid));
  return {
    version: `${caller.version}${creatorFieldsOf === null ? '' : ' creators'}`,
    allows: (type: EntryType, attribute: Attribute, use: Use): boolean => {
      if (attribute.kind === 'link' && attribute.source === 'creator')
        return type.populateCreatorFields && type.uid === creatorFieldsOf && use !== 'write';
      // creator fields that responses never show (Q9) cannot be filtered by either
      if (creatorFieldsOf !== null && type.uid === ADMIN_UID && !creatorNames.has(attribute.name)) return false;
      // private attributes can be written, as in v4 (BO4)
      if (attribute.hidden && use !== 'write') return false;
      switch (attribute.kind) {
        case 'scalar':
        case 'part':
        case 'morph':
          return true;
        case 'link':
          // responses never list the users of a role, for any caller (AC16)
          if (type.uid === ROLE_UID && attribute.target === USER_UID && use === 'populate') return false;
          return attribute.source === 'media' || reaches(attribute.target);
        default:
          return never(attribute);
      }
    },
    reaches: ({ uid }) => reaches(uid),
  };
};

/** The server's own rights: everything may be seen and changed, and hidden attributes stay hidden. */
export const serverGate: Gate = {
  version: 'server',
  allows: (_type, attribute, use) => !attribute.hidden || use === 'write',
  reaches: () => true,
  writesAll: true,
};
