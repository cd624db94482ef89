/** What the code of a project asks of the server while it handles a request. `http` implements it. */
import type { Caller } from '../access/access.js';
import type { EntryType } from '../model/model.js';
import type { CoreAction, Members } from './parts.js';

/** Koa's context, as far as this layer itself uses it. */
export interface CodeContext {
  readonly params: Record<string, string | undefined>;
  query: Record<string, unknown>;
  readonly request: { body?: unknown; query: Record<string, unknown>; readonly header: Members };
  readonly state: Record<string, unknown>;
  status: number;
  body: unknown;
}

export interface Native {
  /** Runs the action itself, with the query and body of the context. The result stays bytes until it is looked into. */
  perform(ctx: CodeContext, type: EntryType, action: CoreAction): Promise<unknown>;
  /** Throws the refusal of an invalid query. */
  validateQuery(ctx: CodeContext, type: EntryType): void;
  /** The query without parameters that are not of the content API. */
  queryOf(ctx: CodeContext): Members;
  /** A query without what `validateQuery` would refuse. @param caller null: everything but private attributes is allowed. */
  allowedQuery(query: Members, type: EntryType, caller: Caller | null): Members;
  /** Whose rights the request has. */
  callerOf(ctx: CodeContext): Caller;
  refuse(code: 'body.missing'): never;
}
