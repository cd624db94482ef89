/**
 * Requests that a v4 project's own code takes part in. Its middlewares, policies and controllers see Koa's context, whose
 * request and response are the framework's; what they answer is sent like any other response. A route without code is
 * answered by the server between the project's global middlewares.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Site } from '../../site/site.js';
import type { BoundCode } from '../../v4code/code.js';
import { inRequest } from '../../v4code/data/scope.js';
import type { Attempts } from '../attempts.js';
import type { Origins, OriginsOf } from '../headers.js';
import type { LogLeftOut } from '../left-out.js';
import { cloneStandIns } from './answers.js';
import { newContexts } from './context.js';
import { addCodeHooks } from './hooks.js';
import { type CodeLane, newCodeLane } from './lane.js';
import { newNative } from './native.js';
import { newRunning } from './running.js';
import { newWaitingForms } from './waiting-forms.js';

export interface CodeServer extends CodeLane {
  /** Asks the function that `config/middlewares` gives to `strapi::cors`. */
  readonly originsFor: OriginsOf;
}

export interface CodeDeps {
  readonly code: BoundCode;
  readonly site: Site;
  readonly settings: {
    readonly prefix: string;
    readonly trustProxy: boolean;
    readonly cookieKeys?: readonly string[];
  };
  readonly attempts: Attempts;
  readonly logLeftOut: LogLeftOut;
}

export const addProjectCode = async (
  app: FastifyInstance,
  { code, site, settings, attempts, logLeftOut }: CodeDeps,
): Promise<CodeServer> => {
  cloneStandIns();
  const contexts = await newContexts({ ...settings, strict: site.settings.strict });
  const exchanges = new WeakMap<object, FastifyRequest>();
  const forms = newWaitingForms(site.media);
  const native = newNative({
    site,
    findUser: code.findUser,
    contexts,
    attempts,
    prefix: settings.prefix,
    exchanges,
    logLeftOut: (leftOut, url) => logLeftOut(leftOut, url, app.log),
    withForm: forms.receive,
  });
  await code.start(site, native, app.server);
  const running = await newRunning(code, contexts);
  addCodeHooks(app, { code, contexts, native, running, forms, exchanges });
  return {
    ...newCodeLane({ code, site, contexts, native, running }),
    originsFor: async (request, response) => {
      const given = { body: undefined, source: null, commonHeaders: null };
      const ctx = running.newContext(request, response, null, given);
      response.statusCode = 200;
      try {
        return originsIn(await inRequest(ctx, () => code.corsOrigin!(ctx)));
      } catch (fault) {
        // whatever status it names, it is the server's fault
        throw new Error('the function that strapi::cors has as origin failed', { cause: fault });
      }
    },
  };
};

/** `https://a.example, https://b.example`, a list, or nothing for none. */
const originsIn = (given: unknown): Origins => {
  if (given === undefined || given === null || given === false) return [];
  const found: readonly unknown[] = typeof given === 'string' ? given.split(/\s*,\s*/) : [given].flat();
  if (!found.every((it) => typeof it === 'string'))
    throw new TypeError('it returned neither a text nor a list of texts');
  return found.includes('*') ? true : found;
};
