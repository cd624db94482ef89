/** Runs a project's hooks inside the transactions of writes. */
import { limits } from '../limits.js';
import type { HooksOf, RunHook } from '../write/request.js';
import type { Session, WriteAction } from '../write/session.js';
import { type ContentDeps, newContent } from './content.js';
import { newEventContent } from './event.js';
import type { Event, Hook, HookName } from './handlers.js';
import type { HandlersByType } from './load.js';
import { refuse } from './run.js';

/** The hooks that the writer runs, from the handlers of a project. */
export const hooksFrom = (handlers: HandlersByType, deps: ContentDeps): HooksOf => {
  if (handlers.size === 0) return () => undefined;
  // hooks of one transaction nest but never run concurrently
  const depths = new WeakMap<Session, number>();
  return ({ type }) => {
    const own = handlers.get(type.uid);
    if (!own) return undefined;
    const find =
      (when: 'before' | 'after') =>
      (action: WriteAction): RunHook | undefined => {
        const name = `${when}${action[0]!.toUpperCase()}${action.slice(1)}` as HookName;
        const hook = own[name];
        if (!hook) return undefined;
        const title = `the hook ${name} of ${type.uid}`;
        return async ({ id, data, session }) => {
          const depth = depths.get(session) ?? 0;
          if (depth >= limits.hookDepthMax)
            throw new Error(
              `${title}: hooks are nested more than ${limits.hookDepthMax} deep; does it trigger itself?`,
            );
          depths.set(session, depth + 1);
          try {
            await runHook(hook, title, { id, data, content: newContent(deps, session), refuse }, deps.hookMsMax);
          } finally {
            depths.set(session, depth);
          }
        };
      };
    return { before: find('before'), after: find('after') };
  };
};

/** Returns, or throws, only once no call of the hook is in flight. */
const runHook = async (hook: Hook, title: string, event: Event, msMax: number = limits.hookMsMax): Promise<void> => {
  const bound = newEventContent(event.content, title, performance.now() + msMax);
  const running = async (): Promise<void> => {
    await hook({ ...event, content: bound.content });
    await bound.finish();
  };
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${title} did not finish within ${msMax} ms`)), msMax);
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
