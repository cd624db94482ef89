import { expect, it } from 'vitest';
import { exampleOf, tourOf } from '../src/rooms/start/tour.js';
import { attribute, contentType, modelOf } from './made-model.js';

const list = (name: string, target: string, inverse: string | null) =>
  attribute(name, {
    kind: 'relation',
    type: 'relation',
    relation: { kind: 'manyToMany', target, inverse, list: true, ordered: true },
  });

it('the tour asks for the type with most links, and orders a list that has no other side', () => {
  const article = contentType('article', [
    list('categories', 'api::category.category', 'articles'),
    list('related', 'api::article.article', null),
  ]);
  const edition = contentType('edition', [list('articles', 'api::article.article', null)]);
  const category = contentType('category', [list('articles', 'api::article.article', 'categories')]);
  const tour = tourOf(modelOf([article, category, edition]));
  expect(tour.asked?.singular).toBe('article');
  expect(tour.ordered).toMatchObject({ type: { singular: 'edition' }, attribute: 'articles', target: article });
});

it('a model without lists has no such steps', () => {
  expect(tourOf(modelOf([]))).toEqual({ asked: null, ordered: null });
});

it('the example asks for names, and for those of what is related and may be read', () => {
  const named = { mainField: 'name' };
  const category = contentType('category', [], named);
  const closed = { ...contentType('secret', [], named), may: { ...category.may, find: false } };
  const article = contentType(
    'article',
    [list('secrets', 'api::secret.secret', null), list('categories', 'api::category.category', null)],
    named,
  );
  const model = modelOf([article, category, closed]);
  expect(exampleOf(model, article)).toEqual({
    type: article,
    query: {
      fields: ['name'],
      populate: { categories: { fields: ['name'] } },
      pagination: { pageSize: 2 },
    },
  });
  expect(exampleOf(model, null)).toBeNull();
});
