/** A write in which every part contains its number, so that a partial write shows two numbers. */
import { type Entry, idsOf } from '../world/relations/world.js';

/** The complete state that write number `v` requests; every part of it contains the number. */
export const stateOf = (v: number, books: readonly number[]) => {
  const turned = books.map((_it, i) => books[(i + v) % books.length]!);
  return {
    name: `v${v}`,
    card: { label: `v${v}`, many: turned, inner: { word: `v${v}`, books: turned.slice(1) } },
    cards: Array.from({ length: 1 + (v % 3) }, (_it, i) => ({ label: `v${v} ${i}`, list: turned.slice(0, 2) })),
    zone: [
      { __component: 'parts.note', text: `v${v}`, books: turned },
      ...(v % 2 === 0 ? [{ __component: 'parts.card', label: `v${v}` }] : []),
    ],
    gallery: [1, 2, 3].map((id) => 1 + ((id + v) % 3)),
  };
};

/** The query that shows the complete state. */
export const stateQuery =
  'populate[card][populate][many][fields]=id&populate[card][populate][inner][populate][books][fields]=id&populate[cards][populate][list][fields]=id&populate[zone][populate]=books&populate[gallery][fields]=id';

/** A response in the form of `stateOf`. */
export const shownState = ({ attributes }: Entry) => {
  const of = (owner: unknown, name: string): readonly number[] =>
    idsOf({ id: 0, attributes: owner as Entry['attributes'] }, name);
  const card = attributes['card'] as unknown as { label: string; inner: { word: string } };
  return {
    name: attributes['name'],
    card: {
      label: card.label,
      many: of(card, 'many'),
      inner: { word: card.inner.word, books: of(card.inner, 'books') },
    },
    cards: (attributes['cards'] as unknown as { label: string }[]).map((it) => ({
      label: it.label,
      list: of(it, 'list'),
    })),
    zone: (attributes['zone'] as unknown as { __component: string; text?: string; label?: string }[]).map((it) =>
      it.__component === 'parts.note'
        ? { __component: it.__component, text: it.text, books: of(it, 'books') }
        : { __component: it.__component, label: it.label },
    ),
    gallery: idsOf({ id: 0, attributes }, 'gallery'),
  };
};
