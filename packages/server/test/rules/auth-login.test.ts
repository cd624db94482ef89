/** The endpoints that issue JWTs (AC8, AC10, AC7). */
import bcrypt from '@node-rs/bcrypt';
import { describe, expect, it } from 'vitest';
import { bearer, newPeopleWorld, type PeopleWorld, password, usePeople, users } from '../world/people.js';
import { refusal } from '../world/server.js';
import { dialects } from '../world/world.js';

const validation = (message: string, path?: string) =>
  refusal(400, 'ValidationError', message, { path: path === undefined ? [] : [path] });
const application = (message: string) => refusal(400, 'ApplicationError', message);
const reader = {
  id: 1,
  username: 'reader',
  email: 'reader@example.com',
  provider: 'local',
  confirmed: true,
  blocked: false,
  createdAt: '2023-11-14T22:13:20.000Z',
  updatedAt: '2023-11-14T22:14:20.000Z',
};
const post = ({ ask }: PeopleWorld, path: string, body: unknown, headers: Record<string, string> = {}) =>
  ask('POST', `/api/auth/${path}`, { body, headers });

/** The code in the only link of the newest e-mail. */
const codeIn = (people: PeopleWorld): string => {
  const text = people.mails.at(-1)?.text ?? '';
  return /(?:code|confirmation)(?:=|[^:]*: )([\w-]{20,})/.exec(text)?.[1] ?? '';
};

describe.each(dialects)('login on %s', (dialect) => {
  const it_ = usePeople(dialect);

  it.each(['reader@example.com', 'READER@Example.com', 'reader'])('AC8: %s identifies the user', async (identifier) => {
    const { status, body, headers } = await post(it_(), 'local', { identifier, password });
    expect(status).toBe(200);
    expect(body).toEqual({ jwt: expect.any(String), user: reader });
    expect(headers['cache-control']).toBe('no-store');
  });

  it.each(['$2a', '$2b', '$2y'])('AC8: a %s hash made by v4’s library is accepted', async (prefix) => {
    const { world } = it_();
    const before = (await it_().stored(users.reader, 'password')) as string;
    await world.update(
      'up_users',
      users.reader,
      'password',
      `${prefix}$04$Z4rGcdauR9mN4wHmMnkGCuliv8C1376Pso.OBxjr9Crp1uKOEfkue`,
    );
    expect((await post(it_(), 'local', { identifier: 'reader', password })).status).toBe(200);
    expect((await post(it_(), 'local', { identifier: 'reader', password: `${password}x` })).status).toBe(400);
    await world.update('up_users', users.reader, 'password', before);
  });

  it('the JWT is one of v4: HS256 with id, iat and exp, valid for 30 days', async () => {
    const [head, payload] = (await it_().login('reader'))
      .split('.')
      .slice(0, 2)
      .map((it) => JSON.parse(Buffer.from(it, 'base64url').toString()));
    expect(head).toEqual({ alg: 'HS256', typ: 'JWT' });
    expect(payload).toEqual({ id: 1, iat: expect.any(Number), exp: payload.iat + 30 * 86_400, pw: expect.any(String) });
    const me = await it_().server.get('/api/users/me', bearer(await it_().login('reader')));
    expect(me.body).toEqual(reader);
  });

  it.each([
    ['a wrong password', { identifier: 'reader', password: 'wrong' }],
    ['the name in another case', { identifier: 'Reader', password }],
    ['nobody', { identifier: 'nobody', password }],
    ['a user of another provider', { identifier: 'foreign', password }],
    ['a blocked user with a wrong password', { identifier: 'blocked', password: 'x' }],
    ['SQL', { identifier: "' or 1=1 --", password }],
    ['the hash', { identifier: 'reader', password: '$2a$04$' }],
  ])('AC8: %s gets the same message as an unknown user', async (_name, body) => {
    expect((await post(it_(), 'local', body)).body).toEqual(validation('Invalid identifier or password'));
  });

  it('AC8: missing and non-string values are named', async () => {
    expect((await post(it_(), 'local', { password })).body).toEqual(
      validation('identifier is a required field', 'identifier'),
    );
    expect((await post(it_(), 'local', { identifier: '', password })).body).toEqual(
      validation('identifier is a required field', 'identifier'),
    );
    for (const body of [undefined, {}, [], null, '"text"', 5])
      expect((await post(it_(), 'local', body)).body).toMatchObject({
        error: { status: 400, message: '2 errors occurred' },
      });
    for (const value of [{ $ne: '' }, ['reader'], 1, true, 'a\0b'])
      expect((await post(it_(), 'local', { identifier: value, password })).status).toBe(400);
    expect((await post(it_(), 'local', '{broken')).status).toBe(400);
  });

  it('a refused password is never repeated in the response', async () => {
    for (const body of [
      { identifier: 'reader', password: { secret: 'hunter2-secret' } },
      { identifier: ['hunter2-secret'], password: 'hunter2-secret' },
    ])
      expect((await post(it_(), 'local', body)).text).not.toContain('hunter2-secret');
  });

  it('a value that is not a string is not reported as null', async () => {
    expect((await post(it_(), 'local', { identifier: ['reader'], password })).body).toMatchObject({
      error: { status: 400, message: 'identifier must be a `string` type.' },
    });
  });

  it('AC8: blocked users get a message that says so, after their password was checked', async () => {
    expect((await post(it_(), 'local', { identifier: 'blocked', password })).body).toEqual(
      application('Your account has been blocked by an administrator'),
    );
  });

  it('AC1: a user without auth.callback cannot log in again', async () => {
    expect((await it_().ask('POST', '/api/auth/local', { as: 'reader', body: {} })).status).toBe(403);
  });

  it.each(['/api/connect/github', '/api/connect/a/b', '/api/auth/github/callback', '/api/auth/google/callback?code=x'])(
    'AC8: %s is refused because the provider is disabled',
    async (url) => {
      expect((await it_().ask('GET', url)).body).toEqual(application('This provider is disabled'));
    },
  );

  it('AC13: if confirmation is required, unconfirmed users are refused; if local login is off, everybody is', async () => {
    const people = await newPeopleWorld(dialect);
    try {
      expect((await post(people, 'local', { identifier: 'unconfirmed', password })).status).toBe(200);
      await people.setting('advanced', { email_confirmation: true });
      expect((await post(people, 'local', { identifier: 'unconfirmed', password })).body).toEqual(
        application('Your account email is not confirmed'),
      );
      await people.setting('grant', { email: { enabled: false } });
      expect((await post(people, 'local', { identifier: 'reader', password })).body).toEqual(
        application('This provider is disabled'),
      );
    } finally {
      await people.close();
    }
  });
});

describe.each(dialects)('registration on %s', (dialect) => {
  const it_ = usePeople(dialect);
  let serial = 0;
  const form = (given: Readonly<Record<string, unknown>> = {}) => {
    serial += 1;
    return { username: `new-${serial}`, email: `new-${serial}@example.com`, password: 'secret-1', ...given };
  };

  it('AC9: returns a JWT and the user, who can log in; the password is a bcrypt hash of 10 rounds', async () => {
    const given = form({ email: `Mixed.Case-${dialect}@Example.com` });
    const { status, body } = await post(it_(), 'local/register', given);
    expect(status).toBe(200);
    const { jwt, user } = body as { jwt: string; user: { id: number } };
    expect(user).toEqual({
      ...reader,
      id: expect.any(Number),
      username: given.username,
      email: given.email.toLowerCase(),
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    const hash = (await it_().stored(user.id, 'password')) as string;
    expect(hash).toMatch(/^\$2a\$10\$/);
    expect(bcrypt.verifySync(given.password, hash)).toBe(true);
    expect((await it_().server.get('/api/users/me', bearer(jwt))).status).toBe(200);
    await it_().login(given.email, given.password);
    await it_().login(given.username, given.password);
  });

  it('AC9: role, confirmed, blocked, provider, id and private attributes cannot be set by the client', async () => {
    const given = form({
      role: 3,
      confirmed: false,
      blocked: true,
      provider: 'github',
      id: 777,
      resetPasswordToken: 'x',
      confirmationToken: 'y',
      createdAt: '1999-01-01T00:00:00.000Z',
      createdBy: 1,
    });
    const { status, body } = await post(it_(), 'local/register', given);
    expect(status).toBe(200);
    const { user } = body as { user: { id: number } };
    expect(user).toMatchObject({ confirmed: true, blocked: false, provider: 'local' });
    expect(user.id).not.toBe(777);
    expect(await it_().stored(user.id, 'reset_password_token')).toBeNull();
    expect(await it_().stored(user.id, 'confirmation_token')).toBeNull();
    const shown = await it_().ask('GET', `/api/users/${user.id}?populate=role&fields=id`, { as: 'full' });
    expect(shown.body).toMatchObject({ role: { type: 'authenticated' } });
  });

  it.each([
    ['role as connect', { role: { connect: [{ id: 3 }] } }],
    ['role as set', { role: { set: [3] } }],
    ['role as list', { role: [3] }],
    ['role as text', { role: '3' }],
  ])('AC9: %s does not change the role', async (_name, extra) => {
    const { body } = await post(it_(), 'local/register', form(extra));
    const { id } = (body as { user: { id: number } }).user;
    expect((await it_().ask('GET', `/api/users/${id}?populate=role`, { as: 'full' })).body).toMatchObject({
      role: { id: 1 },
    });
  });

  it.each([
    ['the name', { username: 'reader' }],
    ['the e-mail', { email: 'reader@example.com' }],
    ['the e-mail in another case', { email: 'READER@example.com' }],
    ['an e-mail as name', { username: 'reader@example.com' }],
    ['an e-mail as name in another case', { username: 'Reader@Example.com' }],
  ])('AC9: %s of another user is refused as taken', async (_name, extra) => {
    expect((await post(it_(), 'local/register', form(extra))).body).toEqual(
      application('Email or Username are already taken'),
    );
  });

  it('of two concurrent registrations one succeeds', async () => {
    const given = form();
    const answers = await Promise.all([1, 2, 3].map(() => post(it_(), 'local/register', given)));
    expect(answers.map((it) => it.status).sort()).toEqual([200, 400, 400]);
  });

  it.each([
    ['a short name', { username: 'ab' }, 'username'],
    ['no e-mail', { email: 'nope-nope' }, 'email'],
    ['a short password', { password: '12345' }, 'password'],
    ['a password past 72 bytes', { password: 'ä'.repeat(37) }, 'password'],
    ['an empty password', { password: '' }, 'password'],
    ['a number as name', { username: 5 }, 'username'],
    ['an unknown attribute', { isAdmin: true }, 'isAdmin'],
  ])('AC9: %s is refused with its path', async (_name, extra, path) => {
    const { status, body } = await post(it_(), 'local/register', form(extra));
    expect(status).toBe(400);
    expect((body as { error: { details: { errors: unknown[] } } }).error.details.errors).toMatchObject([
      { path: [path] },
    ]);
  });

  it('AC9: is refused if it is disabled or the default role does not exist', async () => {
    const people = await newPeopleWorld(dialect);
    try {
      await people.setting('advanced', { allow_register: false });
      expect((await post(people, 'local/register', form())).body).toEqual(
        application('Register action is currently disabled'),
      );
      await people.setting('advanced', { default_role: 'nowhere' });
      expect((await post(people, 'local/register', form())).body).toEqual(
        application('Impossible to find the default role'),
      );
      await people.setting('advanced', { default_role: 'editor' });
      const { body } = await post(people, 'local/register', form());
      const { id } = (body as { user: { id: number } }).user;
      expect((await people.ask('GET', `/api/users/${id}?populate=role`, { as: 'full' })).body).toMatchObject({
        role: { type: 'editor' },
      });
    } finally {
      await people.close();
    }
  });
});

describe.each(dialects)('e-mail confirmation on %s', (dialect) => {
  it('AC9: registration sends a link, which confirms once and redirects to the page', async () => {
    const people = await newPeopleWorld(dialect);
    try {
      await people.setting('advanced', {
        email_confirmation: true,
        email_confirmation_redirection: 'https://site.example/hi',
      });
      const given = { username: 'fresh', email: 'fresh@example.com', password: 'secret-1' };
      const { status, body } = await post(people, 'local/register', given);
      expect([status, Object.keys(body as object)]).toEqual([200, ['user']]);
      await people.server.idle();
      expect(people.mails).toMatchObject([
        { to: given.email, text: expect.stringContaining('/api/auth/email-confirmation?confirmation=') },
      ]);
      const code = codeIn(people);
      expect((await post(people, 'local', { identifier: 'fresh', password: 'secret-1' })).body).toEqual(
        application('Your account email is not confirmed'),
      );
      const { id } = (body as { user: { id: number } }).user;
      // the stored digest does not reveal the code
      const stored = (await people.stored(id, 'confirmation_token')) as string;
      expect(stored).not.toContain(code);
      const url = '/api/auth/email-confirmation';
      expect((await people.ask('GET', url)).body).toEqual(
        validation('confirmation is a required field', 'confirmation'),
      );
      for (const wrong of [
        'x',
        stored,
        code.toUpperCase(),
        `${code}0`,
        code.replace(/.$/, code.endsWith('0') ? '1' : '0'),
      ])
        expect((await people.ask('GET', `${url}?confirmation=${wrong}`)).body).toEqual(validation('Invalid token'));
      expect((await people.ask('HEAD', `${url}?confirmation=${code}`)).status).toBe(200);
      const { status: found, headers } = await people.ask('GET', `${url}?confirmation=${code}`);
      expect([found, headers['location']]).toEqual([302, 'https://site.example/hi']);
      expect((await people.ask('GET', `${url}?confirmation=${code}`)).body).toEqual(validation('Invalid token'));
      await people.login('fresh', 'secret-1');
    } finally {
      await people.close();
    }
  });

  it('AC13: a token mailed by v4 still confirms', async () => {
    const people = await newPeopleWorld(dialect);
    try {
      await people.setting('advanced', { email_confirmation: true });
      const token = 'a1'.repeat(20);
      await people.world.update('up_users', users.unconfirmed, 'confirmation_token', token);
      const { status, headers } = await people.ask('GET', `/api/auth/email-confirmation?confirmation=${token}`);
      expect([status, headers['location']]).toEqual([302, '/']);
      await people.login('unconfirmed');
    } finally {
      await people.close();
    }
  });

  it('AC13: a new link can be requested; everybody gets the same response, and only unconfirmed users get an e-mail', async () => {
    const people = await newPeopleWorld(dialect);
    try {
      await people.setting('advanced', { email_confirmation: true });
      const again = (email: unknown) => post(people, 'send-email-confirmation', { email });
      const ask = async (email: string) => {
        const { status, headers, body } = await again(email);
        expect(body).toEqual({ email: email.toLowerCase(), sent: true });
        return [status, headers['content-type'], headers['cache-control'], Object.keys(headers).sort()];
      };
      const answer = await ask('Unconfirmed@example.com');
      expect(answer[0]).toBe(200);
      expect(await ask('nobody@example.com')).toEqual(answer);
      expect(await ask('reader@example.com')).toEqual(answer);
      expect(await ask('blocked@example.com')).toEqual(answer);
      await people.world.update('up_users', users.blocked, 'confirmed', false);
      expect(await ask('blocked@example.com')).toEqual(answer);
      expect((await again(undefined)).body).toEqual(validation('email is a required field', 'email'));
      await people.server.idle();
      expect(people.mails.map((it) => it.to)).toEqual(['unconfirmed@example.com']);
      const confirmed = await people.ask('GET', `/api/auth/email-confirmation?confirmation=${codeIn(people)}`);
      expect(confirmed.status).toBe(302);
    } finally {
      await people.close();
    }
  });
});

describe.each(dialects)('forgotten passwords on %s', (dialect) => {
  const forgot = async (people: PeopleWorld, email: unknown) => {
    const answer = await post(people, 'forgot-password', { email });
    await people.server.idle();
    return answer;
  };
  const reset = (people: PeopleWorld, code: string, word = 'new-secret', again = word) =>
    post(people, 'reset-password', { code, password: word, passwordConfirmation: again });
  const wrongCode = validation('Incorrect code provided');

  it('AC10: everybody gets the same response; only eligible users get an e-mail', async () => {
    const people = await newPeopleWorld(dialect);
    try {
      for (const email of ['reader@example.com', 'READER@EXAMPLE.COM', 'nobody@example.com', 'blocked@example.com'])
        expect((await forgot(people, email)).body).toEqual({ ok: true });
      expect(people.mails.map((it) => it.to)).toEqual(['reader@example.com', 'reader@example.com']);
      expect((await forgot(people, undefined)).body).toEqual(validation('email is a required field', 'email'));
    } finally {
      await people.close();
    }
  });

  it('AC11: the code sets the password once, returns a JWT, and revokes older JWTs (AC7)', async () => {
    const people = await newPeopleWorld(dialect);
    try {
      const before = await people.login('reader');
      await forgot(people, 'reader@example.com');
      const code = codeIn(people);
      const stored = (await people.stored(users.reader, 'reset_password_token')) as string;
      expect(stored).not.toContain(code);
      for (const wrong of ['x', stored, `${code}0`, code.replace(/^./, (it) => (it === 'z' ? 'y' : 'z'))])
        expect((await reset(people, wrong)).body).toEqual(wrongCode);
      expect((await reset(people, code, 'new-secret', 'other')).body).toEqual(
        validation('Passwords do not match', 'passwordConfirmation'),
      );
      expect((await reset(people, code, 'short')).status).toBe(400);
      const { status, body } = await reset(people, code);
      expect(status).toBe(200);
      expect(body).toMatchObject({ jwt: expect.any(String), user: { id: 1 } });
      expect((await reset(people, code)).body).toEqual(wrongCode);
      await people.login('reader', 'new-secret');
      expect((await post(people, 'local', { identifier: 'reader', password })).status).toBe(400);
      expect((await people.server.get('/api/users/me', bearer(before))).status).toBe(401);
      expect((await people.server.get('/api/users/me', bearer((body as { jwt: string }).jwt))).status).toBe(200);
      // v4's tokens carry no digest of the password
      expect((await people.ask('GET', '/api/users/me', { as: 'reader' })).status).toBe(200);
    } finally {
      await people.close();
    }
  });

  it('AC11: only the newest code is valid, for an hour, and not after the password was changed', async () => {
    let clock = Date.UTC(2030, 0, 1);
    const people = await newPeopleWorld(dialect, { people: { now: () => clock } });
    try {
      await forgot(people, 'reader@example.com');
      const first = codeIn(people);
      await forgot(people, 'reader@example.com');
      const second = codeIn(people);
      expect((await reset(people, first)).body).toEqual(wrongCode);
      clock += 60 * 60_000;
      expect((await reset(people, second)).body).toEqual(wrongCode);
      await forgot(people, 'reader@example.com');
      const third = codeIn(people);
      await people.ask('PUT', '/api/users/1', { as: 'full', body: { password: 'by-the-editor' } });
      expect((await reset(people, third)).body).toEqual(wrongCode);
      await forgot(people, 'reader@example.com');
      expect((await reset(people, codeIn(people))).status).toBe(200);
    } finally {
      await people.close();
    }
  });

  it("AC10, AC18: v4's template is filled in; what users call themselves is no HTML", async () => {
    const people = await newPeopleWorld(dialect);
    try {
      const options = {
        from: { name: 'Desk', email: 'desk@site.example' },
        response_email: 'help@site.example',
        object: 'For <%= USER.username %>',
        message: '<p>Dear <%= USER.username %>: <%= URL %>?code=<%= TOKEN %> <%= process.env.HOME %></p>',
      };
      await people.setting('email', { reset_password: { options } });
      await people.setting('advanced', { email_reset_password: 'https://site.example/reset' });
      await people.world.update('up_users', users.reader, 'username', '<b>"x" & y</b>');
      await forgot(people, 'reader@example.com');
      expect(people.mails).toMatchObject([
        {
          from: '"Desk" <desk@site.example>',
          replyTo: 'help@site.example',
          subject: 'For <b>"x" & y</b>',
          html: expect.stringMatching(
            /^<p>Dear &lt;b&gt;&quot;x&quot; &amp; y&lt;\/b&gt;: https:\/\/site\.example\/reset\?code=[\w-]+ <\/p>$/,
          ),
          text: expect.stringMatching(/^Dear <b>"x" & y<\/b>: https/),
        },
      ]);
    } finally {
      await people.close();
    }
  });
});

describe('e-mails that cannot be sent', () => {
  it('AC10: only the log shows it', async () => {
    const faults: unknown[] = [];
    const people = await newPeopleWorld('sqlite', { people: { onFault: (fault) => faults.push(fault) } });
    try {
      await people.setting('advanced', { email_confirmation: true });
      people.mails.push = () => {
        throw new Error('no mail server');
      };
      const answers = [
        await post(people, 'forgot-password', { email: 'reader@example.com' }),
        await post(people, 'send-email-confirmation', { email: 'unconfirmed@example.com' }),
        await post(people, 'local/register', { username: 'fresh', email: 'fresh@example.com', password: 'secret-1' }),
      ];
      await people.server.idle();
      expect(answers.map((it) => it.status)).toEqual([200, 200, 200]);
      expect(faults).toHaveLength(3);
    } finally {
      await people.close();
    }
  });
});

describe.each(dialects)('changing a password on %s', (dialect) => {
  it('AC12: requires the current password and the new one twice, and revokes older JWTs', async () => {
    const people = await newPeopleWorld(dialect);
    try {
      const [jwt, other] = [await people.login('reader'), await people.login('reader')];
      const change = (currentPassword: string, word: string, again = word) =>
        post(people, 'change-password', { currentPassword, password: word, passwordConfirmation: again }, bearer(jwt));
      expect((await change('wrong', 'new-secret')).body).toEqual(
        validation('The provided current password is invalid'),
      );
      expect((await change(password, password)).body).toEqual(
        validation('Your new password must be different than your current password'),
      );
      expect((await change(password, 'new-secret', 'x')).body).toEqual(
        validation('Passwords do not match', 'passwordConfirmation'),
      );
      expect((await change(password, 'short')).status).toBe(400);
      expect((await post(people, 'change-password', {}, bearer(jwt))).body).toMatchObject({
        error: { message: '3 errors occurred' },
      });
      const { status, body } = await change(password, 'new-secret');
      expect([status, body]).toMatchObject([200, { user: { id: 1 } }]);
      for (const old of [jwt, other]) expect((await people.server.get('/api/users/me', bearer(old))).status).toBe(401);
      expect((await people.server.get('/api/users/me', bearer((body as { jwt: string }).jwt))).status).toBe(200);
      await people.login('reader', 'new-secret');
    } finally {
      await people.close();
    }
  });

  it('AC12: requires a user', async () => {
    const people = await newPeopleWorld(dialect);
    try {
      const body = { currentPassword: password, password: 'new-secret', passwordConfirmation: 'new-secret' };
      expect((await people.ask('POST', '/api/auth/change-password', { body })).status).toBe(403);
      expect((await people.ask('POST', '/api/auth/change-password', { as: 'full', body })).status).toBe(401);
      expect((await people.ask('POST', '/api/auth/change-password', { as: 'reader', body })).status).toBe(200);
    } finally {
      await people.close();
    }
  });
});
