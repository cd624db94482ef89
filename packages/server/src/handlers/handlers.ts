/**
 * What a project may customise: `src/api/<name>/handlers.ts` (or `.js`) exports an object of these types by default.
 * Handlers wrap or replace the actions of their content type; hooks run inside the transaction of each write.
 */
import type { Caller } from '../access/access.js';
import type { QueryObject } from '../query/objects.js';
import type { Selection } from '../query/selection.js';

export type {
  FilterObject,
  PopulateObject,
  PopulateOptions,
  QueryObject,
  QueryValue,
  SortObject,
} from '../query/objects.js';

/** A plain JSON object as answers and bodies have it. */
export type Json = Readonly<Record<string, unknown>>;

/** An answer on its way out: hand it back as it is, and it costs nothing. */
export interface StepAnswer {
  /** The JSON text of the body. */
  readonly text: string;
  readonly etag: string;
  /** `{ data, meta }` as objects of your own; changing them changes nothing else. */
  json(): { data: unknown; meta: Record<string, unknown> };
}

export interface NextOptions {
  /** Adds `createdBy` and `updatedBy` where the request populates them and the schema file has `populateCreatorFields` (Q9). */
  readonly creatorFields?: boolean;
  /** Another body in place of the request's, for create and update. */
  readonly body?: unknown;
  /** Another query in place of the request's; `request.query` spread into it keeps the rest. */
  readonly query?: QueryObject;
}

export interface Step {
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string | string[] | undefined>>;
    /** The query string, without `?`. */
    readonly search: string;
    /** What the query string says, as an object of your own. It throws the refusal of one that cannot be read. */
    readonly query: QueryObject;
    /** The parsed JSON body; undefined where there is none. */
    readonly body: unknown;
    /** The entry of findOne, update and delete. */
    readonly id: number | null;
  };
  readonly caller: Caller;
  /** The request's query with names resolved to attributes. Refused queries never reach a handler's `selection`: it throws the refusal. */
  readonly selection: () => Selection;
  /** What the server would do; call it to wrap, leave it to replace. */
  next(options?: NextOptions): Promise<StepAnswer>;
  /** The content itself, with the server's own rights. */
  readonly content: Content;
  /** Ends the request with an error in the envelope of ER1. */
  readonly refuse: Refuse;
}

/** @param message what the client is told; the status in words by default. @param status 400 by default. */
export type Refuse = (message: string, status?: 400 | 403 | 404 | 409) => never;

export type Handler = (step: Step) => Promise<StepAnswer | Json> | StepAnswer | Json;

/** Reads and writes of any type, past permissions. */
export interface Content {
  /** Lists of a collection, or a single type. @param query what clients write in a query string, as an object. */
  find(uid: string, query?: QueryObject): Promise<{ data: unknown; meta: Record<string, unknown> }>;
  findOne(
    uid: string,
    id: number,
    query?: QueryObject,
  ): Promise<{ data: unknown; meta: Record<string, unknown> } | null>;
  create(uid: string, data: Json): Promise<{ data: unknown; meta: Record<string, unknown> }>;
  update(uid: string, id: number | null, data: Json): Promise<{ data: unknown; meta: Record<string, unknown> }>;
  delete(uid: string, id: number | null): Promise<void>;
}

export interface Event {
  /** Null before a creation. */
  readonly id: number | null;
  /** The body's `data`; before a write it may be changed. Null for deletions. */
  readonly data: Record<string, unknown> | null;
  /**
   * The content inside the same transaction, until the hook ends: its calls run one after the other, and later ones are
   * rejected. What a refused call did is undone; a hook may go on after a refusal that it waited for. One that it did
   * not wait for refuses the request.
   */
  readonly content: Content;
  /** Ends the request and undoes everything. */
  readonly refuse: Refuse;
}

/** Ends within `limits.hookMsMax`. */
export type Hook = (event: Event) => Promise<void> | void;

export interface Handlers {
  /** Lists of a collection, and a single type. */
  readonly find?: Handler;
  readonly findOne?: Handler;
  readonly create?: Handler;
  readonly update?: Handler;
  readonly delete?: Handler;
  readonly beforeCreate?: Hook;
  readonly afterCreate?: Hook;
  readonly beforeUpdate?: Hook;
  readonly afterUpdate?: Hook;
  readonly beforeDelete?: Hook;
  readonly afterDelete?: Hook;
}

export const handlerNames = ['find', 'findOne', 'create', 'update', 'delete'] as const;
export const hookNames = [
  'beforeCreate',
  'afterCreate',
  'beforeUpdate',
  'afterUpdate',
  'beforeDelete',
  'afterDelete',
] as const;
export type HandlerName = (typeof handlerNames)[number];
export type HookName = (typeof hookNames)[number];
