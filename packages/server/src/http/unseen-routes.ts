/**
 * `GET /_dovetail/entries/:type/:id/unseen`: which relations of an entry hold entries that the administrator may not see, and that
 * stay when it is saved (SU7). Which entries these are is not told.
 */
import { isDeepStrictEqual } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { newGate } from '../access/access.js';
import { issue, ok, type Result } from '../errors.js';
import { limits } from '../limits.js';
import { type Attribute, type EntryType, type Model, type PartAttribute, typeOf, type Uid } from '../model/model.js';
import { objectQuery, type PopulateOptions, type PopulateTree } from '../query/objects.js';
import type { Gate } from '../query/selection.js';
import type { Site } from '../site/site.js';
import { isObject } from '../write/ids.js';
import { unseenTargets } from '../write/morphs.js';
import { staysUnseen } from '../write/unseen.js';
import { addPath } from './paths.js';
import { JSON_TYPE, sendIssues } from './respond.js';
import { parseId } from './routes.js';

/** Beside the content API, like `/_dovetail/model`. */
export const UNSEEN_PATH = '/_dovetail/entries/:type/:id/unseen';

export const addUnseenPath = (app: FastifyInstance, { site }: { readonly site: Site }): void => {
  addPath(app, UNSEEN_PATH, {
    GET: async (request, reply) => {
      reply.header('cache-control', 'no-store');
      const caller = await site.callers.identify(request.headers.authorization);
      if (!caller.ok) return sendIssues(reply, caller.issues);
      const { type: uid, id: digits } = request.params as { readonly type: string; readonly id: string };
      const type = site.model.types.get(uid);
      const id = parseId(digits);
      if (!caller.value.rights || (type && !caller.value.may(`${uid}.find`)))
        return sendIssues(reply, [issue('http.forbidden', [])]);
      if (type?.origin !== 'project' || type.kind === 'component' || id === null)
        return sendIssues(reply, [issue('http.not-found', [])]);
      const found = await unseenIn(type, id, newGate(caller.value, site.model), site);
      if (!found.ok) return sendIssues(reply, found.issues);
      return reply.header('content-type', JSON_TYPE).send(JSON.stringify({ data: found.value }));
    },
  });
};

/** Sees everything, private attributes too. */
const openGate: Gate = { version: 'open', allows: () => true, reaches: () => true };

/** The paths of the relations, written as those of relation lists (SU2). */
const unseenIn = async (type: EntryType, id: number, gate: Gate, site: Site): Promise<Result<readonly string[]>> => {
  const { model, settings, reader } = site;
  const read = async (populate: PopulateTree, as: Gate): Promise<Result<Entry>> => {
    const query = objectQuery({ fields: ['id'], publicationState: 'preview', populate });
    const request = { action: 'findOne', type, id, query, form: 'plain' } as const;
    const answer = await reader.read(request, { ...settings, model, gate: as, defaultLocale: null });
    return answer.ok ? ok(JSON.parse(answer.value.body.toString()) as Entry) : answer;
  };
  let populate: PopulateTree = {};
  let seen = await read(populate, gate);
  // level by level: of components that hold each other, the model has more places than any entry
  for (let depth = 0; seen.ok && depth <= limits.componentDepthMax; depth++) {
    const wanted = relationsOf(type, [seen.value], { model, gate });
    if (isDeepStrictEqual(wanted, populate)) break;
    populate = wanted;
    seen = await read(populate, gate);
  }
  if (!seen.ok) return seen;
  if (Object.keys(populate).length === 0) return ok([]);
  const all = await read(populate, openGate);
  // it may be deleted in between
  return all.ok ? ok(differences(type, seen.value, all.value, model)) : all;
};

type Entry = Readonly<Record<string, unknown>>;

interface Looking {
  readonly model: Model;
  readonly gate: Gate;
}

/** Whether the attribute may hold entries that the caller may not see. Lists of one type have windows of their own, and may be long. */
const mayHoldUnseen = (attribute: Attribute, { model, gate }: Looking): boolean => {
  if (attribute.kind === 'morph') return unseenTargets(attribute, { model, gate }).mayHoldUnseen;
  return (
    attribute.kind === 'link' &&
    attribute.shape === 'one' &&
    (attribute.source === 'relation' || attribute.source === 'morph') &&
    staysUnseen(typeOf(model, attribute.target), gate)
  );
};

/** What to populate to find them in entries of a type, and in the components that `found` has of these. */
const relationsOf = (type: EntryType, found: readonly Entry[], looking: Looking): PopulateTree => {
  const inside = (uid: Uid, parts: readonly Entry[]): PopulateOptions => ({
    fields: ['id'],
    ...(parts.length > 0 && { populate: relationsOf(typeOf(looking.model, uid), parts, looking) }),
  });
  const ofParts = ({ name, shape, components }: PartAttribute): PopulateTree => {
    const uids = components.filter((uid) => leadsToUnseen(uid, looking));
    const parts = found.flatMap((it) => entriesIn(it[name]));
    if (shape !== 'zone') return Object.fromEntries(uids.map((uid) => [name, inside(uid, parts)]));
    if (uids.length === 0) return {};
    const ofType = (uid: Uid): readonly Entry[] => parts.filter((it) => it['__component'] === uid);
    return { [name]: { on: Object.fromEntries(uids.map((uid) => [uid, inside(uid, ofType(uid))])) } };
  };
  return Object.assign(
    {},
    ...populatedBy(type, looking).map((it): PopulateTree => {
      if (it.kind === 'part') return ofParts(it);
      return mayHoldUnseen(it, looking) ? { [it.name]: { fields: ['id'] } } : {};
    }),
  );
};

/** Whether a component, or one in it at any depth, has such a relation. @param asked the components that were asked before. */
const leadsToUnseen = (uid: Uid, looking: Looking, asked = new Set<Uid>()): boolean => {
  if (asked.has(uid)) return false;
  asked.add(uid);
  return populatedBy(typeOf(looking.model, uid), looking).some((it) =>
    it.kind === 'part'
      ? it.components.some((inner) => leadsToUnseen(inner, looking, asked))
      : mayHoldUnseen(it, looking),
  );
};

const populatedBy = (type: EntryType, { gate }: Looking): readonly Attribute[] =>
  [...type.attributes.values()].filter((it) => gate.allows(type, it, 'populate'));

/** Where the second of two reads of one entry has more. */
const differences = (type: EntryType, seen: Entry, all: Entry, model: Model): readonly string[] =>
  Object.keys(all).flatMap((name) => {
    const attribute = type.attributes.get(name);
    const [some, whole] = [entriesIn(seen[name]), entriesIn(all[name])];
    if (attribute?.kind !== 'part') return whole.length > some.length ? [name] : [];
    return whole.flatMap((part) => {
      const uid = typeof part['__component'] === 'string' ? part['__component'] : attribute.components[0]!;
      const same = some.find((it) => it['id'] === part['id'] && it['__component'] === part['__component']);
      const at = [name, ...(attribute.shape === 'zone' ? [uid] : []), String(part['id'])].join('/');
      // a component that has come in between is not shown yet
      return same ? differences(typeOf(model, uid), same, part, model).map((it) => `${at}/${it}`) : [];
    });
  });

const entriesIn = (value: unknown): readonly Entry[] => [value].flat().filter(isObject);
