/** Answers to reads: of what was read, and of entries that were rendered before. */
import type { LeftOut } from '../query/lenient.js';
import type { Moment } from '../sql/changes.js';
import { assembleKept } from './assemble.js';
import type { RenderedEntries, RenderedEntry } from './entries.js';
import { newEtag, newListEtag } from './etag.js';
import type { Executed } from './execute.js';
import type { ReadPlan } from './plan.js';

/** A response body in UTF-8 JSON, its entity tag, and the parts of the request that were ignored. */
export interface Answer {
  readonly body: Buffer;
  readonly etag: string;
  readonly leftOut: readonly LeftOut[];
  /** No one else has the body: its memory may be given back once it is sent. */
  readonly isSingleUse?: boolean;
}

export const answerOf = (text: string, version: string | null, leftOut: readonly LeftOut[]): Answer => {
  const body = Buffer.from(text);
  return { body, etag: newEtag(body, version), leftOut };
};

/** @param executed null if there is no such entry. */
export const answerOfRead = ({ leftOut }: ReadPlan, executed: Executed | null, isSingleUse: boolean): Answer | null => {
  if (!executed) return null;
  const { body, etag } = executed;
  return { body: bufferOf(body), etag, leftOut, isSingleUse };
};

/** Undefined if it would be longer than a response may be. */
export const answerOfEntries = (
  plan: ReadPlan,
  entries: readonly RenderedEntry[],
  total: number | null,
): Answer | undefined => {
  const assembled = assembleKept(
    plan,
    entries.map((it) => it.bytes),
    total,
  );
  if (!assembled) return undefined;
  const { body, around } = assembled;
  return { body, etag: newListEtag(entries.map((it) => it.digest).join(''), around), leftOut: plan.leftOut };
};

/** The entries of what was read, to be kept. Null if it is unknown where they are. @param since when they were read, or before that. */
export const renderedIn = ({ ids, body, entries }: Executed, since: Moment): RenderedEntries | null =>
  entries && { ids, body: bufferOf(body), ...entries, since };

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);
