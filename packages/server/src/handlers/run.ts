/** Runs a project's handlers. */
import { issue, Refusal } from '../errors.js';
import { limits } from '../limits.js';
import type { EntryType } from '../model/model.js';
import type { ReadAction } from '../query/selection.js';
import type { Answer } from '../read/answer.js';
import type { WriteAction } from '../write/session.js';
import type { HandlerName, Handlers, Refuse, Step, StepAnswer } from './handlers.js';

/** The handler of an action; a single type is read by `find`. */
export const handlerFor = (handlers: Handlers | undefined, action: ReadAction | WriteAction): Handlers[HandlerName] =>
  handlers?.[action === 'single' ? 'find' : action];

const refusals = {
  400: { code: 'handler.refused', words: 'Bad Request' },
  403: { code: 'handler.forbidden', words: 'Forbidden' },
  404: { code: 'handler.not-found', words: 'Not Found' },
  409: { code: 'handler.conflict', words: 'Conflict' },
} as const;

/** Handlers may be plain JavaScript, so the arguments cannot be trusted to have these types. */
export const refuse: Refuse = (message, status = 400) => {
  if (!Object.hasOwn(refusals, status))
    throw new TypeError(`refuse: the status ${String(status)} is not one of ${Object.keys(refusals).join(', ')}`);
  const { code, words } = refusals[status];
  throw new Refusal(issue(code, [], { message: String(message ?? '') || words }));
};

/**
 * The answers behind the objects that handlers get. A cached response is shared between requests, so its bytes are
 * never exposed.
 */
const answersBehind = new WeakMap<StepAnswer, Answer>();

/** An answer as handlers see it. */
export const stepAnswer = (answer: Answer): StepAnswer => {
  const view: StepAnswer = Object.freeze({
    get text() {
      return answer.body.toString();
    },
    etag: answer.etag,
    json: () => JSON.parse(answer.body.toString()) as ReturnType<StepAnswer['json']>,
  });
  answersBehind.set(view, answer);
  return view;
};

/**
 * Runs a handler; its return value becomes the response. Null from findOne means that the entry does not exist. Throws an
 * error that names the handler if it takes too long or returns anything else than an answer or a plain object.
 */
export const runHandler = async (
  handler: NonNullable<Handlers[HandlerName]>,
  step: Step,
  {
    type,
    action,
    msMax = limits.handlerMsMax,
  }: {
    readonly type: EntryType;
    readonly action: ReadAction | WriteAction;
    /** Milliseconds that the handler's own code may take. */
    readonly msMax?: number | undefined;
  },
  answerOf: (json: unknown) => Answer,
): Promise<Answer> => {
  const title = `the handler ${action === 'single' ? 'find' : action} of ${type.uid}`;
  const watch = newStopwatch(title, msMax);
  let given: unknown;
  try {
    given = await Promise.race([handler({ ...step, ...timed(step, watch) }), watch.tooLong]);
  } finally {
    watch.end();
  }
  const behind = answersBehind.get(given as StepAnswer);
  if (behind) return behind;
  if (given === null && action === 'findOne') throw new Refusal(issue('http.not-found', []));
  const wrong = describeWrong(given);
  if (wrong !== null)
    throw new TypeError(`${title} must return a plain object or the result of next() itself, not ${wrong}`);
  return answerOf(given);
};

/** What a handler returned instead of an object that can be the body; null for such an object. */
const describeWrong = (given: unknown): string | null => {
  if (given === null) return 'null';
  if (typeof given !== 'object') return typeof given;
  if (Array.isArray(given)) return 'a list';
  const prototype: unknown = Object.getPrototypeOf(given);
  if (prototype !== null && prototype !== Object.prototype) return 'an instance of a class';
  return typeof (given as { readonly json?: unknown }).json === 'function'
    ? 'a copy of it; use its json() to change it'
    : null;
};

// ---- time

/** Measures a handler's own code. It stands still during calls into the server, which have limits of their own. */
interface Stopwatch {
  /** Rejects once the time is over. */
  readonly tooLong: Promise<never>;
  /** The same function, whose time does not count. It rejects once the time is over, because nobody would see its result. */
  pausing<Args extends unknown[], T>(call: (...args: Args) => Promise<T>): (...args: Args) => Promise<T>;
  /** Stops it for good. */
  end(): void;
}

const newStopwatch = (title: string, msMax: number): Stopwatch => {
  let giveUp: (fault: Error) => void = () => undefined;
  const tooLong = new Promise<never>((_resolve, reject) => {
    giveUp = reject;
  });
  let state: 'running' | 'over' | 'ended' = 'running';
  let msLeft = msMax;
  let startedAt = 0;
  let callsInFlight = 0;
  let timer: NodeJS.Timeout | undefined;
  const start = (): void => {
    if (state !== 'running') return;
    startedAt = performance.now();
    timer = setTimeout(() => {
      state = 'over';
      giveUp(new Error(`${title} did not finish within ${msMax} ms`));
    }, msLeft);
  };
  const pause = (): void => {
    clearTimeout(timer);
    msLeft = Math.max(0, msLeft - (performance.now() - startedAt));
  };
  start();
  return {
    tooLong,
    pausing:
      (call) =>
      async (...args) => {
        if (state === 'over') throw new Error(`${title} continued after its time was over`);
        if (callsInFlight === 0) pause();
        callsInFlight += 1;
        try {
          return await call(...args);
        } finally {
          callsInFlight -= 1;
          if (callsInFlight === 0) start();
        }
      },
    end: () => {
      clearTimeout(timer);
      if (state === 'running') state = 'ended';
    },
  };
};

const timed = ({ next, content }: Step, { pausing }: Stopwatch): Pick<Step, 'next' | 'content'> => ({
  next: pausing(next),
  content: {
    find: pausing(content.find),
    findOne: pausing(content.findOne),
    create: pausing(content.create),
    createLocalization: pausing(content.createLocalization),
    update: pausing(content.update),
    delete: pausing(content.delete),
  },
});
