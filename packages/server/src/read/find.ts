/** The read line in order: brackets, resolve, plan, compile, run, assemble. Holds the caches of plans and responses. */
import { LRUCache } from 'lru-cache';
import { catchRefusal, issue, ok, type Result, refused } from '../errors.js';
import { limits } from '../limits.js';
import type { EntryType } from '../model/model.js';
import type { LeftOut } from '../query/lenient.js';
import type { QuerySource } from '../query/raw.js';
import { type ResolveContext, resolveQuery } from '../query/resolve.js';
import type { Query, ReadAction } from '../query/selection.js';
import { newSingleFlight } from '../single-flight.js';
import { type Db, readInside, readRows, type Tx } from '../sql/dialect.js';
import { assemble } from './assemble.js';
import { newEtag } from './etag.js';
import { type AnswerForm, planRead } from './plan.js';
import { type ReadData, runRead } from './run.js';
import { type CompiledRead, compileCount, compileRead } from './statements.js';

export interface ReadRequest {
  readonly action: ReadAction;
  readonly type: EntryType;
  /** The entry of `findOne`, else null. */
  readonly id: number | null;
  readonly query: QuerySource;
  /** Answers to writes show the entry itself also when it is a draft; what it populates follows the query. */
  readonly showDraft?: boolean;
  /** Default: `envelope`. */
  readonly form?: AnswerForm;
}

/** A response body in UTF-8 JSON, its entity tag, and the parts of the request that were ignored. */
export interface Answer {
  readonly body: Buffer;
  readonly etag: string;
  readonly leftOut: readonly LeftOut[];
}

export const answerOf = (text: string, version: string | null, leftOut: readonly LeftOut[]): Answer => {
  const body = Buffer.from(text);
  return { body, etag: newEtag(body, version), leftOut };
};

const answerFrom = ({ plan }: CompiledRead, data: ReadData): Answer | null => {
  const text = assemble(plan, data);
  return text === null ? null : answerOf(text, data.version, plan.leftOut);
};

export interface Reader {
  /** Answers a read, or returns the issues of the request. */
  read(request: ReadRequest, context: ResolveContext): Promise<Result<Answer>>;
  /** The same inside a write transaction; null if there is no such entry. */
  readInside(request: ReadRequest, context: ResolveContext, tx: Tx): Promise<Result<Answer | null>>;
  /** The number of entries on all pages of a list. */
  count(request: Pick<ReadRequest, 'type' | 'query'>, context: ResolveContext): Promise<Result<Counted>>;
  /** Whether the request is valid; caches its plan. */
  check(request: ReadRequest, context: ResolveContext): Result<unknown>;
  /** All stages of a read without running it; `explain` prints them. */
  prepare(request: ReadRequest, context: ResolveContext): Result<PreparedRead>;
}

export interface PreparedRead {
  readonly query: Query;
  readonly compiled: CompiledRead;
}

export interface Counted {
  readonly total: number;
  readonly leftOut: readonly LeftOut[];
}

interface CachedAnswer {
  readonly version: string;
  readonly answer: Answer;
}

/** Approximate overhead of a cached response, in bytes. */
const ENTRY_BYTES = 512;

/** @param responseCacheBytesMax memory for cached responses; 0 disables the cache. */
export const newReader = (
  db: Db,
  { responseCacheBytesMax = limits.responseCacheBytesMax }: { readonly responseCacheBytesMax?: number } = {},
): Reader => {
  const plans = new LRUCache<string, CompiledRead>({
    maxSize: limits.planBytesMax,
    // clients choose texts and values, so plans differ in size by a factor of a thousand
    sizeCalculation: (compiled, key) => key.length + JSON.stringify(compiled).length,
  });
  const answers =
    responseCacheBytesMax > 0
      ? new LRUCache<string, CachedAnswer>({
          maxSize: responseCacheBytesMax,
          sizeCalculation: (cached, key) => cached.answer.body.length + key.length + ENTRY_BYTES,
        })
      : null;

  const singleFlight = newSingleFlight<Answer | null>();

  const prepare = (request: ReadRequest, context: ResolveContext): Result<PreparedRead> => {
    const raw = request.query.read();
    if (!raw.ok) return raw;
    const query = resolveQuery(raw.value, request.type, request.action, context);
    if (!query.ok) return query;
    const { selection } = query.value;
    const shown: Query =
      request.showDraft === true ? { ...query.value, selection: { ...selection, state: 'preview' } } : query.value;
    return ok({ query: shown, compiled: compileRead(planRead(shown, request.form), db.dialect) });
  };

  const planKey = (request: ReadRequest, context: ResolveContext): string =>
    `${request.type.uid} ${request.action}${request.showDraft === true ? ' draft' : ''}${request.form === 'plain' ? ' plain' : ''} ${context.gate.version}${context.strict ? '' : ' lenient'}${request.type.localized ? ` ${context.defaultLocale}` : ''} ${request.query.key}`;

  const compiledFor = (request: ReadRequest, context: ResolveContext, key: string): Result<CompiledRead> => {
    const known = plans.get(key);
    if (known) return ok(known);
    const prepared = prepare(request, context);
    if (!prepared.ok) return prepared;
    plans.set(key, prepared.value.compiled);
    return ok(prepared.value.compiled);
  };

  const readAnswer = async (compiled: CompiledRead, id: number | null): Promise<Answer | null> => {
    const data = await db.read(() => runRead(compiled, id, db.dialect));
    return answerFrom(compiled, data);
  };

  /**
   * A cached response is valid as long as the database's version equals the one it was stored under. That version was
   * read before the response, so the response may be newer than its version, but never older.
   */
  const answer = async (compiled: CompiledRead, id: number | null, key: string): Promise<Answer | null> => {
    if (!answers) return readAnswer(compiled, id);
    const version = await db.version();
    const cached = answers.get(key);
    if (cached?.version === version) return cached.answer;
    // at the same version, a read that is already running returns the same as a new one
    return singleFlight.join(`${version} ${key}`, async () => {
      const made = await readAnswer(compiled, id);
      if (made) answers.set(key, { version, answer: made });
      return made;
    });
  };

  return {
    prepare,
    check: (request, context) => compiledFor(request, context, planKey(request, context)),
    readInside: async (request, context, tx) => {
      const compiled = compiledFor(request, context, planKey(request, context));
      if (!compiled.ok) return compiled;
      const data = await readInside(runRead(compiled.value, request.id, db.dialect), tx);
      return ok(answerFrom(compiled.value, data));
    },
    count: async ({ type, query }, context) => {
      const raw = query.read();
      if (!raw.ok) return raw;
      const resolved = resolveQuery(raw.value, type, 'find', context);
      if (!resolved.ok) return resolved;
      const statement = compileCount(planRead(resolved.value), db.dialect);
      return catchRefusal(async () => {
        const [[count] = []] = await db.read(() => readRows(statement));
        return { total: Number(count ?? 0), leftOut: resolved.value.leftOut };
      });
    },
    read: async (request, context) => {
      const key = planKey(request, context);
      const compiled = compiledFor(request, context, key);
      if (!compiled.ok) return compiled;
      const found = await catchRefusal(() => answer(compiled.value, request.id, `${request.id ?? ''} ${key}`));
      if (!found.ok) return found;
      return found.value ? ok(found.value) : refused(issue('http.not-found', []));
    },
  };
};
