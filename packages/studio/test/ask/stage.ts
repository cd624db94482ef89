/** The oracle's random projects as the Studio knows them, and what the server makes of a URL. */
import { newGate } from '../../../server/src/access/access.js';
import { findAction } from '../../../server/src/access/actions.js';
import { modelDocument } from '../../../server/src/describe/model-document.js';
import { unwrap } from '../../../server/src/errors.js';
import { textQuery } from '../../../server/src/query/brackets.js';
import { type ResolveContext, resolveQuery } from '../../../server/src/query/resolve.js';
import type { Filter, Selection } from '../../../server/src/query/selection.js';
import { planRead } from '../../../server/src/read/planner.js';
import { newScene, type Scene } from '../../../server/test/oracle/scene.js';
import { defaultSettings } from '../../../server/test/world/server.js';
import type { Model } from '../../src/model/model.js';
import { actionOf, type Request, typeOfRequest, writeUrl } from '../../src/rooms/ask/query/request.js';

export interface Stage {
  readonly scene: Scene;
  readonly context: ResolveContext;
  readonly model: Model;
}

export const newStage = (seed: number, { strict }: { readonly strict: boolean }): Stage => {
  const scene = newScene(seed);
  const findable = [...scene.project.types.values()].filter((it) => it.findable);
  const open = new Set(findable.map((it) => findAction(it.uid)));
  const may = (action: string): boolean => open.has(action);
  const gate = newGate({ version: 'test', may }, scene.model);
  const context = { model: scene.model, gate, rest: defaultSettings.rest, strict, defaultLocale: 'en' };
  return { scene, context, model: documentedModel({ ...context, may }) };
};

/** What the server makes of a search text, in two forms; its faults if it refuses. */
export interface Meaning {
  readonly isLegal: boolean;
  readonly ignores: boolean;
  /** The plan by which it is read. */
  readonly plan: string;
  /** What is selected, without the order of fields and populated names, which is that of the objects in the response. */
  readonly selection: string;
}

export const meaningOf = (
  search: string,
  uid: string,
  action: 'find' | 'findOne' | 'single',
  context: ResolveContext,
): Meaning => {
  const raw = textQuery(search).read();
  const type = context.model.types.get(uid);
  if (!type) throw new Error(`no type ${uid}`);
  const query = raw.ok ? resolveQuery(raw.value, type, action, context) : raw;
  if (!query.ok) {
    const faults = JSON.stringify(query.issues);
    return { isLegal: false, ignores: false, plan: faults, selection: faults };
  }
  // blanks are places in the text, not what it means
  const { blanks: _, ...plan } = unwrap(planRead(query.value, { nests: false }));
  const { selection, page, withCount, locale, leftOut } = query.value;
  return {
    isLegal: true,
    ignores: leftOut.length > 0,
    plan: JSON.stringify(plan),
    selection: JSON.stringify([sketch(selection), page, withCount, locale && sketchFilter(locale)]),
  };
};

const sketch = ({ type, fields, populate, filter, sort, state }: Selection): object => ({
  type: type.uid,
  state,
  fields: fields.map((it) => it.name).sort(),
  filter: filter && sketchFilter(filter),
  sort: sort.map((it) => [...it.steps.map((step) => step.attribute.name), it.attribute.name, it.direction].join('.')),
  populate: populate
    .map(
      (it) =>
        [it.attribute.name, [...it.targets].map(([uid, target]) => [uid, sketch(target)] as const).sort()] as const,
    )
    .sort(([a], [b]) => (a < b ? -1 : 1)),
});

const sketchFilter = (filter: Filter): unknown => {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return [filter.kind, filter.members.map(sketchFilter)];
    case 'not':
      return ['not', sketchFilter(filter.member)];
    case 'compare':
      return [filter.attribute.name, filter.operator, filter.values];
    case 'related':
      return [filter.step.attribute.name, sketchFilter(filter.member)];
  }
};

export const meaningOfRequest = (request: Request, { context, model }: Stage): Meaning => {
  const type = typeOfRequest(model, request);
  if (!type) throw new Error(`no type ${request.type}`);
  const url = writeUrl(model, request);
  const question = url.indexOf('?');
  return meaningOf(question === -1 ? '' : url.slice(question + 1), request.type, actionOf(type, request), context);
};

export interface Documented {
  readonly model: ResolveContext['model'];
  readonly rest: ResolveContext['rest'];
  readonly strict: boolean;
  /** What the role may as which an administrator looks. */
  readonly may: (action: string) => boolean;
}

/** The model as the Studio gets it from the server. */
export const documentedModel = ({ model, rest, strict, may }: Documented): Model => {
  const routed = [...model.types.values()].filter((it) => it.kind !== 'component' && it.origin === 'project');
  const caller = { version: 'test', may };
  const document = modelDocument({
    model,
    gate: newGate(caller, model),
    rest,
    strict,
    caller,
    knowing: true,
    version: 'test',
    prefix: '/api',
    locales: [],
    paths: new Map(routed.map((it) => [it.uid, `/api/${it.kind === 'single' ? it.singular : it.plural}`])),
    mainFields: new Map(),
  });
  return JSON.parse(JSON.stringify(document)) as Model;
};
