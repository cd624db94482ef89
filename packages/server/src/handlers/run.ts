/** Runs a project's handlers around actions, and its hooks inside transactions. */
import { issue, Refusal, type Result } from '../errors.js';
import { limits } from '../limits.js';
import type { EntryType, Model } from '../model/model.js';
import type { ResolveContext } from '../query/resolve.js';
import type { Gate, ReadAction } from '../query/selection.js';
import type { Answer, Reader } from '../read/find.js';
import type { Tx } from '../sql/dialect.js';
import type { HookEvent, HooksOf, WriteAction, WriteRequest, Writer } from '../write/apply.js';
import type { Content, Event, HandlerName, Handlers, Hook, HookName, Refuse, Step, StepAnswer } from './handlers.js';
import type { HandlersByType } from './load.js';

/** The handler of an action; a single type is read by `find`. */
export const handlerFor = (handlers: Handlers | undefined, action: ReadAction | WriteAction): Handlers[HandlerName] =>
  handlers?.[action === 'single' ? 'find' : action];

const refusals = {
  400: { code: 'handler.refused', words: 'Bad Request' },
  403: { code: 'handler.forbidden', words: 'Forbidden' },
  404: { code: 'handler.not-found', words: 'Not Found' },
  409: { code: 'handler.conflict', words: 'Conflict' },
} as const;

/** Handlers may be JavaScript, so nothing about the arguments is certain. */
export const refuse: Refuse = (message, status = 400) => {
  if (!Object.hasOwn(refusals, status))
    throw new TypeError(`refuse: the status ${String(status)} is none of ${Object.keys(refusals).join(', ')}`);
  const { code, words } = refusals[status];
  throw new Refusal(issue(code, [], { message: String(message ?? '') || words }));
};

/** What handlers hold of an answer. The answer itself may be kept for other requests, so no handler gets its bytes. */
const answersBehind = new WeakMap<StepAnswer, Answer>();

/** An answer as handlers see it. */
export const stepAnswer = (answer: Answer): StepAnswer => {
  const shown: StepAnswer = Object.freeze({
    get text() {
      return answer.body.toString();
    },
    etag: answer.etag,
    json: () => JSON.parse(answer.body.toString()) as ReturnType<StepAnswer['json']>,
  });
  answersBehind.set(shown, answer);
  return shown;
};

/** Runs a handler; what it gives back becomes the answer. An entry that is not there may be null. */
export const runHandler = async (
  handler: NonNullable<Handlers[HandlerName]>,
  step: Step,
  { type, action }: { readonly type: EntryType; readonly action: ReadAction | WriteAction },
  answerOf: (json: unknown) => Answer,
): Promise<Answer> => {
  const given: unknown = await handler(step);
  const behind = answersBehind.get(given as StepAnswer);
  if (behind) return behind;
  if (given === null && action === 'findOne') throw new Refusal(issue('http.not-found', []));
  if (given === null || typeof given !== 'object')
    throw new TypeError(
      `the handler ${action === 'single' ? 'find' : action} of ${type.uid} must give an object or what next() gave, not ${given === null ? 'null' : typeof given}`,
    );
  return answerOf(given);
};

/** The server's own hand: everything may be seen and changed, hidden attributes stay hidden. */
const ownGate: Gate = { version: 'handlers', allows: (_type, attribute, use) => !attribute.hidden || use === 'write' };

export interface ContentDeps {
  readonly model: Model;
  readonly reader: Reader;
  /** Given late: hooks belong to the writer that they use. */
  readonly writer: () => Writer;
  readonly context: Omit<ResolveContext, 'gate' | 'model'>;
  /** Milliseconds that a hook may take; `limits.hookMsMax` when it is not given. */
  readonly hookMsMax?: number;
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
  // hooks of one transaction run inside each other, never beside each other
  const depths = new WeakMap<Tx, number>();
  return (type) => {
    const own = handlers.get(type.uid);
    if (!own) return undefined;
    const run =
      (when: 'before' | 'after') =>
      async (action: WriteAction, { id, data, tx }: HookEvent): Promise<void> => {
        const name = `${when}${action[0]!.toUpperCase()}${action.slice(1)}` as HookName;
        const hook = own[name];
        if (!hook) return;
        const title = `the hook ${name} of ${type.uid}`;
        const depth = depths.get(tx) ?? 0;
        if (depth >= limits.hookDepthMax)
          throw new Error(
            `${title}: hooks lie more than ${limits.hookDepthMax} deep in each other; does it call itself?`,
          );
        depths.set(tx, depth + 1);
        try {
          await runHook(hook, title, { id, data, content: newContent(deps, tx), refuse }, deps.hookMsMax);
        } finally {
          depths.set(tx, depth);
        }
      };
    return { before: run('before'), after: run('after') };
  };
};

/** The transaction goes on, or ends, when nothing of the hook is under way any more. */
const runHook = async (hook: Hook, title: string, event: Event, msMax: number = limits.hookMsMax): Promise<void> => {
  const bound = boundContent(event.content, title, performance.now() + msMax);
  const running = async (): Promise<void> => {
    await hook({ ...event, content: bound.content });
    await bound.finish();
  };
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${title} did not end in ${msMax} ms`)), msMax);
  });
  try {
    await Promise.race([running(), tooLong]);
  } catch (fault) {
    await bound.abort();
    throw fault;
  } finally {
    clearTimeout(timer);
  }
};

interface BoundContent {
  readonly content: Content;
  /** Waits until no call is under way; then there are no more. Throws what would be lost otherwise. */
  finish(): Promise<void>;
  /** Lets no further call begin, and waits for the one under way. */
  abort(): Promise<void>;
}

/**
 * The content of one event. Its calls run one after the other, because each looks at what the one before has left; past
 * the event's end there are none, because the transaction is over or somebody else's. After the deadline timers get their
 * turn before each call: on SQLite calls alone would never let them.
 */
const boundContent = (
  { find, findOne, create, update, delete: remove }: Content,
  title: string,
  deadline: number,
): BoundContent => {
  let last: Promise<unknown> = Promise.resolve();
  let underWay = 0;
  let state: 'open' | 'ending' | 'over' = 'open';
  const lost: unknown[] = [];
  const inTurn =
    <Args extends unknown[], T>(call: (...args: Args) => Promise<T>) =>
    (...args: Args): Promise<T> => {
      underWay += 1;
      const turn = last.then(async () => {
        if (performance.now() > deadline) await new Promise(setImmediate);
        if (state === 'over')
          throw new Error(`${title}: the event is over, and its content with it; await every call inside the hook`);
        return call(...args);
      });
      const done = (): void => {
        underWay -= 1;
      };
      last = turn.then(done, (fault: unknown) => {
        done();
        // a hook may live with a refusal that it waited for; after any other fault the transaction may be broken
        if (state !== 'open' || !(fault instanceof Refusal)) lost.push(fault);
      });
      return turn;
    };
  return {
    content: {
      find: inTurn(find),
      findOne: inTurn(findOne),
      create: inTurn(create),
      update: inTurn(update),
      delete: inTurn(remove),
    },
    finish: async () => {
      state = 'ending';
      while (underWay > 0) {
        await last;
        // what goes on behind a call may make another
        await new Promise(setImmediate);
      }
      state = 'over';
      if (lost.length > 0) throw lost[0];
    },
    abort: async () => {
      state = 'over';
      await last;
    },
  };
};
