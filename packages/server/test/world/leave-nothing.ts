/** Test files share the process of their worker: what one has changed there is undone before the next one runs. */
import process from 'node:process';
import { afterAll, vi } from 'vitest';

const environment = { ...process.env };

afterAll(() => {
  vi.unstubAllEnvs();
  // not only stubs: a start that is refused leaves the variables of its project's `.env` behind
  for (const name of Object.keys(process.env)) if (!Object.hasOwn(environment, name)) delete process.env[name];
  Object.assign(process.env, environment);
  process.exitCode = undefined;
});
