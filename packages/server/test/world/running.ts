/** Texts that run as code of a project: `return strapi.io`. */
import { expect } from 'vitest';
import type { CodeProject } from './code-project.js';

/** `src/api/run/controllers/run.js`: its action `run` runs the text; what that throws is in the answer. */
export const runningController = `const AsyncFunction = (async () => undefined).constructor;
    module.exports = ({ strapi }) => ({ async run(ctx) {
      try {
        return { result: (await new AsyncFunction('strapi', 'ctx', 'require', ctx.request.body.code)(strapi, ctx, require)) ?? null };
      } catch (error) {
        return { thrown: error.name + ': ' + error.message };
      }
    } });`;

/** Runs texts by `POST /api/run`. */
export const codeRunner = (served: () => CodeProject) => {
  const answerOf = async (code: string): Promise<Record<string, unknown>> => {
    const { status, body } = await served().json('POST', '/api/run', { code });
    expect(status).toBe(200);
    return body as Record<string, unknown>;
  };
  return {
    /** Whatever comes of it. */
    answerOf,
    /** What it returns. */
    run: async (code: string): Promise<unknown> => {
      const answer = await answerOf(code);
      expect(answer).not.toHaveProperty('thrown');
      return answer['result'];
    },
    /** `Error: what is wrong`. */
    thrown: async (code: string): Promise<unknown> => (await answerOf(code))['thrown'],
  };
};
