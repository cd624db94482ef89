/**
 * A write whose statement ends while it waits for rows that others have locked is a 503, even where its time is over before
 * that of a lock is, as it is for one that waits twice. What a write reads by itself is slow by itself.
 */
import { sql } from 'kysely';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Refusal } from '../../src/errors.js';
import type { Tx } from '../../src/sql/dialect.js';
import { useLimits } from '../world/limits.js';
import { newRelationsWorld, type RelationsWorld } from '../world/relations/world.js';

// a statement ends first
useLimits({ readMsMax: 1_000 });

describe("writes that wait for another session's rows on PostgreSQL", () => {
  let world: RelationsWorld;
  let other: Client;
  beforeAll(async () => {
    world = await newRelationsWorld('postgres');
    other = new Client(world.env['DATABASE_URL']!);
    await other.connect();
  });
  afterAll(async () => {
    await other.end();
    await world.close();
  });

  it('are a 503 with Retry-After, and change nothing', async () => {
    const id = await world.create('shelves', { name: 'before' });
    await other.query('begin');
    await other.query('select id from shelves where id = $1 for update', [id]);
    try {
      const answers = await Promise.all([
        world.send('PUT', `/api/shelves/${id}`, { data: { name: 'ours' } }),
        world.send('DELETE', `/api/shelves/${id}`),
        world.send('POST', '/api/books', { data: { title: 'on it', manyManyOf: [id] } }),
      ]);
      for (const { status, headers, text } of answers) {
        expect(status, text).toBe(503);
        expect(headers['retry-after']).toBe('1');
      }
    } finally {
      await other.query('rollback');
    }
    expect((await world.read(`/api/shelves/${id}`)).attributes['name']).toBe('before');
    expect(await world.rows('books')).toEqual([]);
  });

  it.each([
    ['update shelves set name = name where pg_sleep(60) is null', 'http.busy'],
    ['select id from shelves where pg_sleep(60) is null for no key update', 'http.busy'],
    ['with it as (update shelves set name = name returning pg_sleep(60)) select * from it', 'http.busy'],
    ['select id from shelves where pg_sleep(60) is null', 'read.too-slow'],
    ['with it as (select pg_sleep(60)) select * from it', 'read.too-slow'],
  ])('%s: %s', async (text, code) => {
    const run = (tx: Tx) => tx.run(world.db.dialect.compile(sql`${sql.raw(text)}`));
    const fault: unknown = await world.db.write(run).catch((it: unknown) => it);
    expect(fault instanceof Refusal && fault.issues.map((it) => it.code)).toEqual([code]);
  });
});
