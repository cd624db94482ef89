/** Attacks on authentication and availability (RQ16, AC1, AC6). */
import crypto from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import zlib from 'node:zlib';
import bcrypt from '@node-rs/bcrypt';
import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { newServer } from '../../src/http/server.js';
import { limits } from '../../src/limits.js';
import type { ReadProgram, Statement } from '../../src/sql/dialect.js';
import { injectInto } from '../world/inject.js';
import {
  allOfAccounts,
  bearer,
  jwtFor,
  jwtOf,
  newPeopleWorld,
  type PeopleWorld,
  password,
  tokens,
  usePeople,
  users,
} from '../world/people.js';
import { newTestDeps, newTestServer, refusal, secrets, type TestAnswer } from '../world/server.js';
import { dialects } from '../world/world.js';

const missing = refusal(401, 'UnauthorizedError', 'Missing or invalid credentials');
const forbidden = refusal(403, 'ForbiddenError', 'Forbidden');
const wrongLogin = refusal(400, 'ValidationError', 'Invalid identifier or password');

const post = ({ ask }: PeopleWorld, path: string, body: unknown) => ask('POST', `/api/auth/${path}`, { body });

afterEach(() => {
  vi.restoreAllMocks();
});

describe.each(dialects)('guessing credentials on %s', (dialect) => {
  const it_ = usePeople(dialect);

  it('AC14: an unknown user, a user without a password and a wrong password cost one comparison and get the same response', async () => {
    const compare = vi.spyOn(bcrypt, 'verify');
    for (const identifier of ['nobody', 'nobody@example.com', 'foreign', 'reader', 'blocked', "' or 1=1 --"]) {
      compare.mockClear();
      const { body, headers } = await post(it_(), 'local', { identifier, password: 'wrong-word' });
      expect([identifier, body]).toEqual([identifier, wrongLogin]);
      expect(headers['set-cookie']).toBeUndefined();
      expect([identifier, compare.mock.calls.length]).toEqual([identifier, 1]);
      expect(compare.mock.calls[0]?.[0]).toBe('wrong-word');
    }
  });

  it('AC14: the dummy comparison for unknown users uses the same bcrypt cost as stored passwords', async () => {
    const compare = vi.spyOn(bcrypt, 'verify');
    await post(it_(), 'local', { identifier: 'nobody', password: 'wrong-word' });
    const asNobody = compare.mock.calls[0]?.[1] ?? '';
    const body = { username: 'ten-rounds', email: 'ten@example.com', password: 'secret-1', role: 1 };
    const made = await it_().ask('POST', '/api/users', { as: 'full', body });
    const stored = (await it_().stored((made.body as { id: number }).id, 'password')) as string;
    expect(bcrypt.parseOptions(asNobody).cost).toBe(bcrypt.parseOptions(stored).cost);
  });

  it('AC17: an API token is looked up by its hash, so a partly correct token causes the same database work', async () => {
    const { world } = it_();
    const seen: Statement[] = [];
    const watched = {
      ...world.db,
      readSmall: <T>(begin: () => ReadProgram<T>) => {
        function* noting(): ReadProgram<T> {
          const program = begin();
          let step = program.next();
          while (!step.done) {
            seen.push(...step.value);
            step = program.next(yield step.value);
          }
          return step.value;
        }
        return world.db.readSmall(noting);
      },
    };
    const server = await newTestServer(watched, world.model);
    try {
      const ask = async (text: string): Promise<{ readonly status: number; readonly statements: Statement[] }> => {
        seen.length = 0;
        const { status } = await server.get('/api/donors', bearer(text));
        return { status, statements: seen.filter((it) => it.sql.includes('strapi_api_tokens')) };
      };
      const right = await ask(tokens.full.text);
      expect(right.status).toBe(200);
      for (const text of ['full-toke', 'full-tokem', 'x', 'Full-token', 'full-token%']) {
        const { status, statements } = await ask(text);
        expect([text, status]).toEqual([text, 401]);
        expect(statements.map((it) => it.sql)).toEqual(right.statements.map((it) => it.sql));
        const hash = crypto.createHmac('sha512', secrets.apiTokenSalt).update(text).digest('hex');
        expect(statements.map((it) => it.params)).toEqual([[hash]]);
      }
    } finally {
      await server.close();
    }
  });

  it('AC11: codes and tokens read from the database cannot be used', async () => {
    const people = it_();
    await people.setting('advanced', { email_confirmation: true, email_reset_password: 'https://example.org/new' });
    await post(people, 'forgot-password', { email: 'reader@example.com' });
    await post(people, 'send-email-confirmation', { email: 'unconfirmed@example.com' });
    await people.server.idle();
    const code = (await people.stored(users.reader, 'reset_password_token')) as string;
    const token = (await people.stored(users.unconfirmed, 'confirmation_token')) as string;
    expect(code.length).toBeGreaterThan(32);
    expect(token.length).toBeGreaterThan(32);
    const word = { password: 'another-1', passwordConfirmation: 'another-1' };
    expect((await post(people, 'reset-password', { code, ...word })).body).toEqual(
      refusal(400, 'ValidationError', 'Incorrect code provided'),
    );
    for (const [mail, stored] of [
      [people.mails[0], code],
      [people.mails[1], token],
    ] as const)
      expect(JSON.stringify(mail)).not.toContain(stored);
    for (const text of ['', '%', '%25', 'null', '0', token.slice(0, 20)])
      expect((await people.ask('GET', `/api/auth/email-confirmation?confirmation=${text}`)).status).toBe(400);
    expect((await post(people, 'reset-password', { code: null, ...word })).status).toBe(400);
    expect((await post(people, 'reset-password', { code: { $ne: null }, ...word })).status).toBe(400);
    expect(await people.stored(users.unconfirmed, 'confirmed')).toSatisfy((it) => it === false || it === 0);
    expect((await post(people, 'local', { identifier: 'reader', password })).status).toBe(200);
  });

  it('AC14: objects, lists and wildcards are not accepted as identifiers', async () => {
    for (const identifier of [{ $ne: null }, ['reader'], true, 1, { toString: 'reader' }])
      expect((await post(it_(), 'local', { identifier, password })).status).toBe(400);
    for (const identifier of ['%', 'reade_', 'READER', 'reader\u0000', 'reader ', '*'])
      expect([identifier, (await post(it_(), 'local', { identifier, password })).status]).toEqual([identifier, 400]);
    expect((await post(it_(), 'local', { identifier: 'reader', password: { $ne: null } })).status).toBe(400);
  });
});

describe.each(dialects)('forged JWTs on %s', (dialect) => {
  const it_ = usePeople(dialect, { grants: { authenticated: ['api::genre.genre.find'] } });
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const payload = { id: users.reader, iat: 1_700_000_000, exp: 4_102_444_800 };
  const signed = (header: object, key: crypto.KeyLike | string, digest = 'sha256'): string => {
    const text = `${part(header)}.${part(payload)}`;
    return `${text}.${crypto
      .createHmac(digest, key as string)
      .update(text)
      .digest('base64url')}`;
  };
  const own = 'key of the attacker';
  const jwk = { kty: 'oct', k: Buffer.from(own).toString('base64url'), alg: 'HS256' };
  const rsa = crypto.generateKeyPairSync('rsa', { modulusLength: 2048 });
  const rsaSigned = (header: object): string => {
    const text = `${part(header)}.${part(payload)}`;
    return `${text}.${crypto.sign('sha256', Buffer.from(text), rsa.privateKey).toString('base64url')}`;
  };

  it('AC7: the same JWT, signed with the secret, is accepted', async () => {
    const good = jwtOf(payload);
    expect((await it_().server.get('/api/genres', bearer(good))).status).toBe(200);
  });

  it.each([
    ['alg none, no signature', `${part({ alg: 'none', typ: 'JWT' })}.${part(payload)}.`],
    ['alg nOnE', `${part({ alg: 'nOnE', typ: 'JWT' })}.${part(payload)}.`],
    ['no alg', signed({ typ: 'JWT' }, secrets.jwtSecret)],
    ['alg as a list', signed({ alg: ['HS256'] }, secrets.jwtSecret)],
    ['another key', signed({ alg: 'HS256' }, own)],
    ['an empty key', signed({ alg: 'HS256' }, '')],
    ['the salt of API tokens as key', signed({ alg: 'HS256' }, secrets.apiTokenSalt)],
    ['a key that it brings along (jwk)', signed({ alg: 'HS256', jwk }, own)],
    ['a key that it names (kid)', signed({ alg: 'HS256', kid: '../../dev/null' }, '')],
    ['a key elsewhere (jku)', signed({ alg: 'HS256', jku: 'http://127.0.0.1:1/keys' }, own)],
    ['an unknown critical header', signed({ alg: 'HS256', crit: ['x'], x: 1 }, secrets.jwtSecret)],
    ['an RSA signature', rsaSigned({ alg: 'RS256', typ: 'JWT' })],
    ['an RSA signature that calls itself HS256', rsaSigned({ alg: 'HS256', typ: 'JWT' })],
    ['HS512 with the secret', signed({ alg: 'HS512' }, secrets.jwtSecret, 'sha512')],
    ['a past date', jwtOf({ ...payload, exp: 1_700_000_001 })],
    ['a past date as text', jwtOf({ ...payload, exp: '1700000001' })],
    ['a date that is none', jwtOf({ ...payload, exp: null })],
    ['four parts', `${jwtOf(payload)}.x`],
    ['five parts, as if encrypted', `${part({ alg: 'dir', enc: 'A256GCM' })}..a.b.c`],
    ['a second signature', `${jwtOf(payload)}${jwtOf(payload).split('.')[2]}`],
  ])('AC7: %s is 401', async (_name, jwt) => {
    for (const url of ['/api/genres', '/api/users/me'])
      expect((await it_().server.get(url, bearer(jwt))).body).toEqual(missing);
  });

  it('AC1: credentials are read only from the Authorization header', async () => {
    const jwt = jwtFor(users.reader);
    for (const [url, headers] of [
      [`/api/users/me?access_token=${jwt}`, {}],
      [`/api/users/me?token=${jwt}&jwt=${jwt}`, {}],
      ['/api/users/me', { cookie: `jwt=${jwt}; token=${jwt}; authorization=Bearer ${jwt}` }],
      ['/api/users/me', { 'proxy-authorization': `Bearer ${jwt}` }],
      ['/api/users/me', { 'x-forwarded-authorization': `Bearer ${jwt}` }],
      ['/api/users/me', { 'x-api-key': tokens.full.text, 'x-access-token': jwt }],
      ['/api/users/me', { authorization: `Basic ${Buffer.from(`reader:${password}`).toString('base64')}` }],
    ] as const)
      expect((await it_().server.get(url, headers)).body).toEqual(forbidden);
  });
});

describe.each(dialects)('privilege escalation on %s', (dialect) => {
  const it_ = usePeople(dialect, { grants: { editor: allOfAccounts } });
  const roleOf = async (id: number): Promise<unknown> =>
    (
      (await it_().ask('GET', `/api/users/${id}?populate=role&fields=id`, { as: 'full' })).body as {
        role: { type: string };
      }
    ).role.type;

  it.each([
    ['role', '{"role":3}'],
    ['role as connect', '{"role":{"connect":[{"id":3,"position":{"end":true}}]}}'],
    ['role twice', '{"role":1,"role":3}'],
    ['role in a prototype', '{"__proto__":{"role":3}}'],
    ['role in a constructor', '{"constructor":{"prototype":{"role":3}}}'],
    ['the id of an administrator-to-be', '{"id":2}'],
    ['the id of oneself', '{"id":1,"confirmed":true,"blocked":false}'],
    ['who created it', '{"createdBy":1,"updatedBy":1}'],
    ['tokens', '{"resetPasswordToken":"x","confirmationToken":"y"}'],
  ])('AC9: registration with %s creates a user of the default role', async (name, extra) => {
    const before = await it_().ask('GET', '/api/users/count', { as: 'full' });
    const given = { username: `mass ${name}`, email: `${name.replaceAll(' ', '-')}@example.com`, password: 'secret-1' };
    const { status, body } = await post(
      it_(),
      'local/register',
      JSON.stringify(given).replace('}', `,${extra.slice(1)}`),
    );
    expect(status).toBe(200);
    const { user } = body as { user: { id: number } };
    expect(user.id).toBeGreaterThan(Object.keys(users).length);
    expect(await roleOf(user.id)).toBe('authenticated');
    for (const column of ['reset_password_token', 'confirmation_token', 'created_by_id', 'updated_by_id'])
      expect([column, await it_().stored(user.id, column)]).toEqual([column, null]);
    expect((await it_().ask('GET', '/api/users/count', { as: 'full' })).body).toBe((before.body as number) + 1);
    expect(await roleOf(users.editor)).toBe('editor');
  });

  it.each(['Role', 'ROLE', 'role_id', 'roleId', 'isAdmin', 'role[id]', 'up_users_role_links'])(
    'AC9: registration with %s is refused, naming the attribute',
    async (name) => {
      const given = { username: 'odd-key', email: 'odd-key@example.com', password: 'secret-1', [name]: 3 };
      expect((await post(it_(), 'local/register', given)).body).toMatchObject({
        error: { status: 400, details: { errors: [{ path: [name] }] } },
      });
    },
  );

  it('AC15: a user without user.update cannot change any user, including their own account', async () => {
    for (const id of [users.reader, users.editor, users.blocked, 999]) {
      for (const body of [{ role: 3 }, { blocked: false }, { password: 'another-1' }, {}]) {
        expect((await it_().ask('PUT', `/api/users/${id}`, { as: 'reader', body })).body).toEqual(forbidden);
        expect((await it_().ask('PUT', `/api/users/${id}`, { body })).body).toEqual(forbidden);
      }
      expect((await it_().ask('DELETE', `/api/users/${id}`, { as: 'reader' })).body).toEqual(forbidden);
    }
    expect(await roleOf(users.reader)).toBe('authenticated');
    expect((await post(it_(), 'local', { identifier: 'blocked', password })).status).toBe(400);
  });

  it('AC12: users can change only their own password, whatever id the body names', async () => {
    const body = {
      currentPassword: password,
      password: 'another-1',
      passwordConfirmation: 'another-1',
      id: users.editor,
    };
    await it_().ask('POST', '/api/auth/change-password', { as: 'reader', body: { ...body, user: users.editor } });
    expect((await post(it_(), 'local', { identifier: 'editor', password })).status).toBe(200);
    for (const as of ['full', 'custom', 'reading'] as const)
      expect([401, 403]).toContain((await it_().ask('POST', '/api/auth/change-password', { as, body })).status);
  });

  it('AC1: HEAD reveals no more than GET, and OPTIONS reveals nothing stored', async () => {
    for (const url of [
      '/api/donors',
      '/api/donors/1',
      '/api/donors/999',
      '/api/users',
      '/api/users/1',
      '/api/users/me',
    ]) {
      const head = await it_().ask('HEAD', url);
      expect([url, head.status]).toEqual([url, 403]);
      expect(head.headers['etag']).toBeUndefined();
      const [here, nowhere] = [
        await it_().ask('OPTIONS', url),
        await it_().ask('OPTIONS', `${url.split('/1')[0]}/77777`),
      ];
      expect([here.status, nowhere.status, here.text]).toEqual([200, 200, '']);
      expect(here.headers['etag']).toBeUndefined();
    }
    for (const method of ['DELETE', 'PUT']) {
      for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override']) {
        const { status } = await it_().ask('GET', '/api/films/1?_method=DELETE', { headers: { [name]: method } });
        expect(status).toBe(200);
      }
    }
    expect((await it_().ask('GET', '/api/films/1')).status).toBe(200);
  });

  it('AC1: the entity tag of one caller’s response does not give another caller a 304', async () => {
    const url = '/api/films/1?fields=title&populate[lender][fields]=name';
    const full = await it_().ask('GET', url, { as: 'full' });
    expect(full.text).toContain('Secret Donor');
    const tag = String(full.headers['etag']);
    const again = await it_().ask('GET', url, { headers: { 'if-none-match': tag } });
    expect([again.status, again.body]).toEqual([
      200,
      { data: { id: 1, attributes: { title: expect.any(String) } }, meta: {} },
    ]);
    expect(again.headers['etag']).not.toBe(tag);
    const donor = await it_().ask('GET', '/api/donors/1', { as: 'full' });
    for (const header of [String(donor.headers['etag']), '*']) {
      expect((await it_().ask('GET', '/api/donors/1', { headers: { 'if-none-match': header } })).body).toEqual(
        forbidden,
      );
      expect((await it_().ask('PUT', '/api/donors/1', { headers: { 'if-match': header }, body: {} })).body).toEqual(
        forbidden,
      );
    }
  });
});

// ---- tests below use no database

/** The same requests with small limits; the server listens on 127.0.0.1 only. */
const usePort = (settings: { readonly attemptsMax?: number; readonly trustProxy?: boolean } = {}) => {
  let people: PeopleWorld;
  let app: FastifyInstance;
  beforeAll(async () => {
    people = await newPeopleWorld('sqlite');
    app = await newServer(newTestDeps(people.world.db, people.world.model, settings));
    await app.listen({ port: 0, host: '127.0.0.1' });
  });
  afterAll(async () => {
    await app.close();
    await people.close();
  });
  /** Everything received until the server closes the connection. */
  const raw = (...chunks: readonly (string | Buffer)[]): Promise<string> =>
    new Promise((resolve) => {
      const socket = net.connect((app.server.address() as net.AddressInfo).port, '127.0.0.1');
      let text = '';
      socket.on('data', (bytes) => {
        text += bytes.toString('latin1');
      });
      // the server may close it before everything is sent
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(text));
      for (const chunk of chunks) socket.write(chunk);
    });
  return { raw, app: () => app };
};

/** Status lines of all responses on a connection. */
const statuses = (text: string): readonly number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((it) => Number(it[1]));
const jsonOf = (text: string): unknown => JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4));

describe('malformed requests', () => {
  const { raw } = usePort();

  it('RQ16: headers over the limit are a 431 without a body', async () => {
    const text = await raw(
      `GET /api/donors HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(limits.headerBytesMax)}\r\n\r\n`,
    );
    expect(statuses(text)).toEqual([431]);
    expect(text).toMatch(/\r\n\r\n$/);
  });

  it.each([limits.urlBytesMax + 1, limits.headerBytesMax + 1, 200_000])(
    'RQ16: a URL of %i bytes is a 414 with that message',
    async (length) => {
      const line = `GET /api/donors?x=`.padEnd(length + 4, 'x');
      const text = await raw(`${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(statuses(text)).toEqual([414]);
      expect(jsonOf(text)).toEqual(
        refusal(414, 'UriTooLongError', `The URL is longer than ${limits.urlBytesMax} bytes`, {
          code: 'http.url-too-long',
        }),
      );
    },
  );

  it('RQ16: a long header is a 431 even if it arrives in several packets', async () => {
    const pieces = Array.from({ length: 20 }, () => 'a b; '.repeat(500));
    const text = await raw('GET /api/donors HTTP/1.1\r\nHost: x\r\nCookie: ', ...pieces, '\r\n\r\n');
    expect(statuses(text)).toEqual([431]);
  });

  it.each(['GARBAGE\r\n\r\n', 'GET /api/donors HTTP/9\r\n\r\n', 'GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n'])(
    'RQ16: %j is a 400 in the envelope',
    async (sent) => {
      const text = await raw(sent);
      expect(statuses(text)).toEqual([400]);
      expect(jsonOf(text)).toEqual(
        refusal(400, 'BadRequestError', 'The request is not valid HTTP', { code: 'http.malformed-request' }),
      );
    },
  );

  it('AC1: HEAD gets no body, even when it is refused', async () => {
    const text = await raw('HEAD /api/donors HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(statuses(text)).toEqual([403]);
    expect(text).toMatch(/\r\n\r\n$/);
  });

  it.each(['TRACE', 'PROPFIND', 'PURGE'])('RQ16: %s is a 501 on every path', async (method) => {
    for (const path of ['/api/donors', '/nowhere'])
      expect(statuses(await raw(`${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`))).toEqual([501]);
  });
});

describe('header smuggling', () => {
  const { raw } = usePort();
  const get = (lines: readonly string[], path = '/api/donors') =>
    raw(`GET ${path} HTTP/1.1\r\n${['Host: x', 'Connection: close', ...lines].join('\r\n')}\r\n\r\n`);
  const full = `Authorization: Bearer ${tokens.full.text}`;

  it('AC1: of two Authorization headers the first is used, and they are never joined', async () => {
    expect(statuses(await get([full]))).toEqual([200]);
    expect(statuses(await get([full, 'Authorization: Bearer garbage']))).toEqual([200]);
    expect(jsonOf(await get(['Authorization: Bearer garbage', full]))).toEqual(missing);
    expect(jsonOf(await get(['Authorization: Basic YTpi', full]))).toEqual(forbidden);
  });

  it.each([
    [`Bearer garbage, Bearer ${tokens.full.text}`, forbidden],
    [`Bearer ${tokens.full.text}, Bearer garbage`, forbidden],
    [`Bearer garbage,${tokens.full.text}`, missing],
    [`Bearer ${tokens.full.text};`, missing],
    [`Bearer "${tokens.full.text}"`, missing],
    [`Bearer\t${tokens.full.text}`, forbidden],
    [`Bearer Bearer ${tokens.full.text}`, forbidden],
    [`Bearer=${tokens.full.text}`, forbidden],
  ])('AC2: Authorization %j is anonymous or refused', async (value, expected) => {
    expect(jsonOf(await get([`Authorization: ${value}`]))).toEqual(expected);
  });

  it.each([
    ['a folded header', ['Authorization: Bearer', ` ${tokens.full.text}`]],
    ['a folded header of another name', ['X-One: a', `\t${full}`]],
    ['a line feed in a value', [`X-One: a\n${full}`]],
    ['a carriage return in a value', [`X-One: a\r${full}`]],
    ['a blank before the colon', [`Authorization : Bearer ${tokens.full.text}`]],
    ['NUL in a value', [`${full}\0`]],
    ['a name that is none', [`Author ization: Bearer ${tokens.full.text}`]],
    ['no colon', [full.replace(':', '')]],
  ])('RQ16: %s is 400, and the rest is not read', async (_name, lines) => {
    const answer = await get(lines);
    expect(statuses(answer)).toEqual([400]);
    expect(answer).not.toContain('Secret Donor');
  });

  it('RQ16: lines that end without a carriage return, and a path with a space, are 400', async () => {
    expect(statuses(await raw(`GET /api/donors HTTP/1.1\nHost: x\n${full}\nConnection: close\n\n`))).toEqual([400]);
    expect(statuses(await get([full], '/api/donors?x y'))).toEqual([400]);
  });

  const hidden = `GET /api/donors HTTP/1.1\r\nHost: x\r\n${full}\r\n\r\n`;
  it.each([
    ['Transfer-Encoding before Content-Length', ['Transfer-Encoding: chunked', 'Content-Length: 5'], '0\r\n\r\n'],
    ['Content-Length before Transfer-Encoding', ['Content-Length: 5', 'Transfer-Encoding: chunked'], '0\r\n\r\n'],
    ['two lengths', ['Content-Length: 2', 'Content-Length: 3'], '{} '],
    ['two lengths in one', ['Content-Length: 2, 3'], '{} '],
    ['a length with a sign', ['Content-Length: +2'], '{}'],
    ['a negative length', ['Content-Length: -1'], '{}'],
    ['a length in hex', ['Content-Length: 0x2'], '{}'],
    ['an unknown encoding', ['Transfer-Encoding: xchunked'], '0\r\n\r\n'],
    ['identity', ['Transfer-Encoding: identity'], '{}'],
    ['chunked that is not last', ['Transfer-Encoding: chunked, identity'], '0\r\n\r\n'],
    ['chunked twice', ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], '0\r\n\r\n'],
    ['a blank before the colon', ['Transfer-Encoding : chunked'], '0\r\n\r\n'],
    ['a chunk that is no number', ['Transfer-Encoding: chunked'], 'zz\r\n{}\r\n0\r\n\r\n'],
    ['a line feed in a chunk extension', ['Transfer-Encoding: chunked'], '2;\n{}\r\n{}\r\n0\r\n\r\n'],
    ['a chunk longer than it says', ['Transfer-Encoding: chunked'], '1\r\n{}\r\n0\r\n\r\n'],
  ])('RQ16: %s is 400, and what follows is not read as a request', async (_name, lines, body) => {
    const head = ['POST /api/auth/local HTTP/1.1', 'Host: x', 'Content-Type: application/json', ...lines].join('\r\n');
    const answer = await raw(`${head}\r\n\r\n${body}`, hidden);
    expect(statuses(answer)).toEqual([400]);
    expect(answer).not.toContain('Secret Donor');
  });

  it('RQ16: a missing Host is 400, and the value of Host appears in no response', async () => {
    expect(statuses(await raw('GET /api/genres HTTP/1.1\r\nConnection: close\r\n\r\n'))).toEqual([400]);
    for (const lines of [
      ['Host: evil.example'],
      ['Host: x', 'X-Forwarded-Host: evil.example', 'Forwarded: host=evil.example'],
      ['Host: x', 'Host: evil.example'],
    ]) {
      const head = ['Connection: close', ...lines].join('\r\n');
      for (const path of ['/api/genres/1', '/api/nothing', '/api/connect/github', 'http://evil.example/api/genres/1'])
        expect(await raw(`GET ${path} HTTP/1.1\r\n${head}\r\n\r\n`)).not.toMatch(/evil/);
    }
  });

  it('AC8: links in e-mails come from the configuration, not from the request', async () => {
    const people = await newPeopleWorld('sqlite', { settings: { trustProxy: true } });
    try {
      const body = { email: 'unconfirmed@example.com' };
      const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', origin: 'https://evil.example' };
      await people.ask('POST', '/api/auth/send-email-confirmation', { body, headers });
      await people.ask('POST', '/api/auth/forgot-password', { body: { email: 'reader@example.com' }, headers });
      await people.server.idle();
      expect(people.mails).toHaveLength(2);
      expect(JSON.stringify(people.mails)).not.toMatch(/evil/);
      expect(JSON.stringify(people.mails)).toContain('http://localhost/api/auth/email-confirmation');
    } finally {
      await people.close();
    }
  });
});

describe('forged client addresses', () => {
  const guesses = async (
    settings: { attemptsMax: number; trustProxy: boolean },
    headers: (i: number) => Record<string, string>,
  ) => {
    const people = await newPeopleWorld('sqlite', { settings });
    try {
      const found: number[] = [];
      for (let i = 0; i < 4; i++) {
        const body = { identifier: 'reader', password: '' };
        found.push((await people.ask('POST', '/api/auth/local', { body, headers: headers(i) })).status);
      }
      return found;
    } finally {
      await people.close();
    }
  };

  it.each([
    'x-forwarded-for',
    'forwarded',
    'x-real-ip',
    'x-client-ip',
    'cf-connecting-ip',
    'true-client-ip',
    'x-cluster-client-ip',
  ])('AC14: %s does not reset the count if no proxy is trusted', async (name) => {
    const address = (i: number): string => (name === 'forwarded' ? `for=192.0.2.${i + 1}` : `192.0.2.${i + 1}`);
    const found = await guesses({ attemptsMax: 3, trustProxy: false }, (i) => ({ [name]: address(i) }));
    expect(found).toEqual([400, 400, 400, 429]);
  });

  it('AC14: a different spelling of the path does not reset the count', async () => {
    const people = await newPeopleWorld('sqlite', { settings: { attemptsMax: 3 } });
    try {
      const found: number[] = [];
      for (const url of [
        '/auth/local',
        '/AUTH/Local',
        '/auth/local/',
        '/auth/loc%61l',
        '/auth/local?x=1',
        '/auth/local#x',
      ])
        found.push((await people.ask('POST', `/api${url}`, { body: { identifier: 'reader', password: '' } })).status);
      expect(found).toEqual([400, 400, 400, 429, 429, 429]);
    } finally {
      await people.close();
    }
  });

  it('AC8: behind a proxy the address that the proxy saw is counted, not those that the client sent', async () => {
    const settings = { attemptsMax: 3, trustProxy: true };
    const claimed = await guesses(settings, (i) => ({ 'x-forwarded-for': `192.0.2.${i + 1}, 198.51.100.7` }));
    expect(claimed).toEqual([400, 400, 400, 429]);
    const others = await guesses(settings, (i) => ({ 'x-forwarded-for': `192.0.2.1, 198.51.100.${i + 1}` }));
    expect(others).toEqual([400, 400, 400, 400]);
  });
});

describe('files', () => {
  it('RQ15: only visible files inside the uploads folder are served', async () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-uploads-'));
    const folder = path.join(dir, 'uploads');
    fs.mkdirSync(path.join(folder, '.git'), { recursive: true });
    for (const name of ['uploads/open.txt', 'uploads/.env', 'uploads/.git/config', 'beside.txt', 'uploads-too.txt'])
      fs.writeFileSync(path.join(dir, name), `text of ${name}`);
    const people = await newPeopleWorld('sqlite', { settings: { uploadsDir: folder } });
    try {
      expect((await people.ask('GET', '/uploads/open.txt')).text).toBe('text of uploads/open.txt');
      for (const name of [
        '.env',
        '%2eenv',
        '.git/config',
        '../beside.txt',
        '%2e%2e/beside.txt',
        '..%2fbeside.txt',
        '..%5cbeside.txt',
        '....//beside.txt',
        '../uploads-too.txt',
        'open.txt/../../beside.txt',
        'open.txt%00.png',
        '/etc/hostname',
        '',
      ]) {
        const { status, text } = await people.ask('GET', `/uploads/${name}`);
        expect([name, [400, 403, 404].includes(status), text]).toEqual([
          name,
          true,
          expect.not.stringContaining('text of'),
        ]);
      }
    } finally {
      await people.close();
      fs.rmSync(dir, { recursive: true });
    }
  });
});

describe('huge bodies', () => {
  const { raw, app } = usePort();
  const tooLarge = refusal(413, 'PayloadTooLargeError', 'request entity too large');
  /** Content and account endpoints, with and without permission for the public role, and an unknown path. */
  const places = [
    'POST /api/films',
    'PUT /api/films/1',
    'POST /api/auth/local',
    'POST /api/auth/local/register',
    'POST /api/auth/forgot-password',
    'POST /api/auth/reset-password',
    'POST /api/users',
    'PUT /api/users-permissions/roles/1',
  ];
  const head = (place: string, ...lines: readonly string[]): string =>
    `${[`${place} HTTP/1.1`, 'Host: x', 'Connection: close', 'Content-Type: application/json', ...lines].join('\r\n')}\r\n\r\n`;
  const inject = (
    place: string,
    payload: string,
    headers: Record<string, string> = {},
  ): Promise<{ statusCode: number; json(): unknown }> => {
    const [method, url] = place.split(' ') as ['POST', string];
    return injectInto(app(), { method, url, payload, headers: { 'content-type': 'application/json', ...headers } });
  };

  it.each(places)('BO15: %s accepts a body up to the limit and not one byte more', async (place) => {
    const blanks = ' '.repeat(limits.bodyBytesMax - 2);
    expect((await inject(place, `{}${blanks}`)).statusCode).not.toBe(413);
    expect((await inject(place, `{} ${blanks}`)).json()).toEqual(tooLarge);
  });

  it.each(places)('BO15: %s refuses a body by its Content-Length before reading it', async (place) => {
    expect(jsonOf(await raw(head(place, 'Content-Length: 99999999999'), '{'))).toEqual(tooLarge);
  });

  it.each([...places, 'POST /api/nothing'])(
    'BO15: %s refuses a chunked body once it exceeds the limit',
    async (place) => {
      const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
      expect(jsonOf(await raw(head(place, 'Transfer-Encoding: chunked'), chunk.repeat(20)))).toEqual(tooLarge);
    },
  );

  it.each(['text/plain', 'application/octet-stream', 'application/x-www-form-urlencoded'])(
    'BO15: %s has the same limit',
    async (type) => {
      const payload = 'x'.repeat(limits.bodyBytesMax + 1);
      expect((await inject('POST /api/auth/local', payload, { 'content-type': type })).json()).toEqual(tooLarge);
    },
  );

  it.each([
    ['br', zlib.brotliCompressSync, 'createBrotliDecompress'],
    ['gzip', zlib.gzipSync, 'createGunzip'],
    ['deflate', zlib.deflateSync, 'createInflate'],
  ] as const)(
    'BO15: a small compressed %s body is not decompressed beyond the limit',
    async (encoding, pack, create) => {
      const original = zlib[create] as () => zlib.Gunzip;
      let bytes = 0;
      const closed = new Promise((resolve) => {
        vi.spyOn(zlib, create).mockImplementation((() => {
          const unpacker = original();
          unpacker.on('data', (chunk: Buffer) => {
            bytes += chunk.length;
          });
          return unpacker.on('close', resolve).on('end', resolve);
        }) as never);
      });
      const packed = pack(Buffer.alloc(limits.bodyBytesMax * 16));
      const answer = await raw(
        head('POST /api/auth/local', `Content-Encoding: ${encoding}`, `Content-Length: ${packed.length}`),
        packed,
      );
      expect(jsonOf(answer)).toEqual(tooLarge);
      await closed;
      expect(bytes).toBeGreaterThan(limits.bodyBytesMax);
      expect(bytes).toBeLessThan(limits.bodyBytesMax * 2);
    },
  );

  it.each([
    ['gzip', 400],
    ['GZip', 400],
    ['x-gzip', 400],
    ['br', 400],
    ['deflate', 400],
    ['zstd', 415],
    ['compress', 415],
    ['gzip, gzip', 415],
    ['nonsense', 415],
  ])('BO1: a body that is not valid %s is a client error', async (encoding, status) => {
    const answer = await inject('POST /api/auth/local', 'garbage', { 'content-encoding': encoding });
    expect(answer.statusCode).toBe(status);
    expect(answer.json()).toMatchObject({ data: null, error: { status } });
  });

  it.each(places)('BO15: %s survives deeply nested JSON', async (place) => {
    const deep = (open: string, close: string, depth: number): string => `${open.repeat(depth)}1${close.repeat(depth)}`;
    for (const value of [deep('[', ']', 200_000), deep('{"a":', '}', 100_000)]) {
      for (const body of [
        value,
        `{"data":${value}}`,
        `{"data":{"title":${value}}}`,
        `{"identifier":${value}}`,
        `{"email":${value}}`,
        `{"code":${value}}`,
        `{"permissions":${value}}`,
        `{"role":${value}}`,
      ]) {
        const { statusCode } = await inject(place, body, bearer(tokens.full.text));
        expect([body.slice(0, 30), statusCode]).toEqual([body.slice(0, 30), 400]);
      }
    }
    expect((await inject('POST /api/auth/local', JSON.stringify({ identifier: 'reader', password }))).statusCode).toBe(
      200,
    );
  });
});

describe('slow bodies', () => {
  const { app } = usePort();

  it('RQ16: headers and body must arrive within a time limit', () => {
    const { server } = app();
    expect(server.headersTimeout).toBe(limits.requestMsMax);
    // only forms may take that long: upload-forms.test.ts
    expect(server.requestTimeout).toBeGreaterThan(limits.formMsMax);
    expect(server.keepAliveTimeout).toBeGreaterThan(0);
  });

  it('other requests are served while one is slow', async () => {
    const { port } = app().server.address() as net.AddressInfo;
    const slow = net.connect(port, '127.0.0.1');
    const lines = ['POST /api/auth/local HTTP/1.1', 'Host: x', 'Content-Type: application/json', 'Content-Length: 50'];
    try {
      await new Promise<void>((resolve) => slow.write(`${lines.join('\r\n')}\r\n\r\n{"identifier":`, () => resolve()));
      const answers: Pick<TestAnswer, 'status'>[] = [];
      for (let i = 0; i < 5; i++) answers.push({ status: (await fetch(`http://127.0.0.1:${port}/api/genres`)).status });
      expect(answers.map((it) => it.status)).toEqual([200, 200, 200, 200, 200]);
      expect(slow.destroyed).toBe(false);
    } finally {
      slow.destroy();
    }
  });
});
