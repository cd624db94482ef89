/**
 * What the tree writes means what was read: random legal requests of the server's oracle, in every form that the dialect knows.
 * Meanings are compared by the server's own plans. DOVETAIL_SEED=n starts at another seed.
 */

import { encodeQuery } from 'dovetail-client';
import { describe, expect, it } from 'vitest';
import { newRandom, seedOfRun } from '../../../server/test/oracle/random.js';
import { anyRequest, pathOf } from '../../../server/test/oracle/request.js';
import { spell } from '../../../server/test/oracle/spelling.js';
import { canonicalQuery } from '../../src/rooms/ask/query/canonical.js';
import { writeForm } from '../../src/rooms/ask/query/code.js';
import { setOption, toggleField, togglePlace } from '../../src/rooms/ask/query/edits.js';
import { addCondition, newCondition, removeAt } from '../../src/rooms/ask/query/filters.js';
import { groundOf, type Item, idOf, itemsOf, rootId } from '../../src/rooms/ask/query/items.js';
import { memberOf } from '../../src/rooms/ask/query/node.js';
import { type Ground, optionsAt, type Place } from '../../src/rooms/ask/query/place.js';
import { readAny } from '../../src/rooms/ask/query/read-code.js';
import { actionOf, type Request, readUrl, typeOfRequest } from '../../src/rooms/ask/query/request.js';
import { type Meaning, meaningOf, meaningOfRequest, newStage, type Stage } from './stage.js';

const seed = seedOfRun();
const projects = 20;
const requestsEach = 60;

interface Read {
  readonly url: string;
  /** What the server makes of the URL. */
  readonly meaning: Meaning;
  readonly request: Request;
  readonly stage: Stage;
}

/** Some 1,200 requests, half of them to a server that is as lenient as v4. */
const read = Array.from({ length: projects }, (_, i) => seed + i).flatMap((it): Read[] => {
  const stage = newStage(it, { strict: it % 2 === 0 });
  const { project, world } = stage.scene;
  const random = newRandom(it).fork('requests');
  return Array.from({ length: requestsEach }, () => {
    const request = anyRequest(project, world, random);
    const search = spell(request);
    const url = `/api${pathOf(request, project)}?${search}`;
    const given = readUrl(url, stage.model, null);
    if (!given.ok) throw new Error(`${url} is not read: ${JSON.stringify(given.faults)}`);
    return { url, meaning: meaningOf(search, request.uid, request.action, stage.context), request: given.value, stage };
  });
});

describe(`round trip, seed ${seed}`, () => {
  it('at least 1,000 requests are legal and read', () => {
    expect(read.filter((it) => it.meaning.isLegal).length).toBeGreaterThanOrEqual(1000);
  });

  it('a URL that was read and written again means the same', () => {
    const different = read.filter((it) => meaningOfRequest(it.request, it.stage).plan !== it.meaning.plan);
    expect(different.map((it) => it.url)).toEqual([]);
  });

  it('the form of the typed client means the same, sent by the client', () => {
    const different = read.flatMap(({ request, stage, url, meaning }) => {
      if (!meaning.isLegal) return [];
      const query = canonicalQuery(request.query, groundIn(stage, request));
      if (query === null) return [];
      const now = meaningOf(encodeQuery(query), request.type, actionIn(stage, request), stage.context);
      return now.selection === meaning.selection
        ? []
        : [`${decodeURIComponent(url)}\n${encodeQuery(query)}\n${meaning.selection}\n${now.selection}`];
    });
    expect(different).toEqual([]);
  });

  it.each(['qs', 'client', 'curl'] as const)('written as %s and read again it means the same', (form) => {
    const different = read.flatMap(({ request, stage, meaning, url }) => {
      if (!meaning.isLegal) return [];
      const text = writeForm(form, request, groundIn(stage, request), 'http://127.0.0.1:1337');
      const again = readAny(text, stage.model, null);
      if (!again.ok) return [`${url}\n${text}\n${JSON.stringify(again.faults)}`];
      const now = meaningOfRequest(again.value, stage);
      return now.selection === meaning.selection ? [] : [`${url}\n${text}\n${meaning.selection}\n${now.selection}`];
    });
    expect(different.slice(0, 3)).toEqual([]);
  });

  it('the rows of the tree name every place that is populated, and no text is shown of what is legal', () => {
    for (const { request, stage, meaning, url } of read) {
      // what a lenient server ignores is shown as text
      if (!meaning.isLegal || meaning.ignores) continue;
      const texts = allItems(request, groundIn(stage, request)).filter((it) => it.kind === 'text');
      const legal = texts.filter((it) => it.kind === 'text' && !it.text.startsWith('foo') && it.text !== 'locale');
      expect(
        legal.map((it) => it.kind === 'text' && it.text),
        url,
      ).toEqual([]);
    }
  });

  it('an edit and its reverse leave the meaning as it was', () => {
    const random = newRandom(seed).fork('edits');
    const different: string[] = [];
    let edits = 0;
    let changing = 0;
    for (const { request, stage, meaning, url } of read) {
      if (!meaning.isLegal) continue;
      const ground = groundIn(stage, request);
      const all = allItems(request, ground);
      const locked = all.flatMap((it) => (it.kind === 'place' && it.lockedBy !== null ? [it.id] : []));
      const items = all.filter((it) => !locked.some((id) => `${idOf(it.place)}/`.startsWith(`${id}/`)));
      const check = (name: string, there: Request['query'], back: Request['query']): void => {
        edits += 1;
        const changed = meaningOfRequest({ ...request, query: there }, stage);
        const restored = meaningOfRequest({ ...request, query: back }, stage);
        const facts = `${decodeURIComponent(url)}\n${meaning.selection}`;
        if (!changed.isLegal) different.push(`${name} is refused: ${facts}\n${changed.plan}`);
        if (changed.selection !== meaning.selection) changing += 1;
        if (restored.selection !== meaning.selection)
          different.push(`${name} is not undone: ${facts}\n${restored.selection}`);
      };
      const fields = items.filter(
        (it) => it.kind === 'field' && it.lockedBy === null && !showsIdsOnly(it.place, items),
      );
      const field = fields.length > 0 ? random.pick(fields) : null;
      if (field?.kind === 'field') {
        const there = toggleField(request.query, field.place, ground, field.name);
        check(`the field ${field.id}`, there, toggleField(there, field.place, ground, field.name));
      }
      const places = items.filter(
        (it) => it.kind === 'place' && !it.checked && it.lockedBy === null && !it.place.at(-1)?.startsWith('on:'),
      );
      const place = places.length > 0 ? random.pick(places) : null;
      if (place) {
        const there = togglePlace(request.query, place.place, ground);
        check(`the place ${place.id}`, there, togglePlace(there, place.place, ground));
      }
      const filtered = items.filter((it) => it.kind === 'place' && it.checked && it.summary.may.filter);
      const target = filtered.length > 0 ? random.pick(filtered) : null;
      if (!target) continue;
      const condition = newCondition(['id'], '$notNull', ['true']);
      const options = optionsAt(request.query, target.place, ground.leniency);
      const filters = memberOf(options ?? {}, 'filters');
      if (filters === undefined) {
        const added = addCondition(filters, [], condition);
        const there = setOption(request.query, target.place, ground, 'filters', added);
        const removed = removeAt(added, ['id', '$notNull']);
        check(`the condition at ${target.id}`, there, setOption(there, target.place, ground, 'filters', removed));
      }
    }
    expect(different.slice(0, 3)).toEqual([]);
    expect(edits).toBeGreaterThan(1500);
    // of several types at one place some may be closed to the role
    expect(changing).toBeGreaterThan(edits * 0.98);
  });
});

const groundIn = ({ model }: Stage, request: Request): Ground => {
  const ground = groundOf(model, request.type);
  if (!ground) throw new Error('no ground');
  return ground;
};

const actionIn = ({ model }: Stage, request: Request) => {
  const type = typeOfRequest(model, request);
  if (!type) throw new Error('no type');
  return actionOf(type, request);
};

/** With everything open that is populated, and the root. */
const allItems = (request: Request, ground: Ground): readonly Item[] => {
  const open = new Set([rootId]);
  for (;;) {
    const items = itemsOf(request, ground, open);
    const closed = items.filter((it) => it.kind === 'place' && it.checked && it.expanded === false);
    if (closed.length === 0) return items;
    for (const it of closed) open.add(idOf(it.place));
  }
};

/** Fields of which none is chosen, but the id: without one that was chosen in between, all are shown. */
const showsIdsOnly = (place: Place, items: readonly Item[]): boolean =>
  !items.some((it) => (it.kind === 'fields' || it.kind === 'field') && it.checked && idOf(it.place) === idOf(place));
