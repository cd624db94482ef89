/**
 * A compiled read from its values to the bytes of the response: run, then assemble. Only plain data go in and come out, so
 * that it may happen in another thread, which loads this file and what it imports.
 */
import { bug } from '../errors.js';
import type { Page } from '../query/selection.js';
import { type Binding, type DbValue, type ReadProgram, type Statement, withValues } from '../sql/dialect.js';
import { assemble } from './assemble.js';
import { digestOf, newEtag, newListEtag, versionEtag } from './etag.js';
import { type Joined, numbersIn } from './joined.js';
import { type PageIds, type ReadData, runIds, runRead } from './run.js';
import type { CompiledIds, CompiledRead } from './statements.js';

/** What the reads of one shape differ in. */
export interface ReadValues {
  /** Those of the plan. */
  readonly values: readonly DbValue[];
  /** Null for one entry. */
  readonly page: Page | null;
  /** The entries to read where the shape has no slice; ignored elsewhere. */
  readonly ids: readonly number[];
}

/** A response in UTF-8, and its entity tag. */
export interface Executed extends PageIds {
  readonly body: Uint8Array;
  readonly etag: string;
  /** Of a list, unless it is unknown where its entries are. */
  readonly entries: BodyEntries | null;
  readonly isTree: ReadData['isTree'];
}

/** The entries of a body in order, which are separated by a comma. */
export interface BodyEntries {
  /** Where the first one begins. */
  readonly at: number;
  /** Bytes of each. */
  readonly sizes: readonly number[];
  /** Their digests, joined. */
  readonly digests: string;
}

/** `unrendered`: the shape nests, and has met a list that only batches render. Null if there is no such entry. */
export type Outcome = Executed | 'unrendered' | null;

/** Statements of a window of a relation list, which is a page of kind `offset`. */
export interface CompiledWindow {
  /** One row, see `window.ts`. */
  readonly list: Statement;
  /** Whether only some entries of the list are asked for. */
  readonly isFiltered: boolean;
  /** Reads entries by ids. */
  readonly entries: CompiledRead;
}

/** Null if there is no such entry with a list; `unrendered` as in `Outcome`. */
export type WindowOutcome = Pick<Executed, 'body' | 'etag'> | 'unrendered' | null;

type Compiled = CompiledRead | CompiledIds | CompiledWindow;

type OutcomeOf<C extends Compiled> = C extends CompiledIds
  ? PageIds
  : C extends CompiledWindow
    ? WindowOutcome
    : Outcome;

/** A response, the ids of a page alone, or a window of a relation list. */
export const execute = <C extends Compiled>(
  compiled: C,
  given: ReadValues,
  binding: Binding,
): ReadProgram<OutcomeOf<C>> => program(compiled, given, binding) as ReadProgram<OutcomeOf<C>>;

const program = (compiled: Compiled, given: ReadValues, binding: Binding): ReadProgram<OutcomeOf<Compiled>> => {
  if ('statement' in compiled) return runIds(compiled, given.values, binding);
  return 'list' in compiled ? window(compiled, given, binding) : answer(compiled, given, binding);
};

function* answer(compiled: CompiledRead, { values, page, ids }: ReadValues, binding: Binding): ReadProgram<Outcome> {
  const data = yield* runRead(compiled, values, ids, binding);
  if (data === null) return 'unrendered';
  const assembled = assemble({ shape: compiled.shape, page }, data);
  if (assembled === null) return null;
  const { body, around, sizes } = assembled;
  const executed = { body, total: data.total, ids: data.page, isTree: data.isTree };
  if (!page || !sizes) return { ...executed, etag: newEtag(body, data.version), entries: null };
  const at = around[0].length;
  const digests = digestsOf(body, at, sizes);
  return { ...executed, etag: newListEtag(digests, around), entries: { at, sizes, digests } };
}

const digestsOf = (body: Buffer, at: number, sizes: readonly number[]): string => {
  let digests = '';
  let begin = at;
  for (const size of sizes) {
    digests += digestOf(body.subarray(begin, begin + size));
    begin += size + 1;
  }
  return digests;
};

function* window(
  { list, isFiltered, entries }: CompiledWindow,
  { values, page }: ReadValues,
  binding: Binding,
): ReadProgram<WindowOutcome> {
  if (page?.kind !== 'offset') throw bug('window.page', { page });
  const [[row] = []] = yield [withValues(list, values, binding)];
  const [owner, version, listed, matched] = row as readonly [number | null, string | null, Joined, Joined];
  if (owner === null) return null;
  // a pair that is stored twice counts once (ST10)
  const places = [...new Set(numbersIn(listed))].map((id, place) => ({ id, place }));
  const wanted = isFiltered ? new Set(numbersIn(matched)) : null;
  const found = wanted ? places.filter((it) => wanted.has(it.id)) : places;
  const { start, limit } = page;
  const shown = found.slice(start, start + limit);
  const ids = shown.map((it) => it.id);
  const texts: Buffer[] = [];
  if (ids.length > 0) {
    const every = { values, page: { kind: 'every' }, ids } as const;
    const read = yield* answer(entries, every, binding);
    if (read === 'unrendered' || read === null) return read;
    const byId = textsOf(read);
    for (const id of ids) texts.push(byId.get(id)!);
  }
  const meta = {
    pagination: { start, limit, total: found.length },
    positions: shown.map((it) => it.place),
    ...(version === null ? {} : { etag: versionEtag(version) }),
  };
  const body = Buffer.from(`{"data":[${texts.join(',')}],"meta":${JSON.stringify(meta)}}`);
  return { body, etag: newEtag(body, null) };
}

/** The entries of a list by id. */
const textsOf = ({ body, ids, entries }: Executed): ReadonlyMap<number, Buffer> => {
  if (!entries) {
    // a text in the database was no UTF-8
    const { data } = JSON.parse(Buffer.from(body).toString()) as { readonly data: readonly { readonly id: number }[] };
    return new Map(data.map((it) => [it.id, Buffer.from(JSON.stringify(it))]));
  }
  const texts = new Map<number, Buffer>();
  let begin = body.byteOffset + entries.at;
  ids.forEach((id, i) => {
    const size = entries.sizes[i]!;
    texts.set(id, Buffer.from(body.buffer, begin, size));
    begin += size + 1;
  });
  return texts;
};
