/**
 * A compiled read from its values to the bytes of the response: run, then assemble. Only plain data go in and come out, so
 * that it may happen in another thread, which loads this file and what it imports.
 */
import type { Page } from '../query/selection.js';
import type { Binding, DbValue, ReadProgram } from '../sql/dialect.js';
import { assemble } from './assemble.js';
import { digestOf, newEtag, newListEtag } from './etag.js';
import { type PageIds, runIds, runRead } from './run.js';
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

/** A response, or the ids of a page alone. */
export const execute = <Compiled extends CompiledRead | CompiledIds>(
  compiled: Compiled,
  given: ReadValues,
  binding: Binding,
): ReadProgram<Compiled extends CompiledIds ? PageIds : Outcome> =>
  ('statement' in compiled ? runIds(compiled, given.values, binding) : answer(compiled, given, binding)) as ReturnType<
    typeof execute<Compiled>
  >;

function* answer(compiled: CompiledRead, { values, page, ids }: ReadValues, binding: Binding): ReadProgram<Outcome> {
  const data = yield* runRead(compiled, values, ids, binding);
  if (data === null) return 'unrendered';
  const assembled = assemble({ shape: compiled.shape, page }, data);
  if (assembled === null) return null;
  const { body, around, sizes } = assembled;
  const executed = { body, total: data.total, ids: data.page };
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
