/**
 * Runs the examples of docs/rules on the example magazine; the responses must be those on the pages. With
 * DOVETAIL_WRITE_DOCS=1 the responses are written into the pages instead: review the diff before you commit it.
 */
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import mimeTypes from 'mime-types';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DialectName } from '../../src/sql/dialect.js';
import { dialects } from '../world/databases.js';
import { type Magazine, newMagazine, token } from '../world/magazine.js';
import type { TestAnswer } from '../world/server.js';
import {
  type Answer,
  printJson,
  printRows,
  type Question,
  type Request,
  type Rule,
  readHeader,
  readPage,
  readPages,
  rulesDir,
  type Step,
} from './pages.js';

const isWriting = process.env['DOVETAIL_WRITE_DOCS'] === '1';

// ---- what a page shows of a response

/** Maximum characters of a text on a page. */
const textMax = 70;

const shortened = (text: string): string => (text.length > textMax ? `${text.slice(0, textMax)}…` : text);

/** Leaves out the details of errors and values that differ in each run. */
const shownBody = ({ body, text }: TestAnswer, url: string): unknown => {
  const { error } = (body ?? {}) as { error?: { status: number; name: string; message: string } };
  if (error) return { error: { status: error.status, name: error.name, message: error.message } };
  return JSON.parse(text, function (this: unknown, key, value: unknown) {
    // hashes of uploads are random, and encoders differ between platforms
    const isUpload = url.startsWith('/api/upload');
    if (isUpload && /^size(InBytes)?$/.test(key) && typeof (this as { width?: unknown }).width === 'number')
      return '<size>';
    if (typeof value !== 'string') return value;
    if (isUpload && (key === 'hash' || key === 'url')) return value.replace(/_[0-9a-f]{10}(?=\.|$)/, '_<hash>');
    if (key === 'jwt') return '<jwt>';
    if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return '<time>';
    return shortened(value);
  });
};

/** The status, and the headers and the part of the body that the page shows. */
const shownResponse = (answer: TestAnswer, onPage: string, url: string): string => {
  const [head = '', body] = onPage.split(/\n\n(.*)/s);
  const headers = head
    .split('\n')
    .slice(1)
    .map((line) => {
      const [name] = readHeader(line);
      const value = answer.headers[name.toLowerCase()];
      return `${name}: ${/^etag$/i.test(name) && value !== undefined ? '<tag>' : value}`;
    });
  const lines = [`HTTP/1.1 ${answer.status} ${http.STATUS_CODES[answer.status]}`, ...headers];
  return [...lines, ...(body === undefined ? [] : ['', printJson(shownBody(answer, url))])].join('\n');
};

// ---- running an example

/** `a[0]=0&…&a[9]=9` is ten parameters, and `<9 characters>` is nine characters. */
const written = (text: string): string =>
  text
    .replace(/[^&?]+&…&[^&]+/g, (range) => {
      const [first = '', last = ''] = range.split('&…&');
      const numbers = (it: string): readonly number[] => [...it.matchAll(/\d+/g)].map(([digits]) => Number(digits));
      const [from, to] = [numbers(first), numbers(last)];
      return Array.from({ length: to[0]! - from[0]! + 1 }, (_, i) => {
        const counted = from.map((it, at) => (it === to[at] ? it : it + i));
        return first.replace(/\d+/g, () => String(counted.shift()));
      }).join('&');
    })
    .replace(/<([\d,]+) characters>/g, (_, count: string) => 'x'.repeat(Number(count.replaceAll(',', ''))));

const filesDir = path.join(rulesDir, 'files');

/** A form with one part in each line, as `curl -F` takes them: `name=text`, or `name=@file` with the file's type. */
const formOf = async (text: string): Promise<{ readonly type: string; readonly body: Buffer }> => {
  const form = new FormData();
  for (const line of text.split('\n')) {
    const [name = '', value = ''] = line.split(/=(.*)/s);
    const [, file] = /^@(.+)$/.exec(value) ?? [];
    if (file === undefined) form.append(name, value);
    else {
      const type = mimeTypes.lookup(file) || 'application/octet-stream';
      form.append(name, new Blob([fs.readFileSync(path.join(filesDir, path.basename(file)))], { type }), file);
    }
  }
  const encoded = new Response(form);
  return { type: encoded.headers.get('content-type')!, body: Buffer.from(await encoded.arrayBuffer()) };
};

/** The magazine of a page, and what later steps need from earlier ones. */
interface Scene {
  readonly magazine: Magazine;
  tag: string;
}

const ask = async (scene: Scene, { method, url, headers, body }: Request): Promise<TestAnswer> => {
  // most pages ask as the public, who may only read entries; writes and reads of files use a token
  const isPublic = (method === 'GET' && !url.startsWith('/api/upload')) || url.startsWith('/api/auth/');
  const credential = isPublic ? {} : { Authorization: `Bearer ${token}` };
  const given = Object.entries(headers).map(([name, value]) => [name, value.replaceAll('<tag>', scene.tag)]);
  const type = headers['Content-Type'] ?? headers['content-type'] ?? '';
  const form = type === 'multipart/form-data' ? await formOf(body ?? '') : null;
  // the lines of a form that is shown as it is sent end in CRLF
  const lines = (text: string): string => (type.startsWith('multipart/') ? text.replaceAll('\n', '\r\n') : text);
  const answer = await scene.magazine.send(method, written(url), {
    headers: { ...credential, ...Object.fromEntries(given), ...(form ? { 'Content-Type': form.type } : {}) },
    ...(body === null ? {} : { body: form ? form.body : lines(written(body)) }),
  });
  scene.tag = String(answer.headers['etag']);
  return answer;
};

/** The response in the form of the page. */
const answerOf = async (scene: Scene, step: Question, expected: Answer | undefined): Promise<readonly string[]> => {
  if (step.kind === 'statement') return [printRows(await scene.magazine.query(step.text))];
  const answers = await Promise.all(step.requests.map((it) => ask(scene, it)));
  return answers.map((it, i) => {
    const { url } = step.requests[i]!;
    return expected?.format === 'http' ? shownResponse(it, expected.text, url) : printJson(shownBody(it, url));
  });
};

const expectedOf = ({ answers }: Question, dialect: DialectName): Answer | undefined =>
  answers.find((it) => it.dialect === null || it.dialect === dialect);

const isRead = (step: Step): boolean =>
  step.kind === 'requests' || (step.kind === 'statement' && /^select\b/.test(step.text));

const nameOf = (step: Step): string => {
  if (step.kind === 'requests') return step.requests.map((it) => `${it.method} ${it.url}`).join(', ');
  return step.kind === 'file' ? step.path : step.text.split('\n')[0]!;
};

const isAskedOf = (step: Step, dialect: DialectName): boolean =>
  !('dialect' in step) || step.dialect === null || step.dialect === dialect;

type Written = Map<string, string>;

const addTests = (rule: Rule, dialect: DialectName, scene: () => Scene, answers: Written): void => {
  for (const [i, step] of rule.steps.entries()) {
    if (!isAskedOf(step, dialect)) continue;
    test(`${rule.id}: step ${i + 1}, ${nameOf(step)}`, async () => {
      const { magazine } = scene();
      if (step.kind === 'file') return magazine.write(step.path, step.text);
      if (step.kind === 'command') return magazine.command(step.text);
      const expected = expectedOf(step, dialect);
      for (const shown of await answerOf(scene(), step, expected)) {
        if (isWriting) answers.set(`${rule.id} ${i}`, shown);
        else if (expected?.format === 'json') expect(JSON.parse(shown)).toEqual(JSON.parse(expected.text));
        else if (expected !== undefined || isRead(step)) expect(shown).toBe(expected?.text);
      }
    });
  }
};

for (const page of readPages()) {
  describe.each(dialects)(`docs/rules/${page.name}.md on %s`, (dialect) => {
    const answers: Written = new Map();
    const withMagazine = (rules: readonly Rule[]): void => {
      const state: { scene?: Scene } = {};
      beforeAll(async () => {
        state.scene = { magazine: await newMagazine(dialect), tag: '' };
      });
      afterAll(async () => {
        await state.scene?.magazine.close();
        if (isWriting) writePage(page.file, dialect, answers);
      });
      for (const rule of rules) addTests(rule, dialect, () => state.scene!, answers);
    };
    // a rule that changes files or tables has a magazine of its own
    const isOwn = ({ steps }: Rule): boolean => !steps.every(isRead);
    const shared = page.rules.filter((it) => it.steps.length > 0 && !isOwn(it));
    if (shared.length > 0) describe('all steps in order', () => withMagazine(shared));
    for (const rule of page.rules.filter(isOwn)) describe(rule.id, () => withMagazine([rule]));
  });
}

/** A response that is the same on both databases is written as SQLite's. */
const writePage = (file: string, dialect: DialectName, answers: Written): void => {
  const lines = fs.readFileSync(file, 'utf8').split('\n');
  const places = readPage(file).rules.flatMap(({ id, steps }) =>
    steps.flatMap((step, i) => {
      const text = answers.get(`${id} ${i}`);
      if (text === undefined || !('answers' in step)) return [];
      const { format, lines: place, ...old } = expectedOf(step, dialect) ?? newAnswer(step);
      const isWritten = old.dialect === dialect || (old.dialect === null && dialect === (step.dialect ?? 'sqlite'));
      const isNeeded = place[0] !== place[1] || isRead(step);
      return isWritten && isNeeded ? [{ place, block: [`\`\`\`${format}`, ...text.split('\n'), '```'] }] : [];
    }),
  );
  for (const { place, block } of places.reverse()) lines.splice(place[0], place[1] - place[0], ...block);
  fs.writeFileSync(file, lines.join('\n'));
};

const newAnswer = ({ kind, end }: Question): Answer => ({
  format: kind === 'statement' ? 'text' : 'json',
  text: '',
  dialect: null,
  lines: [end, end],
});
