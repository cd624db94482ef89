/**
 * What a project can customise: the default export of `src/api/<name>/handlers.ts` (or `.js`) is an object of these types.
 * Handlers wrap or replace the actions of their content type; hooks run inside the transaction of each write.
 */
import type { Caller } from '../access/access.js';
import type { QueryObject } from '../query/objects.js';
import type { EntryFormat, Selection } from '../query/selection.js';

export type {
  FilterObject,
  PopulateObject,
  PopulateOptions,
  QueryObject,
  QueryValue,
  SortObject,
} from '../query/objects.js';

/** A plain JSON object, as in responses and bodies. */
export type Json = Readonly<Record<string, unknown>>;

/** A response about to be sent. Returning it unchanged costs nothing. */
export interface StepAnswer {
  /** The JSON text of the body. */
  readonly text: string;
  readonly etag: string;
  /** `{ data, meta }` as a fresh copy that can be changed freely. */
  json(): { data: unknown; meta: Record<string, unknown> };
}

export interface NextOptions {
  /** Allows `createdBy` and `updatedBy` if the request populates them and the schema file sets `populateCreatorFields` (Q9). */
  readonly creatorFields?: boolean;
  /** Replaces the body of the request, for create and update. */
  readonly body?: unknown;
  /** Replaces the query of the request; spread `request.query` into it to keep the rest. */
  readonly query?: QueryObject;
}

export interface Step {
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string | string[] | undefined>>;
    /** The query string, without `?`. */
    readonly search: string;
    /** How the response writes entries, and so what `next` gives: `v5` if the header `Strapi-Response-Format` asks for it. */
    readonly format: EntryFormat;
    /** The parsed query string, as a fresh copy. Reading it throws a refusal if the query string is invalid. */
    readonly query: QueryObject;
    /** The parsed body; undefined if there is none. A form with files is `{ data }`; the files are stored by `next`, which may then be called once. */
    readonly body: unknown;
    /** The id of the entry for findOne, update and delete. */
    readonly id: number | null;
  };
  readonly caller: Caller;
  /** The request's query with names resolved to attributes. Throws the refusal of an invalid query. */
  readonly selection: () => Selection;
  /** Performs the action. Call it to wrap the action; do not call it to replace the action. */
  next(options?: NextOptions): Promise<StepAnswer>;
  /** Reads and writes content with the server's own rights; private attributes can be written but not read. */
  readonly content: Content;
  /** Ends the request with an error in the envelope of ER1. */
  readonly refuse: Refuse;
}

/** @param message sent to the client; the reason phrase of the status by default. @param status 400 by default. */
export type Refuse = (message: string, status?: 400 | 403 | 404 | 409) => never;

/** Must finish within `limits.handlerMsMax`, not counting calls of `next` and `content`. A plain object becomes the body. */
export type Handler = (step: Step) => Promise<StepAnswer | Json> | StepAnswer | Json;

export interface WriteOptions {
  /** Which entry of a localized single type to write; the one in the default locale otherwise. */
  readonly locale?: string;
}

/** Reads and writes any type, regardless of permissions. Private attributes can be written but not read. */
export interface Content {
  /** The entries of a collection, or a single type. @param query a query string in object form. */
  find(uid: string, query?: QueryObject): Promise<{ data: unknown; meta: Record<string, unknown> }>;
  findOne(
    uid: string,
    id: number,
    query?: QueryObject,
  ): Promise<{ data: unknown; meta: Record<string, unknown> } | null>;
  /** Creates an entry, in `data.locale` or else in the default locale. */
  create(uid: string, data: Json): Promise<{ data: unknown; meta: Record<string, unknown> }>;
  /** Creates an entry in `data.locale` as a sibling of another one (LO7). @param id null for a single type. */
  createLocalization(
    uid: string,
    id: number | null,
    data: Json,
  ): Promise<{ data: unknown; meta: Record<string, unknown> }>;
  update(
    uid: string,
    id: number | null,
    data: Json,
    options?: WriteOptions,
  ): Promise<{ data: unknown; meta: Record<string, unknown> }>;
  delete(uid: string, id: number | null, options?: WriteOptions): Promise<void>;
}

export interface Event {
  /** Null before the entry is created. */
  readonly id: number | null;
  /** The body's `data`, which a hook before the write may change. Null for deletions. */
  readonly data: Record<string, unknown> | null;
  /**
   * The content inside the same transaction, valid until the hook ends; later calls are rejected. Calls run
   * sequentially. A refused call is rolled back, and a hook may catch a refusal that it awaited; one that it did not
   * await refuses the request.
   */
  readonly content: Content;
  /** Ends the request and rolls the transaction back. */
  readonly refuse: Refuse;
}

/** Must finish within `limits.hookMsMax`. */
export type Hook = (event: Event) => Promise<void> | void;

export interface Handlers {
  /** Handles lists of a collection and reads of a single type. */
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
