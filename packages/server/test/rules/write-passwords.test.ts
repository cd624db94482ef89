/** Passwords of a body (BO16): hashed in threads, before the transaction, and limited in number. */
import bcrypt from '@node-rs/bcrypt';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../src/limits.js';
import type { Db } from '../../src/sql/dialect.js';
import { dialects } from '../world/databases.js';
import { newSmallWorld, type SmallProject, type SmallWorld } from '../world/small.js';

const project: SmallProject = {
  types: {
    safe: {
      attributes: {
        name: { type: 'string' },
        secret: { type: 'password' },
        drawers: { type: 'component', component: 'parts.drawer', repeatable: true },
        zone: { type: 'dynamiczone', components: ['parts.drawer'] },
      },
    },
  },
  components: {
    'parts.drawer': { key: { type: 'password' }, box: { type: 'component', component: 'parts.box' } },
    'parts.box': { key: { type: 'password', encryption: { rounds: 4 } } },
  },
};

describe.each(dialects)('passwords of a body on %s', (dialect) => {
  let world: SmallWorld;
  /** Begins of transactions and hashings of passwords, in order. */
  const events: string[] = [];
  const watch = (db: Db): Db => ({
    ...db,
    write: (work) => {
      events.push('transaction');
      return db.write(work);
    },
  });
  beforeAll(async () => {
    world = await newSmallWorld(dialect, project, { watch });
  });
  afterAll(() => world.close());
  afterEach(() => vi.restoreAllMocks());

  const drawers = (count: number) => Array.from({ length: count }, (_none, i) => ({ key: `key ${i}` }));

  it('BO5: passwords in components and zones are hashed too, with the rounds of their attribute', async () => {
    const data = { secret: 'one', drawers: [{ key: 'two', box: { key: 'three' } }] };
    const zone = [{ __component: 'parts.drawer', key: 'four' }];
    expect((await world.send('POST', '/api/safes', { data: { ...data, zone } })).status).toBe(200);
    const stored = async (table: string, column: string): Promise<string[]> =>
      (await world.rows(table)).map((row) => String(row[column]));
    const [secret = ''] = await stored('safes', 'secret');
    const [two = '', four = ''] = (await stored('components_parts_drawers', 'key')).slice(-2);
    const [three = ''] = await stored('components_parts_boxs', 'key');
    expect([secret, two, four, three].map((it) => it.slice(0, 7))).toEqual([
      '$2a$10$',
      '$2a$10$',
      '$2a$10$',
      '$2a$04$',
    ]);
    for (const [word, hash] of Object.entries({ one: secret, two, three, four }))
      expect([word, await bcrypt.verify(word, hash)]).toEqual([word, true]);
  });

  it('BO16: a password that bcrypt would cut is refused with its path, together with other faults; 72 bytes are stored', async () => {
    const [most, tooLong] = ['é'.repeat(limits.passwordBytesMax / 2), `${'é'.repeat(limits.passwordBytesMax / 2)}x`];
    const before = await world.rows('safes');
    const data = { secret: tooLong, name: 5, drawers: [{ box: { key: tooLong } }] };
    const answer = await world.send('POST', '/api/safes', { data });
    const { errors } = (answer.body as { error: { details: { errors: { path: string[]; message: string }[] } } }).error
      .details;
    expect([answer.status, errors.map((it) => it.path.join('.')).sort()]).toEqual([
      400,
      ['drawers.0.box.key', 'name', 'secret'],
    ]);
    expect(answer.text).toContain('secret must be at most 72 bytes');
    expect(answer.text).not.toContain(tooLong);
    expect(await world.rows('safes')).toEqual(before);
    expect((await world.send('POST', '/api/safes', { data: { secret: most } })).status).toBe(200);
    const { id, secret } = (await world.rows('safes')).at(-1)!;
    expect(await bcrypt.verify(most, String(secret))).toBe(true);
    expect((await world.send('PUT', `/api/safes/${id}`, { data: { secret: tooLong } })).status).toBe(400);
  });

  it('twenty passwords in one body are hashed before its transaction begins', async () => {
    const { hash } = bcrypt;
    vi.spyOn(bcrypt, 'hash').mockImplementation((...given) => {
      events.push('hash');
      return hash(...given);
    });
    events.length = 0;
    expect((await world.send('POST', '/api/safes', { data: { drawers: drawers(20) } })).status).toBe(200);
    expect(events).toEqual([...Array.from({ length: 20 }, () => 'hash'), 'transaction']);
  });

  it('other requests are served while twenty passwords are hashed', async () => {
    const ended: string[] = [];
    const slow = world.send('POST', '/api/safes', { data: { drawers: drawers(20) } }).then(() => ended.push('slow'));
    for (let i = 0; i < 5; i++) {
      const made = await world.send('POST', '/api/safes', { data: { name: 'quick' } });
      expect(made.status).toBe(200);
      expect((await world.send('GET', '/api/safes?filters[name]=quick&fields=id')).status).toBe(200);
      ended.push('quick');
    }
    await slow;
    expect(ended).toEqual(['quick', 'quick', 'quick', 'quick', 'quick', 'slow']);
  });

  it('more passwords than the limit are a 400 that names the first excess one, and nothing is stored', async () => {
    const before = await world.rows('safes');
    const { status, body } = await world.send('POST', '/api/safes', {
      data: { drawers: drawers(limits.passwordsMax + 1) },
    });
    expect([status, body]).toMatchObject([
      400,
      {
        error: {
          name: 'ValidationError',
          message: `drawers[${limits.passwordsMax}].key: more than ${limits.passwordsMax} passwords in one request`,
        },
      },
    ]);
    expect(await world.rows('safes')).toEqual(before);
  });
});
