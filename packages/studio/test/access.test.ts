/** Rights without a browser: the grid, edits of it, what they open and close, and the form of a token. */
import { describe, expect, it } from 'vitest';
import { type DifferenceType, differencesOf } from '../src/rooms/access/difference.js';
import {
  actionsIn,
  applied,
  edited,
  grantedIn,
  isGranted,
  noEdits,
  type PermissionTree,
  type Role,
  remaining,
  treeOf,
} from '../src/rooms/access/grants.js';
import { filtered, neighbour, sectionsOf, triOf } from '../src/rooms/access/grid.js';
import { emptyTokenForm, missingIn, stateOf, tokenBody } from '../src/rooms/access/token-form.js';

const tree: PermissionTree = {
  'api::article': { controllers: { article: { find: { enabled: true }, findOne: { enabled: false } } } },
  'api::author': { controllers: { author: { find: { enabled: false } } } },
  'plugin::users-permissions': { controllers: { auth: { register: { enabled: true } } } },
};
const role = (granted: readonly string[], more: Partial<Role> = {}): Role => ({
  id: 1,
  name: 'Public',
  description: '',
  type: 'public',
  users: 0,
  granted: new Set(granted),
  ...more,
});
const types: readonly DifferenceType[] = [
  {
    uid: 'api::article.article',
    kind: 'collection',
    displayName: 'Article',
    path: '/api/articles',
    attributes: [
      { name: 'title', relation: null, component: null, zone: null },
      { name: 'author', relation: { target: 'api::author.author' }, component: null, zone: null },
      { name: 'sections', relation: null, component: null, zone: { components: ['sections.quote'] } },
    ],
  },
  { uid: 'api::author.author', kind: 'collection', displayName: 'Author', path: '/api/authors', attributes: [] },
  {
    uid: 'api::homepage.homepage',
    kind: 'single',
    displayName: 'Homepage',
    path: '/api/homepage',
    attributes: [{ name: 'editor', relation: { target: 'api::author.author' }, component: null, zone: null }],
  },
  {
    uid: 'sections.quote',
    kind: 'component',
    displayName: 'Quote',
    path: null,
    attributes: [
      { name: 'speaker', relation: { target: 'api::author.author' }, component: null, zone: null },
      { name: 'inner', relation: null, component: { uid: 'sections.quote' }, zone: null },
    ],
  },
];

describe('the grid', () => {
  const sections = sectionsOf(
    actionsIn(tree),
    types.map((it) => ({ ...it, plural: '' })),
  );

  it('has a section for each type and each controller of a plugin', () => {
    expect(sections.map((it) => [it.kind, it.label, it.actions.length])).toEqual([
      ['content', 'Article', 2],
      ['content', 'Author', 1],
      ['plugin', 'users-permissions · auth', 1],
    ]);
  });

  it('is searched by words of types and actions, and shows what is granted or changed', () => {
    const names = (text: string, shown: 'all' | 'granted' = 'all') =>
      filtered(sections, { text, shown }, (it) => grantedIn(tree).has(it)).flatMap((it) => it.actions);
    expect(names('ART one')).toEqual(['api::article.article.findOne']);
    expect(names('nothing')).toEqual([]);
    expect(names('', 'granted')).toEqual(['api::article.article.find', 'plugin::users-permissions.auth.register']);
  });

  it('says of a type whether all, some or none of its actions are granted', () => {
    const [article] = sections;
    expect(triOf(article!.actions, (it) => grantedIn(tree).has(it))).toBe('some');
    expect(triOf(article!.actions, () => true)).toBe('all');
    expect(triOf(article!.actions, () => false)).toBe('none');
  });

  it('is walked with arrow keys, and not left by them', () => {
    const size = { rows: 3, columns: 2 };
    expect(neighbour('ArrowDown', { row: 2, column: 1 }, size)).toEqual({ row: 2, column: 1 });
    expect(neighbour('ArrowRight', { row: 0, column: 0 }, size)).toEqual({ row: 0, column: 1 });
    expect(neighbour('Tab', { row: 0, column: 0 }, size)).toBeNull();
  });
});

describe('edits', () => {
  const find = 'api::article.article.find';
  it('are the actions that are the other way round; there and back is no edit', () => {
    const before = role([find]);
    const closed = edited(noEdits, before, [find], false);
    expect(isGranted(before, closed, find)).toBe(false);
    expect(edited(closed, before, [find], true)).toEqual(noEdits);
  });

  it('are saved on what the server has then, and dropped if somebody else has saved the same', () => {
    expect([...applied(new Set(['a', 'b']), ['c'], ['a'])]).toEqual(['b', 'c']);
    const before = role(['a']);
    const edits = edited(edited(noEdits, before, ['b'], true), before, ['a'], false);
    expect(remaining([before], [role(['a', 'b'])], edits)).toEqual(new Map([[1, new Set(['a'])]]));
    expect(remaining([before], [], edits)).toEqual(noEdits);
  });

  it('a tree of permissions is read and written', () => {
    expect([...grantedIn(tree)]).toEqual([find, 'plugin::users-permissions.auth.register']);
    expect([...grantedIn(treeOf(grantedIn(tree)))]).toEqual([...grantedIn(tree)]);
  });
});

describe('what a change opens and closes', () => {
  const differenceOf = (granted: readonly string[], actions: readonly string[], to: boolean) => {
    const before = role(granted);
    return differencesOf([before], edited(noEdits, before, actions, to), types);
  };

  it('names the requests; those of single types have no id', () => {
    const [difference] = differenceOf([], ['api::article.article.findOne', 'api::homepage.homepage.update'], true);
    expect(difference!.opened.map((it) => it.request)).toEqual([
      { method: 'GET', path: '/api/articles/:id' },
      { method: 'PUT', path: '/api/homepage' },
    ]);
    expect(difference!.opened.map((it) => it.isWrite)).toEqual([false, true]);
  });

  it('names the relations that appear in answers that the role may read, inside of components too', () => {
    const [difference] = differenceOf(['api::article.article.find'], ['api::author.author.find'], true);
    expect(difference!.appears.map((it) => [it.type, it.path])).toEqual([
      ['Article', 'author'],
      ['Article', 'sections.sections.quote.speaker'],
    ]);
    const [closing] = differenceOf(
      ['api::homepage.homepage.find', 'api::author.author.find'],
      ['api::author.author.find'],
      false,
    );
    expect(closing!.disappears.map((it) => [it.type, it.path])).toEqual([['Homepage', 'editor']]);
  });

  it('says nothing of roles without edits', () => {
    expect(differencesOf([role([])], noEdits, types)).toEqual([]);
  });
});

describe('an API token', () => {
  it('is sent with its lifespan when it is new, and with permissions when it is custom', () => {
    const form = { ...emptyTokenForm, name: ' site ', permissions: new Set(['b', 'a']) };
    expect(tokenBody(form, true)).toEqual({
      name: 'site',
      description: '',
      type: 'read-only',
      lifespan: 7_776_000_000,
      permissions: null,
    });
    expect(tokenBody({ ...form, type: 'custom' }, false)).toMatchObject({ permissions: ['a', 'b'] });
    expect(tokenBody({ ...form, lifespan: 'never' }, true)).toMatchObject({ lifespan: null });
  });

  it('needs a name, and a custom one a permission', () => {
    expect(missingIn(emptyTokenForm)).toBe('name');
    expect(missingIn({ ...emptyTokenForm, name: 'a', type: 'custom' })).toBe('permissions');
    expect(missingIn({ ...emptyTokenForm, name: 'a' })).toBeNull();
  });

  it('says when it ends', () => {
    const now = Date.parse('2026-01-01T00:00:00Z');
    const states = [null, '2026-03-01T00:00:00Z', '2026-01-03T00:00:00Z', '2025-12-31T00:00:00Z'].map((expiresAt) =>
      stateOf({ expiresAt }, now),
    );
    expect(states).toEqual(['forever', 'valid', 'soon', 'expired']);
  });
});
