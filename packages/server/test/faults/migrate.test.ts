/** A migration that fails or is killed at any statement leaves the database as it was, and can be applied afterwards. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { applyPlan } from '../../src/migrate/apply.js';
import { type Plan, writePlan } from '../../src/migrate/file.js';
import { type Db, type DialectName, readRows, type Tx } from '../../src/sql/dialect.js';
import { readCatalog } from '../../src/sql/schema.js';
import { type Changing, newChanging } from '../world/changed.js';
import { dialects } from '../world/databases.js';
import { planFrom, planIn, silent } from '../world/migrating.js';
import { component, contentType, type Files, typeFile } from '../world/schemas.js';

const before: Files = {
  [typeFile('tag')]: contentType('tag', { name: { type: 'string' } }),
  'src/components/parts/card.json': component('components_parts_cards', { text: { type: 'string' } }),
  [typeFile('post')]: contentType('post', {
    title: { type: 'string' },
    views: { type: 'string' },
    slug: { type: 'uid' },
    tags: { type: 'relation', relation: 'manyToMany', target: 'api::tag.tag' },
    cards: { type: 'component', component: 'parts.card', repeatable: true },
    gone: { type: 'text' },
  }),
};
const after: Files = {
  [typeFile('article')]: contentType('article', {
    headline: { type: 'string' },
    views: { type: 'integer' },
    path: { type: 'uid' },
    labels: { type: 'relation', relation: 'manyToOne', target: 'api::tag.tag' },
    panels: { type: 'component', component: 'parts.card', repeatable: true },
  }),
};
const asked = {
  renameType: ['api::post.post=api::article.article'],
  rename: ['article.title=headline', 'article.slug=path', 'article.tags=labels', 'article.cards=panels'],
  convert: ['article.views', 'article.labels'],
  drop: ['article.gone'],
};

/** Everything that the database holds. */
const dump = async (db: Db): Promise<unknown> => {
  const { tables, indexes } = await readCatalog(db);
  const all: Record<string, unknown> = { indexes: [...indexes].sort() };
  for (const [table, columns] of tables) {
    const names = [...columns.keys()];
    const list = sql.join(names.map((it) => sql.ref(it)));
    const rows = await db.read(() => readRows(db.dialect.compile(sql`select ${list} from ${sql.table(table)}`)));
    all[table] = { columns: [...columns], rows: rows.map((it) => JSON.stringify(it)).sort() };
  }
  return all;
};

/** A database whose n-th statement of a transaction fails. */
const failingAt = (db: Db, n: number): Db => {
  let count = 0;
  const failing = (tx: Tx): Tx => ({
    ...tx,
    run: (statement) => {
      count += 1;
      return count === n ? Promise.reject(new Error('out of order')) : tx.run(statement);
    },
  });
  return { ...db, writeAlone: (work) => db.writeAlone((tx) => work(failing(tx))) };
};

interface Scene {
  readonly changing: Changing;
  readonly plan: Plan;
  readonly state: unknown;
}

const newScene = async (dialect: DialectName): Promise<Scene> => {
  const changing = await newChanging(dialect, before);
  const { server, dir, database } = changing;
  for (const name of ['a', 'b']) await server.send('POST', '/api/tags', { body: { data: { name } } });
  for (const views of ['1', 'many']) {
    const data = {
      title: 't',
      views,
      slug: `s${views}`,
      tags: [2, 1],
      cards: [{ text: 'x' }, { text: 'y' }],
      gone: 'g',
    };
    expect((await server.send('POST', '/api/posts', { body: { data } })).status).toBe(200);
  }
  fs.rmSync(path.join(dir, 'src/api/post'), { recursive: true });
  changing.write(after);
  return { changing, plan: planFrom(await planIn(dir, database.db, asked)), state: await dump(database.db) };
};

describe.each(dialects)('a migration on %s', (dialect) => {
  it('that fails at any statement changes nothing, and is applied once it does not fail', async () => {
    const { changing, plan, state } = await newScene(dialect);
    const { db } = changing.database;
    try {
      for (let n = 1; ; n += 7) {
        const result = await applyPlan(plan, failingAt(db, n), silent).catch((fault: unknown) => fault);
        if (result === 'applied') {
          expect(n).toBeGreaterThan(60);
          break;
        }
        expect((result as Error).message).toMatch(/out of order/);
        expect(await dump(db)).toEqual(state);
      }
      await changing.start({});
      const { body } = await changing.server.get('/api/articles?sort=id&populate=*');
      expect(body).toMatchObject({
        data: [
          {
            id: 1,
            attributes: {
              headline: 't',
              views: 1,
              path: 's1',
              labels: { data: { id: 2 } },
              panels: [{ text: 'x' }, { text: 'y' }],
            },
          },
          { id: 2, attributes: { headline: 't', views: null, path: 'smany', labels: { data: { id: 2 } } } },
        ],
      });
      const applied = await dump(db);
      expect(await applyPlan(plan, db, silent)).toBe('applied before');
      expect(await dump(db)).toEqual(applied);
    } finally {
      await changing.close();
    }
  });

  it('that is killed changes nothing, and is applied by the next attempt', async () => {
    const { changing, plan, state } = await newScene(dialect);
    const { db, env } = changing.database;
    const file = path.join(changing.dir, 'plan.json');
    writePlan(file, plan);
    const attempt = (step: number) => {
      const place = env['DATABASE_FILENAME'] ?? env['DATABASE_URL']!;
      return spawnSync(process.execPath, [script, dialect, place, file, String(step)], { encoding: 'utf8' });
    };
    try {
      for (const step of [2, Math.floor(plan.steps.length / 2), plan.steps.length]) {
        expect(attempt(step)).toMatchObject({ signal: 'SIGKILL', stderr: '' });
        expect(await dump(db)).toEqual(state);
      }
      expect(attempt(0)).toMatchObject({ status: 0, stderr: '' });
      await changing.start({});
      expect((await changing.server.get('/api/articles/2?fields=headline')).body).toMatchObject({
        data: { attributes: { headline: 't' } },
      });
    } finally {
      await changing.close();
    }
  });
});

const script = fileURLToPath(new URL('killed-migration.mjs', import.meta.url));
