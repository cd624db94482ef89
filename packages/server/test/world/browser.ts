/** The browser of the tests: Debian's `chromium-headless-shell`, which has no interface of its own to draw, or else its `chromium`. */
import fs from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** CHROMIUM names another browser of that family. */
const executablePath =
  process.env['CHROMIUM'] ??
  ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((it) => fs.existsSync(it)) ??
  'chromium-headless-shell';

const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const launchBrowser = async (): Promise<Browser> => chromium.launch({ executablePath, args });
