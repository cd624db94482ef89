/**
 * Random writes of localized entries over HTTP against a model in memory: creations, siblings from any of a group,
 * updates from any of them, deletions, and requests that must be refused. After each step every entry shows what the
 * model shows: its own values, those that it shares, and its siblings in order.
 */
import { describe, expect, test } from 'vitest';
import { newRandom, type Random, seedOfRun } from '../oracle/random.js';
import { dialects } from '../world/databases.js';
import {
  everything,
  expectNoOrphans,
  fileIds,
  locales,
  newLocalizedWorld,
  plainIds,
  sharedFields,
} from '../world/localized.js';
import type { SmallWorld } from '../world/small.js';

const seed = seedOfRun();
/** 5,000 in a full run. */
const steps = Number(process.env['DOVETAIL_LOCALE_STEPS'] ?? 400);
const entriesMax = 14;

type Fields = Readonly<Record<string, unknown>>;
type Mutable = Record<string, unknown>;

interface Line {
  readonly text: string;
}
interface Card {
  readonly heading: string;
  readonly picture: number | null;
  readonly scans: readonly number[];
  readonly lines: readonly Line[];
  readonly plain: number | null;
  readonly plains: readonly number[];
}
type Panel = ({ readonly __component: 'parts.card' } & Card) | ({ readonly __component: 'parts.line' } & Line);

interface Shared {
  readonly code: string | null;
  readonly weight: number | null;
  readonly extra: unknown;
  readonly cover: number | null;
  readonly gallery: readonly number[];
  readonly card: Card | null;
  readonly cards: readonly Card[];
  readonly zone: readonly Panel[];
}

interface Group {
  shared: Shared;
}

interface Note {
  readonly id: number;
  readonly locale: string;
  readonly group: Group;
  title: string | null;
  line: string | null;
  plain: number | null;
  isPublished: boolean;
  /** Its siblings in order. */
  list: readonly number[];
}

// ---- random values, in the form of bodies

const orNull = <T>(random: Random, make: () => T): T | null => (random.chance(0.25) ? null : make());
const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);
const word = (random: Random): string => random.pick(['ash', 'birch', 'oak', 'ü', "it's", '']) + random.below(100);

const newLine = (random: Random): Line => ({ text: word(random) });
const newCard = (random: Random): Card => ({
  heading: word(random),
  picture: orNull(random, () => random.pick(fileIds)),
  scans: random.sample(fileIds, random.below(3)),
  lines: times(random.below(3), () => newLine(random)),
  plain: orNull(random, () => random.pick(plainIds)),
  plains: random.sample(plainIds, random.below(3)),
});
const newPanel = (random: Random): Panel =>
  random.chance(0.5)
    ? { __component: 'parts.card', ...newCard(random) }
    : { __component: 'parts.line', ...newLine(random) };

const newShared = (random: Random): Shared => ({
  code: random.chance(0.1) ? null : word(random),
  weight: orNull(random, () => random.below(1000)),
  extra: random.pick([null, 0, 'text', { a: [1, null] }, []]),
  cover: orNull(random, () => random.pick(fileIds)),
  gallery: random.sample(fileIds, random.below(4)),
  card: orNull(random, () => newCard(random)),
  cards: times(random.below(3), () => newCard(random)),
  zone: times(random.below(3), () => newPanel(random)),
});
const sharedNames = ['code', 'weight', 'extra', 'cover', 'gallery', 'card', 'cards', 'zone'] as const;
const noShared: Shared = {
  ...{ code: null, weight: null, extra: null, cover: null, gallery: [], card: null, cards: [], zone: [] },
};

const pick = (values: Shared, names: readonly (keyof Shared)[]): Partial<Shared> =>
  Object.fromEntries(names.map((name) => [name, values[name]]));

// ---- what a response shows, in the same form

const idOf = (value: unknown): number | null => (value as { data: { id: number } | null }).data?.id ?? null;
const idsOf = (value: unknown): readonly number[] =>
  ((value as { data: readonly { id: number }[] | null }).data ?? []).map((it) => it.id);

const shownLine = ({ text }: Fields): Line => ({ text: text as string });
const shownCard = (card: Fields): Card => ({
  heading: card['heading'] as string,
  picture: idOf(card['picture']),
  scans: idsOf(card['scans']),
  lines: (card['lines'] as readonly Fields[]).map(shownLine),
  plain: idOf(card['plain']),
  plains: idsOf(card['plains']),
});
const shownPanel = (panel: Fields): Panel =>
  panel['__component'] === 'parts.card'
    ? { __component: 'parts.card', ...shownCard(panel) }
    : { __component: 'parts.line', ...shownLine(panel) };

const shownNote = (id: number, attributes: Fields) => {
  const shared = sharedFields(attributes);
  return {
    id,
    locale: attributes['locale'],
    title: attributes['title'],
    line: (attributes['line'] as Fields | null)?.['text'] ?? null,
    plain: idOf(attributes['plain']),
    isPublished: attributes['publishedAt'] !== null,
    list: idsOf(attributes['localizations']),
    shared: {
      ...{ code: shared['code'], weight: shared['weight'], extra: shared['extra'] },
      ...{ cover: idOf(shared['cover']), gallery: idsOf(shared['gallery']) },
      card: shared['card'] === null ? null : shownCard(shared['card'] as Fields),
      cards: (shared['cards'] as readonly Fields[]).map(shownCard),
      zone: (shared['zone'] as readonly Fields[]).map(shownPanel),
    },
  };
};

const readAll = async (world: SmallWorld) => {
  const url = `/api/notes?locale=all&publicationState=preview&sort=id&pagination[pageSize]=100&${everything}&populate[localizations][fields]=id`;
  const { status, body, text } = await world.send('GET', url);
  if (status !== 200) throw new Error(`${status}: ${text}`);
  return (body as { data: readonly { id: number; attributes: Fields }[] }).data;
};

// ---- the model

const without = (list: readonly number[], id: number): readonly number[] => list.filter((it) => it !== id);

const newModel = () => {
  const notes: Note[] = [];
  const siblingsOf = (note: Note): readonly Note[] => notes.filter((it) => it.group === note.group && it !== note);
  const join = (note: Note, source: Note): void => {
    const order = [note.id, source.id, ...source.list];
    notes.push(note);
    for (const it of [note, ...siblingsOf(note)]) it.list = without(order, it.id);
  };
  const remove = (note: Note): void => {
    for (const it of siblingsOf(note)) it.list = without(it.list, note.id);
    notes.splice(notes.indexOf(note), 1);
  };
  return { notes, siblingsOf, join, remove };
};

const shown = ({ group, ...note }: Note) => ({ ...note, shared: group.shared });

describe.each(dialects)('locales on %s', (dialect) => {
  test(`LO7, LO8, LO9: after ${steps} random writes every entry shows what the model shows (seed ${seed})`, {
    timeout: 3_600_000,
  }, async () => {
    const world = await newLocalizedWorld(dialect);
    const random = newRandom(`${seed}/${dialect}`);
    const { notes, siblingsOf, join, remove } = newModel();
    const counts = { accepted: 0, refused: 0 };

    const send = async (method: string, url: string, body: unknown, isRight: boolean, what: string) => {
      const answer = await world.send(method, url, body);
      expect(answer.status, `${what}: ${method} ${url} ${JSON.stringify(body)}: ${answer.text}`).toBe(
        isRight ? 200 : 400,
      );
      counts[isRight ? 'accepted' : 'refused'] += 1;
      return answer.body as { readonly id: number; readonly data: { readonly id: number } };
    };
    const someShared = () => pick(newShared(random), random.sample(sharedNames, random.below(5)));
    const newOwn = (): Pick<Note, 'title' | 'line' | 'plain'> => ({
      title: orNull(random, () => word(random)),
      line: orNull(random, () => word(random)),
      plain: orNull(random, () => random.pick(plainIds)),
    });
    const ownBody = ({ title, line, plain }: Pick<Note, 'title' | 'line' | 'plain'>) => ({
      ...{ title, plain, line: line === null ? null : { text: line } },
    });

    const create = async (what: string): Promise<void> => {
      const [own, given, locale, isPublished] = [newOwn(), someShared(), random.pick(locales), random.chance(0.6)];
      const shared = { ...noShared, ...given };
      const data = { ...ownBody(own), ...given, locale, ...(isPublished ? {} : { publishedAt: null }) };
      const isRight = !isPublished || shared.code !== null;
      const { data: made } = await send('POST', '/api/notes', { data }, isRight, what);
      if (isRight) notes.push({ id: made.id, locale, group: { shared }, ...own, isPublished, list: [] });
    };

    const localize = async (source: Note, what: string): Promise<void> => {
      const [own, given, locale, isPublished] = [newOwn(), someShared(), random.pick(locales), random.chance(0.5)];
      const group = [source, ...siblingsOf(source)];
      const shared = { ...source.group.shared, ...given };
      const body = {
        ...{ ...ownBody(own), ...given, locale },
        ...(isPublished ? { publishedAt: '2024-03-01T00:00:00.000Z' } : {}),
      };
      const isComplete =
        shared.code !== null || !(isPublished || ('code' in given && group.some((it) => it.isPublished)));
      const isRight = isComplete && group.every((it) => it.locale !== locale);
      const made = await send('POST', `/api/notes/${source.id}/localizations`, body, isRight, what);
      if (!isRight) return;
      source.group.shared = shared;
      join({ id: made.id, locale, group: source.group, ...own, isPublished, list: [] }, source);
    };

    /** Cards of the body: some kept by id, with or without a change, some new, in any order. */
    const changedCards = (stored: readonly Fields[], cards: readonly Card[]) => {
      const kept = random.shuffle([...stored.keys()].filter(() => random.chance(0.6))).map((i) => {
        const heading = word(random);
        const id = stored[i]!['id'];
        return random.chance(0.5)
          ? { body: { id }, card: cards[i]! }
          : { body: { id, heading }, card: { ...cards[i]!, heading } };
      });
      const made = times(random.below(2), () => newCard(random)).map((card) => ({ body: card, card }));
      return random.shuffle<{ readonly body: unknown; readonly card: Card }>([...kept, ...made]);
    };

    const update = async (note: Note, what: string): Promise<void> => {
      const { shared } = note.group;
      const own = random.chance(0.5) ? newOwn() : null;
      const given: Partial<Mutable> = someShared();
      const body: Mutable = { ...(own ? ownBody(own) : {}), ...given };
      if (random.chance(0.4)) {
        const { attributes } = (await readAll(world)).find((it) => it.id === note.id)!;
        const changed = changedCards(attributes['cards'] as readonly Fields[], shared.cards);
        body['cards'] = changed.map((it) => it.body);
        given['cards'] = changed.map((it) => it.card);
        if (shared.card !== null && random.chance(0.5)) {
          const { id } = attributes['card'] as Fields;
          const lines = times(random.below(3), () => newLine(random));
          body['card'] = { id, lines };
          given['card'] = { ...shared.card, lines };
        }
      }
      const publication = random.below(5);
      if (publication === 0) body['publishedAt'] = null;
      if (publication === 1) body['publishedAt'] = '2024-03-01T00:00:00.000Z';
      const isPublished = publication === 0 ? false : publication === 1 ? true : note.isPublished;
      const after = { ...shared, ...given } as Shared;
      const isEmptied = 'code' in given && after.code === null;
      const isIncomplete = publication === 1 && !note.isPublished && after.code === null;
      const isRight = !(isEmptied && (isPublished || siblingsOf(note).some((it) => it.isPublished))) && !isIncomplete;
      await send('PUT', `/api/notes/${note.id}`, { data: body }, isRight, what);
      if (!isRight) return;
      Object.assign(note, own ?? {}, { isPublished });
      note.group.shared = after;
    };

    const bad = async (note: Note, what: string): Promise<void> => {
      const wrong: Fields = random.pick<Fields>([
        { weight: 'x' },
        { cover: 99 },
        { cards: [{ heading: 'a', lines: [{ text: 5 }] }] },
        { zone: [{ __component: 'parts.nope' }] },
        { plain: 99 },
        { cards: [{ id: 999_999 }] },
      ]);
      const data = { ...someShared(), ...wrong };
      if (random.chance(0.5)) await send('PUT', `/api/notes/${note.id}`, { data }, false, what);
      else if ('cards' in wrong && 'id' in (wrong['cards'] as Fields[])[0]!) return;
      else await send('POST', `/api/notes/${note.id}/localizations`, { ...data, locale: 'de' }, false, what);
    };

    try {
      for (let i = 0; i < steps; i++) {
        const what = `step ${i}`;
        const note = notes.length > 0 ? random.pick(notes) : null;
        const kind = random.below(20);
        if (note === null || (kind < 3 && notes.length < entriesMax)) await create(what);
        else if (kind < 8 && notes.length < entriesMax) await localize(note, what);
        else if (kind < 10) {
          await send('DELETE', `/api/notes/${note.id}`, undefined, true, what);
          remove(note);
        } else if (kind < 12) await bad(note, what);
        else await update(note, what);
        const all = await readAll(world);
        expect(
          all.map((it) => shownNote(it.id, it.attributes)),
          what,
        ).toEqual(notes.map(shown).sort((a, b) => a.id - b.id));
        if (i % 25 === 24) await expectNoOrphans(world);
      }
      // a run that only refuses or only accepts would prove nothing
      expect(Math.min(counts.accepted, counts.refused * 5)).toBeGreaterThan(steps / 4);
      expect(notes.some((it) => it.list.length >= 2)).toBe(true);
      await expectNoOrphans(world);
    } finally {
      await world.close();
    }
  });
});
