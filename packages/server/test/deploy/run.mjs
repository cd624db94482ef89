/**
 * Tries the files of `deploy` for real, which needs `apt-get install nginx systemd`: `npm run deployment`. nginx serves a copy of the
 * example magazine below /cms over HTTPS, with nginx.conf as it is but for names and ports; systemd looks at the unit.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import crypto from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import https from 'node:https';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';

const here = import.meta.dirname;
const deploy = path.join(here, '../../deploy');
const magazine = path.join(here, '../../../../examples/magazine');
const bin = path.join(here, '../../bin/dovetail.js');
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-deploy-'));
const running = [];

const freePort = async () => {
  const probe = net.createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  return port;
};
const [plain, secure, inner] = [await freePort(), await freePort(), await freePort()];
const base = `https://localhost:${secure}/cms`;

const start = (command, args, options = {}) => {
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'], ...options });
  running.push(child);
  return child;
};

const checks = [];
const check = (title, work) => checks.push({ title, work });

// ---- the magazine behind nginx

const project = path.join(dir, 'magazine');
fs.cpSync(magazine, project, { recursive: true, filter: (it) => !/\.tmp$|\.env$/.test(it) });
fs.writeFileSync(
  path.join(project, 'dovetail.config.json'),
  JSON.stringify({ server: { trustProxy: true, url: base } }),
);
for (const name of ['ts', 'js']) fs.rmSync(path.join(project, `dovetail.config.${name}`), { force: true });
const env = {
  ...process.env,
  NODE_ENV: 'production',
  JWT_SECRET: crypto.randomBytes(32).toString('base64'),
  API_TOKEN_SALT: crypto.randomBytes(32).toString('base64'),
  PORT: String(inner),
  LOG_LEVEL: 'warn',
};

const certificate = path.join(dir, 'certificate.pem');
const key = path.join(dir, 'key.pem');
execFileSync(
  'openssl',
  [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=localhost'],
    ...['-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', certificate],
  ],
  { stdio: 'ignore' },
);
const site = fs
  .readFileSync(path.join(deploy, 'nginx.conf'), 'utf8')
  .replaceAll('127.0.0.1:1337', `127.0.0.1:${inner}`)
  .replaceAll('cms.example.org;', 'localhost;')
  .replace(/listen 80;\n.*\n/, `listen 127.0.0.1:${plain};\n`)
  .replace(/listen 443 ssl http2;\n.*\n/, `listen 127.0.0.1:${secure} ssl http2;\n`)
  .replace(/ssl_certificate .*;/, `ssl_certificate ${certificate};`)
  .replace(/ssl_certificate_key .*;/, `ssl_certificate_key ${key};`);
fs.writeFileSync(path.join(dir, 'site.conf'), site);
fs.mkdirSync(path.join(dir, 'body'));
const account = os.userInfo().uid === 0 ? 'user root;' : '';
fs.writeFileSync(
  path.join(dir, 'nginx.conf'),
  `${account} daemon off; pid ${dir}/nginx.pid; error_log ${dir}/error.log info;
events {}
http {
  access_log ${dir}/access.log;
  client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy;
  fastcgi_temp_path ${dir}/f; uwsgi_temp_path ${dir}/u; scgi_temp_path ${dir}/s;
  # as Debian has it
  gzip on;
  include ${dir}/site.conf;
}`,
);

// ---- requests

const ca = fs.readFileSync(certificate);
const agent = new https.Agent({ keepAlive: true, ca, maxSockets: 8 });
/** @returns status, headers and the bytes of the body */
const request = (url, { method = 'GET', headers = {}, body } = {}) =>
  new Promise((resolve, reject) => {
    const sent = https.request(url, { method, headers, agent }, async (response) => {
      const chunks = [];
      for await (const chunk of response) chunks.push(chunk);
      resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) });
    });
    sent.on('error', reject);
    if (body && typeof body !== 'string' && !Buffer.isBuffer(body)) body.pipe(sent);
    else sent.end(body);
  });
const json = ({ body }) => JSON.parse(body.toString());

const until = async (isSo) => {
  for (let tries = 0; tries < 300; tries++) {
    if (await isSo().catch(() => false)) return;
    await setTimeout(100);
  }
  throw new Error('it did not come about');
};

check('http leads to https, and /cms to /cms/', async () => {
  const answer = await fetch(`http://127.0.0.1:${plain}/cms/api/articles?a=b`, {
    redirect: 'manual',
    headers: { host: 'localhost' },
  });
  assert.equal(answer.status, 301);
  assert.match(answer.headers.get('location'), /^https:\/\/[^/]*\/cms\/api\/articles\?a=b$/);
  const slash = await request(base);
  assert.deepEqual([slash.status, new URL(slash.headers.location, base).pathname], [308, '/cms/']);
});

check('content, with brackets in the query as they are', async () => {
  const { status, body } = await request(`${base}/api/articles?fields=title&pagination[pageSize]=1&sort=title:desc`);
  assert.equal(status, 200, body.toString());
  assert.equal(json({ body }).meta.pagination.total, 12);
  const wrong = await request(`${base}/api/articles?populate=autor`);
  assert.equal(wrong.status, 400);
  assert.equal((await request(`${base}/nowhere`)).status, 404);
});

check('a URL of 15 KB', async () => {
  const filter = `filters[title][$ne]=${'x'.repeat(15_000)}`;
  assert.equal((await request(`${base}/api/articles?${filter}`)).status, 200);
});

check('compression and entity tags are those of Dovetail', async () => {
  const plainly = await request(`${base}/api/articles?populate=*`);
  const { headers, body } = await request(`${base}/api/articles?populate=*`, {
    headers: { 'accept-encoding': 'gzip' },
  });
  assert.equal(headers['content-encoding'], 'gzip');
  assert.equal(gunzipSync(body).toString(), plainly.body.toString());
  assert.ok(headers.etag);
  const direct = await fetch(`http://127.0.0.1:${inner}/api/articles?populate=*`, {
    headers: { 'accept-encoding': 'gzip' },
  });
  assert.equal(headers.etag, direct.headers.get('etag'));
  for (const encoding of ['gzip', 'identity']) {
    const again = await request(`${base}/api/articles?populate=*`, {
      headers: { 'accept-encoding': encoding, 'if-none-match': headers.etag },
    });
    assert.deepEqual([again.status, again.body.length], [304, 0]);
  }
});

check('connections to Dovetail are used again', async () => {
  for (let i = 0; i < 25; i++)
    await Promise.all(Array.from({ length: 8 }, () => request(`${base}/api/articles?pagination[page]=${(i % 3) + 1}`)));
  const lines = execFileSync('ss', ['-Htan', `dport = :${inner} and dst 127.0.0.1`], { encoding: 'utf8' });
  const count = lines.split('\n').filter((it) => it !== '').length;
  assert.ok(count < 40, `${count} connections for 200 requests`);
});

let token = '';
check('the description of the API names the public URL', async () => {
  const { body } = await request(`${base}/api/openapi.json`);
  const document = json({ body });
  assert.deepEqual(document.servers, [{ url: base }]);
  assert.equal((await request(`${document.servers[0].url}/api/articles`)).status, 200);
  const page = (await request(`${base}/api/reference`)).body.toString();
  const links = [...page.matchAll(/(?:href|src)="(?!#)([^"]+)"/g)].map(([, it]) => it);
  for (const link of links) assert.equal((await request(new URL(link, `${base}/api/reference`))).status, 200, link);
});

check('an upload of 150 MB, read again whole and in part', async () => {
  const size = 150 * 1024 * 1024;
  const content = crypto.randomBytes(1024 * 1024);
  const head = Buffer.from(
    '--abc\r\nContent-Disposition: form-data; name="files"; filename="big.bin"\r\nContent-Type: application/octet-stream\r\n\r\n',
  );
  const tail = Buffer.from('\r\n--abc--\r\n');
  const { Readable } = await import('node:stream');
  const body = Readable.from(
    (function* () {
      yield head;
      for (let i = 0; i < size / content.length; i++) yield content;
      yield tail;
    })(),
  );
  const answer = await request(`${base}/api/upload`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'multipart/form-data; boundary=abc',
      'content-length': head.length + size + tail.length,
    },
    body,
  });
  assert.equal(answer.status, 200, answer.body.toString().slice(0, 300));
  const [{ url }] = json(answer);
  assert.match(url, /^\/uploads\//);
  assert.deepEqual(fs.readdirSync(path.join(dir, 'body')), [], 'nginx keeps no copy');
  const found = await request(`${base}${url}`);
  assert.equal(found.body.length, size);
  assert.ok(found.body.subarray(-content.length).equals(content));
  const part = await request(`${base}${url}`, { headers: { range: 'bytes=10-19' } });
  assert.deepEqual([part.status, part.body.equals(content.subarray(10, 20))], [206, true]);
  const cached = await request(`${base}${url}`, { headers: { 'if-none-match': found.headers.etag } });
  assert.equal(cached.status, 304);
});

check('more than nginx lets through is a 413', async () => {
  const answer = await request(`${base}/api/upload`, {
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=abc', 'content-length': 300 * 1024 * 1024 },
    body: 'x',
  }).catch(() => ({ status: 413 }));
  assert.equal(answer.status, 413);
});

check('attempts to log in are counted for the real address, whatever the client claims', async () => {
  const statuses = [];
  for (let i = 0; i < 12; i++) {
    const { status } = await request(`${base}/api/auth/local`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': `10.0.0.${i}` },
      body: JSON.stringify({ identifier: 'ann@example.org', password: 'wrong' }),
    });
    statuses.push(status);
  }
  assert.deepEqual([statuses[0], statuses.at(-1)], [400, 429]);
});

check('requests have the id that nginx gives them', async () => {
  const { headers } = await request(`${base}/api/articles`);
  assert.match(headers['x-request-id'], /^[0-9a-f]{32}$/);
});

check('/_health is for the inside', async () => {
  assert.equal((await request(`${base}/_health`)).status, 404);
  assert.equal((await fetch(`http://127.0.0.1:${inner}/_health`)).status, 204);
});

check('a stopped server has answered everything', async () => {
  const many = Promise.all(Array.from({ length: 50 }, () => request(`${base}/api/articles?populate=*`)));
  await setTimeout(20);
  const exited = once(server, 'exit');
  server.kill('SIGTERM');
  const statuses = (await many).map((it) => it.status);
  // what comes after the end finds nobody
  assert.ok(
    statuses.every((it) => it === 200 || it === 502),
    statuses.join(),
  );
  assert.deepEqual(await exited, [0, null]);
});

check('systemd accepts the unit and finds it hardened', async () => {
  const unit = fs
    .readFileSync(path.join(deploy, 'dovetail.service'), 'utf8')
    .replace('/usr/bin/node', process.execPath);
  const file = path.join(dir, 'dovetail.service');
  fs.writeFileSync(file, unit);
  const said = execFileSync('systemd-analyze', ['verify', file], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  assert.equal(said, '');
  // exposure in tenths: 2.0 of 10
  execFileSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', file], { stdio: 'ignore' });
});

let server = null;
let failed = 0;
try {
  server = start(process.execPath, [bin, 'start', '--project', project], { env });
  await until(async () => (await fetch(`http://127.0.0.1:${inner}/_health`)).status === 204);
  token = execFileSync(process.execPath, [bin, 'token', 'create', '--type', 'full-access', '--project', project], {
    encoding: 'utf8',
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
  start('nginx', ['-p', dir, '-c', path.join(dir, 'nginx.conf')], {
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
  });
  await until(async () => (await request(`${base}/api/articles`)).status === 200);
  for (const { title, work } of checks) {
    try {
      await work();
      process.stdout.write(`ok    ${title}\n`);
    } catch (fault) {
      failed += 1;
      process.stdout.write(`FAILS ${title}\n${fault.stack}\n`);
    }
  }
} finally {
  agent.destroy();
  for (const child of running) child.kill('SIGTERM');
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
process.stdout.write(
  failed === 0 ? `${checks.length} checks passed\n` : `${failed} of ${checks.length} checks failed\n`,
);
process.exit(failed === 0 ? 0 : 1);
