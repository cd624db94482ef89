/** Lists: what the address says, and what is asked of the server. */
import { encodeQuery } from 'dovetail-client';
import { describe, expect, it } from 'vitest';
import { runForAll } from '../src/rooms/content/list/bulk.js';
import {
  columnsOf,
  defaultColumns,
  filterable,
  listQuery,
  nextSort,
  searchOf,
  stateOf,
} from '../src/rooms/content/list/list-state.js';
import { media, model, relation, type } from './made-model.js';

const text = ['$eq', '$contains', '$null'];
const author = type('api::author.author', { name: { type: 'string', operators: text, sortable: true } });
const article = type(
  'api::article.article',
  {
    title: { type: 'string', operators: text, sortable: true },
    body: { type: 'richtext', operators: text },
    facts: { type: 'json', operators: ['$null'] },
    views: { type: 'integer', family: 'number', operators: ['$eq', '$between', '$in'], sortable: true },
    author: relation('api::author.author', false),
    related: relation('api::article.article', true),
    cover: media(),
    updatedAt: { type: 'datetime', operators: ['$gt'], sortable: true },
    opens: { type: 'time', family: 'time', operators: ['$eq', '$between'] },
    createdBy: relation('admin::user', false),
  },
  { draftAndPublish: true, localized: true },
);
const administrator = type(
  'admin::user',
  {
    firstname: { type: 'string', operators: text },
    lastname: { type: 'string', operators: text },
    username: { type: 'string', operators: text },
  },
  { mainField: 'username' },
);
const made = model(article, author, administrator);
const query = (search: object, columns = ['title']) =>
  decodeURIComponent(encodeQuery(listQuery(made, article, stateOf(searchOf({ ...search })), columns, 'en'))).split('&');

describe('the address of a list', () => {
  it('holds only what is not as always, and nothing that is not right', () => {
    expect(searchOf({ page: 1, size: 25, sort: '', q: '', state: 'all', where: [] })).toEqual({});
    expect(searchOf({ page: '3', size: 7, sort: 4, q: 12, where: [{ on: 1 }, null], other: true })).toEqual({
      q: '12',
    });
    // the router reads `q=true` as it reads JSON
    expect([true, false, null, 0].map((q) => searchOf({ q }).q)).toEqual(['true', 'false', 'null', '0']);
    const search = {
      page: 2,
      size: 50,
      sort: 'title:asc',
      q: 'sea',
      state: 'draft',
      where: [{ on: 'title', operator: '$eq', value: 'x' }],
      locale: 'de',
    };
    expect(searchOf(search)).toEqual(search);
  });
});

describe('what a list asks', () => {
  it('is the columns, with drafts, in the locale, one page', () => {
    expect(query({}, ['title', 'author', 'cover'])).toEqual([
      'fields[0]=id',
      'fields[1]=title',
      'fields[2]=publishedAt',
      'fields[3]=locale',
      'fields[4]=updatedAt',
      'populate[author][fields][0]=name',
      ...['name', 'url', 'mime', 'ext', 'width', 'height', 'size', 'formats'].map(
        (it, i) => `populate[cover][fields][${i}]=${it}`,
      ),
      'pagination[page]=1',
      'pagination[pageSize]=25',
      'publicationState=preview',
      'locale=en',
    ]);
  });

  it('has its filters, search, order and state', () => {
    const where = [
      { on: 'title', operator: '$contains', value: 'sea' },
      { on: 'author.name', operator: '$eq', value: 'Maren' },
      { on: 'views', operator: '$between', value: '1, 5' },
      { on: 'views', operator: '$in', value: '1,2' },
      { on: 'body', operator: '$null', value: '' },
    ];
    const asked = query({ where, q: 'tide', sort: 'views:desc', state: 'draft', page: 3 });
    expect(asked.filter((it) => /^(filters|_q|sort|pagination\[page\])/.test(it))).toEqual([
      'filters[$and][0][title][$contains]=sea',
      'filters[$and][1][author][name][$eq]=Maren',
      'filters[$and][2][views][$between][0]=1',
      'filters[$and][2][views][$between][1]=5',
      'filters[$and][3][views][$in][0]=1',
      'filters[$and][3][views][$in][1]=2',
      'filters[$and][4][body][$null]=true',
      'filters[$and][5][publishedAt][$null]=true',
      'sort=views:desc',
      '_q=tide',
      'pagination[page]=3',
    ]);
  });

  it('may hold any of its filters, beside the state, which always holds', () => {
    const where = [
      { on: 'title', operator: '$contains', value: 'sea' },
      { on: 'views', operator: '$gt', value: '5' },
    ];
    const asked = query({ where, any: true, state: 'published', page: 2, size: 10 });
    expect(asked.filter((it) => /^(filters|pagination)/.test(it))).toEqual([
      'filters[$and][0][$or][0][title][$contains]=sea',
      'filters[$and][0][$or][1][views][$gt]=5',
      'filters[$and][1][publishedAt][$notNull]=true',
      'pagination[page]=2',
      'pagination[pageSize]=10',
    ]);
    expect(searchOf({ where: where.slice(0, 1), any: true })).toEqual({ where: where.slice(0, 1) });
  });

  it('has values with commas where they stand in quotes, and times with seconds', () => {
    const where = [
      { on: 'title', operator: '$in', value: 'Oslo,"Bergen, Norway" , 6" nails, "so ""called"" x"' },
      { on: 'opens', operator: '$eq', value: '10:00' },
      { on: 'opens', operator: '$between', value: '10:00, 11:30:15' },
      { on: 'title', operator: '$eq', value: '10:00' },
      { on: 'createdBy.firstname', operator: '$eq', value: 'Ann' },
    ];
    expect(query({ where }, ['createdBy']).filter((it) => /^(filters|populate)/.test(it))).toEqual([
      'populate[createdBy][fields][0]=firstname',
      'populate[createdBy][fields][1]=lastname',
      'filters[$and][0][title][$in][0]=Oslo',
      'filters[$and][0][title][$in][1]=Bergen, Norway',
      'filters[$and][0][title][$in][2]=6" nails',
      'filters[$and][0][title][$in][3]=so "called" x',
      'filters[$and][1][opens][$eq]=10:00:00',
      'filters[$and][2][opens][$between][0]=10:00:00',
      'filters[$and][2][opens][$between][1]=11:30:15',
      'filters[$and][3][title][$eq]=10:00',
      'filters[$and][4][createdBy][firstname][$eq]=Ann',
    ]);
  });

  it('leaves out filters that are not complete yet', () => {
    const where = [
      { on: 'title', operator: '$contains', value: '' },
      { on: 'views', operator: '$between', value: '1' },
    ];
    expect(query({ where }).filter((it) => it.startsWith('filters'))).toEqual([]);
  });
});

describe('columns', () => {
  it('are what fits in a cell, the name of the entry first', () => {
    expect(columnsOf(article).map(({ name }) => name)).toEqual([
      'title',
      'body',
      'views',
      'author',
      'cover',
      'updatedAt',
      'opens',
      'createdBy',
    ]);
    expect(defaultColumns(article)).toEqual(['title', 'views', 'author', 'cover', 'updatedAt']);
  });

  it('filters are about attributes, and about the names of related entries and people', () => {
    expect(filterable(made, article).map(({ on }) => on)).toEqual([
      'title',
      'body',
      'facts',
      'views',
      'author.name',
      'related.title',
      'updatedAt',
      'opens',
      'createdBy.firstname',
      'createdBy.lastname',
    ]);
  });

  it('are sorted up, down, and as before', () => {
    expect(nextSort(null, 'title')).toBe('title:asc');
    expect(nextSort('title:asc', 'title')).toBe('title:desc');
    expect(nextSort('title:desc', 'title')).toBeNull();
    expect(nextSort('views:asc', 'title')).toBe('title:asc');
  });
});

describe('the same for many entries', () => {
  it('goes on after a fault, and tells of each', async () => {
    const told: number[] = [];
    const result = await runForAll(
      [1, 2, 3, 4, 5].map((id) => ({ id })),
      async ({ id }) => {
        if (id === 2) throw new Error('no');
      },
      ({ done }) => told.push(done),
    );
    expect(told).toEqual([1, 2, 3, 4, 5]);
    expect(result).toMatchObject({ done: 5, total: 5, faults: [{ id: 2 }] });
  });

  it('stops between two when it is told to', async () => {
    const abort = new AbortController();
    const run: number[] = [];
    const { done } = await runForAll(
      [1, 2, 3, 4, 5, 6, 7].map((id) => ({ id })),
      async ({ id }) => {
        run.push(id);
        await Promise.resolve();
        abort.abort();
      },
      () => undefined,
      abort.signal,
    );
    expect(run).toEqual([1, 2, 3]);
    expect(done).toBe(3);
  });
});
