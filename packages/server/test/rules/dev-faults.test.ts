/** `dovetail dev` while files have faults: each is told with its place, and the project is served as it was before. */
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Dev, startDev } from '../world/dev.js';
import { newFolder } from '../world/folders.js';
import { contentType, typeFile, writeFiles } from '../world/schemas.js';

const string = { type: 'string' };
const article = contentType('article', { title: string });
const asText = (json: unknown): string => JSON.stringify(json, null, 2);
const handlers = 'src/api/article/handlers.ts';

describe('dev, with a fault', () => {
  let dir = '';
  let dev: Dev;
  beforeAll(async () => {
    dir = newFolder();
    writeFiles(dir, {
      'package.json': { type: 'module' },
      'dovetail.config.json': { permissions: { enabled: false } },
      [typeFile('article')]: article,
      'database/seed/articles.json': { first: { title: 'First' } },
    });
    dev = await startDev(dir, {});
  });
  afterAll(async () => {
    expect(await dev.stop()).toBe(0);
    fs.rmSync(dir, { recursive: true });
  });

  const write = (file: string, content: unknown): void => writeFiles(dir, { [file]: content });
  const served = async (): Promise<void> =>
    expect(await dev.get('/api/articles')).toMatchObject({
      status: 200,
      body: { data: [{ attributes: { title: 'First' } }] },
    });
  /** Writes what has the fault, and mends it; returns what was said. */
  const faultOf = async (file: string, content: unknown, mended: unknown) => {
    write(file, content);
    const line = await dev.said('is served as it was before');
    await served();
    if (mended === null) fs.rmSync(path.join(dir, file));
    else write(file, mended);
    await dev.said(/^mended/);
    await served();
    return { text: line.msg, fault: line.faults?.[0] };
  };

  it('names file, line and column of a JSON syntax error, and shows the lines around it', async () => {
    const text = asText(article).replace('"collectionName":', '"collectionName"');
    const { fault, text: said } = await faultOf(typeFile('article'), text, article);
    expect(fault).toMatchObject({ file: typeFile('article'), line: 3, column: 20 });
    expect(said).toBe(
      `${typeFile('article')}:3:20
${fault?.message}
  1 | {
  2 |   "kind": "collectionType",
> 3 |   "collectionName" "articles",
    |                    ^
  4 |   "info": {
  5 |     "singularName": "article",
The project is served as it was before.`,
    );
    expect(fault?.message).toMatch(/^not valid JSON: Expected ':'/);
  });

  it('names the place of a relation to a type that does not exist, and all faults at once', async () => {
    const tag = { type: 'relation', relation: 'oneToOne', target: 'api::tagg.tag' };
    const schema = contentType('article', { title: string, tag, more: { type: 'strin' } });
    write(typeFile('article'), asText(schema));
    const { faults, msg } = await dev.said('is served as it was before');
    expect(faults).toEqual([
      {
        file: typeFile('article'),
        line: 20,
        column: 7,
        message: expect.stringMatching(
          /^attributes\.more\.type: "strin" is not an attribute type; did you mean "string"/,
        ),
      },
      {
        file: typeFile('article'),
        line: 17,
        column: 7,
        message: expect.stringMatching(/^attributes\.tag\.target: there is no content type "api::tagg.tag"/),
      },
    ]);
    expect(msg).toContain('> 17 |       "target": "api::tagg.tag"');
    await served();
    write(typeFile('article'), article);
    expect((await dev.said(/^mended/)).msg).toBe('mended: the project is as it was before');
  });

  it.each<[what: string, content: string, line: number, column: number | null, message: RegExp]>([
    ['throws', `const name: string = 'x';\n\nthrow new Error('broken ' + name);\n`, 3, 7, /cannot be loaded: broken x/],
    ['has a syntax error', `export default {\n  find() { return 1\n  +* 2; },\n};`, 3, null, /cannot be loaded: /],
    [
      'imports what does not exist',
      `import x from './nowhere.js';\nexport default { find: x };`,
      1,
      15,
      /Cannot find module/,
    ],
    [
      'exports an unknown name',
      `export default {\n  async fnd() {},\n};`,
      2,
      9,
      /"fnd" is not a handler or hook; did you mean "find"/,
    ],
  ])('names the place where a handler file %s', async (_what, content, line, column, message) => {
    const { fault } = await faultOf(handlers, content, null);
    expect(fault).toMatchObject({ file: handlers, line, message: expect.stringMatching(message) });
    if (column !== null) expect(fault?.column).toBe(column);
  });

  it.each([
    ['src/lib/word.ts', `export const word: string = 'x';\nthrow new Error('broken');`],
    ['src/lib/word.js', `export const word = 'x';\nthrow new Error('broken');`],
  ])('names the place in a module that handlers import: %s', async (file, content) => {
    write(file, `export const word = 'x';`);
    write(handlers, `import { word } from '../../lib/word.js';\nexport default { beforeCreate: () => void word };`);
    await dev.said('live in');
    const { fault } = await faultOf(file, content, `export const word = 'y';`);
    expect(fault).toMatchObject({ file, line: 2, message: 'cannot be loaded: broken' });
    fs.rmSync(path.join(dir, handlers));
    fs.rmSync(path.join(dir, file));
    await dev.said('live in');
  });

  it('a failed load leaves nothing of a module behind: what is mended is evaluated whole', async () => {
    write('src/lib/word.ts', `throw new Error('broken');\nexport const word = 'x';`);
    write(
      handlers,
      `import { word } from '../../lib/word.ts';\nexport default { find: async () => ({ data: word }) };`,
    );
    await dev.said('is served as it was before');
    write('src/lib/word.ts', `export const word = 'whole';`);
    await dev.said(/^mended/);
    expect(await dev.get('/api/articles')).toMatchObject({ body: { data: 'whole' } });
    fs.rmSync(path.join(dir, handlers));
    await dev.said('live in');
  });

  it('names the place of a bad configuration and a bad variable', async () => {
    const sound = { permissions: { enabled: false } };
    const wrong = asText({ ...sound, api: { rest: { maxLimit: 'many' } } });
    expect((await faultOf('dovetail.config.json', wrong, sound)).fault).toMatchObject({
      file: 'dovetail.config.json',
      line: 7,
      column: 7,
      message: expect.stringMatching(/^api\.rest\.maxLimit: must be a whole number from 1 on or null, not "many"/),
    });
    fs.rmSync(path.join(dir, 'dovetail.config.json'));
    const code = 'export default {\n  permissions: { enabled: false },\n  upload: { sizeLimit: -1 },\n};';
    const soundCode = 'export default { permissions: { enabled: false } };';
    expect((await faultOf('dovetail.config.ts', code, soundCode)).fault).toMatchObject({
      file: 'dovetail.config.ts',
      line: 3,
      column: 13,
    });
    expect((await faultOf('.env', 'A=1\nLOG_LEVEL=loud\n', null)).fault).toMatchObject({
      file: '.env',
      line: 2,
      column: 1,
      message: expect.stringMatching(/^LOG_LEVEL: must be trace, debug/),
    });
  });
});

describe('dev', () => {
  it('waits for a project that has a fault at the start, and serves it once it is mended', async () => {
    const dir = newFolder();
    writeFiles(dir, { 'package.json': {}, [typeFile('article')]: '{' });
    const dev = await startDev(dir, {}, 'will be served once this is mended');
    expect(dev.lines.at(-1)?.faults).toMatchObject([{ file: typeFile('article'), line: 1 }]);
    await expect(dev.get('/api/articles')).rejects.toThrow();
    writeFiles(dir, { [typeFile('article')]: article });
    await dev.said(/^serving /);
    expect(await dev.get('/api/articles')).toMatchObject({ status: 403 });
    expect(await dev.stop()).toBe(0);
    fs.rmSync(dir, { recursive: true });
  });

  it('serves a v4 project whose code is not run, says that start would refuse it, and which permissions a new type needs', async () => {
    const dir = newFolder();
    writeFiles(dir, {
      'dovetail.config.json': JSON.stringify({ project: { runCode: false } }),
      [typeFile('article')]: article,
      'src/api/article/routes/article.js': `module.exports = { routes: [{ method: 'GET', path: '/a', handler: 'a.a', config: { policies: ['secret'] } }] };`,
    });
    const dev = await startDev(dir, {});
    expect(
      dev.lines.some((it) =>
        /^start will refuse this project, because src\/api\/article\/routes\/article\.js/.test(it.msg),
      ),
    ).toBe(true);
    writeFiles(dir, { [typeFile('note')]: contentType('note', { text: string }) });
    expect((await dev.said('live in')).changes).toEqual(['note: new type, /api/notes']);
    expect((await dev.said('roles need')).msg).toMatch(/: dovetail role allow public api::note\.note\.find$/);
    expect(await dev.stop()).toBe(0);
    fs.rmSync(dir, { recursive: true });
  });

  it('ends with 1 if the port is taken, or there is no folder', async () => {
    const dir = newFolder();
    writeFiles(dir, { [typeFile('article')]: article });
    const first = await startDev(dir, {});
    const second = await startDev(dir, { PORT: new URL(first.url).port }, 'Cannot listen on 127.0.0.1:');
    expect(await second.stop()).toBe(1);
    expect(await first.stop()).toBe(0);
    fs.rmSync(dir, { recursive: true });
  });
});
