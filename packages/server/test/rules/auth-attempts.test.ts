/** Rate limits on login attempts (AC14). */
import { describe, expect, it, vi } from 'vitest';
import { limits } from '../../src/limits.js';
import { newPeopleWorld, type PeopleWorld } from '../world/people.js';
import { refusal } from '../world/server.js';

const tooMany = refusal(429, 'RateLimitError', 'Too many requests, please try again later.');
const opened = (attemptsMax = 3): Promise<PeopleWorld> =>
  newPeopleWorld('sqlite', { settings: { attemptsMax, trustProxy: true } });

/** A login that fails; `from` is an address behind the proxy. */
const guess = (
  { ask }: PeopleWorld,
  identifier: unknown,
  { from = '192.0.2.1', extra = {}, path = 'local' }: { from?: string; extra?: object; path?: string } = {},
) =>
  ask('POST', `/api/auth/${path}`, {
    body: { identifier, password: 'wrong-word', ...extra },
    headers: { 'x-forwarded-for': from },
  });
const statuses = async (
  count: number,
  attempt: (i: number) => ReturnType<typeof guess>,
): Promise<readonly number[]> => {
  const found: number[] = [];
  for (let i = 0; i < count; i++) found.push((await attempt(i)).status);
  return found;
};

describe('attempts', () => {
  it('AC14: are counted for each account and address, and reported in headers', async () => {
    const people = await opened();
    try {
      const first = await guess(people, 'reader');
      expect([first.status, first.headers['x-ratelimit-limit'], first.headers['x-ratelimit-remaining']]).toMatchObject([
        400,
        expect.anything(),
        expect.anything(),
      ]);
      expect(Number(first.headers['x-ratelimit-limit'])).toBe(3);
      expect(Number(first.headers['x-ratelimit-remaining'])).toBe(2);
      const reset = Number(first.headers['x-ratelimit-reset']) - Date.now() / 1000;
      expect(reset).toBeGreaterThan(50);
      expect(reset).toBeLessThan(62);
      expect(await statuses(3, () => guess(people, 'reader'))).toEqual([400, 400, 429]);
      const refused = await guess(people, 'reader');
      expect(refused.body).toEqual(tooMany);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      // the right password does not help; another account or address is unaffected
      expect((await guess(people, 'reader', { extra: { password: 'Passw0rd!' } })).status).toBe(429);
      expect((await guess(people, 'editor')).status).toBe(400);
      expect((await guess(people, 'reader', { from: '192.0.2.2' })).status).toBe(400);
    } finally {
      await people.close();
    }
  });

  it('AC14: an additional key in the body, another case or spaces do not reset the count', async () => {
    const people = await opened();
    try {
      const spelled = ['reader@example.com', 'READER@example.com', ' reader@example.com ', 'Reader@Example.com'];
      expect(
        await statuses(4, (i) => guess(people, spelled[i], { extra: { email: `fresh-${i}@example.com` } })),
      ).toEqual([400, 400, 400, 429]);
    } finally {
      await people.close();
    }
  });

  it.each([
    ['local', 'reader', 'identifier', ['email', 'username']],
    ['forgot-password', 'reader@example.com', 'email', ['identifier', 'username']],
    ['send-email-confirmation', 'reader@example.com', 'email', ['identifier', 'username']],
    ['local/register', 'new@example.com', 'email', ['identifier', 'username']],
    ['reset-password', 'no code', 'code', ['identifier', 'email', 'code']],
    ['change-password', 'wrong-word', 'currentPassword', ['identifier', 'email', 'currentPassword']],
  ] as const)(
    'AC14: %s counts by the value it reads, and other keys do not reset the count',
    async (path, value, key, others) => {
      const people = await opened();
      try {
        const attempt = (i: number) =>
          people.ask('POST', `/api/auth/${path}`, {
            body: {
              ...{ password: `wrong-word-${i}`, passwordConfirmation: `wrong-word-${i}`, [key]: value },
              ...Object.fromEntries(others.map((name) => [name, `fresh-${i}@example.com`])),
            },
            ...(path === 'change-password' ? { as: 'reader' } : {}),
          });
        const found = await statuses(4, attempt);
        expect(found.at(-1)).toBe(429);
        expect(found.slice(0, -1)).not.toContain(429);
      } finally {
        await people.close();
      }
    },
  );

  it('AC14: attempts may be counted over a longer time', async () => {
    const people = await newPeopleWorld('sqlite', { settings: { attemptsMax: 3, attemptsMs: 3_600_000 } });
    try {
      expect(await statuses(3, () => guess(people, 'reader'))).toEqual([400, 400, 400]);
      const { status, headers } = await guess(people, 'reader');
      const reset = Number(headers['x-ratelimit-reset']) - Date.now() / 1000;
      expect([status, reset > 3500, reset < 3602, Number(headers['retry-after']) > 3500]).toEqual([
        429,
        true,
        true,
        true,
      ]);
    } finally {
      await people.close();
    }
  });

  it('AC14: a clock that is set back keeps nobody out for longer', async () => {
    const people = await opened();
    try {
      expect(await statuses(3, () => guess(people, 'reader'))).toEqual([400, 400, 400]);
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
      const { status, headers } = await guess(people, 'reader');
      expect(status).toBe(429);
      expect(Number(headers['retry-after'])).toBeLessThanOrEqual(limits.attemptsMs / 1000);
    } finally {
      vi.useRealTimers();
      await people.close();
    }
  });

  it('AC14: change-password counts by user', async () => {
    const people = await newPeopleWorld('sqlite', {
      settings: { attemptsMax: 3, trustProxy: true },
      grants: { editor: ['plugin::users-permissions.auth.changePassword'] },
    });
    try {
      const body = { currentPassword: 'wrong-word', password: 'another-1', passwordConfirmation: 'another-1' };
      const change = (as: 'reader' | 'editor') => people.ask('POST', '/api/auth/change-password', { as, body });
      expect(await statuses(4, () => change('reader'))).toEqual([400, 400, 400, 429]);
      expect((await change('editor')).status).toBe(400);
    } finally {
      await people.close();
    }
  });

  it('an IPv6 client has one count, whatever address of its network it uses', async () => {
    const people = await opened();
    try {
      expect(await statuses(4, (i) => guess(people, 'reader', { from: `2001:db8:1:2::${i + 1}` }))).toEqual([
        400, 400, 400, 429,
      ]);
    } finally {
      await people.close();
    }
  });

  it('one address has a limit over all accounts', async () => {
    const people = await opened();
    try {
      const found = await statuses(limits.attemptsOfAddressMax + 1, (i) =>
        guess(people, undefined, { extra: { identifier: `nobody-${i}`, password: '' } }),
      );
      expect(found.at(-1)).toBe(429);
      expect(found.slice(0, -1)).not.toContain(429);
      expect((await guess(people, 'reader', { from: '192.0.2.9' })).status).toBe(400);
    } finally {
      await people.close();
    }
  });

  it('one account has a limit over all addresses, which one address cannot exhaust', async () => {
    const people = await opened();
    try {
      const from = (i: number) => `198.51.${Math.floor(i / 250)}.${i % 250}`;
      const empty = { extra: { password: '' } };
      // refused attempts do not count against the account
      await statuses(limits.attemptsForAccountMax, () => guess(people, 'editor', empty));
      expect((await guess(people, 'editor', { from: from(1000), ...empty })).status).toBe(400);
      const found = await statuses(limits.attemptsForAccountMax + 1, (i) =>
        guess(people, 'reader', { from: from(i), ...empty }),
      );
      expect(found.at(-1)).toBe(429);
      expect(found.slice(0, -1)).not.toContain(429);
    } finally {
      await people.close();
    }
  });

  it.each([
    'local',
    'local/register',
    'forgot-password',
    'reset-password',
    'change-password',
    'send-email-confirmation',
  ])('AC14: %s counts', async (path) => {
    const people = await opened();
    try {
      const found = await statuses(4, () => guess(people, 'reader', { path }));
      expect(found.at(-1)).toBe(429);
      expect(found.slice(0, -1)).not.toContain(429);
    } finally {
      await people.close();
    }
  });

  it('AC14: /connect counts; content requests do not', async () => {
    const people = await opened();
    try {
      expect(await statuses(4, () => people.ask('GET', '/api/connect/github'))).toEqual([400, 400, 400, 429]);
      expect(await statuses(6, () => people.ask('GET', '/api/genres'))).not.toContain(429);
      expect(await statuses(6, () => people.ask('GET', '/api/users/me', { as: 'reader' }))).not.toContain(429);
    } finally {
      await people.close();
    }
  });
});
