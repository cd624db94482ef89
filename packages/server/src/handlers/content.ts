/** The content API for project code: reads and writes any type with the server's own rights. */
import { serverGate } from '../access/access.js';
import { orNearest, unwrap } from '../errors.js';
import type { EntryType, Model } from '../model/model.js';
import { noQuery, objectQuery, type QueryObject } from '../query/objects.js';
import type { ResolveContext } from '../query/resolve.js';
import type { ReadAction } from '../query/selection.js';
import type { Answer } from '../read/answer.js';
import type { Reader } from '../read/find.js';
import type { LocaleStore } from '../read/locales.js';
import { applyAndAnswer, writeAndAnswer } from '../write/answer.js';
import type { Writer } from '../write/apply.js';
import { checkData } from '../write/change.js';
import type { WriteRequest } from '../write/request.js';
import { inPart, type Session } from '../write/session.js';
import type { Content } from './handlers.js';
import { stepAnswer } from './run.js';

export interface ContentDeps {
  readonly model: Model;
  readonly locales: LocaleStore;
  readonly reader: Reader;
  /** Lazy, because the writer runs the hooks that use it. */
  readonly writer: () => Writer;
  readonly context: Omit<ResolveContext, 'gate' | 'model' | 'defaultLocale'>;
  /** Milliseconds that a hook may take; `limits.hookMsMax` by default. */
  readonly hookMsMax?: number;
}

/** @param session the transaction to run in; null outside of writes. */
export const newContent = (
  { model, locales, reader, writer, context }: ContentDeps,
  session: Session | null,
): Content => {
  // always strict: project code would not see what leniency leaves out of a query or of data
  const contextFor = async ({ localized }: EntryType): Promise<ResolveContext> => ({
    ...context,
    model,
    gate: serverGate,
    strict: true,
    defaultLocale: localized ? await locales.defaultCode(session?.tx) : null,
  });
  /** Throws an error, not a refusal: clients cannot mend the code of the project. */
  const typeOf = (uid: string): EntryType => {
    const type = model.types.get(uid);
    if (type) return type;
    throw new TypeError(`there is no content type "${uid}"${orNearest(uid, model.types.keys())}`);
  };

  const read = async (
    action: ReadAction,
    type: EntryType,
    id: number | null,
    query: QueryObject,
  ): Promise<Answer | null> => {
    const request = { action, type, id, query: objectQuery(query) };
    const own = await contextFor(type);
    if (session) return unwrap(await reader.readInside(request, own, session.tx));
    const result = await reader.read(request, own);
    return !result.ok && result.issues[0]?.code === 'http.not-found' ? null : unwrap(result);
  };

  const write = async (request: WriteRequest): Promise<Answer> => {
    const lines = { reader, writer: writer() };
    const show = { query: noQuery };
    const own = await contextFor(request.type);
    // a refused call in a transaction is rolled back even if the hook catches the refusal
    const { answer } = session
      ? await inPart(session, () => applyAndAnswer(request, show, own, session, lines))
      : unwrap(await writeAndAnswer(request, show, own, lines));
    return answer;
  };

  return {
    find: async (uid, query = {}) => {
      const type = typeOf(uid);
      const answer = await read(type.kind === 'single' ? 'single' : 'find', type, null, query);
      return answer ? stepAnswer(answer).json() : { data: null, meta: {} };
    },
    findOne: async (uid, id, query = {}) => {
      const answer = await read('findOne', typeOf(uid), id, query);
      return answer && stepAnswer(answer).json();
    },
    create: async (uid, data) =>
      stepAnswer(await write({ action: 'create', type: typeOf(uid), data: unwrap(checkData(data)) })).json(),
    createLocalization: async (uid, id, data) => {
      const type = typeOf(uid);
      if (!type.localized) throw new TypeError(`${uid} has no locales`);
      return stepAnswer(await write({ action: 'create', type, source: { id }, data: unwrap(checkData(data)) })).json();
    },
    update: async (uid, id, data, { locale = null } = {}) =>
      stepAnswer(
        await write({ action: 'update', type: typeOf(uid), id, data: unwrap(checkData(data)), locale }),
      ).json(),
    delete: async (uid, id, { locale = null } = {}) => {
      await write({ action: 'delete', type: typeOf(uid), id, locale });
    },
  };
};
