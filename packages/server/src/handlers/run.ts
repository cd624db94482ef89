/** Runs a project's handlers. */
import { issue, Refusal } from '../errors.js';
import type { EntryType } from '../model/model.js';
import type { ReadAction } from '../query/selection.js';
import type { Answer } from '../read/find.js';
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

/** Runs a handler; its return value becomes the response. Null from findOne means that the entry does not exist. */
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
      `the handler ${action === 'single' ? 'find' : action} of ${type.uid} must return an object or the result of next(), not ${given === null ? 'null' : typeof given}`,
    );
  return answerOf(given);
};
