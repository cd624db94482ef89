/**
 * How long the first page takes: `node bench/first-view.mjs [URL of a server]`, http://127.0.0.1:1337 by default. Prints the least of
 * ten visits, with nothing cached and with the files cached: milliseconds until the heading is shown, milliseconds of CPU that the
 * browser's processes took until then, and bytes received. On a machine that also does other work only the CPU time says something.
 */
import { chromium } from 'playwright-core';

const url = process.argv[2] ?? 'http://127.0.0.1:1337';
const VISITS = 10;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});

const control = await browser.newBrowserCDPSession();
/** CPU time of all processes of the browser so far, in milliseconds. */
const cpuTime = async () => {
  const { processInfo } = await control.send('SystemInfo.getProcessInfo');
  return new Map(processInfo.map((it) => [it.id, 1000 * it.cpuTime]));
};

/** @param context of a browser; its cache is what earlier visits have left. */
const visit = async (context) => {
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send('Network.enable');
  let bytes = 0;
  devtools.on('Network.loadingFinished', (it) => {
    bytes += it.encodedDataLength;
  });
  const before = await cpuTime();
  await page.goto(`${url}/studio/`, { waitUntil: 'commit' });
  await page.waitForSelector('h1');
  const shown = await page.evaluate(
    () =>
      new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now())))),
  );
  const worked = [...(await cpuTime())].reduce((sum, [id, ms]) => sum + ms - (before.get(id) ?? 0), 0);
  await page.close();
  return { shown, cpu: worked, bytes };
};

const least = (visits) =>
  Object.fromEntries(
    ['shown', 'cpu', 'bytes'].map((key) => [key, Math.round(Math.min(...visits.map((it) => it[key])))]),
  );

const cold = [];
for (let i = 0; i < VISITS; i++) {
  const context = await browser.newContext();
  cold.push(await visit(context));
  await context.close();
}
const context = await browser.newContext();
await visit(context);
const warm = [];
for (let i = 0; i < VISITS; i++) warm.push(await visit(context));
await browser.close();

console.table({ 'nothing cached': least(cold), 'files cached': least(warm) });
