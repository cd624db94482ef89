/**
 * What the browser tests stand on: the built server with the example magazine in a process of its own, on SQLite or
 * PostgreSQL, and Debian's Chromium on its Studio.
 *
 *     describe.each(dialects)('the map on %s', (dialect) => {
 *       const studio = useStudio(dialect);
 *       it('shows every type', async () => {
 *         const page = await studio.open('/map');
 *         await expectText(page.getByRole('listitem'), …);
 *         await accessible(page);
 *         await studio.keep(page, 'map');
 *       });
 *     });
 *
 * After each test every page is closed, and the test fails if one of them reported a violation of the
 * Content-Security-Policy or an error that nobody caught, or met a status of 500 and more.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page, Request } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { launchBrowser } from '../../../server/test/world/browser.js';
import { copiedDatabase, dialects, newDatabase, type TestDatabase } from '../../../server/test/world/databases.js';
import { newFolder } from '../../../server/test/world/folders.js';
import type {} from '../../../server/test/world/postgres.js';
import { freePort } from '../../../server/test/world/process.js';
import { screenshotsDir } from './screenshots.js';

export { dialects };

/** For rooms that look the same on every database, because tests of the server make their requests on each. */
export const oneDialect = dialects.slice(0, 1);

const root = path.join(import.meta.dirname, '../../../..');
const command = path.join(root, 'packages/server/bin/dovetail.js');

/** The first administrator, who may everything. */
export const ann = { email: 'ann@example.org', password: 'Anns-long-secret-1', firstname: 'Ann', lastname: 'Editor' };

export interface Person {
  readonly email: string;
  readonly password: string;
}

/** A browser with cookies and storage of its own. */
export interface Visitor {
  readonly context: BrowserContext;
  /** Opens an address of the Studio, such as `/map`, and waits until it shows something. */
  open(address: string): Promise<Page>;
}

export interface VisitorOptions extends BrowserContextOptions {
  /** Who is signed in; null: nobody. */
  readonly as?: Person | null;
}

export interface Studio {
  readonly url: string;
  /** The project's folder. */
  readonly dir: string;
  /** Environment variables with which commands open the same database. */
  readonly env: Readonly<Record<string, string>>;
  /** Opens an address in the browser of the first administrator. */
  open(address: string): Promise<Page>;
  /** Another browser; closed after the test. */
  visitor(options?: VisitorOptions): Promise<Visitor>;
  /** A request beside the browser, with the rights of the first administrator. */
  send(method: string, target: string, body?: unknown): Promise<{ readonly status: number; readonly body: unknown }>;
  /** Runs a command of Dovetail in the project. */
  command(...args: readonly string[]): string;
  /** Waits until the server has printed what matches. */
  said(wanted: RegExp): Promise<RegExpExecArray>;
  /** Keeps a picture of the page for people to look at. */
  keep(page: Page, name: string): Promise<void>;
}

export interface StudioOptions {
  /** Changes the project's folder before the server starts. */
  readonly prepare?: (dir: string) => void | Promise<void>;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the first administrator exists from the start. */
  readonly hasAdministrator?: boolean;
}

/** A server and a browser for the tests of a block. */
export const useStudio = (
  dialect: 'sqlite' | 'postgres',
  { prepare, env: given = {}, hasAdministrator = true }: StudioOptions = {},
): Studio => {
  let opened: Opened | null = null;
  const current = (): Opened => {
    if (!opened) throw new Error('the Studio is there from beforeAll to afterAll');
    return opened;
  };
  const faults: string[] = [];
  let visitors: BrowserContext[] = [];
  let anns: Visitor | null = null;

  beforeAll(async () => {
    opened = await openStudio(dialect, { prepare, given, hasAdministrator });
  });
  afterEach(async () => {
    await Promise.all(visitors.map((it) => it.close()));
    visitors = [];
    anns = null;
    expect(faults.splice(0)).toEqual([]);
  });
  afterAll(async () => {
    await opened?.close();
  });

  const visitor: Studio['visitor'] = async ({ as = ann, ...options } = {}) => {
    const { browser, url } = current();
    const context = await browser.newContext({ baseURL: url, reducedMotion: 'reduce', locale: 'en-GB', ...options });
    visitors.push(context);
    context.setDefaultTimeout(60_000);
    await context.addInitScript(reportViolations);
    context.on('page', (page) => watch(page, faults));
    if (as !== null) {
      const response = await context.request.post('/admin/login', {
        data: { email: as.email, password: as.password },
        // the server sets the cookie of the Studio for nobody else
        headers: { 'dovetail-studio': '1' },
      });
      expect(response.status(), await response.text()).toBe(200);
      await context.addInitScript(
        "if (location.protocol === 'http:') localStorage.setItem('dovetail.signed-in', 'yes')",
      );
    }
    return {
      context,
      open: async (address) => {
        const page = await context.newPage();
        await page.goto(`/studio${address}`);
        await page.locator('h1, [role=alert]').first().waitFor({ state: 'attached' });
        await settled(page);
        return page;
      },
    };
  };
  let token: string | null = null;
  return {
    get url() {
      return current().url;
    },
    get dir() {
      return current().dir;
    },
    get env() {
      return current().env;
    },
    open: async (address) => {
      anns ??= await visitor();
      return anns.open(address);
    },
    visitor,
    send: async (method, target, body) => {
      token ??= await tokenOf(current().url, ann);
      const response = await fetch(current().url + target, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? null : JSON.parse(text) };
    },
    command: (...args) => current().command(...args),
    said: (wanted) => current().said(wanted),
    keep: async (page, name) => {
      await page.screenshot({ path: path.join(screenshotsDir, `${name}-${dialect}.png`) });
    },
  };
};

const tokenOf = async (url: string, { email, password }: Person): Promise<string> => {
  const response = await fetch(`${url}/admin/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`/admin/login answers ${response.status}: ${text}`);
  return (JSON.parse(text) as { data: { token: string } }).data.token;
};

interface Opened {
  readonly url: string;
  readonly dir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly browser: Browser;
  command(...args: readonly string[]): string;
  said(wanted: RegExp): Promise<RegExpExecArray>;
  close(): Promise<void>;
}

const openStudio = async (
  dialect: 'sqlite' | 'postgres',
  {
    prepare,
    given,
    hasAdministrator,
  }: {
    readonly prepare: StudioOptions['prepare'];
    readonly given: Readonly<Record<string, string>>;
    readonly hasAdministrator: boolean;
  },
): Promise<Opened> => {
  const folder = newFolder();
  const dir = path.join(folder, 'magazine');
  const notCopied = /\/(\.env|\.tmp)$/;
  fs.cpSync(path.join(root, 'examples/magazine'), dir, { recursive: true, filter: (it) => !notCopied.test(it) });
  // every visitor signs in
  fs.writeFileSync(path.join(dir, 'dovetail.config.json'), JSON.stringify({ users: { attemptsMax: 0 } }));
  const database = hasAdministrator ? await newDatabaseOfAnn(dialect, dir) : await newDatabase(dialect);
  await prepare?.(dir);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = {
    ...secrets,
    ...database.env,
    HOST: '127.0.0.1',
    PORT: String(port),
    LOG_LEVEL: 'warn',
    TZ: 'UTC',
    ...given,
  };
  const server = spawn(process.execPath, [command, 'start'], {
    cwd: dir,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  const listen = (text: Buffer): void => {
    printed += String(text);
  };
  server.stdout.on('data', listen);
  server.stderr.on('data', listen);
  await untilHealthy(url, server, () => printed);
  return {
    url,
    dir,
    env,
    browser: await browserOfWorker(),
    command: (...args) => run(dir, env, args),
    said: async (wanted) => {
      for (;;) {
        const found = wanted.exec(printed);
        if (found) return found;
        if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}: ${printed}`);
        await setTimeout(50);
      }
    },
    close: async () => {
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      await ended;
      await database.drop();
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
};

const secrets = {
  JWT_SECRET: 'a secret of the tests',
  API_TOKEN_SALT: 'a salt of the tests',
  ADMIN_JWT_SECRET: 'another secret of the tests',
};

/** Runs a command in a project; returns what it prints. */
const run = (dir: string, env: NodeJS.ProcessEnv, args: readonly string[]): string =>
  execFileSync(process.execPath, [command, ...args], {
    cwd: dir,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    // what it says belongs to the error if it fails, and to nobody otherwise
    stdio: ['ignore', 'pipe', 'pipe'],
  });

/** With all tables and the first administrator; roles and content come with the server's start. @param dir of the project. */
const newDatabaseOfAnn = (dialect: 'sqlite' | 'postgres', dir: string): Promise<TestDatabase> =>
  copiedDatabase(dialect, 'studio', async (_db, databaseEnv) => {
    const env = { ...secrets, ...databaseEnv, TZ: 'UTC' };
    const { email, password, firstname, lastname } = ann;
    const names = ['--firstname', firstname, '--lastname', lastname];
    run(dir, env, ['sync']);
    run(dir, env, ['admin', 'create', '--email', email, '--password', password, ...names]);
  });

let launched: Browser | null = null;

/** One for all tests of this process, with which it ends: visitors share nothing. */
const browserOfWorker = async (): Promise<Browser> => {
  if (!launched?.isConnected()) launched = await launchBrowser();
  return launched;
};

const untilHealthy = async (url: string, server: ChildProcess, printed: () => string): Promise<void> => {
  for (;;) {
    if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}: ${printed()}`);
    const response = await fetch(`${url}/_health`).catch(() => null);
    if (response?.ok) return;
    await setTimeout(50);
  }
};

/** Runs in every page, before its own scripts. */
const reportViolations = `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile, lineNumber }) =>
  console.error('violates the policy: ' + [violatedDirective, blockedURI, sourceFile, lineNumber].join(' ')));`;

/** Of every page: how many requests it has sent, and those that have no response yet. */
const traffic = new WeakMap<Page, { sent: number; readonly pending: Set<Request> }>();

/**
 * Waits until a page has all that it asked for and has drawn it, as a person does who waits until nothing moves any more:
 * what is clicked while something above it is still loading may not be under the pointer when the button is let go.
 */
export const settled = async (page: Page): Promise<void> => {
  const { pending } = traffic.get(page)!;
  await expect
    .poll(async () => {
      const { sent } = traffic.get(page)!;
      const waiting = await page.evaluate(async () => {
        // a browser that draws nothing may never call itself idle
        await new Promise(requestAnimationFrame);
        await new Promise((done) => requestIdleCallback(done, { timeout: 1000 }));
        await new Promise(requestAnimationFrame);
        return [...document.querySelectorAll('.mantine-Skeleton-root, .mantine-Loader-root')].map((it) => it.className);
      });
      return [
        ...waiting,
        ...[...pending].map((it) => it.url()),
        ...(traffic.get(page)!.sent > sent ? ['another'] : []),
      ];
    })
    .toEqual([]);
};

/** Holds requests of a page back, so that something can be done meanwhile. */
export const hold = async (page: Page, method: string, url: string): Promise<Held> => {
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  let count = 0;
  await page.route(url, async (route) => {
    if (route.request().method() === method) {
      count += 1;
      await gate;
    }
    // it may have been cancelled
    await route.continue().catch(() => undefined);
  });
  return { count: () => count, release };
};

interface Held {
  /** Of the requests that have come so far. */
  count(): number;
  release(): void;
}

const watch = (page: Page, faults: string[]): void => {
  const requests = { sent: 0, pending: new Set<Request>() };
  traffic.set(page, requests);
  page.on('request', (request) => {
    requests.sent += 1;
    requests.pending.add(request);
  });
  page.on('requestfinished', (request) => requests.pending.delete(request));
  page.on('requestfailed', (request) => requests.pending.delete(request));
  page.on('pageerror', (fault) => faults.push(`not caught: ${fault.stack ?? fault.message}`));
  page.on('console', (message) => {
    const text = message.text();
    // requests that are refused or get no answer are what many tests are about
    if (message.type() === 'error' && !/^(Failed to load resource|TypeError: Failed to fetch)/.test(text))
      faults.push(text);
  });
  page.on('response', (response) => {
    if (response.status() >= 500) faults.push(`${response.status()} ${response.request().method()} ${response.url()}`);
  });
};

const axe = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** For `visitor`: a window in which the longest form is in sight, so that nothing scrolls along with what is dragged. */
export const tall = { viewport: { width: 1280, height: 4000 } } as const;

/** Waits until a list in a form says this to screen readers. */
export const says = (page: Page, text: string): Promise<void> =>
  expect.poll(() => page.locator('[id^=DndLiveRegion]').allInnerTexts()).toContainEqual(expect.stringMatching(text));

/** Drags a handle of a list in a form to another one, and drops it when the Studio says that it is over that place. */
export const drag = async (handle: Locator, to: Locator, place: string): Promise<void> => {
  const page = handle.page();
  await settled(page);
  await handle.hover();
  const [start, end] = [await centreOf(handle), await centreOf(to)];
  const beyond = (from: number, till: number): number => from + Math.sign(till - from) * 10;
  await page.mouse.down();
  await page.mouse.move(beyond(start.x, end.x), beyond(start.y, end.y), { steps: 4 });
  await says(page, '^Picked up ');
  await page.mouse.move(end.x, end.y, { steps: 8 });
  await says(page, `^Over position ${place}$`);
  await page.mouse.up();
  await says(page, `^Dropped .* at position ${place}$`);
};

const centreOf = async (element: Locator): Promise<{ readonly x: number; readonly y: number }> => {
  const box = await element.boundingBox();
  if (!box) throw new Error('the element is not shown');
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
};

type ColorScheme = 'light' | 'dark';

/** `addresses.test.ts` checks every page in both, and so do tests of pages with colours of their own; the others check one. */
export const colorSchemes: readonly ColorScheme[] = ['light', 'dark'];

/** No violation of WCAG 2.2 AA or of axe's best practices. */
export const accessible = async (page: Page, schemes: readonly ColorScheme[] = ['light']): Promise<void> => {
  await page.evaluate(axe);
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    await page.waitForFunction(
      (it) => document.documentElement.getAttribute('data-mantine-color-scheme') === it,
      colorScheme,
    );
    // colours change little by little
    await page.evaluate(() =>
      Promise.allSettled(
        document
          .getAnimations()
          .filter((it) => it.effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY)
          .map((it) => it.finished),
      ),
    );
    // the schemes differ in nothing but colours
    const rules = colorScheme === 'dark' ? ['color-contrast'] : null;
    const found = await page.evaluate(async (only) => {
      const { run } = (globalThis as unknown as { axe: typeof import('axe-core') }).axe;
      const { violations } = await run(document, {
        resultTypes: ['violations'],
        ...(only ? { runOnly: only } : {}),
      });
      return violations.map(({ id, help, nodes }) => ({
        rule: id,
        help,
        at: nodes.map((it) => `${it.target.join(' ')}: ${it.failureSummary?.split('\n').slice(1).join(' ').trim()}`),
      }));
    }, rules);
    expect(found, `accessibility in ${colorScheme}`).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: null });
};
