import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadModel } from '../../../server/src/model/load.js';
import { defaultSettings } from '../../../server/test/world/server.js';
import { readSearch } from '../../src/rooms/ask/query/brackets.js';
import { writeForm } from '../../src/rooms/ask/query/code.js';
import {
  removeText,
  setAllFields,
  setAllPopulated,
  setOption,
  setStrategy,
  toggleField,
  togglePlace,
} from '../../src/rooms/ask/query/edits.js';
import { faultsByRow, spanInUrl } from '../../src/rooms/ask/query/faults.js';
import {
  addCondition,
  affirm,
  type Comparison,
  negate,
  newCondition,
  newGroup,
  removeAt,
  setJoin,
  setOperator,
  viewFilter,
} from '../../src/rooms/ask/query/filters.js';
import { groundOf, itemsOf, rootId } from '../../src/rooms/ask/query/items.js';
import type { Members } from '../../src/rooms/ask/query/node.js';
import { readAny, spanInCode } from '../../src/rooms/ask/query/read-code.js';
import { type Request, readUrl, writeUrl } from '../../src/rooms/ask/query/request.js';
import { type Documented, documentedModel } from './stage.js';

const magazine = (given: Partial<Documented> = {}) => {
  const loaded = loadModel(path.join(import.meta.dirname, '../../../../examples/magazine'));
  if (!loaded.ok) throw new Error('the magazine has faults');
  const all = { may: () => true, rest: defaultSettings.rest, strict: true };
  return documentedModel({ model: loaded.model, ...all, ...given });
};
const model = magazine();
const lenient = magazine({ strict: false });
const ground = groundOf(model, 'api::article.article')!;

const readIn = (text: string, known = model): Request => {
  const read = readAny(text, known, { type: 'api::article.article', id: null, query: {} });
  if (!read.ok) throw new Error(`${text} is not read: ${JSON.stringify(read.faults)}`);
  return read.value;
};
/** The URL of what a text says. */
const urlOf = (text: string, known = model): string => writeUrl(known, readIn(text, known));
const queryOf = (search: string): Members => readIn(`/api/articles?${search}`).query;
const written = (query: Members): string =>
  decodeURIComponent(writeUrl(model, { type: ground.type.uid, id: null, query }));

describe('a text becomes a request', () => {
  it.each([
    ['https://example.org/api/articles?fields=title#top', '/api/articles?fields=title'],
    ['https://example.org/cms/api/articles/7', '/api/articles/7'],
    ['articles?fields=title', '/api/articles?fields=title'],
    ['fields=title&sort=title', '/api/articles?fields=title&sort=title'],
    ['/api/articles?populate%5Bauthor%5D=true&utm_source=x', '/api/articles?populate[author]=true&utm_source=x'],
    ['/api/articles?filters[title]=Tom%27s+%26+more', '/api/articles?filters[title]=Tom%27s%20%26%20more'],
    [
      "curl -g 'http://127.0.0.1:1337/api/editions/1?fields=number' -H 'Authorization: Bearer x'",
      '/api/editions/1?fields=number',
    ],
    [
      'curl -sG \\\n  -H "accept: application/json" \\\n  http://h/api/articles --data-urlencode "filters[title][$eq]=a b"',
      '/api/articles?filters[title][$eq]=a%20b',
    ],
    [
      "qs.stringify({ populate: ['author', 'cover'], pagination: { pageSize: 5 } }, { encodeValuesOnly: true })",
      '/api/articles?populate[0]=author&populate[1]=cover&pagination[pageSize]=5',
    ],
    [
      "{ filters: { featured: true, readingMinutes: { $gt: -1 } }, /* all */ 'sort': `title:desc`, }",
      '/api/articles?filters[featured]=true&filters[readingMinutes][$gt]=-1&sort=title:desc',
    ],
    [
      "await api.collection('editions').findOne(3, { populate: { articles: {} } } as const)",
      '/api/editions/3?populate[articles]=true',
    ],
    [
      // biome-ignore lint/suspicious/noTemplateCurlyInString: code of somebody
      "const res = await fetch(`/api/categories?${qs.stringify({ fields: ['name'] })}`)",
      '/api/categories?fields[0]=name',
    ],
    [
      "{ filters: { publishedOn: { $gte: new Date('2025-06-01') } } }",
      '/api/articles?filters[publishedOn][$gte]=2025-06-01T00:00:00.000Z',
    ],
  ])('%s', (text, url) => {
    expect(urlOf(text)).toBe(url);
  });

  it.each([
    ['/api/artcles?fields=title', 'unknown-path', '/api/artcles'],
    ['/api/articles/slack-water?fields=title', 'not-an-id', '/api/articles/slack-water'],
    ['/api/article?fields=title', 'singular', '/api/article'],
    [
      'https://h/api/editions/1/relations/articles?fields=title',
      'relation-list',
      'https://h/api/editions/1/relations/articles',
    ],
    ['/api/articles?fields=title&populate[author', 'malformed-key', 'populate[author'],
    ['/api/articles?fields=title&fields[0]=slug', 'mixed-forms', 'fields[0]=slug'],
    ['{ fields: [titel] }', 'not-data', 'titel'],
    ["{ fields: ['title'], populate: ", 'syntax', ''],
    ["api.collection('articles').all()", 'no-query', "api.collection('articles').all()"],
  ])('%s is a fault at its place', (text, code, marked) => {
    const read = readAny(text, model, { type: 'api::article.article', id: null, query: {} });
    expect(read.ok).toBe(false);
    const [fault] = read.ok ? [] : read.faults;
    expect(fault?.code).toBe(code);
    if (marked !== '') expect(text.slice(fault?.from, fault?.to)).toBe(marked);
  });

  it.each([
    ['/cms/api/editions/1/relations/articles?pagination[start]=40', '/api/editions/1?populate=articles'],
    ['/api/articles/7/relations/sections/sections.gallery/3/photos/', '/api/articles/7?populate=sections.photos'],
    ['/api/homepage/relations/featured', '/api/homepage?populate=featured'],
  ])('%s, a window of a list, is refused with the URL of its entry', (text, url) => {
    const read = readAny(text, model, null);
    expect(read).toMatchObject({ ok: false, faults: [{ code: 'relation-list', name: url }] });
  });

  it('a lenient server reads mixed forms as v4 does, and so does the tree', () => {
    expect(urlOf('/api/articles?fields=title&fields[]=slug', lenient)).toBe(
      '/api/articles?fields[0]=title&fields[1]=slug',
    );
    expect(urlOf('/api/articles?populate[author][fields]=name&populate=cover', lenient)).toBe(
      '/api/articles?populate[author][fields]=name&populate[cover]=true',
    );
    expect(readUrl('/api/articles?filters[title=x', lenient, null).ok).toBe(true);
  });

  it('names of objects are names', () => {
    const read = readSearch('filters[__proto__]=x&filters[constructor]=y&__proto__[a]=b', { strict: true });
    expect(read.ok && JSON.stringify(read.value)).toBe(
      '{"filters":{"__proto__":"x","constructor":"y"},"__proto__":{"a":"b"}}',
    );
  });
});

describe('a click changes what it is about, and nothing else', () => {
  it('names are written as an object where one of them gets options', () => {
    const query = queryOf('sort=title:desc&populate=author,cover.folder');
    expect(written(toggleField(query, ['author'], ground, 'name'))).toBe(
      '/api/articles?sort=title:desc&populate[author][fields][0]=name&populate[cover][populate][folder]=true',
    );
  });

  it('one of everything that is no longer wanted leaves the others', () => {
    const url = written(togglePlace(queryOf('populate=*'), ['author'], ground));
    expect(url).not.toContain('populate[author]');
    expect(url).toContain('populate[cover]=true');
    expect(url).toContain('populate[sections]=true');
  });

  it('the first field takes the place of all, and without the last one all are shown', () => {
    const one = toggleField({}, [], ground, 'title');
    expect(written(one)).toBe('/api/articles?fields[0]=title');
    expect(written(toggleField(one, [], ground, 'title'))).toBe('/api/articles');
    expect(written(setAllFields({}, [], ground, false))).toBe('/api/articles?fields[0]=id');
  });

  it('a field inside of something that is not populated populates it', () => {
    expect(written(toggleField({}, ['author', 'mentor'], ground, 'name'))).toBe(
      '/api/articles?populate[author][populate][mentor][fields][0]=name',
    );
  });

  it('what components have in common becomes the options of each', () => {
    const shared = setAllPopulated({}, ['sections'], ground, true);
    expect(written(shared)).toBe('/api/articles?populate[sections][populate]=*');
    const each = setStrategy(shared, ['sections'], ground, 'by type');
    expect(written(each)).toContain('populate[sections][on][sections.quote][populate]=*');
    const without = ['sections.gallery', 'sections.question-list', 'sections.rich-text'].reduce(
      (query, uid) => togglePlace(query, ['sections', `on:${uid}`], ground),
      each,
    );
    expect(written(without)).toBe('/api/articles?populate[sections][on][sections.quote][populate]=*');
    expect(written(setStrategy(without, ['sections'], ground, 'shared'))).toBe('/api/articles?populate[sections]=true');
  });

  it('the last component that is switched off does not bring all of them back', () => {
    const one = queryOf('populate[sections][on][sections.quote]=true');
    expect(written(togglePlace(one, ['sections', 'on:sections.quote'], ground))).toBe(
      '/api/articles?populate[sections][on][sections.quote]=false',
    );
  });

  it('a name that is none is a text of its own, and leaves the others when it is removed', () => {
    const query = queryOf('populate=author,deep,tags.x');
    const texts = itemsOf({ type: ground.type.uid, id: null, query }, ground, new Set([rootId])).flatMap((it) =>
      it.kind === 'text' ? [it] : [],
    );
    expect(texts.map((it) => it.text)).toEqual(['populate=deep', 'populate[tags][populate][x]=true']);
    expect(new Set(texts.map((it) => it.id)).size).toBe(2);
    const without = texts.reduce((all, it) => removeText(all, it.place, ground, it.removal), query);
    expect(written(without)).toBe('/api/articles?populate[author]=true');
  });

  it('what has no control stays where it is', () => {
    const query = queryOf(
      'populate[author][pagination][page]=2&populate[author][fields]=name&filters[$jsonSupersetOf]=x',
    );
    const changed = toggleField(query, ['author'], ground, 'slug');
    expect(written(changed)).toBe(
      '/api/articles?populate[author][pagination][page]=2&populate[author][fields][0]=name&populate[author][fields][1]=slug&filters[$jsonSupersetOf]=x',
    );
    const rows = itemsOf({ type: ground.type.uid, id: null, query: changed }, ground, new Set([rootId, '/author']));
    expect(rows.flatMap((it) => (it.kind === 'text' ? [it.text] : []))).toEqual(['pagination[page]=2']);
    expect(viewFilter(changed['filters'], [ground.type], model)).toMatchObject({ members: [{ kind: 'text' }] });
  });
});

describe('conditions', () => {
  const types = [ground.type];
  const filtered = (filter: Parameters<typeof viewFilter>[0]): string =>
    written(setOption({}, [], ground, 'filters', filter)).replace('/api/articles?', '');
  const first = (filter: Members): Comparison => {
    const view = viewFilter(filter, types, model);
    const [only] = view?.kind === 'group' ? view.members : [];
    if (only?.kind !== 'compare') throw new Error('no comparison');
    return only;
  };

  it('are added beside each other while their names differ, else by $and', () => {
    const one = addCondition(undefined, [], newCondition(['title'], '$contains', ['a']));
    const two = addCondition(one, [], newCondition(['author', 'name'], '$eq', ['b']));
    const three = addCondition(two, [], newCondition(['title'], '$contains', ['c']));
    expect(filtered(three)).toBe(
      'filters[title][$contains]=a&filters[author][name][$eq]=b&filters[$and][0][title][$contains]=c',
    );
    expect(filtered(removeAt(three, ['$and', '0', 'title', '$contains']))).toBe(
      'filters[title][$contains]=a&filters[author][name][$eq]=b',
    );
  });

  it('an operator keeps the values that it can have', () => {
    const filter: Members = { readingMinutes: { $gt: '3' } };
    expect(filtered(setOperator(filter, first(filter), '$between'))).toBe(
      'filters[readingMinutes][$between][0]=3&filters[readingMinutes][$between][1]=3',
    );
    expect(filtered(setOperator(filter, first(filter), '$null'))).toBe('filters[readingMinutes][$null]=true');
    const bare: Members = { title: 'x' };
    expect(filtered(setOperator(bare, first(bare), '$startsWith'))).toBe('filters[title][$startsWith]=x');
  });

  it('groups are added to groups, each with its first condition', () => {
    const one = addCondition({ kind: 'essay' }, [], newGroup('any', newCondition(['title'], '$contains', ['a'])));
    const two = addCondition(one, ['$or'], newGroup('all', newCondition(['author', 'name'], '$eq', ['b'])));
    expect(filtered(two)).toBe(
      'filters[kind]=essay&filters[$or][0][title][$contains]=a&filters[$or][1][$and][0][author][name][$eq]=b',
    );
  });

  it.each([
    // a comparison, of a value alone too
    [{ title: { $contains: 'a' } }, ['title', '$contains'], 'filters[title][$not][$contains]=a'],
    [{ title: 'a', kind: 'b' }, ['title'], 'filters[title][$not][$eq]=a&filters[kind]=b'],
    [{ kind: ['a', 'b'] }, ['kind'], 'filters[kind][$not][$in][0]=a&filters[kind][$not][$in][1]=b'],
    [
      { readingMinutes: { $gt: '1', $lt: '5' } },
      ['readingMinutes', '$gt'],
      'filters[readingMinutes][$not][$gt]=1&filters[readingMinutes][$lt]=5',
    ],
    // no author with the name, apart from some author without it
    [{ author: { name: { $eq: 'a' } } }, ['author'], 'filters[$not][author][name][$eq]=a'],
    [{ author: { name: { $eq: 'a' } } }, ['author', 'name', '$eq'], 'filters[author][name][$not][$eq]=a'],
    // groups, one of a group, everything
    [{ $or: [{ title: 'a' }] }, ['$or'], 'filters[$not][$or][0][title]=a'],
    [{ $or: [{ title: 'a' }, { kind: 'b' }] }, ['$or', '1'], 'filters[$or][0][title]=a&filters[$or][1][$not][kind]=b'],
    [{ title: 'a', kind: 'b' }, [], 'filters[$not][title]=a&filters[$not][kind]=b'],
  ] as readonly [Members, readonly string[], string][])(
    'of %j, the opposite at %j is %s, and taken back again',
    (filter, at, expected) => {
      const negated = negate(filter, at);
      expect(filtered(negated)).toBe(expected);
      const view = viewFilter(negated, types, model);
      const nots: (readonly string[])[] = [];
      JSON.stringify(view, (_key, it: unknown) => {
        const { kind, at: place } = (it ?? {}) as { kind?: unknown; at?: readonly string[] };
        if (kind === 'not' && place) nots.push(place);
        return it;
      });
      expect(nots).toHaveLength(1);
      const back = affirm(negated, nots[0]!);
      // a value alone has its operator named
      expect(filtered(back).replace(/\[\$(eq|in)\]/g, '')).toBe(filtered(filter).replace(/\[\$(eq|in)\]/g, ''));
    },
  );

  it('a second opposite beside another means neither of them, not not both', () => {
    const one = negate({ author: { name: 'a' }, cover: { name: 'b' } }, ['author']);
    const both = negate(one, ['cover']);
    expect(filtered(both)).toBe('filters[$not][author][name]=a&filters[$and][0][$not][cover][name]=b');
    const third = addCondition({ $not: { title: 'a' } }, [], { $not: { kind: 'b' } });
    expect(filtered(third)).toBe('filters[$not][title]=a&filters[$and][0][$not][kind]=b');
  });

  it('all of them or any of them', () => {
    const filter: Members = { title: 'a', kind: 'essay' };
    const any = setJoin(filter, [], 'any');
    expect(filtered(any)).toBe('filters[$or][0][title]=a&filters[$or][1][kind]=essay');
    expect(filtered(setJoin(any, ['$or'], 'all'))).toBe('filters[$and][0][title]=a&filters[$and][1][kind]=essay');
  });
});

describe('faults of the server', () => {
  const url =
    '/api/articles?fields[0]=title&fields[1]=titel&populate=author.nme,cover&filters[$or][0][kindd]=x&sort=title&sort=tite';
  const marked = (...at: string[]): string => {
    const { from, to } = spanInUrl(url, { path: at, message: '' });
    return url.slice(from, to);
  };
  it('are marked at their part of a URL', () => {
    expect(marked('fields', '1')).toBe('fields[1]=titel');
    expect(marked('populate')).toBe('populate=author.nme,cover');
    expect(marked('filters', '$or', '0', 'kindd')).toBe('filters[$or][0][kindd]=x');
    expect(marked('sort', '1')).toBe('sort=tite');
    expect(marked('fields')).toBe('fields[0]=title&fields[1]=titel');
  });

  it('are marked at their part of code', () => {
    const code = writeForm('qs', readIn(url.replace('&sort=title&sort=tite', '')), ground, 'http://h');
    const { from, to } = spanInCode(code, ['fields', '1']);
    expect(code.slice(from, to)).toBe("'titel'");
  });

  it('stand at the nearest row that is shown', () => {
    const request = readIn('/api/articles?populate[0]=author&populate[1]=cover&fields[0]=titel');
    const items = itemsOf(request, ground, new Set([rootId]));
    const faults = [
      { path: ['populate', '0'], message: 'a' },
      { path: ['fields', '0'], message: 'b' },
      { path: ['pagination', 'page'], message: 'c' },
    ];
    const rows = [...faultsByRow(faults, items, request.query)].map(([id, [fault]]) => [id, fault?.message]);
    expect(rows).toEqual([
      ['/author', 'a'],
      ['/#text:fields.0', 'b'],
      [rootId, 'c'],
    ]);
  });
});

describe('what a role may not see', () => {
  it('is locked with the permission that would open it, and not part of everything', () => {
    const closed = magazine({ may: (action) => action !== 'api::author.author.find' });
    const own = groundOf(closed, 'api::article.article')!;
    const items = itemsOf({ type: own.type.uid, id: null, query: {} }, own, new Set([rootId]));
    expect(items.find((it) => it.id === '/author')).toMatchObject({ lockedBy: 'api::author.author.find' });
    const everything = itemsOf({ type: own.type.uid, id: null, query: queryOf('populate=*') }, own, new Set([rootId]));
    const ticked = everything.flatMap((it) => (it.kind === 'place' && it.checked ? [it.id] : []));
    expect(ticked).toContain('/cover');
    expect(ticked).not.toContain('/author');
    expect(ticked).not.toContain('/createdBy');
    const url = written(togglePlace(queryOf('populate=*'), ['cover'], own));
    expect(url).not.toContain('author');
  });
});

describe('large models', () => {
  it('rows are made for what is open, not for all that could be', () => {
    const closed = itemsOf(
      { type: ground.type.uid, id: null, query: queryOf('populate=*') },
      ground,
      new Set([rootId]),
    );
    expect(closed.length).toBeLessThan(40);
    let place = '';
    const open = new Set([rootId]);
    for (let depth = 0; depth < 60; depth++) {
      place += depth % 2 === 0 ? '/author' : '/articles';
      open.add(place);
    }
    const deep = itemsOf({ type: ground.type.uid, id: null, query: {} }, ground, open);
    expect(deep.length).toBeGreaterThan(700);
    expect(deep.length).toBeLessThan(61 * 40);
  });
});
