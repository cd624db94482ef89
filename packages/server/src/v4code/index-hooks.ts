/** `register`, `bootstrap` and `destroy` of a project's index files and plugins, and what is said of those that fail or do not end. */
import type { FastifyBaseLogger } from 'fastify';
import { limits } from '../limits.js';
import { CodeFault, describeFault } from './loading/load.js';
import { type IndexModule, isCallable } from './loading/parts.js';
import type { Strapi } from './strapi.js';

type IndexHook = 'register' | 'bootstrap' | 'destroy';

export interface IndexHooksDeps {
  readonly dir: string;
  readonly indexes: readonly IndexModule[];
  readonly ofPlugins: (hook: IndexHook) => Promise<void>;
  readonly strapi: () => Strapi;
  readonly log: Pick<FastifyBaseLogger, 'warn' | 'error'>;
}

export interface IndexHooks {
  /** Throws `CodeFault`: what fails there stops the start. */
  start(hook: 'register' | 'bootstrap'): Promise<void>;
  destroy(): Promise<void>;
  /** Lets the hook that runs fail with a change of the server that has no effect here. */
  noteWithoutEffect(fault: Error): void;
}

export const newIndexHooks = ({ dir, indexes, ofPlugins, strapi, log }: IndexHooksDeps): IndexHooks => {
  /** The first since a hook began. */
  let withoutEffect: Error | null = null;
  const callAll = async (hook: IndexHook, running: (file: string) => void): Promise<void> => {
    await ofPlugins(hook);
    for (const { file, members } of indexes) {
      const given = members[hook];
      if (!isCallable(given)) continue;
      running(file);
      await given.call(members, { strapi: strapi() });
    }
  };
  /** @returns to be called once the hook has ended. @param late where it is, and what comes of it. */
  const warnIfLate = (late: () => string, ms: number): (() => void) => {
    const timer = setTimeout(() => log.warn(late()), ms).unref();
    return () => clearTimeout(timer);
  };
  return {
    start: async (hook) => {
      let file = 'src';
      const ended = warnIfLate(() => `${hook} of ${file} has not ended; the start waits for it`, limits.startHookMs);
      withoutEffect = null;
      try {
        await callAll(hook, (it) => {
          file = it;
        });
        // code may have caught it
        if (withoutEffect) throw withoutEffect as Error;
      } catch (fault) {
        log.error({ err: fault }, `${hook} of the project failed`);
        throw new CodeFault(describeFault(fault, dir, { file, what: `${hook} failed` }), { cause: fault });
      } finally {
        ended();
      }
    },
    destroy: async () => {
      let file = 'src';
      const late = (): string => `destroy of ${file} has not ended; the process ends without it soon`;
      const ended = warnIfLate(late, limits.closeMsMax / 2);
      try {
        await callAll('destroy', (it) => {
          file = it;
        });
      } finally {
        ended();
      }
    },
    noteWithoutEffect: (fault) => {
      withoutEffect ??= fault;
    },
  };
};
