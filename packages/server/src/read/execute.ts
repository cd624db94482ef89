/**
 * A compiled read from its values to the bytes of the response: run, then assemble. Only plain data go in and come out, so
 * that it may happen in another thread, which loads this file and what it imports.
 */
import type { Page } from '../query/selection.js';
import type { Binding, DbValue, ReadProgram } from '../sql/dialect.js';
import { assemble } from './assemble.js';
import { newEtag } from './etag.js';
import { runRead } from './run.js';
import type { CompiledRead } from './statements.js';

/** What the reads of one shape differ in. */
export interface ReadValues {
  /** Those of the plan. */
  readonly values: readonly DbValue[];
  /** Null for one entry. */
  readonly page: Page | null;
  /** The entry of `findOne`, else null. */
  readonly id: number | null;
}

/** A response in UTF-8, and its entity tag. */
export interface Executed {
  readonly body: Uint8Array;
  readonly etag: string;
  /** The number of entries on all pages, if the response says it. */
  readonly total: number | null;
  /** Entries of the page, and the id of the last one. */
  readonly rows: number;
  readonly lastId: number | null;
}

/** `unrendered`: the shape nests, and has met a list that only batches render. Null if there is no such entry. */
export type Outcome = Executed | 'unrendered' | null;

export function* execute(
  compiled: CompiledRead,
  { values, page, id }: ReadValues,
  binding: Binding,
): ReadProgram<Outcome> {
  const data = yield* runRead(compiled, values, id, binding);
  if (data === null) return 'unrendered';
  const body = assemble({ shape: compiled.shape, page }, data);
  if (body === null) return null;
  const { total, page: ids, version } = data;
  return { body, etag: newEtag(body, version), total, rows: ids.length, lastId: ids.at(-1) ?? null };
}
