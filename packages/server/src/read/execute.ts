/**
 * A compiled read from its values to the bytes of the response: run, then assemble. Only plain data go in and come out, so
 * that it may happen in another thread, which loads this file and what it imports.
 */
import type { Page } from '../query/selection.js';
import type { Binding, DbValue, ReadProgram } from '../sql/dialect.js';
import { assemble } from './assemble.js';
import { newEtag } from './etag.js';
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
  /** Bytes of the entries in order, which are separated by a comma; null if they are unknown. */
  readonly sizes: readonly number[] | null;
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
  const { body, sizes } = assembled;
  return { body, etag: newEtag(body, data.version), total: data.total, ids: data.page, sizes };
}
