/**
 * On SQLite, entries that several others may show are read in batches. Where nothing is shown twice, one statement renders all of
 * them after a while; wherever that is not right, the response is that of batches.
 */
import Database from 'better-sqlite3';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { serverGate } from '../../src/access/access.js';
import { issue, Refusal } from '../../src/errors.js';
import { limits } from '../../src/limits.js';
import { textQuery } from '../../src/query/brackets.js';
import type { ResolveContext } from '../../src/query/resolve.js';
import { newReader, type Reader, type ReaderOptions } from '../../src/read/find.js';
import type { Db, PlannedRead, ReadProgram } from '../../src/sql/dialect.js';
import { useLimits } from '../world/limits.js';
import { newSmallWorld, relation, type SmallProject, type SmallWorld } from '../world/small.js';

// rounds count once where no read is tried in this thread first
const own = useLimits({ ownTimeMsMax: -1 });

const project: SmallProject = {
  types: {
    note: {
      attributes: {
        title: { type: 'string' },
        author: relation('manyToOne', 'author', { inversedBy: 'notes' }),
      },
    },
    author: { attributes: { name: { type: 'string' }, notes: relation('oneToMany', 'note', { mappedBy: 'author' }) } },
  },
};
const NOTES = 20;
const search = (page: number, title = 'x'): string =>
  `filters[title][$ne]=${title}&pagination[page]=${page}&pagination[pageSize]=3&pagination[withCount]=false&populate[author][populate]=notes`;

describe('trees', () => {
  let world: SmallWorld;
  let raw: Database.Database;
  const context = (): ResolveContext => ({
    model: world.model,
    gate: serverGate,
    rest: { defaultLimit: 25, maxLimit: null, withCount: true },
    strict: true,
    defaultLocale: null,
  });
  beforeAll(async () => {
    world = await newSmallWorld('sqlite', project);
    const ids = Array.from({ length: NOTES }, (_none, i) => i + 1);
    await world.insert(
      'notes',
      ids.map((id) => ({ title: `Note ${id}` })),
    );
    await world.insert(
      'authors',
      ids.map((id) => ({ name: `Author ${id}` })),
    );
    raw = new Database(world.env['DATABASE_FILENAME']!);
  });
  afterAll(async () => {
    raw.close();
    await world.close();
  });
  /** Every note has an author of its own. */
  beforeEach(() => {
    own.reset();
    raw.exec('delete from notes_author_links');
    raw.exec('insert into notes_author_links (note_id, author_id) select id, id from notes');
  });

  let rounds = 0;
  function* counted<T>(program: ReadProgram<T>): ReadProgram<T> {
    let step = program.next();
    while (!step.done) {
      rounds += 1;
      step = program.next(yield step.value);
    }
    return step.value;
  }
  /** @param refuse reads that are too slow. */
  const watched = (refuse: (plan: object) => boolean = () => false): Db => {
    const watch = <P extends object, V, T>(read: PlannedRead<P, V, T>): PlannedRead<P, V, T> => ({
      ...read,
      begin: (plan, ...given) => {
        if (refuse(plan)) throw new Refusal(issue('read.too-slow', [], { max: 1000 }));
        return counted(read.begin(plan, ...given));
      },
    });
    const { db } = world;
    return {
      ...db,
      readPlanned: (it) => db.readPlanned(watch(it)),
      readThenCatchUp: (it) => db.readThenCatchUp(watch(it)),
    };
  };
  const newCounted = (options: ReaderOptions = {}, refuse?: (plan: object) => boolean): Reader =>
    newReader(watched(refuse), { responseCacheBytesMax: 0, entriesBytesMax: 0, ...options });

  /** The response and the rounds of statements that it took. */
  const ask = async (reader: Reader, query: string) => {
    rounds = 0;
    const type = world.model.types.get('api::note.note')!;
    const answer = await reader.read({ action: 'find', type, id: null, query: textQuery(query) }, context());
    if (!answer.ok) throw new Error(JSON.stringify(answer.issues));
    return { text: answer.value.body.toString(), etag: answer.value.etag, rounds };
  };
  /** As often as it takes until trees are nested. */
  const askOften = async (reader: Reader, query: (turn: number) => string): Promise<void> => {
    for (let turn = 0; turn < limits.treesUntilNested; turn++) await ask(reader, query(turn));
  };
  const batches = async (query: string) => {
    own.set({ treesUntilNested: Number.POSITIVE_INFINITY });
    const answer = await ask(newCounted(), query);
    own.reset();
    return answer;
  };

  it('a page whose entries are shown once each is one statement eventually, whatever its values', async () => {
    const reader = newCounted();
    // an offset of 0 is another statement
    await askOften(reader, () => search(1));
    await askOften(reader, (turn) => search(2 + (turn % 3)));
    for (const query of [search(1), search(3), search(2, 'Note 4')]) {
      const wanted = await batches(query);
      expect(wanted.rounds).toBeGreaterThan(1);
      expect(await ask(reader, query)).toEqual({ ...wanted, rounds: 1 });
    }
  });

  it('of pages whose entries are partly kept, the others are one statement eventually, too', async () => {
    const reader = newCounted({ entriesBytesMax: 1_000_000 });
    const query = (turn: number): string =>
      `filters[id][$in][0]=1&filters[id][$in][1]=2&filters[id][$in][2]=${3 + turn}&pagination[withCount]=false&populate[author][populate]=notes`;
    const asked: number[] = [];
    for (let turn = 0; turn < NOTES - 2; turn++) asked.push((await ask(reader, query(turn))).rounds);
    const [first = 0] = asked;
    const last = await ask(reader, query(NOTES - 3));
    expect(asked.slice(2)).toContain(first);
    // the ids, then the entries
    expect(asked.at(-1)).toBe(2);
    const { rounds: _rounds, ...wanted } = await batches(query(NOTES - 3));
    expect(last).toMatchObject(wanted);
  });

  it('entries that others show, too, are read in batches', async () => {
    raw.exec('update notes_author_links set author_id = 1 where note_id < 3');
    const reader = newCounted();
    const wanted = await batches(search(1));
    for (let turn = 0; turn < 2 * limits.treesUntilNested; turn++) expect(await ask(reader, search(1))).toEqual(wanted);
  });

  it('batches tell again from time to time', async () => {
    own.set({ nestedMs: -1 });
    const reader = newCounted();
    await askOften(reader, () => search(1));
    expect((await ask(reader, search(1))).rounds).toBeGreaterThan(1);
  });

  it('a list that is long is read in batches', async () => {
    const reader = newCounted();
    await askOften(reader, () => search(1));
    raw.exec('update notes_author_links set author_id = 1');
    own.set({ inlineRowsMax: NOTES - 1 });
    const wanted = await batches(search(1));
    own.set({ inlineRowsMax: NOTES - 1 });
    const again = await ask(newCounted(), search(1));
    expect(again.text).toBe(wanted.text);
    const { rounds: _rounds, ...rest } = wanted;
    expect(await ask(reader, search(1))).toMatchObject(rest);
  });

  it('what takes too long in one statement is read in batches from then on', async () => {
    let isSlow = false;
    const reader = newCounted({}, (plan) => isSlow && 'whole' in plan && plan.whole !== null);
    await askOften(reader, () => search(1));
    expect((await ask(reader, search(1))).rounds).toBe(1);
    isSlow = true;
    const wanted = await batches(search(1));
    expect(await ask(reader, search(1))).toEqual(wanted);
    isSlow = false;
    for (let turn = 0; turn <= limits.treesUntilNested; turn++) expect(await ask(reader, search(1))).toEqual(wanted);
  });
});
