/** Forms: what is read, what is sent, where faults stand, and what becomes of edits when somebody else saves. */
import { encodeQuery } from 'dovetail-client';
import { describe, expect, it } from 'vitest';
import { entryName } from '../src/model/entry-name.js';
import type { Model } from '../src/model/model.js';
import { bodyOf, unsendable } from '../src/rooms/content/form/body.js';
import { entryOf, isUnchanged, newEntry } from '../src/rooms/content/form/entry.js';
import {
  bodyOfForm,
  changedNames,
  type EntryForm,
  formOf,
  isDirty,
  reduceForm,
} from '../src/rooms/content/form/entry-form.js';
import { placeFaults } from '../src/rooms/content/form/faults.js';
import type { Field, Fields, Json, PartsField } from '../src/rooms/content/form/fields.js';
import { copyOfPart, movedPart, newPart, withoutPart } from '../src/rooms/content/form/parts.js';
import { fieldAt, pathInWords } from '../src/rooms/content/form/paths.js';
import { editQuery } from '../src/rooms/content/form/query.js';
import { listPath } from '../src/rooms/content/relations/source.js';
import { type Choice, conflictOf, resolved } from '../src/rooms/content/saving/conflict.js';
import { component, media, model, relation, type, zone } from './made-model.js';

const link = type('shared.link', {
  label: { type: 'string' },
  href: { type: 'string' },
  external: { type: 'boolean', default: false },
});
const seo = type('shared.seo', {
  title: { type: 'string' },
  links: component('shared.link', true),
  image: media(),
});
const quote = type('sections.quote', { text: { type: 'text' }, speaker: relation('api::author.author', false) });
const gallery = type('sections.gallery', { title: { type: 'string' }, pictures: media(true) });
const author = type('api::author.author', { name: { type: 'string' }, links: component('shared.link', true) });
const article = type(
  'api::article.article',
  {
    title: { type: 'string' },
    facts: { type: 'json' },
    secret: { type: 'password', mayRead: false },
    hidden: { type: 'string', mayRead: false },
    kind: { type: 'enumeration', enum: ['essay', 'notes'], default: 'essay' },
    author: relation('api::author.author', false),
    related: relation('api::article.article', true),
    cover: media(),
    seo: component('shared.seo'),
    sections: zone('sections.quote', 'sections.gallery'),
    createdAt: { type: 'datetime' },
  },
  { draftAndPublish: true, localized: true },
);
const made = model(link, seo, quote, gallery, author, article);

const answer = {
  id: 7,
  attributes: {
    title: 'Slack Water',
    facts: { tides: [1, 2] },
    kind: 'essay',
    locale: 'en',
    publishedAt: null,
    author: { data: { id: 2, attributes: { name: 'Maren' } } },
    cover: {
      data: { id: 31, attributes: { name: 'sea.jpg', url: '/uploads/sea.jpg', mime: 'image/jpeg', size: 12.5 } },
    },
    seo: {
      id: 5,
      title: 'Slack',
      image: { data: null },
      links: [
        { id: 1, label: 'One', href: '/1', external: false },
        { id: 2, label: 'Two', href: '/2', external: true },
      ],
    },
    sections: [
      { __component: 'sections.quote', id: 3, text: 'Mind the gap', speaker: { data: null } },
      { __component: 'sections.gallery', id: 3, title: 'Harbour', pictures: { data: [{ id: 31, attributes: {} }] } },
    ],
    localizations: { data: [{ id: 8, attributes: { locale: 'de', publishedAt: null } }] },
  },
};
const stored = entryOf(made, article, answer, '"v1"');
const scalar = (value: Json): Field => ({ kind: 'scalar', value });
const set = (form: EntryForm, path: string, field: Field): EntryForm => reduceForm(form, { kind: 'set', path, field });
const parts = (form: EntryForm | Fields, path: string): PartsField =>
  fieldAt('values' in form ? (form as EntryForm).values : (form as Fields), path) as PartsField;
const body = (form: EntryForm) => bodyOfForm(made, article, form);

const quoteKey = 'sections.quote:3';
const galleryKey = 'sections.gallery:3';

describe('reading an entry', () => {
  it('asks for components at all depths, each component of a zone, media, and of relations only their names', () => {
    expect(decodeURIComponent(encodeQuery(editQuery(made, article))).split('&')).toEqual([
      'publicationState=preview',
      'populate[author][fields][0]=name',
      'populate[cover]=true',
      'populate[seo][populate][links]=true',
      'populate[seo][populate][image]=true',
      'populate[sections][on][sections.quote][populate][speaker][fields][0]=name',
      'populate[sections][on][sections.gallery][populate][pictures]=true',
      'populate[localizations][fields][0]=locale',
      'populate[localizations][fields][1]=publishedAt',
    ]);
  });

  it('names what is inside of very many components once, so that the URL stays within what servers take', () => {
    const many = Array.from({ length: 300 }, (_, i) =>
      type(`sections.part-${i}`, { title: { type: 'string' }, links: component('shared.link', true), image: media() }),
    );
    const page = type('api::page.page', { parts: zone(...many.map(({ uid }) => uid)), seo: component('shared.seo') });
    const { populate } = editQuery(model(link, seo, page, ...many), page);
    expect(populate).toEqual(['parts.links', 'parts.image', 'seo.links', 'seo.image']);
  });

  it('keeps values as they are, and leaves relation lists to be read in windows', () => {
    expect(stored).toMatchObject({ id: 7, etag: '"v1"', locale: 'en', localizations: [{ id: 8, locale: 'de' }] });
    expect(Object.keys(stored.fields)).toEqual([
      'title',
      'facts',
      'secret',
      'kind',
      'author',
      'related',
      'cover',
      'seo',
      'sections',
    ]);
    expect(stored.fields['related']).toEqual({ kind: 'relation', stored: null, edit: null });
    expect(stored.fields['author']).toMatchObject({ stored: [{ id: 2, title: 'Maren', type: 'api::author.author' }] });
    expect(parts(stored.fields, 'sections').parts.map(({ key }) => key)).toEqual([quoteKey, galleryKey]);
  });

  it('reads the form of responses without attributes too', () => {
    const flat = { id: 7, ...answer.attributes, cover: { id: 31, name: 'sea.jpg' }, author: { id: 2, name: 'Maren' } };
    const { fields } = entryOf(made, article, flat, null);
    expect(fields['cover']).toMatchObject({ files: [{ id: 31, name: 'sea.jpg' }] });
    expect(fields['author']).toMatchObject({ stored: [{ id: 2, title: 'Maren' }] });
  });
});

describe('the name of an entry', () => {
  it('is what its main field holds, else its type and id, the same everywhere', () => {
    expect(entryName(author, 2, ' Maren ')).toBe('Maren');
    expect(entryName(author, 2, 7)).toBe('7');
    expect(entryName(author, 2, null)).toBe('author 2');
    expect(entryName({ ...author, kind: 'single' }, 2, '')).toBe('author');
    expect(entryName(null, 2, undefined)).toBe('#2');
  });
});

describe('what is sent', () => {
  it('is nothing of what has not changed', () => {
    const form = formOf(stored);
    expect(body(form)).toEqual({});
    const there = set(form, 'title', scalar('Other'));
    expect(changedNames(there)).toEqual(['title']);
    const back = set(there, 'title', scalar('Slack Water'));
    expect(isDirty(back)).toBe(false);
    expect(set(form, 'facts', scalar({ tides: [1, 2] })).values).toBe(stored.fields);
  });

  it('tells null from what is absent', () => {
    expect(body(set(formOf(stored), 'kind', scalar(null)))).toEqual({ kind: null });
    expect(body(set(formOf(stored), 'cover', { kind: 'media', files: [] }))).toEqual({ cover: null });
  });

  it('names stored components by their ids, with what has changed in them', () => {
    const path = 'seo/shared.seo:5/links/shared.link:2/label';
    const form = set(formOf(stored), path, scalar('Zwei'));
    expect(body(form)).toEqual({ seo: { id: 5, links: [{ id: 1 }, { id: 2, label: 'Zwei' }] } });
    expect(set(form, path, scalar('Two')).values).toBe(stored.fields);
  });

  it('names the component of each element of a zone, in the new order', () => {
    const zoneParts = parts(stored.fields, 'sections').parts;
    const moved = set(formOf(stored), 'sections', { kind: 'parts', parts: movedPart(zoneParts, galleryKey, 0) });
    expect(body(moved)).toEqual({
      sections: [
        { id: 3, __component: 'sections.gallery' },
        { id: 3, __component: 'sections.quote' },
      ],
    });
    const without = set(moved, 'sections', {
      kind: 'parts',
      parts: withoutPart(parts(moved, 'sections').parts, quoteKey),
    });
    expect(body(without)).toEqual({ sections: [{ id: 3, __component: 'sections.gallery' }] });
  });

  it('is of a new component what differs from its defaults', () => {
    const field: Field = { kind: 'parts', parts: [newPart(link, 'new:1')] };
    const form = set(formOf(stored), 'seo/shared.seo:5/links', field);
    expect(body(form)).toEqual({ seo: { id: 5, links: [{}] } });
    const filled = set(form, 'seo/shared.seo:5/links/new:1/external', scalar(null));
    expect(body(filled)).toEqual({ seo: { id: 5, links: [{ external: null }] } });
  });

  it('is of a copied component all it holds, without ids', () => {
    const [part] = parts(stored.fields, 'seo').parts;
    let count = 0;
    const copy = copyOfPart(made, part!, 'create', () => `new:${++count}`);
    expect(bodyOf(made, article, {}, { seo: { kind: 'parts', parts: [copy] } })).toEqual({
      seo: {
        title: 'Slack',
        links: [
          { label: 'One', href: '/1' },
          { label: 'Two', href: '/2', external: true },
        ],
      },
    });
  });

  it('is of a copied component the one entry that it names, which its form shows, too', () => {
    const speaker = { id: 4, type: 'api::author.author', title: 'Ada', publishedAt: null, locale: null };
    const part = newPart(quote, 'new:1');
    const named = { ...part, fields: { ...part.fields, speaker: { kind: 'relation', stored: [speaker], edit: null } } };
    const copy = copyOfPart(made, named as typeof part, 'create', () => 'new:2');
    expect(copy.fields['speaker']).toEqual({ kind: 'relation', stored: [], edit: { kind: 'one', row: speaker } });
    expect(bodyOf(made, article, {}, { sections: { kind: 'parts', parts: [copy] } })).toEqual({
      sections: [{ __component: 'sections.quote', speaker: 4 }],
    });
  });

  it('is of a copy what its kind of save may write', () => {
    const [part] = parts(stored.fields, 'seo').parts;
    const locked = (uid: string, name: string, rights: object): Model => ({
      ...made,
      types: made.types.map((type) => ({
        ...type,
        attributes: type.attributes.map((it) => (type.uid === uid && it.name === name ? { ...it, ...rights } : it)),
      })),
    });
    const sent = (model: Model, writing: 'create' | 'update') =>
      bodyOf(model, article, {}, { seo: { kind: 'parts', parts: [copyOfPart(model, part!, writing)] } })['seo'];
    const inNew = locked('shared.seo', 'title', { mayUpdate: false });
    expect(sent(inNew, 'create')).toHaveProperty('title', 'Slack');
    expect(sent(inNew, 'update')).not.toHaveProperty('title');
    const inStored = locked('shared.link', 'href', { mayCreate: false });
    expect(sent(inStored, 'create')).toMatchObject({ links: [{ label: 'One' }, { label: 'Two', external: true }] });
    expect(JSON.stringify(sent(inStored, 'create'))).not.toContain('href');
    expect(sent(inStored, 'update')).toMatchObject({ links: [{ href: '/1' }, { href: '/2' }] });
  });

  it('is null for a component that is taken away, and an empty list for a list', () => {
    const none: Field = { kind: 'parts', parts: [] };
    expect(body(set(formOf(stored), 'seo', none))).toEqual({ seo: null });
    expect(body(set(formOf(stored), 'sections', none))).toEqual({ sections: [] });
  });

  it('is of a new entry what differs from its defaults', () => {
    const form = formOf(newEntry(article, 'en'));
    expect(body(form)).toEqual({});
    expect(body(set(set(form, 'title', scalar('New')), 'kind', scalar(null)))).toEqual({ title: 'New', kind: null });
    expect(Object.keys(form.values)).toContain('secret');
  });

  it('can be a date that a type without drafts calls publishedAt itself, and nothing that the server adds', () => {
    const attributes = { title: {}, publishedAt: { type: 'datetime' }, locale: {}, createdAt: { type: 'datetime' } };
    const fields = (given: object) => Object.keys(newEntry(type('api::memo.memo', attributes, given), null).fields);
    expect(fields({})).toEqual(['title', 'publishedAt', 'locale']);
    expect(fields({ draftAndPublish: true, localized: true })).toEqual(['title']);
  });

  it('is not sent while a text is not JSON', () => {
    const form = set(formOf(stored), 'facts', { kind: 'scalar', value: null, unread: '{' });
    expect(isDirty(form)).toBe(true);
    expect(unsendable(stored.fields, form.values)).toEqual([{ kind: 'not-json', path: 'facts' }]);
    const digits = set(form, 'facts', { kind: 'scalar', value: null, unread: '{"a": 9007199254740993}' });
    expect(unsendable(stored.fields, digits.values)).toEqual([
      { kind: 'too-many-digits', path: 'facts', number: '9007199254740993' },
    ]);
    // what is stored so is not sent
    expect(unsendable(digits.values, digits.values)).toEqual([]);
  });
});

describe('faults', () => {
  it('are told at places in words, without the keys of components', () => {
    expect(pathInWords(stored.fields, 'facts')).toBe('facts');
    expect(pathInWords(stored.fields, 'seo/shared.seo:5/links/shared.link:2/href')).toBe('seo › links 2 › href');
    expect(pathInWords(stored.fields, `sections/${galleryKey}/title`)).toBe('sections 2 › title');
  });

  const at = (path: readonly string[]) => Object.keys(placeFaults(stored.fields, [{ path, message: 'no' }]))[0];

  it('stand at the field that the path of the body leads to', () => {
    expect(at(['title'])).toBe('title');
    expect(at(['seo', 'links', '1', 'href'])).toBe('seo/shared.seo:5/links/shared.link:2/href');
    expect(at(['sections', '1', 'title'])).toBe(`sections/${galleryKey}/title`);
    expect(at(['sections', '1'])).toBe(`sections/${galleryKey}`);
    expect(at(['sections', '1', '__component'])).toBe(`sections/${galleryKey}`);
    expect(at(['facts', '0', 'children'])).toBe('facts');
    expect(at(['sections', '9'])).toBe('sections');
    expect(at(['nothing'])).toBe('');
    expect(at([])).toBe('');
  });

  it('go when what they are about changes, and stay with their component when it moves', () => {
    const refused = reduceForm(formOf(stored), {
      kind: 'refused',
      message: '2 errors occurred',
      faults: [
        { path: ['sections', '1', 'title'], message: 'too long' },
        { path: ['title'], message: 'missing' },
      ],
    });
    const moved = set(refused, 'title', scalar('x'));
    expect(moved.faults).toEqual({ [`sections/${galleryKey}/title`]: ['too long'] });
    expect(set(moved, `sections/${galleryKey}/title`, scalar('x')).faults).toEqual({});
  });
});

describe('edits over what somebody else has stored', () => {
  const theirs = (change: object) =>
    entryOf(made, article, { id: 7, attributes: { ...answer.attributes, ...change } }, '"v2"');
  const rebased = (form: EntryForm, change: object) => reduceForm(form, { kind: 'rebased', entry: theirs(change) });

  it('keep only what was edited; all else is theirs', () => {
    const form = rebased(set(formOf(stored), 'title', scalar('Mine')), { kind: 'notes', facts: 1 });
    expect(body(form)).toEqual({ title: 'Mine' });
    expect(form.values['kind']).toEqual(scalar('notes'));
    expect(form.conflicts).toEqual([]);
  });

  it('name what both have changed, and nothing if both wrote the same', () => {
    const mine = set(formOf(stored), 'title', scalar('Mine'));
    expect(rebased(mine, { title: 'Theirs' }).conflicts).toEqual(['title']);
    const same = rebased(mine, { title: 'Mine' });
    expect([same.conflicts, isDirty(same)]).toEqual([[], false]);
  });

  it('go on inside a component beside changes of its other attributes', () => {
    const mine = set(formOf(stored), `sections/${quoteKey}/text`, scalar('Mine'));
    const [first, second] = answer.attributes.sections;
    const form = rebased(mine, {
      sections: [second, { ...first, text: 'Mind the gap' }, { ...second, id: 9, title: 'New' }],
    });
    expect(form.conflicts).toEqual([]);
    expect(body(form)).toEqual({
      sections: [
        { id: 3, __component: 'sections.gallery' },
        { id: 3, __component: 'sections.quote', text: 'Mine' },
        { id: 9, __component: 'sections.gallery' },
      ],
    });
  });

  it('keep the order that was made here, with what was added there behind its neighbour', () => {
    const zoneParts = parts(stored.fields, 'sections').parts;
    const mine = set(formOf(stored), 'sections', { kind: 'parts', parts: movedPart(zoneParts, galleryKey, 0) });
    const [first, second] = answer.attributes.sections;
    const form = rebased(mine, { sections: [first, { ...second, id: 9 }, second] });
    expect(parts(form, 'sections').parts.map(({ key }) => key)).toEqual([galleryKey, quoteKey, 'sections.gallery:9']);
  });

  it('bring a component back as a new one if it was edited here and removed there', () => {
    const [, second] = answer.attributes.sections;
    const untouched = rebased(set(formOf(stored), 'title', scalar('Mine')), { sections: [second] });
    expect(body(untouched)).toEqual({ title: 'Mine' });
    const edited = rebased(set(formOf(stored), `sections/${quoteKey}/text`, scalar('Mine')), { sections: [second] });
    expect(edited.conflicts).toEqual([`sections/${quoteKey}`]);
    expect(body(edited)).toEqual({
      sections: [
        { id: 3, __component: 'sections.gallery' },
        { __component: 'sections.quote', text: 'Mine' },
      ],
    });
  });

  it('are restored from plain JSON over what is stored by then', () => {
    const mine = set(formOf(stored), 'title', scalar('Mine'));
    const kept = JSON.parse(JSON.stringify({ base: mine.entry.fields, values: mine.values })) as {
      base: Fields;
      values: Fields;
    };
    const form = reduceForm(formOf(theirs({ kind: 'notes' })), { kind: 'restored', ...kept });
    expect(body(form)).toEqual({ title: 'Mine' });
    expect(changedNames(form)).toEqual(['title']);
  });
});

describe('edits made while the server saves', () => {
  const savedAs = (sent: Fields, change: object) => {
    const entry = entryOf(made, article, { id: 7, attributes: { ...answer.attributes, ...change } }, '"v2"');
    return { kind: 'saved', entry, sent } as const;
  };

  it('stay unsaved beside what was saved; without any, nothing is unsaved', () => {
    const sent = set(formOf(stored), 'title', scalar('Sent'));
    expect(isDirty(reduceForm(sent, savedAs(sent.values, { title: 'Sent' })))).toBe(false);
    const typed = set(set(sent, 'title', scalar('Sent, and more')), 'kind', scalar('notes'));
    const form = reduceForm(typed, savedAs(sent.values, { title: 'Sent' }));
    expect(body(form)).toEqual({ title: 'Sent, and more', kind: 'notes' });
    expect(form.conflicts).toEqual([]);
  });

  it('go on in the component that the save has stored, which does not become two', () => {
    const [first, second] = answer.attributes.sections;
    const added = newPart(quote);
    const sent = set(formOf(stored), 'sections', {
      kind: 'parts',
      parts: [...parts(stored.fields, 'sections').parts, added],
    });
    const typed = set(sent, `sections/${added.key}/text`, scalar('Mine'));
    const form = reduceForm(
      typed,
      savedAs(sent.values, { sections: [first, second, { __component: 'sections.quote', id: 12, text: null }] }),
    );
    expect(parts(form, 'sections').parts.map(({ id }) => id)).toEqual([first?.id, second?.id, 12]);
    expect(body(form)).toMatchObject({ sections: [{}, {}, { id: 12, __component: 'sections.quote', text: 'Mine' }] });
  });
});

describe('what two people have changed', () => {
  const theirs = (change: object) =>
    entryOf(made, article, { id: 7, attributes: { ...answer.attributes, ...change } }, '"v2"').fields;
  const choose = (mine: Fields, other: Fields, choices: readonly (readonly [string, Choice])[] = []) =>
    bodyOf(made, article, other, resolved(stored.fields, mine, other, new Map(choices)));

  it('is told apart: both, only they, only I', () => {
    const mine = set(set(formOf(stored), 'title', scalar('Mine')), 'kind', scalar('notes')).values;
    const other = theirs({ title: 'Theirs', facts: 1 });
    const found = conflictOf(stored.fields, mine, other);
    expect(found.map(({ path, by }) => [path, by])).toEqual([
      ['title', 'both'],
      ['facts', 'theirs'],
      ['kind', 'mine'],
    ]);
    expect(choose(mine, other)).toEqual({ title: 'Mine', kind: 'notes' });
    const turned = choose(mine, other, [
      ['title', 'theirs'],
      ['facts', 'mine'],
      ['kind', 'theirs'],
    ]);
    expect(turned).toEqual({ facts: { tides: [1, 2] } });
  });

  it('of different components both can stand, or either', () => {
    const [first, second] = answer.attributes.sections;
    const mine = set(formOf(stored), `sections/${quoteKey}/text`, scalar('Mine')).values;
    const other = theirs({ sections: [first, { ...second, title: 'Theirs' }] });
    expect(conflictOf(stored.fields, mine, other).map(({ path, by }) => [path, by])).toEqual([['sections', 'apart']]);
    const quoteIs = (text?: string) => ({ id: first!.id, __component: 'sections.quote', ...(text ? { text } : {}) });
    const other3 = { id: second!.id, __component: 'sections.gallery' };
    expect(choose(mine, other)).toEqual({ sections: [quoteIs('Mine'), other3] });
    expect(choose(mine, other, [['sections', 'theirs']])).toEqual({});
    expect(choose(mine, other, [['sections', 'mine']])).toEqual({
      sections: [quoteIs('Mine'), { ...other3, title: expect.anything() as unknown }],
    });
  });

  it('a relation that is put back as it was is sent', () => {
    const other = theirs({ author: { data: { id: 99, attributes: { name: 'Other' } } } });
    expect(conflictOf(stored.fields, stored.fields, other).map(({ path, by }) => [path, by])).toEqual([
      ['author', 'theirs'],
    ]);
    const id = (stored.fields['author'] as unknown as { stored: { id: number }[] }).stored[0]?.id ?? null;
    expect(choose(stored.fields, other, [['author', 'mine']])).toEqual({ author: id });
  });
});

describe('paths of lists', () => {
  it('are those of the server: zones name the component, other attributes its id', () => {
    expect(listPath(made, article, 'related')).toBe('related');
    expect(listPath(made, article, 'sections/sections.quote:3/lists')).toBe('sections/sections.quote/3/lists');
    expect(listPath(made, article, 'seo/shared.seo:5/links/shared.link:2/lists')).toBe('seo/5/links/2/lists');
  });
});

describe('an entry as it was created', () => {
  it('is one that nobody else has changed, nor anybody after a minute', () => {
    const [ann, bo] = ['Ann', 'Bo'].map((name, i) => ({ id: i + 1, name }));
    const created = { ...newEntry(article, 'en'), createdAt: '2026-01-31T12:00:00.000Z', createdBy: ann! };
    const soon = '2026-01-31T12:00:59.000Z';
    expect(isUnchanged({ ...created, updatedAt: soon, updatedBy: ann! })).toBe(true);
    expect(isUnchanged({ ...created, updatedAt: '2026-01-31T12:01:00.000Z', updatedBy: ann! })).toBe(false);
    expect(isUnchanged({ ...created, updatedAt: soon, updatedBy: bo! })).toBe(false);
    // by a program, and then by an administrator
    expect(isUnchanged({ ...created, createdBy: null, updatedAt: soon, updatedBy: ann! })).toBe(false);
    expect(isUnchanged({ ...created, createdBy: null, updatedAt: soon, updatedBy: null })).toBe(true);
  });
});
