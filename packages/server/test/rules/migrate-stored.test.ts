/** `migrate`: attributes of one name that are stored in different ways, and links that were written since a start with new names. */
import { describe, expect, it } from 'vitest';
import { newChanging } from '../world/changed.js';
import { dialects } from '../world/databases.js';
import { migrateIn, planIn } from '../world/migrating.js';
import { component, contentType, type Json, typeFile } from '../world/schemas.js';

const rel = (name: string, more: Json = {}): Json => ({
  type: 'relation',
  relation: 'manyToMany',
  target: `api::${name}.${name}`,
  ...more,
});
describe.each(dialects)('on %s', (dialect) => {
  it('what is left over under the name of another attribute is told from it', async () => {
    const c = await newChanging(dialect, {
      'src/components/parts/card.json': component('components_parts_cards', { text: { type: 'string' } }),
      [typeFile('tag')]: contentType('tag', { name: { type: 'string' } }),
      [typeFile('post')]: contentType('post', {
        tag: { type: 'string' },
        my_tags: rel('tag'),
        myTags: { type: 'string' },
        card: { type: 'component', component: 'parts.card' },
        cards: { type: 'component', component: 'parts.card', repeatable: true },
      }),
    });
    try {
      await c.server.send('POST', '/api/tags', { body: { data: { name: 'x' } } });
      const r = await c.server.send('POST', '/api/posts', {
        body: { data: { tag: 'a', my_tags: [1], card: { text: 'c' }, cards: [{ text: 'd' }] } },
      });
      expect(r.status, r.text).toBe(200);
      c.write({
        [typeFile('post')]: contentType('post', {
          tag: rel('tag'),
          labels: rel('tag'),
          card: { type: 'dynamiczone', components: ['parts.card'] },
          cards: { type: 'component', component: 'parts.card' },
        }),
      });
      const p = await planIn(c.dir, c.database.db);
      expect(p.left).toMatchObject([
        { attribute: 'tag', place: 'posts.tag' },
        { attribute: 'myTags', was: 'string', place: 'posts.my_tags' },
        { attribute: 'my_tags', was: 'relation manyToMany api::tag.tag', place: 'table posts_my_tags_links' },
      ]);
      await migrateIn(c.dir, c.database.db, { rename: ['post.my_tags=labels'], drop: ['post.tag'] });
      await c.start({});
      expect((await c.server.get('/api/posts?populate=*')).body).toMatchObject({
        data: [
          {
            attributes: {
              tag: { data: [] },
              labels: { data: [{ id: 1 }] },
              card: [{ __component: 'parts.card', text: 'c' }],
              cards: { text: 'd' },
            },
          },
        ],
      });
    } finally {
      await c.close();
    }
  });
  it('links that were written since a start with the new name are kept, unless an entry has some under both', async () => {
    const c = await newChanging(dialect, {
      [typeFile('tag')]: contentType('tag', { name: { type: 'string' } }),
      [typeFile('post')]: contentType('post', { tags: rel('tag') }),
    });
    try {
      for (const name of ['x', 'y']) await c.server.send('POST', '/api/tags', { body: { data: { name } } });
      await c.server.send('POST', '/api/posts', { body: { data: { tags: [1, 2] } } });
      await c.start({ [typeFile('post')]: contentType('post', { labels: rel('tag') }) });
      await c.server.send('POST', '/api/posts', { body: { data: { labels: [2] } } });
      await migrateIn(c.dir, c.database.db, { rename: ['post.tags=labels'] });
      await c.start({});
      expect((await c.server.get('/api/posts?populate=*&sort=id')).body).toMatchObject({
        data: [
          { attributes: { labels: { data: [{ id: 1 }, { id: 2 }] } } },
          { attributes: { labels: { data: [{ id: 2 }] } } },
        ],
      });
      await c.server.send('POST', '/api/posts', { body: { data: { labels: [1] } } });
      await c.start({ [typeFile('post')]: contentType('post', { again: rel('tag') }) });
      await c.server.send('PUT', '/api/posts/1', { body: { data: { again: [2] } } });
      await expect(migrateIn(c.dir, c.database.db, { rename: ['post.labels=again'] })).rejects.toThrow(
        /belong to entries that have some in/,
      );
    } finally {
      await c.close();
    }
  });
});
