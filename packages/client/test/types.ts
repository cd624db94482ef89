/** Right and wrong calls, checked by the compiler: a line below `@ts-expect-error` must not compile. Never run. */
import { createClient, type DovetailError } from '../src/index.js';
import type { Schema } from './magazine/schema.js';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Same type, whatever it was put together from. */
type Plain<T> = T extends readonly (infer E)[]
  ? Plain<E>[]
  : T extends object
    ? { -readonly [K in keyof T]: Plain<T[K]> }
    : T;
const is = <Expected>() => ({
  exactly: <Actual>(_actual: Actual, _proof: Equal<Plain<Actual>, Plain<Expected>>): void => undefined,
});

const api = createClient<Schema>({ url: 'http://127.0.0.1:1337' });
const articles = api.collection('articles');

export const results = async (): Promise<void> => {
  // ---- fields
  const { data: titles } = await articles.find({ fields: ['title', 'kind'] });
  is<
    { id: number; attributes: { title: string; kind: 'essay' | 'report' | 'interview' | 'notes' | null } }[]
  >().exactly(titles, true);
  const { data: one } = await articles.findOne(1, { fields: 'title' });
  is<{ id: number; attributes: { title: string } }>().exactly(one, true);
  const { data: whole } = await api.collection('categories').findOne(1);
  is<{
    id: number;
    attributes: {
      name: string;
      slug: string | null;
      description: string | null;
      colour: string | null;
      createdAt: string;
      updatedAt: string;
    };
  }>().exactly(whole, true);
  // @ts-expect-error what was not asked for is not there
  one.attributes.kind;
  // @ts-expect-error a relation is not there unless it is populated
  whole.attributes.articles;

  // ---- relations, to one and to many
  const { data: populated } = await articles.find({
    fields: ['title'],
    populate: {
      author: { fields: ['name'], populate: { portrait: { fields: ['url'] } } },
      categories: { fields: ['name'], sort: 'name:desc', filters: { name: { $contains: 'a' } } },
      cover: true,
      related: false,
    },
  });
  type Attributes = (typeof populated)[number]['attributes'];
  is<{
    data: {
      id: number;
      attributes: { name: string; portrait: { data: { id: number; attributes: { url: string } } | null } };
    } | null;
  }>().exactly({} as Attributes['author'], true);
  is<{ data: { id: number; attributes: { name: string } }[] }>().exactly({} as Attributes['categories'], true);
  is<'title' | 'author' | 'categories' | 'cover'>().exactly('title' as keyof Attributes, true);

  // ---- names, and everything
  const { data: named } = await articles.find({ fields: ['title'], populate: ['author', 'gallery'] });
  is<'title' | 'author' | 'gallery'>().exactly('title' as keyof (typeof named)[number]['attributes'], true);
  const gallery: readonly unknown[] | null = named[0]!.attributes.gallery.data;
  void gallery;
  const { data: star } = await api.collection('editions').find({ fields: 'number', populate: '*' });
  is<'number' | 'cover' | 'articles'>().exactly('number' as keyof (typeof star)[number]['attributes'], true);

  // ---- components and zones
  const { data: parts } = await articles.findOne(1, {
    fields: ['title'],
    populate: {
      seo: { fields: ['metaTitle'] },
      sections: { on: { 'sections.quote': { fields: ['text'], populate: { speaker: { fields: ['name'] } } } } },
    },
  });
  is<{ id: number; metaTitle: string }>().exactly(parts.attributes.seo!, true);
  is<
    {
      __component: 'sections.quote';
      id: number;
      text: string;
      speaker: { data: { id: number; attributes: { name: string } } | null };
    }[]
  >().exactly(parts.attributes.sections, true);
  const { data: zone } = await articles.findOne(1, { fields: ['title'], populate: { sections: true } });
  for (const section of zone.attributes.sections) {
    if (section.__component === 'sections.quote') is<string>().exactly(section.text, true);
    // @ts-expect-error text is not in every component
    else section.text;
  }

  // ---- preview: drafts may be incomplete
  const { data: drafts } = await articles.find({ fields: ['title'], publicationState: 'preview' });
  is<string | null>().exactly(drafts[0]!.attributes.title, true);

  // ---- pages
  const paged = await articles.find({ pagination: { page: 2 } });
  is<number>().exactly(paged.meta.pagination.pageCount, true);
  const offset = await articles.find({ pagination: { start: 10, limit: 5 } });
  is<number>().exactly(offset.meta.pagination.start, true);
  // @ts-expect-error no page where there is an offset
  offset.meta.pagination.page;
  const uncounted = await articles.find({ pagination: { page: 1, withCount: false } });
  // @ts-expect-error no total where nothing was counted
  uncounted.meta.pagination.total;
  for await (const { id, attributes } of articles.all({ fields: ['title'] }))
    is<[number, string]>().exactly([id, attributes.title], true);

  // ---- conditions
  const maybe = await articles.find({}, { ifNoneMatch: paged.etag! });
  // @ts-expect-error it may not have changed
  maybe.data;
  is<string | null>().exactly(maybe!.etag, true);

  // ---- single types, users, files
  const { data: home } = await api.single('homepage').find({ fields: ['headline'] });
  is<{ id: number; attributes: { headline: string | null } }>().exactly(home, true);
  const { jwt, user } = await api.users.login('ada', 'secret');
  is<[string, string]>().exactly([jwt, user.username], true);
  const [file] = await api.files.upload([new File(['x'], 'x.txt')], {
    target: { ref: 'api::article.article', refId: 1, field: 'cover' },
  });
  is<string>().exactly(file!.url, true);
};

export const filters = async (): Promise<void> => {
  await articles.find({
    filters: {
      title: { $containsi: 'water', $not: { $eq: 'x' } },
      kind: ['essay'][0] === 'essay' ? 'essay' : { $in: ['report', 'notes'] },
      readingMinutes: { $between: [2, 5] },
      publishedOn: { $gte: new Date(0) },
      featured: true,
      author: { name: { $startsWith: 'M' }, mentor: { id: { $gt: 1 } } },
      categories: 3,
      cover: { $notNull: true },
      seo: { metaTitle: { $null: true } },
      $or: [{ id: 1 }, { $and: [{ slug: 'a' }, { $not: { slug: 'b' } }] }],
    },
    sort: ['publishedOn:desc', 'author.name', 'seo.metaTitle:asc'],
    locale: 'de',
    _q: 'water',
  });
  // @ts-expect-error there is no such field
  await articles.find({ fields: ['titel'] });
  // @ts-expect-error a relation is no field
  await articles.find({ fields: ['author'] });
  // @ts-expect-error a private field
  await api.collection('authors').find({ fields: ['email'] });
  // @ts-expect-error there is no such relation
  await articles.find({ populate: ['autor'] });
  // @ts-expect-error nor by the other form
  await articles.find({ fields: ['title'], populate: { autor: true } });
  // @ts-expect-error a name deeper inside
  await articles.find({ populate: { author: { fields: ['nam'] } } });
  // @ts-expect-error an option deeper inside
  await articles.find({ populate: { author: { fields: ['name'], pagination: { page: 1 } } } });
  // @ts-expect-error a component that the zone does not have
  await articles.find({ populate: { sections: { on: { 'sections.txt': true } } } });
  // @ts-expect-error there is no such operator
  await articles.find({ filters: { title: { $contain: 'x' } } });
  // @ts-expect-error an operator of texts
  await articles.find({ filters: { readingMinutes: { $contains: 'x' } } });
  // @ts-expect-error a value of another type
  await articles.find({ filters: { readingMinutes: { $gt: 'many' } } });
  // @ts-expect-error a value that the enumeration does not have
  await articles.find({ filters: { kind: 'poem' } });
  // @ts-expect-error a name in a related entry
  await articles.find({ filters: { author: { nam: 'x' } } });
  // @ts-expect-error zones cannot be filtered by
  await articles.find({ filters: { sections: { id: 1 } } });
  // @ts-expect-error there is no such field to sort by
  await articles.find({ sort: 'titel:asc' });
  // @ts-expect-error there is no such relation to sort by
  await articles.find({ sort: ['autor.name'] });
  // @ts-expect-error there is no such direction
  await articles.find({ sort: 'title:up' });
  // @ts-expect-error an option that lists do not have
  await articles.find({ page: 2, fields: ['title'] });
  // @ts-expect-error the type has no locales
  await api.collection('categories').find({ fields: ['name'], locale: 'de' });
  // @ts-expect-error there is no such type
  api.collection('article');
  // @ts-expect-error a single type is no collection
  api.collection('homepage');
};

export const writes = async (): Promise<void> => {
  const { data } = await articles.create(
    {
      title: 'New',
      kind: 'essay',
      publishedOn: new Date(),
      author: 1,
      categories: {
        connect: [1, { id: 2, position: { before: 1 } }, { id: '3', position: { start: true } }],
        disconnect: [4],
      },
      related: [1, { id: 2 }],
      cover: 5,
      gallery: [5, 6],
      seo: { metaTitle: 'New' },
      sections: [
        { __component: 'sections.quote', text: 'x', speaker: { connect: [1] } },
        { __component: 'sections.rich-text', body: 'y' },
      ],
      locale: 'de',
    },
    { fields: ['title'] },
  );
  is<{ id: number; attributes: { title: string } }>().exactly(data, true);
  await articles.create({ publishedAt: null });
  await articles.update(1, { title: 'Newer', categories: { set: [1, 2] }, author: null }, {}, { ifMatch: 'W/"1"' });
  await api.collection('authors').create({ name: 'A', email: 'a@example.org' });
  await api.single('homepage').update({ headline: 'x' });
  await articles.localize(1, { locale: 'fr', title: 'Neuf' });

  // @ts-expect-error a published entry needs its title
  await articles.create({ kind: 'essay' });
  // @ts-expect-error there is no such attribute
  await articles.update(1, { titel: 'x' });
  // @ts-expect-error the server sets it
  await articles.update(1, { createdAt: '2020-01-01' });
  // @ts-expect-error a value of another type
  await articles.update(1, { readingMinutes: 'five' });
  // @ts-expect-error two positions
  await articles.update(1, { categories: { connect: [{ id: 1, position: { before: 1, start: true } }] } });
  // @ts-expect-error set and connect
  await articles.update(1, { categories: { set: [1], connect: [2] } });
  // @ts-expect-error a component that the zone does not have
  await articles.update(1, { sections: [{ __component: 'sections.txt' }] });
  // @ts-expect-error a component of another kind
  await articles.update(1, { seo: { metaTitel: 'x' } });
  // @ts-expect-error an entry keeps its locale
  await articles.update(1, { locale: 'de' });
};

export const errors = (error: DovetailError): boolean => {
  // @ts-expect-error there is no such code
  error.has('body.uniqe');
  return error.has('body.unique') || error.errorName === 'PreconditionFailedError';
};

const flat = createClient<Schema>({ url: 'http://127.0.0.1:1337', format: 'flat' });

export const flatResults = async (): Promise<void> => {
  const { data } = await flat.collection('articles').find({
    fields: ['title'],
    populate: {
      author: { fields: ['name'], populate: { portrait: { fields: ['url'] } } },
      categories: { fields: ['name'] },
      gallery: { fields: ['url'] },
      sections: { on: { 'sections.quote': { fields: ['text'], populate: { speaker: { fields: ['name'] } } } } },
    },
  });
  type Id = { id: number; documentId: `${number}` };
  is<
    (Id & {
      title: string;
      author: (Id & { name: string; portrait: (Id & { url: string }) | null }) | null;
      categories: (Id & { name: string })[];
      gallery: (Id & { url: string })[] | null;
      sections: {
        __component: 'sections.quote';
        id: number;
        text: string;
        speaker: (Id & { name: string }) | null;
      }[];
    })[]
  >().exactly(data, true);
  // @ts-expect-error attributes are beside the id
  data[0]?.attributes;
  // @ts-expect-error relations are not wrapped
  data[0]?.author.data;
  const { data: one } = await flat.collection('articles').findOne(data[0]!.documentId, { fields: 'title' });
  is<Id & { title: string }>().exactly(one, true);
  const { data: made } = await flat.collection('editions').create({ number: 8 }, { fields: 'number' });
  is<Id & { number: number | null }>().exactly(made, true);
  const added = await flat.collection('articles').localize(1, { locale: 'de' });
  is<string>().exactly(added.title, true);
  is<`${number}`>().exactly(added.documentId, true);
  const { data: page } = await flat.single('homepage').find();
  is<`${number}`>().exactly(page.documentId, true);
  for await (const entry of flat.collection('categories').all({ fields: 'name' }))
    is<Id & { name: string }>().exactly(entry, true);
  // users and files are the same in either form
  const me = await flat.users.me();
  is<number>().exactly(me.id, true);
  const anyForm: { format: 'flat' | 'nested' } = { format: 'flat' };
  // @ts-expect-error the form of results must be known to the compiler
  createClient<Schema>({ url: '', ...anyForm });
};
