/**
 * Every request of docs/rules is sent to the example magazine, and its answer must be the one on the page. With
 * DOVETAIL_WRITE_DOCS=1 the answers are written into the pages instead: read the difference before you commit it.
 */
import fs from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dialects } from '../world/databases.js';
import { newMagazine, token } from '../world/magazine.js';
import type { TestAnswer, TestServer } from '../world/server.js';
import { type Example, printJson, readPages } from './pages.js';

const isWriting = process.env['DOVETAIL_WRITE_DOCS'] === '1';

/** Characters of a text on a page. */
const textMax = 70;

/** What a page shows of an answer: no details of errors, and no values that each run makes anew. */
const shown = ({ body, text }: TestAnswer): unknown => {
  const { error } = (body ?? {}) as { error?: { status: number; name: string; message: string } };
  if (error) return { error: { status: error.status, name: error.name, message: error.message } };
  return JSON.parse(text, (key, value: unknown) => {
    if (typeof value !== 'string') return value;
    if (key === 'jwt') return '<jwt>';
    if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return '<time>';
    return value.length > textMax ? `${value.slice(0, textMax)}…` : value;
  });
};

const ask = (server: TestServer, { method, url, headers, body }: Example): Promise<TestAnswer> => {
  // on most pages the public asks, who may only read; what writes has a token
  const credential = method === 'GET' || url.startsWith('/api/auth/') ? {} : { Authorization: `Bearer ${token}` };
  return server.send(method, url, { headers: { ...credential, ...headers }, ...(body === null ? {} : { body }) });
};

for (const page of readPages().filter(({ rules }) => rules.some((it) => it.examples.length > 0))) {
  describe.each(isWriting ? dialects.slice(0, 1) : dialects)(`docs/rules/${page.name}.md on %s`, (dialect) => {
    let server: TestServer;
    const answers = new Map<Example, string>();
    beforeAll(async () => {
      server = await newMagazine(dialect);
    });
    afterAll(async () => {
      await server.close();
      if (isWriting) writePage(page.file, page.lines, answers);
    });
    for (const rule of page.rules) {
      for (const [i, example] of rule.examples.entries()) {
        test(`${rule.id}: example ${i + 1}, ${example.method} ${example.url}`, async () => {
          const answer = shown(await ask(server, example));
          if (isWriting) answers.set(example, printJson(answer));
          else expect(answer).toEqual(JSON.parse(example.answer ?? 'null'));
        });
      }
    }
  });
}

const writePage = (file: string, lines: readonly string[], answers: ReadonlyMap<Example, string>): void => {
  const written = [...lines];
  for (const [{ lines: place, answer }, text] of [...answers].reverse()) {
    const [from, to] = place;
    const end = answer === null ? to : lines.indexOf('```', from) + 1;
    written.splice(end, to - end, '```json', ...text.split('\n'), '```');
  }
  fs.writeFileSync(file, written.join('\n'));
};
