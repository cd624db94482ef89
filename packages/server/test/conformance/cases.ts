/**
 * Recorded cases: their format, and how a response is compared with the recorded one (README.md). Shared by the tests
 * and by `run.mjs`, so it imports nothing but Node.
 */
import fs from 'node:fs';
import path from 'node:path';

/** A kit is a project, its data and the cases recorded over them. */
export const kits = ['core', 'museum'] as const;
export type Kit = (typeof kits)[number];

export const suites = ['reads', 'contract', 'writes'] as const;
export type Suite = (typeof suites)[number];

/** All passwords of the recorded data. */
export const password = 'Passw0rd!';
/** The secrets with which the recorded tokens were signed and hashed. */
export const secrets = {
  jwtSecret: 'conformance-jwt-secret',
  apiTokenSalt: 'conformance-token-salt',
  adminJwtSecret: null,
} as const;

export interface RecordedRequest {
  readonly method: string;
  /** Sent byte for byte. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text is sent as it is, anything else as JSON. */
  readonly body?: unknown;
  /** A form, instead of a body. */
  readonly multipart?: readonly FormPart[];
}

/** A value that is not a text is sent as JSON. A file's path is relative to its kit. */
export type FormPart =
  | { readonly name: string; readonly value: unknown }
  | { readonly name: string; readonly file: string; readonly filename?: string; readonly type?: string };

export interface Expected {
  readonly status: number | '<500' | readonly number[];
  /** Exact, except that a Content-Type is compared without parameters; null for a header that is not sent. */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly body?: unknown;
  readonly match?: 'subset';
}

export interface Step {
  readonly request: RecordedRequest;
  readonly expect: Expected;
}

/** One line of a suite: a single request, or steps that are played in order on fresh data. */
export interface Case extends Partial<Step> {
  readonly id: string;
  readonly rule: string;
  readonly note?: string;
  readonly steps?: readonly Step[];
  readonly databases?: readonly string[];
  readonly match?: 'subset';
  /** Whether the message of an error is compared too. */
  readonly message?: boolean;
  /** The same of its details. */
  readonly details?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Parsed JSON; the text where it is none; null for an empty body. */
  readonly body: unknown;
}

export interface Difference {
  /** JSON pointer. */
  readonly at: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

const here = import.meta.dirname;

/** Where the pieces of a kit are. */
export const kitFiles = (kit: Kit) => {
  const dir = path.join(here, kit);
  const uploads = path.join(dir, 'files');
  return {
    dir,
    project: path.join(dir, 'project'),
    /** Files laid over the copy of the project; the folder may be missing. */
    overlay: path.join(dir, 'overlay'),
    data: { sqlite: path.join(dir, 'data.sqlite'), postgres: path.join(dir, 'data.postgres.sql') },
    suite: (suite: Suite) => path.join(dir, `${suite}.jsonl`),
    /** Copies the files that the data names into `public/uploads` of a project; those in folders are only sent. */
    copyUploads: (project: string): void => {
      if (!fs.existsSync(uploads)) return;
      const target = path.join(project, 'public', 'uploads');
      fs.mkdirSync(target, { recursive: true });
      for (const it of fs.readdirSync(uploads, { withFileTypes: true }))
        if (it.isFile()) fs.copyFileSync(path.join(uploads, it.name), path.join(target, it.name));
    },
  } as const;
};

export const readCases = (file: string): readonly Case[] =>
  fs
    .readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line, i) => {
      try {
        return JSON.parse(line) as Case;
      } catch (fault) {
        throw new Error(`${file}:${i + 1}: ${(fault as Error).message}`);
      }
    });

export const stepsOf = (it: Case): readonly Step[] => it.steps ?? [{ request: it.request!, expect: it.expect! }];

export const isRead = (it: Case): boolean => stepsOf(it).every(({ request }) => request.method === 'GET');

/** Whether a request with that response may have changed the data. */
export const mayHaveChanged = ({ method, path: target, multipart }: RecordedRequest, { status }: Answer): boolean => {
  // PostgreSQL does not give an id again that a refused request had reserved
  const isWritten = status < 400 || (status === 400 && method === 'POST') || multipart !== undefined;
  return method !== 'GET' && isWritten && !/^\/api\/auth\/(?!local\/register)/.test(target);
};

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const placeholders: Readonly<Record<string, (actual: unknown) => boolean>> = {
  '<datetime>': (it) => typeof it === 'string' && isoTime.test(it),
  '<string>': (it) => typeof it === 'string' && it !== '',
  '<number>': (it) => typeof it === 'number',
  '<url>': (it) => typeof it === 'string' && /^\/uploads\/[^/]+$/.test(it),
};

type Fields = Readonly<Record<string, unknown>>;
const isObject = (it: unknown): it is Fields => it !== null && typeof it === 'object' && !Array.isArray(it);

/** The differences between a response and what its step expects; empty if there are none. */
export const differences = (answer: Answer, { expect }: Step, it: Case): readonly Difference[] => {
  const found: Difference[] = [];
  const { status } = expect;
  const isRight = status === '<500' ? answer.status < 500 : [status].flat().includes(answer.status);
  if (!isRight) found.push({ at: '(status)', expected: status, actual: answer.status });
  for (const [name, expected] of Object.entries(expect.headers ?? {})) {
    const given = answer.headers[name.toLowerCase()] ?? null;
    const isType = name.toLowerCase() === 'content-type' && expected?.includes(';') !== true;
    const actual = isType ? String(given).split(';')[0] : Array.isArray(given) ? given.join(',') : given;
    if (compare(expected, actual, '', false).length > 0) found.push({ at: `(${name})`, expected, actual });
  }
  if (!('body' in expect)) return found;
  const isSubset = (expect.match ?? it.match) === 'subset';
  return [
    ...found,
    ...compareBodies(expect.body, answer.body, {
      isSubset,
      message: it.message === true,
      details: it.details === true,
    }),
  ];
};

interface HowToCompare {
  /** Only the expected keys count. */
  readonly isSubset: boolean;
  readonly message: boolean;
  readonly details: boolean;
}

const compareBodies = (expected: unknown, actual: unknown, how: HowToCompare): readonly Difference[] => {
  if (!isObject(expected) || !isObject(expected['error'])) return compare(expected, actual, '', how.isSubset);
  // of an error response status and name are always compared, message and details if the case says so
  const wanted = expected['error'];
  const given = isObject(actual) ? actual['error'] : undefined;
  if (!isObject(actual) || !isObject(given)) return [{ at: '/error', expected: wanted, actual: given ?? actual }];
  const keys = ['status', 'name', ...(how.message ? ['message'] : []), ...(how.details ? ['details'] : [])].filter(
    (key) => key in wanted,
  );
  return [
    ...('data' in expected && !how.isSubset ? compare(expected['data'], actual['data'], '/data', false) : []),
    ...keys.flatMap((key) => compare(wanted[key], given[key], `/error/${key}`, false)),
  ];
};

const compare = (expected: unknown, actual: unknown, at: string, isSubset: boolean): readonly Difference[] => {
  const differs = [{ at, expected, actual }];
  const placeholder = typeof expected === 'string' ? placeholders[expected] : undefined;
  if (placeholder) return placeholder(actual) ? [] : differs;
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return differs;
    const lengths =
      expected.length === actual.length
        ? []
        : [{ at, expected: `${expected.length} elements`, actual: `${actual.length} elements` }];
    const shared = expected.slice(0, actual.length);
    return [...lengths, ...shared.flatMap((it, i) => compare(it, actual[i], `${at}/${i}`, isSubset))];
  }
  if (!isObject(expected)) return expected === actual ? [] : differs;
  if (!isObject(actual)) return differs;
  const pointer = (key: string): string => `${at}/${key.replace(/~/g, '~0').replace(/\//g, '~1')}`;
  const surplus = isSubset ? [] : Object.keys(actual).filter((key) => !(key in expected));
  return [
    ...Object.keys(expected).flatMap((key) =>
      key in actual
        ? compare(expected[key], actual[key], pointer(key), isSubset)
        : [{ at: pointer(key), expected: expected[key], actual: undefined }],
    ),
    ...surplus.map((key) => ({ at: pointer(key), expected: undefined, actual: actual[key] })),
  ];
};

/** The first differences as text. */
export const sayDifferences = (found: readonly Difference[]): string => {
  const first = found
    .slice(0, 3)
    .map((it) => `${it.at || '/'} expected ${short(it.expected)}, got ${short(it.actual)}`);
  return first.join('; ') + (found.length > 3 ? `; and ${found.length - 3} more` : '');
};

const short = (value: unknown): string => {
  const text = JSON.stringify(value);
  if (text === undefined) return '(absent)';
  return text.length > 70 ? `${text.slice(0, 67)}...` : text;
};

export interface Target {
  send(request: RecordedRequest): Promise<Answer>;
  /** JWTs by e-mail address, filled as cases ask for them. */
  readonly logins: Map<string, string>;
}

export interface Played {
  /** The first step that failed, as text; null if all responses are as recorded. */
  readonly fault: { readonly where: string; readonly text: string; readonly status: number | null } | null;
  readonly changed: boolean;
}

/** Plays the steps of a case up to the first that fails. */
export const play = async (it: Case, target: Target): Promise<Played> => {
  let changed = false;
  const answers: unknown[] = [];
  for (const [i, step] of stepsOf(it).entries()) {
    const request = filledIn(step.request, answers);
    const where = `${it.steps ? `step ${i + 1} ` : ''}${request.method} ${request.path}`;
    let answer: Answer;
    try {
      answer = await target.send({ ...request, headers: await loggedIn(request, target) });
    } catch (fault) {
      const text = `no answer: ${(fault as Error).message}`;
      return { fault: { where, text, status: null }, changed: true };
    }
    answers.push(answer.body);
    changed ||= mayHaveChanged(request, answer);
    const found = differences(answer, step, it);
    if (found.length > 0) {
      const fault = { where, text: sayDifferences(found), status: answer.status };
      return { fault, changed: changed || request.method !== 'GET' };
    }
  }
  return { fault: null, changed };
};

/** The request, with each `{{answer:N:/pointer}}` replaced by that place in the answer to step N. */
const filledIn = <Value>(value: Value, answers: readonly unknown[]): Value => {
  if (typeof value === 'string')
    return value.replace(/\{\{answer:(\d+):([^}]*)\}\}/g, (_all, step: string, pointer: string) =>
      String(placeIn(answers[Number(step) - 1], pointer)),
    ) as Value;
  if (Array.isArray(value)) return value.map((it) => filledIn(it, answers)) as Value;
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, it]) => [key, filledIn(it, answers)])) as Value;
};

const placeIn = (answer: unknown, pointer: string): unknown => {
  const keys = pointer.split('/').slice(1);
  const place = keys.reduce<unknown>(
    (at, key) =>
      Array.isArray(at) || isObject(at) ? (at as Fields)[key.replace(/~1/g, '/').replace(/~0/g, '~')] : undefined,
    answer,
  );
  if (place === undefined || place === null) throw new Error(`the answer has nothing at ${pointer}`);
  return place;
};

/** The headers, with `{{login:EMAIL}}` replaced by a JWT of that user. */
const loggedIn = async (
  { headers = {} }: RecordedRequest,
  target: Target,
): Promise<Readonly<Record<string, string>>> => {
  const filled: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const [place, email] = /\{\{login:([^}]+)\}\}/.exec(value) ?? [];
    filled[name] = place === undefined ? value : value.replace(place, await login(email!, target));
  }
  return filled;
};

const login = async (identifier: string, { send, logins }: Target): Promise<string> => {
  const known = logins.get(identifier);
  if (known !== undefined) return known;
  const { status, body } = await send({ method: 'POST', path: '/api/auth/local', body: { identifier, password } });
  const jwt = isObject(body) ? body['jwt'] : undefined;
  if (typeof jwt !== 'string') throw new Error(`login of ${identifier} answered ${status}`);
  logins.set(identifier, jwt);
  return jwt;
};
