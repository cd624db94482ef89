/** Runs the steps of a page on a fresh copy of the example magazine. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import mimeTypes from 'mime-types';
import pretty from 'pino-pretty';
import type { DialectName } from '../../src/sql/dialect.js';
import { type Magazine, newMagazine, token } from '../world/magazine.js';
import { freePort } from '../world/process.js';
import type { TestAnswer } from '../world/server.js';
import { type Answer, type Request, root, rulesDir, type Step } from './pages.js';
import { type Named, printRows, shownJson, shownLines, shownResponse, shownText, shownTree } from './shown.js';

export interface Session {
  /** What the page shows of the answers to a step, in their order; each is what the page says if it is right. */
  run(step: Step, answers: readonly Answer[]): Promise<readonly string[]>;
  close(): Promise<void>;
}

interface Scene {
  readonly magazine: Magazine;
  readonly named: Named;
  /** Starts with the first command. */
  shell: Shell | null;
}

/**
 * @param folder where commands run, below the root of the repository.
 * @param scripts the modules of the page, by the step that begins each.
 */
export const newSession = async (
  dialect: DialectName,
  folder: string,
  scripts: Scripts = new Map(),
): Promise<Session> => {
  const magazine = await newMagazine(dialect, { isAuthorized: false });
  const scene: Scene = { magazine, named: new Map(), shell: null };
  const shell = async (): Promise<Shell> => {
    scene.shell ??= await newShell(magazine, folder);
    return scene.shell;
  };
  return {
    run: async (step, answers) => {
      switch (step.kind) {
        case 'file':
          // README names files as they lie in the repository
          await magazine.write(step.path.replace(/^examples\/magazine\//, ''), step.text);
          await scene.shell?.follow();
          return [];
        case 'statement': {
          const rows = await magazine.query(step.text);
          // a server knows from its start on what the database refuses
          if (/\bdrop (?:index|constraint)\b/.test(step.text)) await magazine.restart();
          return [shownText(answers[0]?.text, printRows(rows), scene.named)];
        }
        case 'requests':
          return shownOf(step, answers, scene);
        case 'command': {
          if (/^kill -TERM/.test(step.text)) {
            await magazine.command(step.text);
            return [];
          }
          const it = await shell();
          const given = answers[0];
          if (step.isServer && given)
            return [shownText(given.text, await it.serve(step.text, given, scene.named), scene.named)];
          return [shownOutput(given, await it.run(filled(step.text, scene.named), given?.exitCode ?? 0), scene.named)];
        }
        case 'script': {
          const module = scripts.get(step);
          return module ? module.shown(await (await shell()).script(module.text, step.language), scene.named) : [];
        }
      }
    },
    close: async () => {
      await scene.shell?.close();
      await magazine.close();
    },
  };
};

const shownOutput = (answer: Answer | undefined, printed: string, named: Named): string =>
  answer?.format === 'json' ? shownLines(answer.text, printed, named) : shownText(answer?.text, printed, named);

// ---- requests

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

/** A text with the values that earlier answers had. */
const filled = (text: string, named: Named): string =>
  text.replace(/<([a-z][a-z -]*)>/g, (whole, name: string) => named.get(name) ?? whole);

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

const ask = async ({ magazine, named, shell }: Scene, { method, url, headers, body }: Request): Promise<TestAnswer> => {
  const given = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, filled(value, named)]));
  // most pages ask as the public, who may only read entries; writes and reads of files use a token
  const isPublic = (method === 'GET' && !url.startsWith('/api/upload')) || url.startsWith('/api/auth/');
  const hasToken = !isPublic && given['Authorization'] === undefined;
  if (hasToken || given['Authorization']?.endsWith(token)) await magazine.authorize();
  const credential = hasToken ? { Authorization: `Bearer ${token}` } : {};
  const type = given['Content-Type'] ?? given['content-type'] ?? '';
  const form = type === 'multipart/form-data' ? await formOf(body ?? '') : null;
  // the lines of a form that is shown as it is sent end in CRLF
  const lines = (text: string): string => (type.startsWith('multipart/') ? text.replaceAll('\n', '\r\n') : text);
  const sent = {
    headers: { ...credential, ...given, ...(form ? { 'Content-Type': form.type } : {}) },
    ...(body === null ? {} : { body: form ? form.body : lines(filled(written(body), named)) }),
  };
  const answer = await (shell?.send ?? magazine.send)(method, filled(written(url), named).replaceAll(' ', '%20'), sent);
  named.set('tag', String(answer.headers['etag']));
  return answer;
};

const shownOf = async (
  { requests }: Extract<Step, { kind: 'requests' }>,
  expected: readonly Answer[],
  scene: Scene,
): Promise<readonly string[]> => {
  const answers = await Promise.all(requests.map((it) => ask(scene, it)));
  if (expected.length === 0 && answers.some(({ status }) => status >= 400))
    throw new Error(`refused, which the page does not say: ${answers.map((it) => it.text).join('\n')}`);
  return expected.map((it) => {
    const shown = answers.map((answer, i) => shownAs(it, answer, requests[i]!, scene.named));
    return shown.find((text) => text !== it.text) ?? it.text;
  });
};

const shownAs = ({ format, text }: Answer, answer: TestAnswer, { url }: Request, named: Named): string => {
  if (format === 'tree') return shownTree(nameOf(url), answer.text);
  return format === 'http' ? shownResponse(answer, text, named) : shownJson(text, answer.text, named);
};

/** `articles` of `/api/articles?sort=title`, `articles/1` of `/api/articles/1`. */
const nameOf = (url: string): string => url.replace(/^\/api\//, '').replace(/\?.*$/s, '');

// ---- commands

interface Shell {
  /** What it prints. */
  run(text: string, exitCode: number): Promise<string>;
  /** Starts commands that run until the page ends; what they print until they serve. Requests then go to them. */
  serve(text: string, expected: Answer, named: Named): Promise<string>;
  script(text: string, language: 'ts' | 'js'): Promise<string>;
  /** Where requests go if a command serves. */
  readonly send: Magazine['send'] | null;
  /** The server of the magazine was started again. */
  follow(): Promise<void>;
  close(): Promise<void>;
}

/** Where pages say that the server listens. */
const shownOrigin = 'http://127.0.0.1:1337';
/** Where the reader's copy of the repository lies. */
const shownRoot = '~/dovetail';

const newShell = async (magazine: Magazine, folder: string): Promise<Shell> => {
  const bin = path.join(magazine.root, '.bin');
  const servers: ChildProcess[] = [];
  let origin = '';
  const address = path.join(bin, 'address');
  const follow = async (): Promise<void> => {
    if (servers.length > 0) return;
    origin = await magazine.listen();
    fs.writeFileSync(address, new URL(origin).host);
  };
  fs.mkdirSync(bin);
  // programs as the reader has them: npx finds the command in the repository, and the server listens on its usual port
  const program = (name: string, text: string): void =>
    fs.writeFileSync(path.join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const dovetail = `"${process.execPath}" "${path.join(root, 'packages/server/bin/dovetail.js')}"`;
  program('npx', `case "$1" in dovetail) shift; exec ${dovetail} "$@";; *) echo "no page runs npx $1"; exit 1;; esac`);
  program('dovetail', `exec ${dovetail} "$@"`);
  program('curl', `PATH="\${PATH#*:}" exec curl --connect-to "127.0.0.1:1337:$(cat "${address}")" "$@"`);
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(magazine.root, 'node_modules'));
  await follow();

  const cwd = path.join(magazine.root, folder);
  // another example than the magazine, which makes its own secrets
  const isOther = !fs.existsSync(cwd);
  if (isOther) fs.cpSync(path.join(root, folder), cwd, { recursive: true });
  const { NODE_ENV: _test, VITEST: _runner, ...outer } = process.env;
  const env = {
    ...outer,
    PATH: `${bin}:${process.env['PATH']}`,
    TZ: 'UTC',
    NO_COLOR: '1',
    ...(isOther ? {} : magazine.env),
  };
  const shell = spawn('bash', ['--norc', '-s'], { cwd, env, stdio: ['pipe', 'pipe', 'inherit'] });
  const real = fs.realpathSync(magazine.root);
  const shown = (text: string): string =>
    text
      .replaceAll(real, shownRoot)
      .replaceAll(magazine.root, shownRoot)
      .replaceAll(origin, shownOrigin)
      .replace(/[ \t]+$/gm, '')
      .trimEnd();

  const print = async (text: string, exitCode: number): Promise<string> => {
    const end = `--- end ${Math.random()} ---`;
    // a command must not read the lines that follow
    shell.stdin.write(`exec 2>&1\n{\n${text}\n} </dev/null\necho "${end} $?"\n`);
    let printed = '';
    while (!printed.includes(end)) {
      const [chunk] = (await Promise.race([once(shell.stdout, 'data'), timedOut(30_000)])) as [Buffer];
      printed += String(chunk);
    }
    const [output = '', code = ''] = printed.split(end);
    if (Number(code) !== exitCode) throw new Error(`exit code ${code.trim()} of ${text}\n${output}`);
    return output;
  };

  const run = async (text: string, exitCode: number): Promise<string> => {
    const output = await print(text, exitCode);
    // caches of permissions, users and tokens may be a second old
    if (/\bdovetail /.test(text) && servers.length === 0) {
      await magazine.restart();
      await follow();
    }
    return shown(output);
  };

  const serve: Shell['serve'] = async (text, expected, named) => {
    for (const it of servers.splice(0)) await stopped(it);
    const port = await freePort();
    const own = { ...env, PORT: String(port), HOST: '127.0.0.1' };
    const child = spawn('bash', ['--norc', '-c', text], {
      cwd: (await print('pwd', 0)).trim(),
      env: own,
      detached: true,
      stdio: 'pipe',
    });
    servers.push(child);
    let printed = '';
    const add = (chunk: Buffer): void => {
      printed += String(chunk);
    };
    child.stdout.on('data', add);
    child.stderr.on('data', add);
    origin = `http://127.0.0.1:${port}`;
    fs.writeFileSync(address, `127.0.0.1:${port}`);
    const readable = (): string =>
      shown(printed.replace(/^\{.*\}$/gm, (line) => prettyLine(line)).replace(/\n+/g, '\n'));
    const isSaid = (): boolean => shownText(expected.text, readable(), named) === expected.text;
    const ended = once(child, 'exit');
    while (!isSaid() && child.exitCode === null)
      await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data'), ended, timedOut(20_000)]);
    return readable();
  };

  return {
    run,
    serve,
    follow,
    get send() {
      return servers.length > 0 ? sendTo(origin) : null;
    },
    script: async (text, language) => {
      const file = path.join(cwd, `page.${language === 'js' ? 'mjs' : 'ts'}`);
      fs.writeFileSync(file, text.replaceAll(shownOrigin, origin));
      return run(`"${process.execPath}" "${file}"`, 0);
    },
    close: async () => {
      for (const it of servers) await stopped(it);
      shell.stdin.end();
      shell.kill('SIGKILL');
    },
  };
};

const timedOut = (ms: number): Promise<never> =>
  setTimeout(ms, null, { ref: false }).then(() =>
    Promise.reject(new Error('the page waits for output that does not come')),
  );

const prettyLine = pretty.prettyFactory({ ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss', colorize: false });

const stopped = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  // the shell and what it has started
  process.kill(-child.pid!, 'SIGKILL');
  await ended;
};

const sendTo =
  (origin: string): Magazine['send'] =>
  async (method, url, { body, headers = {} } = {}) => {
    const json = body === undefined || 'Content-Type' in headers ? {} : { 'Content-Type': 'application/json' };
    const answer = await fetch(origin + url, {
      method,
      headers: { ...json, ...headers },
      ...(body === undefined ? {} : { body: body as string }),
    });
    const text = await answer.text();
    return { status: answer.status, headers: Object.fromEntries(answer.headers), body: null, text };
  };

// ---- scripts

interface Module {
  readonly text: string;
  /** What the page shows of its output, an answer for each block that has one. */
  shown(printed: string, named: Named): readonly string[];
}

export type Scripts = ReadonlyMap<Step, Module>;
type Script = Extract<Step, { kind: 'script' }>;

const between = '--- next block ---';

/** Blocks that follow each other are one module, which runs with the last of them. */
export const modulesOf = (
  steps: readonly Step[],
): ReadonlyMap<Step, Module & { readonly blocks: readonly Script[] }> => {
  const modules: Script[][] = [];
  for (const [i, step] of steps.entries()) {
    if (step.kind !== 'script') continue;
    const last = steps[i - 1];
    if (last?.kind === 'script' && last.language === step.language) modules.at(-1)!.push(step);
    else modules.push([step]);
  }
  return new Map(modules.map((blocks) => [blocks.at(-1)!, { blocks, ...moduleOf(blocks) }]));
};

const moduleOf = (blocks: readonly Script[]): Module => ({
  text: `${blocks.map((it) => it.text).join(`\nconsole.log('${between}');\n`)}\n`,
  shown: (printed, named) => {
    const outputs = printed.split(new RegExp(`^${between}$`, 'm')).map((it) => it.trim());
    return blocks.flatMap(({ answers }, i) => answers.map((it) => shownOutput(it, outputs[i] ?? '', named)));
  },
});
