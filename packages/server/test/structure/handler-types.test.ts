/** The types that a project's handlers import, as its own TypeScript sees them. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { newFolder } from '../world/folders.js';

const server = path.join(path.dirname(fileURLToPath(import.meta.url)), '../..');
const tsc = path.join(server, '../../node_modules/.bin/tsc');

const source = `import type { Handlers } from 'dovetail/handlers';
const handlers: Handlers = {
  async find({ caller, request, next }) {
    const answer = await next();
    const text: string = answer.text;
    return caller && request.id === null && text ? answer : answer;
  },
};
export default handlers;
`;

/** The output of the compiler, which reads the declarations of the built package. */
const compiled = (text: string): string => {
  const dir = newFolder();
  const write = (name: string, content: string): void => fs.writeFileSync(path.join(dir, name), content);
  fs.mkdirSync(path.join(dir, 'node_modules'));
  fs.symlinkSync(server, path.join(dir, 'node_modules/dovetail'), 'dir');
  write('package.json', '{ "type": "module" }');
  write('handlers.ts', text);
  const compilerOptions = { strict: true, skipLibCheck: false, noEmit: true, module: 'nodenext', target: 'es2022' };
  write(
    'tsconfig.json',
    JSON.stringify({ compilerOptions: { ...compilerOptions, types: [] }, files: ['handlers.ts'] }),
  );
  try {
    return execFileSync(process.execPath, [tsc, '-p', dir], { encoding: 'utf8' });
  } catch (fault) {
    return (fault as { readonly stdout: string }).stdout;
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
};

it('dovetail/handlers type-checks without @types/node, with skipLibCheck off', () => {
  expect(compiled(source)).toBe('');
});

it('a misspelt handler is an error', () => {
  expect(compiled(source.replace('async find(', 'async fnd('))).toMatch(/'fnd' does not exist in type 'Handlers'/);
});
