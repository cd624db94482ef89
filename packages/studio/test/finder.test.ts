/** What the palette asks for, and the order of what it finds. */
import { expect, it } from 'vitest';
import { byNearness, entrySearch } from '../src/shell/searches.js';
import { attribute, contentType } from './made-model.js';

const text = (name: string, type = 'string') => attribute(name, { type, operators: ['$eq', '$containsi'] });

it('every word stands in the name or another short text; long texts and what may not be read are left out', () => {
  const article = contentType(
    'article',
    [
      text('title'),
      text('slug', 'uid'),
      text('body', 'richtext'),
      { ...text('secret'), mayRead: false },
      text('createdBy'),
    ],
    { mainField: 'title', draftAndPublish: true, localized: true },
  );
  const word = (it: string) => ({ $or: [{ title: { $containsi: it } }, { slug: { $containsi: it } }] });
  expect(entrySearch(article, 'slack  water')).toEqual({
    fields: ['title'],
    filters: { $or: [{ $and: [word('slack'), word('water')] }] },
    pagination: { pageSize: 4, withCount: false },
    publicationState: 'preview',
    locale: 'all',
  });
  expect(entrySearch(article, '12')).toMatchObject({
    filters: { $or: [{ $and: [word('12')] }, { id: { $eq: '12' } }] },
  });
});

it('what begins with the text comes first, then what contains it, then what was found by another field', () => {
  const found = ['by slug', 'Slow water', 'Water mill'].map((name) => ({ name }));
  expect(byNearness(found, 'WATER').map((it) => it.name)).toEqual(['Water mill', 'Slow water', 'by slug']);
});
