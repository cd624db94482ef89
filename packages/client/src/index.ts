/** A typed client for Dovetail. `dovetail types` writes the schema that `createClient` takes. */
export {
  type Client,
  type Collection,
  createClient,
  type Locale,
  type ReadOptions,
  type Single,
  type WriteOptions,
} from './client.js';
export type { ErrorCode, ErrorName } from './codes.js';
export { DovetailError, type Fault } from './errors.js';
export type { FileInfo, Files, UploadFile, UploadTarget } from './files.js';
export type {
  CreateInput,
  Id,
  LocalizationInput,
  Position,
  ToManyInput,
  ToOneInput,
  UpdateInput,
} from './input.js';
export type { AttributeDocument, ModelDocument, RelationDocument, TypeDocument, TypeRights } from './model.js';
export type { Progress } from './progress.js';
export type { EntryQuery, Filters, ListQuery, Populate, SingleQuery, Sort } from './query.js';
export type { ClientOptions, RequestOptions, Send, UploadOptions } from './request.js';
export type { BareEntry, Entry, EntryForm, EntryList, OneEntry } from './result.js';
export type { EntryType, Nested, Schema } from './schema.js';
export { encodeQuery } from './url.js';
export type { Login, Registration, Users } from './users.js';
