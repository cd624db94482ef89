/** What the code of a project asks of the server while it handles a request. `http` implements it. */
import type { Caller } from '../access/access.js';
import type { AccountEndpoint } from '../accounts/endpoints.js';
import type { FileActions } from '../media/files.js';
import type { EntryType } from '../model/model.js';
import type { Answer } from '../read/answer.js';
import type { Ready } from '../ready.js';
import type { CoreAction, Members } from './loading/parts.js';

/** Koa's context, as far as this layer itself uses it. */
export interface CodeContext {
  readonly params: Record<string, string | undefined>;
  query: Record<string, unknown>;
  readonly request: { body?: unknown; files?: unknown; query: Record<string, unknown>; readonly header: Members };
  readonly state: Record<string, unknown>;
  status: number;
  body: unknown;
}

/** The server's own endpoints of the plugins that it stands for. */
export interface NativeEndpoints {
  /** Counts an attempt of the client's, and throws if there were too many. */
  countAttempt(ctx: object): Promise<void>;
  /** Runs the action of an endpoint, without asking for its permission. */
  answerAccount(ctx: CodeContext, endpoint: AccountEndpoint): Promise<void>;
  answerFiles(ctx: CodeContext, action: keyof FileActions): Promise<void>;
}

export interface Native extends NativeEndpoints {
  /** The answer of an action, with the query and body of the context. Throws the refusal, or rejects with it. */
  answer(ctx: CodeContext, type: EntryType, action: CoreAction): Ready<Answer>;
  /**
   * The same as `{ data, meta }`, which stays bytes until it is looked into; null for an entry that does not exist. What is refused is v4's
   * error, which code may catch.
   */
  perform(ctx: CodeContext, type: EntryType, action: CoreAction): Ready<unknown>;
  /**
   * Throws the refusal of an invalid query. @param asked `find`: the query is for a list, with `own find` for one that a service of the
   * project finds; by default it is for an entry if the path has an id. @returns whether some of it is ignored, or for services alone.
   */
  validateQuery(ctx: CodeContext, type: EntryType, asked?: 'find' | 'own find'): boolean;
  /** The query without parameters that are not of the content API. */
  queryOf(ctx: CodeContext): Members;
  /**
   * A query without what `validateQuery` would refuse, and what the server ignores, unless it is a condition of code: that is refused.
   * @param caller null: everything but private attributes is allowed.
   */
  allowedQuery(query: Members, type: EntryType, caller: Caller | null): Members;
  /** Throws v4's error for what `allowedQuery` would take out. @param caller as there. */
  checkQuery(query: Members, type: EntryType, caller: Caller | null): void;
  /** Whose rights the request has; nobody's without one. */
  callerOf(ctx: CodeContext | undefined): Caller;
  /** Whether code has put `limit` or `start` into `populate`, which the server itself refuses and services obey (Q15). */
  limitsPopulate(ctx: CodeContext): boolean;
  /** Whether code has added creators to `populate` (Q9). */
  addsCreators(ctx: CodeContext): boolean;
  refuse(code: 'body.missing'): never;
  /**
   * Sets `ctx.state.user` and `ctx.state.auth`; throws the refusal of bad credentials. Returns whose rights the request has.
   * @param strategies v4's names of the only ways to be known that count; null for all of them.
   */
  authenticate(ctx: object, strategies: readonly string[] | null): Ready<Caller>;
  /** A request to a route with `auth: false`. */
  skipAuthentication(ctx: object): void;
  /** Whose rights `ctx.state.auth` stands for; null where it says nothing. */
  callerOfAuth(auth: unknown): Caller | null;
  /** Receives the form of a request, if it is one, and runs the work: its files exist until that has ended. */
  withForm(ctx: object, work: () => Ready<void>): Ready<void>;
}
