/** Requests about the entries of a type that is known only at run time. */
import { encodeQuery } from 'dovetail-client';
import type { Model, Type } from '../../model/model.js';
import type { ApiClient } from '../../server/clients.js';
import { withMarks } from './form/digits.js';

/** Below the API's prefix: `/articles`, `/articles/7`; of a single type `/homepage`. */
export const pathOf = (model: Model, type: Type, id: number | null = null): string => {
  const path = type.path?.slice(model.prefix.length) ?? `/${type.kind === 'single' ? type.singular : type.plural}`;
  return type.kind === 'single' || id === null ? path : `${path}/${id}`;
};

interface OneAnswer {
  readonly data: unknown;
  readonly etag: string | null;
}

export const getEntry = async (
  client: ApiClient,
  model: Model,
  type: Type,
  id: number | null,
  query: object,
  signal?: AbortSignal,
): Promise<OneAnswer> => {
  const { body, text, headers } = await client.send({
    method: 'GET',
    path: pathOf(model, type, id),
    query: encodeQuery(query),
    ...(signal ? { signal } : {}),
  });
  // numbers that the browser cannot hold keep their digits
  const whole = withMarks(text) ?? body;
  return { data: (whole as { data?: unknown }).data ?? null, etag: headers.get('etag') };
};
