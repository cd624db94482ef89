/** The HTTP form of a request: the format of its entries; of a write also a body with `data`, and its preconditions. */
import type http from 'node:http';
import { issue, ok, type Result, refused } from '../errors.js';
import type { EntryType } from '../model/model.js';
import type { EntryFormat } from '../query/selection.js';
import type { Precondition } from '../read/etag.js';
import { checkData } from '../write/change.js';
import type { Data, WriteRequest } from '../write/request.js';
import type { WriteAction } from '../write/session.js';

/** As the request writes it; Node gives it in lower case. */
export const FORMAT_HEADER = 'Strapi-Response-Format';

/** The format that the header asks for, `v4` without it (VF1). */
export const readFormat = (headers: http.IncomingHttpHeaders): Result<EntryFormat> => {
  const given = headers['strapi-response-format'];
  if (given === undefined) return v4;
  const name = String(given).trim().toLowerCase();
  if (name === 'v4') return v4;
  return name === 'v5' ? v5 : refused(issue('http.response-format', [], { text: String(given) }));
};

/** Where code of a v4 project takes part it is refused: what that is to take out of entries is elsewhere in v5's, and so is `publicationState`. */
export const asksForV5 = (headers: http.IncomingHttpHeaders): boolean => readFormat(headers) === v5;

const v4 = ok('v4' as const);
const v5 = ok('v5' as const);

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
