/** What others could try against the Studio and its administrators, besides what AD1 to AD15 are about (SU6, AD2, AD4). */
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { adminEndpoints } from '../../src/administration/endpoints.js';
import { libraryRoutes } from '../../src/http/library-routes.js';
import { UNSEEN_PATH } from '../../src/http/unseen-routes.js';
import { adminPassword, cookieOf, emailOf, newAdminWorld, studio } from '../world/administrators.js';
import { newFolder } from '../world/folders.js';
import { openedForTests } from '../world/opening.js';
import { dialects } from '../world/world.js';

const dir = newFolder();
fs.writeFileSync(path.join(dir, 'index.html'), '<!doctype html><head><base href="/studio/"></head>');
afterAll(() => fs.rmSync(dir, { recursive: true }));

describe.each(dialects)('safety of the Studio on %s', (dialect) => {
  const it_ = openedForTests(() =>
    newAdminWorld(dialect, {
      settings: {
        studio: { dir, basePath: '', mediaOrigins: [] },
        // what a project may configure for its own content
        securityHeaders: { 'referrer-policy': null, 'x-content-type-options': null, 'x-frame-options': null },
      },
    }),
  );
  const login = (headers: Record<string, string>) =>
    it_.server.send('POST', '/admin/login', { body: { email: emailOf('ada'), password: adminPassword }, headers });

  it('AD4: no answer about administrators is kept by anybody, whether it is given or refused', async () => {
    const routes = [...adminEndpoints, ...libraryRoutes, { method: 'GET', path: UNSEEN_PATH } as const].map((it) => ({
      method: it.method,
      url: it.path.replace(':id', '999').replace(':type', 'api::film.film'),
    }));
    for (const { method, url } of routes.filter((it) => !it.url.endsWith('/logout'))) {
      const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} };
      for (const answer of [
        await it_.server.send(method, url, body),
        await it_.server.send(method, url, { ...body, headers: { authorization: 'Bearer nobody' } }),
        await it_.askAs('cyd', method, url, body),
        await it_.askAs('ada', method, url, body),
      ])
        expect([method, url, answer.headers['cache-control']]).toEqual([method, url, 'no-store']);
    }
  });

  it('SU6: no page of another site frames the Studio, and its addresses are told to nobody', async () => {
    for (const url of ['/studio', '/studio/welcome', '/studio/sign-in?to=%2Fmap']) {
      const { headers } = await it_.server.get(url);
      expect(headers).toMatchObject({
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'cross-origin-opener-policy': 'same-origin',
        'cache-control': 'no-store',
      });
      expect(String(headers['content-security-policy']).split(';')).toEqual(
        expect.arrayContaining(["frame-ancestors 'none'", "form-action 'none'", "script-src 'self'"]),
      );
    }
  });

  it('AD2, AD4: forms and pages of other sites neither sign in, refresh nor sign out, with the cookie or without', async () => {
    const cookie = cookieOf(await login(studio))!.split(';')[0]!;
    const asForm = { 'content-type': 'application/x-www-form-urlencoded' };
    const tries: readonly Record<string, string>[] = [
      { cookie },
      { cookie, ...asForm },
      { cookie, 'content-type': 'text/plain' },
      { cookie, ...studio, origin: 'https://evil.example' },
      { cookie, ...studio, 'sec-fetch-site': 'cross-site' },
      { cookie, ...studio, 'sec-fetch-site': 'same-site' },
      { cookie, ...studio, origin: 'null' },
    ];
    for (const url of ['/admin/refresh', '/admin/logout'])
      for (const headers of tries) {
        const answer = await it_.server.send('POST', url, { headers });
        expect([url, headers, answer.status]).toEqual([
          url,
          headers,
          expect.toSatisfy((it: number) => it >= 400 && it < 500),
        ]);
        expect(answer.headers['set-cookie']).toBeUndefined();
      }
    const preflight = await it_.server.send('OPTIONS', '/admin/refresh', {
      headers: {
        origin: 'https://evil.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'dovetail-studio',
      },
    });
    expect(String(preflight.headers['access-control-allow-headers']).toLowerCase()).not.toContain('dovetail-studio');
    // all of that has not ended the session
    expect((await it_.server.send('POST', '/admin/refresh', { headers: { cookie, ...studio } })).status).toBe(200);
  });

  it('AD4: what was valid before signing out is not afterwards: the token, the cookie, and those that came before', async () => {
    const first = await login(studio);
    const cookie = (answer: typeof first): string => cookieOf(answer)!.split(';')[0]!;
    const bearerOf = ({ body }: typeof first) => ({
      authorization: `Bearer ${(body as { data: { token: string } }).data.token}`,
    });
    const second = await it_.server.send('POST', '/admin/refresh', { headers: { cookie: cookie(first), ...studio } });
    const out = await it_.server.send('POST', '/admin/logout', { headers: { cookie: cookie(second), ...studio } });
    expect(out.status).toBe(200);
    for (const it of [first, second]) {
      expect((await it_.server.get('/admin/me', bearerOf(it))).status).toBe(401);
      expect((await it_.server.get('/_dovetail/folders', bearerOf(it))).status).toBe(401);
      const again = await it_.server.send('POST', '/admin/refresh', { headers: { cookie: cookie(it), ...studio } });
      expect(again.status).toBe(401);
    }
  });

  it('UP17: folders and files keep hostile names as the text that they are, and never as the type of an answer', async () => {
    const name = `"><img src=x onerror=alert(1)>{{7*7}}__proto__`;
    const made = await it_.askAs('ada', 'POST', '/_dovetail/folders', { body: { name } });
    expect([made.status, made.headers['content-type']]).toEqual([201, 'application/json; charset=utf-8']);
    const { body } = await it_.askAs('ada', 'GET', '/_dovetail/folders');
    expect((body as { data: { name: string }[] }).data.map((it) => it.name)).toEqual([name]);
    for (const polluting of ['{"__proto__":{"name":"x"}}', '{"name":"y","constructor":{"prototype":{}}}']) {
      const answer = await it_.askAs('ada', 'POST', '/_dovetail/folders', {
        body: polluting,
        headers: { 'content-type': 'application/json' },
      });
      expect(answer.status).toBe(400);
    }
    expect(({} as { name?: unknown }).name).toBeUndefined();
  });
});
