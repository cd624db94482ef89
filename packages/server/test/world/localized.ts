/**
 * A small world of one localized type, `note`, with drafts: attributes of every kind that all locales share, and some
 * that each has of its own. Three files and two plain entries to link; the locales are en (default), de, fr and pt-BR.
 */
import { expect } from 'vitest';
import type { DialectName } from '../../src/sql/dialect.js';
import { newSmallWorld, type SmallOptions, type SmallProject, type SmallWorld } from './small.js';

const i18n = { pluginOptions: { i18n: { localized: true } } };
const file = { type: 'media', multiple: false };

const project: SmallProject = {
  types: {
    note: {
      ...i18n,
      options: { draftAndPublish: true },
      attributes: {
        title: { type: 'string', ...i18n },
        slug: { type: 'uid' },
        code: { type: 'string', required: true },
        weight: { type: 'integer' },
        price: { type: 'decimal' },
        big: { type: 'biginteger' },
        on: { type: 'date' },
        at: { type: 'datetime' },
        extra: { type: 'json' },
        secret: { type: 'password' },
        serial: { type: 'string', unique: true },
        cover: file,
        gallery: { type: 'media', multiple: true },
        own: { ...file, ...i18n },
        card: { type: 'component', component: 'parts.card' },
        cards: { type: 'component', component: 'parts.card', repeatable: true },
        zone: { type: 'dynamiczone', components: ['parts.card', 'parts.line'] },
        line: { type: 'component', component: 'parts.line', ...i18n },
        plain: { type: 'relation', relation: 'manyToOne', target: 'api::plain.plain' },
      },
    },
    plain: { attributes: { text: { type: 'string' } } },
  },
  components: {
    'parts.card': {
      heading: { type: 'string', required: true },
      picture: file,
      scans: { type: 'media', multiple: true },
      lines: { type: 'component', component: 'parts.line', repeatable: true },
      plain: { type: 'relation', relation: 'oneToOne', target: 'api::plain.plain' },
      plains: { type: 'relation', relation: 'oneToMany', target: 'api::plain.plain' },
      subject: { type: 'relation', relation: 'morphToOne' },
      things: { type: 'relation', relation: 'morphToMany' },
    },
    'parts.line': { text: { type: 'string' }, key: { type: 'string', unique: true } },
  },
};

export const locales = ['en', 'de', 'fr', 'pt-BR'] as const;
export const fileIds = [1, 2, 3] as const;
export const plainIds = [1, 2] as const;

export const newLocalizedWorld = async (dialect: DialectName, options: SmallOptions = {}): Promise<SmallWorld> => {
  const world = await newSmallWorld(dialect, project, options);
  await world.insert(
    'i18n_locale',
    locales.map((code, i) => ({ id: i + 1, code })),
  );
  await world.insert(
    'files',
    fileIds.map((id) => ({ id, name: `${id}.png`, mime: 'image/png' })),
  );
  await world.insert(
    'plains',
    plainIds.map((id) => ({ id, text: `plain ${id}` })),
  );
  return world;
};

/** Populates everything but siblings. */
export const everything =
  'populate[cover][fields]=id&populate[gallery][fields]=id&populate[own][fields]=id&populate[plain][fields]=id&' +
  'populate[line]=true&populate[card][populate]=*&populate[cards][populate]=*&populate[zone][populate]=*';

type Fields = Readonly<Record<string, unknown>>;

/** The attributes of a shown entry that all locales share; ids of components are left out, since each locale has its own. */
export const sharedFields = (attributes: Fields): Fields => {
  const { title, slug, own, line, plain, locale, localizations, createdAt, updatedAt, publishedAt, ...rest } =
    attributes;
  return withoutPartIds(rest);
};

/** Only components and elements of polymorphic relations have an id beside their attributes. */
const withoutPartIds = (value: Fields): Fields =>
  JSON.parse(JSON.stringify(value), (_key, it: unknown) => {
    if (
      it === null ||
      typeof it !== 'object' ||
      Array.isArray(it) ||
      !('id' in it) ||
      'attributes' in it ||
      '__type' in it
    )
      return it;
    const { id, ...rest } = it;
    return rest;
  }) as Fields;

/** Ids of the siblings of each entry in the order of its list, from the table. */
export const siblingLists = async (
  world: SmallWorld,
  table = 'notes',
  singular = 'note',
): Promise<Readonly<Record<number, readonly number[]>>> => {
  const links = await world.rows(`${table}_localizations_links`);
  const sorted = [...links].sort((a, b) => Number(a[`${singular}_order`]) - Number(b[`${singular}_order`]));
  return Object.fromEntries(
    (await world.rows(table)).map(({ id }) => [
      Number(id),
      sorted.filter((it) => it[`${singular}_id`] === id).map((it) => Number(it[`inv_${singular}_id`])),
    ]),
  );
};

/** Every component has one owner, and every row of a link table has both its ends. */
export const expectNoOrphans = async (world: SmallWorld): Promise<void> => {
  const ids = async (table: string) => (await world.rows(table)).map((it) => Number(it['id']));
  const owners = { 'api::note.note': await ids('notes'), 'parts.card': await ids('components_parts_cards') };
  const partLinks = [
    ...(await world.rows('notes_components')).map((it) => ({ ...it, owners: owners['api::note.note'] })),
    ...(await world.rows('components_parts_cards_components')).map((it) => ({ ...it, owners: owners['parts.card'] })),
  ] as readonly (Fields & { readonly owners: readonly number[] })[];
  for (const [uid, table] of [
    ['parts.card', 'components_parts_cards'],
    ['parts.line', 'components_parts_lines'],
  ] as const) {
    const linked = partLinks.filter((it) => it['component_type'] === uid).map((it) => Number(it['component_id']));
    expect([table, linked.sort((a, b) => a - b)]).toEqual([table, await ids(table)]);
  }
  for (const it of partLinks) expect(it.owners).toContain(it['entity_id']);
  for (const it of await world.rows('files_related_morphs'))
    expect(owners[it['related_type'] as keyof typeof owners], JSON.stringify(it)).toContain(it['related_id']);
  for (const table of ['plain_links', 'plains_links', 'things_morphs'].map((it) => `components_parts_cards_${it}`))
    for (const it of await world.rows(table)) expect(owners['parts.card']).toContain(it['card_id']);
};
