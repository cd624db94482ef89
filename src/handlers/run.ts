/** Runs a project's handlers around actions, and its hooks inside transactions. */
import { issue, Refusal, type Result } from '../errors.js';
import type { EntryType, Model } from '../model/model.js';
import type { ResolveContext } from '../query/resolve.js';
import type { Gate, ReadAction } from '../query/selection.js';
import type { Answer, Reader } from '../read/find.js';
import type { Tx } from '../sql/dialect.js';
import type { HooksOf, WriteAction, WriteRequest, Writer } from '../write/apply.js';
import type { Content, HandlerName, Handlers, HookName, Refuse, Step, StepAnswer } from './handlers.js';
import type { HandlersByType } from './load.js';

/** The handler of an action; a single type is read by `find`. */
export const handlerFor = (handlers: Handlers | undefined, action: ReadAction | WriteAction): Handlers[HandlerName] =>
  handlers?.[action === 'single' ? 'find' : action];

export const refuse: Refuse = (message, status = 400) => {
  const codes = {
    400: 'handler.refused',
    403: 'handler.forbidden',
    404: 'handler.not-found',
    409: 'handler.conflict',
  } as const;
  throw new Refusal(issue(codes[status], [], { message }));
};

/** An answer as handlers see it. */
export const stepAnswer = ({ body, etag }: Answer): StepAnswer => ({
  body,
  etag,
  json: () => JSON.parse(body.toString()) as ReturnType<StepAnswer['json']>,
});

/** Runs a handler; what it gives back becomes the answer. */
export const runHandler = async (
  handler: NonNullable<Handlers[HandlerName]>,
  step: Step,
  answerOf: (json: unknown) => Answer,
): Promise<Answer> => {
  const given = await handler(step);
  return isStepAnswer(given) ? { body: given.body, etag: given.etag } : answerOf(given);
};

const isStepAnswer = (given: unknown): given is StepAnswer => Buffer.isBuffer((given as StepAnswer | null)?.body);

/** The server's own hand: everything may be seen and changed, hidden attributes stay hidden. */
const ownGate: Gate = { version: 'handlers', allows: (_type, attribute, use) => !attribute.hidden || use === 'write' };

export interface ContentDeps {
  readonly model: Model;
  readonly reader: Reader;
  /** Given late: hooks belong to the writer that they use. */
  readonly writer: () => Writer;
  readonly context: Omit<ResolveContext, 'gate' | 'model'>;
}

/** @param tx the transaction to stay inside; null outside of writes. */
export const newContent = ({ model, reader, writer, context }: ContentDeps, tx: Tx | null): Content => {
  const own: ResolveContext = { ...context, model, gate: ownGate };
  const typeOf = (uid: string): EntryType => model.types.get(uid) ?? refuse(`there is no content type "${uid}"`);
  const granted = <T>(result: Result<T>): T => {
    if (result.ok) return result.value;
    throw new Refusal(...result.issues);
  };
  const read = async (action: ReadAction, uid: string, id: number | null, search: string): Promise<Answer | null> => {
    const request = { action, type: typeOf(uid), id, search };
    if (tx) return granted(await reader.readInside(request, own, tx));
    const result = await reader.read(request, own);
    return !result.ok && result.issues[0]?.code === 'http.not-found' ? null : granted(result);
  };
  const write = async (action: WriteAction, uid: string, id: number | null, data: unknown): Promise<Answer> => {
    const request: WriteRequest = { action, type: typeOf(uid), id, body: { data }, search: '', ifMatch: null };
    return tx ? writer().writeInside(request, own, tx) : granted(await writer().write(request, own));
  };
  return {
    find: async (uid, search = '') => {
      const answer = await read(typeOf(uid).kind === 'single' ? 'single' : 'find', uid, null, search);
      return answer ? stepAnswer(answer).json() : { data: null, meta: {} };
    },
    findOne: async (uid, id, search = '') => {
      const answer = await read('findOne', uid, id, search);
      return answer && stepAnswer(answer).json();
    },
    create: async (uid, data) => stepAnswer(await write('create', uid, null, data)).json(),
    update: async (uid, id, data) => stepAnswer(await write('update', uid, id, data)).json(),
    delete: async (uid, id) => {
      await write('delete', uid, id, undefined);
    },
  };
};

/** The hooks that a writer runs, from the handlers of a project. */
export const hooksFrom = (handlers: HandlersByType, deps: ContentDeps): HooksOf => {
  if (handlers.size === 0) return () => undefined;
  return (type) => {
    const own = handlers.get(type.uid);
    if (!own) return undefined;
    const run =
      (when: 'before' | 'after') =>
      async (
        action: WriteAction,
        {
          id,
          data,
          tx,
        }: { readonly id: number | null; readonly data: Record<string, unknown> | null; readonly tx: Tx },
      ): Promise<void> => {
        const name = `${when}${action[0]!.toUpperCase()}${action.slice(1)}` as HookName;
        await own[name]?.({ id, data, content: newContent(deps, tx), refuse });
      };
    return { before: run('before'), after: run('after') };
  };
};
