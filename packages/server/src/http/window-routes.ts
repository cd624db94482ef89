/**
 * Windows of relation lists: `GET /api/<plural>/:id/relations/<path>`, and the same of a single type (SU2). The path is the name
 * of the list, and before it for each component around it the attribute that has it, in a zone the component's uid, and its id:
 * `articles`, `blocks/3/articles`, `sections/sections.article-list/3/articles`.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findAction } from '../access/actions.js';
import { type Hint, hintAt, type Issue, issue, never, ok, type Result, refused } from '../errors.js';
import { handlerFor } from '../handlers/run.js';
import { limits } from '../limits.js';
import {
  type Attribute,
  type EntryType,
  type LinkAttribute,
  type Model,
  typeLabel,
  typeOf,
  type Uid,
} from '../model/model.js';
import { searchQuery } from '../query/searches.js';
import type { Gate } from '../query/selection.js';
import type { ListPlace, PartStep } from '../query/window.js';
import type { Site } from '../site/site.js';
import type { BoundCode } from '../v4code/code.js';
import { admit, contextFor } from './actions.js';
import { asOf } from './credentials.js';
import { mayBeEntry, type PathParams } from './past-code.js';
import { addPath } from './paths.js';
import { sendAnswer, sendIssues } from './respond.js';
import { parseId, permissionFor, type Route, type Routes } from './routes.js';
import { searchOfRequest } from './searches.js';

export interface WindowRouteDeps {
  readonly site: Site;
  readonly routes: Routes;
  readonly prefix: string;
  readonly code: BoundCode | undefined;
}

/** Two paths for all types, so that a start does not take longer. */
export const addWindowPaths = (app: FastifyInstance, { site, routes, prefix, code }: WindowRouteDeps): void => {
  /** By the path of an entry, in lower case. */
  const types = new Map(
    routes.all.flatMap((route, i) => {
      if (windowAction(route) === null) return [];
      return [[route.path.toLowerCase(), { route, served: routes.served[i]! }] as const];
    }),
  );
  const add = (url: string, pathOf: (plural: string) => string): void => {
    const typeAt = (plural = '') => types.get(pathOf(plural).toLowerCase());
    const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const params = request.params as { readonly plural: string; readonly id?: string; readonly '*': string };
      const { plural, id, '*': path } = params;
      const found = typeAt(plural);
      if (!found) return sendIssues(reply, [issue('http.not-found', [])]);
      const isOfCode = isAnsweredByCode(found.served, site, code);
      return sendWindow(request, reply, { route: found.route, path: path.split('/'), id: id ?? null, isOfCode }, site);
    };
    const pastCode = (params: PathParams): boolean => typeAt(params['plural']) !== undefined && mayBeEntry(params);
    addPath(app, url, { GET: answer }, { pastCode });
  };
  add(`${prefix}/:plural/:id/relations/*`, (plural) => `${prefix}/${plural}/:id`);
  add(`${prefix}/:plural/relations/*`, (plural) => `${prefix}/${plural}`);
};

/** The action of which windows are a part: reading one entry. */
export const windowAction = ({ actions: { GET: action } }: Route): 'findOne' | 'single' | null =>
  action === 'findOne' || action === 'single' ? action : null;

/** Whether code of the project answers for an entry, which may show less of it. */
export const isAnsweredByCode = (
  { path, type, actions }: Route,
  { handlers }: Site,
  code: BoundCode | undefined,
): boolean => {
  const { GET: action } = actions;
  if (action === undefined || action === 'createLocalization') return true;
  const byRoute = code !== undefined && code.table.at(path.replace(':id', '1')).find('GET') !== null;
  return byRoute || handlerFor(handlers.get(type.uid), action) !== undefined;
};

interface WindowTarget {
  readonly route: Route;
  /** Below `relations`. */
  readonly path: readonly string[];
  /** As the path has it. */
  readonly id: string | null;
  /** Whether code of the project answers for the entry. */
  readonly isOfCode: boolean;
}

const sendWindow = async (
  request: FastifyRequest,
  reply: FastifyReply,
  { route, path, id: given, isOfCode }: WindowTarget,
  site: Site,
): Promise<FastifyReply> => {
  const { type } = route;
  const action = windowAction(route) ?? 'findOne';
  const admitted = await admit(type, permissionFor(type, action), request, site);
  if (!admitted.ok) return sendIssues(reply, admitted.issues);
  const id = given === null ? null : parseId(given);
  // code decides what others see; administrators have rights of their own, as in v4
  const isClosed = isOfCode && admitted.value.caller.who.kind !== 'admin';
  if (isClosed || (given !== null && id === null)) return sendIssues(reply, [issue('http.not-found', [])]);
  const context = contextFor(type, admitted.value, {}, site);
  const { caller } = admitted.value;
  const found = findPlace(path, type, { model: site.model, gate: context.gate, may: (it) => caller.may(it) });
  if (found.kind !== 'place') {
    if (found.kind === 'closed' && asOf(request.headers) === undefined)
      site.onForbidden?.(caller.who, found.permission);
    return sendIssues(reply, [issueOf(found, context.gate)]);
  }
  const query = searchQuery(searchOfRequest(request));
  const read = await site.windows.read({ type, id, place: found.place, query }, context);
  return read.ok ? sendAnswer(reply, read.value) : sendIssues(reply, read.issues);
};

type PlaceFound =
  | { readonly kind: 'place'; readonly place: ListPlace }
  /** The list leads to entries that the caller may not find. */
  | { readonly kind: 'closed'; readonly permission: string }
  /** `type`, the entry's or a component, has no list of this name; or, before the end of the path, no component or zone. */
  | { readonly kind: 'no-list'; readonly type: EntryType; readonly name: string; readonly isLast: boolean }
  /** No component can be there: its id is none, or the zone does not take it. */
  | { readonly kind: 'no-part' };

const issueOf = (found: Exclude<PlaceFound, { kind: 'place' }>, gate: Gate): Issue => {
  switch (found.kind) {
    case 'closed':
      return issue('http.forbidden', []);
    case 'no-part':
      return issue('http.not-found', []);
    case 'no-list': {
      const { name } = found;
      return issue('relation.no-list', [], { type: typeLabel(found.type), name, ...namesNear(name, found, gate) });
    }
    default:
      return never(found);
  }
};

/** The list that a path names, as `a/b/c`, or why there is none for the caller. */
export const listAt = (path: string, type: EntryType, context: PlaceContext): Result<ListPlace> => {
  const found = findPlace(path.split('/'), type, context);
  return found.kind === 'place' ? ok(found.place) : refused(issueOf(found, context.gate));
};

interface PlaceContext {
  readonly model: Model;
  readonly gate: Gate;
  readonly may: (permission: string) => boolean;
}

const findPlace = (path: readonly string[], type: EntryType, { model, gate, may }: PlaceContext): PlaceFound => {
  const parts: PartStep[] = [];
  let owner = type;
  let rest = path;
  for (;;) {
    const [name = '', ...below] = rest;
    const isLast = below.length === 0;
    const attribute = owner.attributes.get(name);
    const isShown = attribute !== undefined && gate.allows(owner, attribute, 'populate');
    const none = { kind: 'no-list', type: owner, name, isLast } as const;
    if (isLast) {
      if (attribute === undefined || !isListOf(attribute)) return none;
      if (isShown) return { kind: 'place', place: { parts, attribute } };
      // a relation that is closed only because of where it leads
      const permission = findAction(attribute.target);
      return attribute.hidden || may(permission) ? none : { kind: 'closed', permission };
    }
    if (attribute?.kind !== 'part' || !isShown) return none;
    const isZone = attribute.shape === 'zone';
    const uid = isZone ? below[0] : attribute.components[0];
    const [digits = '', ...next] = isZone ? below.slice(1) : below;
    const component = attribute.components.find((it) => it === uid);
    const id = parseId(digits);
    if (component === undefined || id === null || next.length === 0) return { kind: 'no-part' };
    if (parts.length === limits.componentDepthMax) return { kind: 'no-part' };
    parts.push({ attribute, component, id });
    owner = typeOf(model, component);
    rest = next;
  }
};

/** Whether the attribute is a list of entries of one type. */
const isListOf = (attribute: Attribute): attribute is LinkAttribute =>
  attribute.kind === 'link' && attribute.shape === 'many';

/** The lists of a type that the caller may see. */
export const listsOf = (type: EntryType, gate: Gate): readonly LinkAttribute[] =>
  [...type.attributes.values()].filter(isListOf).filter((it) => gate.allows(type, it, 'populate'));

/** The paths of the lists in its components that the caller may see, with `:id` for ids; none of a component inside of itself. */
export const partListsOf = (type: EntryType, model: Model, gate: Gate): readonly string[] => {
  const inside = (owner: EntryType, at: string, around: readonly Uid[]): readonly string[] =>
    [...owner.attributes.values()].flatMap((attribute) => {
      if (attribute.kind !== 'part' || !gate.allows(owner, attribute, 'populate')) return [];
      return attribute.components
        .filter((uid) => !around.includes(uid))
        .flatMap((uid) => {
          const component = typeOf(model, uid);
          const path = `${at}${attribute.name}/${attribute.shape === 'zone' ? `${uid}/` : ''}:id/`;
          const lists = listsOf(component, gate).map((it) => path + it.name);
          return [...lists, ...inside(component, path, [...around, uid])];
        });
    });
  return inside(type, '', []);
};

const namesNear = (name: string, { type, isLast }: { type: EntryType; isLast: boolean }, gate: Gate): Hint => {
  const isWanted = (it: Attribute): boolean => (isLast ? isListOf(it) : it.kind === 'part');
  const shown = [...type.attributes.values()].filter((it) => isWanted(it) && gate.allows(type, it, 'populate'));
  return hintAt(
    name,
    shown.map((it) => it.name),
  );
};
