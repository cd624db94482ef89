/** Runs the curl commands of README's tour, in order, on the example magazine: their output must be that on the page. */
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { dialects } from '../world/databases.js';
import { newMagazine, token } from '../world/magazine.js';
import { openForTests } from '../world/opening.js';

const root = path.join(import.meta.dirname, '../../../..');

interface Example {
  readonly commands: readonly string[];
  /** One per command. */
  readonly outputs: readonly string[];
}

const examples = (): readonly Example[] => {
  const readme = fs.readFileSync(path.join(root, 'README.md'), 'utf8');
  return [...readme.matchAll(/^```sh\n(.*?)^```\n```json\n(.*?)^```$/gms)].map(([, commands = '', outputs = '']) => ({
    commands: lines(commands.replaceAll('\\\n', '')).filter((it) => it.startsWith('curl ')),
    outputs: lines(outputs),
  }));
};

const lines = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');

/** Words of a command as a shell splits it. */
const words = (command: string): readonly string[] =>
  [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, single, double, plain]) =>
    (single ?? double ?? plain ?? '').replace('$T', token),
  );

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body?: string | Buffer;
  /** Whether only the status is printed. */
  readonly isStatus: boolean;
}

const read = async (command: string): Promise<Asked> => {
  const headers: Record<string, string> = {};
  const form = new FormData();
  let method: string | null = null;
  let body: string | Buffer | undefined;
  let isStatus = false;
  let url = '';
  const [program, ...rest] = words(command);
  expect(program).toBe('curl');
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const value = (): string => rest.shift() ?? '';
    if (word === '-sg') continue;
    if (word === '-X') method = value();
    else if (word === '-d') body = value();
    else if (word === '-F') append(form, value());
    else if (word === '-o') expect(value()).toBe('/dev/null');
    else if (word === '-w') isStatus = value() === '%{http_code}\\n';
    else if (word === '-H') {
      const [name = '', text = ''] = value().split(': ');
      headers[name.toLowerCase()] = text;
    } else {
      expect(url).toBe('');
      expect(word).toMatch(/^http:\/\/127\.0\.0\.1:1337\//);
      url = word.slice('http://127.0.0.1:1337'.length);
    }
  }
  if ([...form.keys()].length > 0) {
    const encoded = new Response(form);
    headers['content-type'] = String(encoded.headers.get('content-type'));
    body = Buffer.from(await encoded.arrayBuffer());
  }
  method ??= body === undefined ? 'GET' : 'POST';
  return { method, url, headers, isStatus, ...(body === undefined ? {} : { body }) };
};

/** `name=text` or `name=@file;filename=other`. */
const append = (form: FormData, text: string): void => {
  const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (!value.startsWith('@')) {
    form.append(name, value);
    return;
  }
  const [file = '', filename] = value.slice(1).split(';filename=');
  const bytes = fs.readFileSync(path.join(root, file));
  form.append(name, new Blob([bytes], { type: 'image/png' }), filename ?? path.basename(file));
};

/** What differs in each run. */
const settled = (text: string): unknown => JSON.parse(text.replace(/_[0-9a-f]{10}\./g, '_<hash>.'));

describe.each(dialects)('README on %s', (dialect) => {
  const magazine = openForTests(() => newMagazine(dialect));

  it('the commands of the tour print what it says', async () => {
    const all = examples();
    expect(all.length).toBeGreaterThan(8);
    for (const { commands, outputs } of all) {
      expect(outputs).toHaveLength(commands.length);
      for (const [i, command] of commands.entries()) {
        const { method, url, headers, body, isStatus } = await read(command);
        const { status, text } = await magazine().send(method, url, {
          headers,
          ...(body === undefined ? {} : { body }),
        });
        expect([command, settled(isStatus ? String(status) : text)]).toEqual([command, settled(outputs[i]!)]);
      }
    }
  });
});
