/** Compares responses with what `/api/openapi.json` says of them to the same caller. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Answer, RecordedRequest, Target } from './cases.js';

type Json = Readonly<Record<string, unknown>>;
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}
interface Operation {
  readonly responses: Readonly<Record<string, Json>>;
}

/** The document does not have the path. */
const UNKNOWN = 'unknown';

/** Validates what a document says of responses. */
const newDescribed = (document: Document) => {
  const ajv = new Ajv2020({ strict: false, allErrors: false });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'document', ...document });
  const known = new Map<string, ValidateFunction>();
  const pathFor = (target: string): string | null => {
    const [path = ''] = target.split('?');
    let decoded = path;
    try {
      decoded = decodeURIComponent(path);
    } catch {
      return null;
    }
    const plain = decoded.toLowerCase().replace(/\/$/, '');
    const candidates = Object.keys(document.paths).filter((it) =>
      new RegExp(
        `^${it
          .toLowerCase()
          .replace(/\{id\}/g, '[1-9]\\d*')
          .replace(/\{\w+\}/g, '[^/]+')}$`,
      ).test(plain),
    );
    return candidates.sort((a, b) => a.split('{').length - b.split('{').length)[0] ?? null;
  };
  return {
    /** What is wrong with a response; null if nothing is. */
    fault: ({ method, path }: RecordedRequest, { status, body }: Answer): string | null => {
      const route = pathFor(path);
      const operation =
        route === null ? undefined : (document.paths[route]?.[method.toLowerCase()] as Operation | undefined);
      if (route === null || !operation) return UNKNOWN;
      const described = operation.responses[status] ?? operation.responses['default'];
      if (!described) return `${method} ${route} does not say that it answers with ${status}`;
      if (body === null || !('content' in described || '$ref' in described)) return null;
      const at =
        '$ref' in described
          ? `document${String(described['$ref'])}/content/application~1json/schema`
          : `document#/paths/${escaped(route)}/${method.toLowerCase()}/responses/${status}/content/application~1json/schema`;
      return faultOf(at, body);
    },
  };
  function faultOf(at: string, body: unknown): string | null {
    let validate = known.get(at);
    if (!validate) {
      validate = ajv.compile({ $ref: at });
      known.set(at, validate);
    }
    if (validate(body)) return null;
    return ajv.errorsText(validate.errors?.slice(-3));
  }
};
const escaped = (path: string): string => encodeURIComponent(path.replace(/~/g, '~0').replace(/\//g, '~1'));

/** Documents by the credentials of their callers. */
export interface Documents {
  /** What is wrong with a response; null if nothing is, or if the caller's document does not know the path. */
  fault(target: Pick<Target, 'send'>, request: RecordedRequest, answer: Answer): Promise<string | null>;
  /** How many responses a document has described. */
  readonly compared: () => number;
}

export const newDocuments = (): Documents => {
  const described = new Map<string, ReturnType<typeof newDescribed>>();
  let compared = 0;
  const documentFor = async ({ send }: Pick<Target, 'send'>, authorization: string) => {
    const known = described.get(authorization);
    if (known) return known;
    const headers: Record<string, string> = authorization === '' ? {} : { authorization };
    const { status, body } = await send({ method: 'GET', path: '/api/openapi.json', headers });
    const made = newDescribed(status === 200 ? (body as Document) : { paths: {} });
    described.set(authorization, made);
    return made;
  };
  return {
    compared: () => compared,
    fault: async (target, request, answer) => {
      const [, authorization = ''] =
        Object.entries(request.headers ?? {}).find(([name]) => name.toLowerCase() === 'authorization') ?? [];
      const document = await documentFor(target, authorization);
      const found = document.fault(request, answer);
      if (found !== UNKNOWN) compared += 1;
      return found === UNKNOWN ? null : found;
    },
  };
};
