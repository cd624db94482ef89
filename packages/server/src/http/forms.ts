/** The HTTP form of a write: a body with `data`, and its preconditions. */
import { ok, type Result } from '../errors.js';
import type { EntryType } from '../model/model.js';
import type { Precondition } from '../read/etag.js';
import { checkData } from '../write/change.js';
import type { Data, WriteRequest } from '../write/request.js';
import type { WriteAction } from '../write/session.js';

export interface WriteForm {
  readonly action: WriteAction;
  readonly type: EntryType;
  /** The entry of an update or delete of a collection. */
  readonly id: number | null;
  /** The parsed JSON body; undefined if there is none. */
  readonly body: unknown;
  readonly match: Precondition | null;
  readonly adminId: number | null;
}

export const readWrite = ({ action, body, id, ...form }: WriteForm): Result<WriteRequest> => {
  if (action === 'delete') return ok({ ...form, action, id });
  const data = checkData(body !== null && typeof body === 'object' ? (body as Data)['data'] : undefined);
  if (!data.ok) return data;
  return ok(action === 'create' ? { ...form, action, data: data.value } : { ...form, action, id, data: data.value });
};
