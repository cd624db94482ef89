/** Where the contents of uploaded files are kept. Rows know nothing of it but the URL and the name of the provider. */

/** A file on the local disk that is to be stored. */
export interface StagedObject {
  readonly path: string;
  readonly bytes: number;
  readonly mime: string;
}

/**
 * A flat collection of objects. A key is a plain file name, such as `thumbnail_plum_97df1aced1.png`. All calls may be
 * repeated with the same effect, because what a killed process began is completed or undone at the next start. They
 * throw if the store cannot be reached; the request then becomes a 503 and leaves nothing.
 */
export interface Store {
  /** Stored in the column `provider` of each file; files of other providers are never changed or removed. */
  readonly provider: string;
  /** Stores the object, replacing one of that key as a whole. May move the staged file away. */
  put(key: string, object: StagedObject): Promise<void>;
  /** Copies an object to a new local file; false if there is none. */
  get(key: string, path: string): Promise<boolean>;
  /** Removes an object if it exists. */
  remove(key: string): Promise<void>;
  /** The address that responses show: `/uploads/plum_97df1aced1.png`, or an absolute URL. */
  urlOf(key: string): string;
  /**
   * Another address, from which anyone can read the object for a while; equal for all calls of a period. Undefined if the
   * address that responses show suffices.
   * @param now milliseconds since 1970 UTC.
   */
  readonly linkTo?: (key: string, now: number) => Promise<string>;
}
