/**
 * Expected faults are values: an `Issue` has a code, the path of the parameter or attribute, and facts. This file holds
 * every code with its HTTP status, its name in the envelope (contract 5) and its wording; nothing else words an error.
 * A `Bug` is a broken promise of our own code; it is thrown, logged with its id and answered with 500.
 */

import { closest, distance } from 'fastest-levenshtein';

export type IssueName =
  | 'ValidationError'
  | 'PaginationError'
  | 'ApplicationError'
  | 'NotFoundError'
  | 'ForbiddenError'
  | 'UnauthorizedError'
  | 'MethodNotAllowedError'
  | 'PayloadTooLargeError'
  | 'UriTooLongError'
  | 'PreconditionFailedError'
  | 'RequestTimeoutError'
  | 'ConflictError'
  | 'ServiceUnavailableError'
  | 'BadRequestError'
  | 'RateLimitError';

interface IssueKind<Facts> {
  readonly status: number;
  readonly name: IssueName;
  /** @param at the path as the client wrote it: `populate[author][fields][0]`, or `seo.metaTitle` for a body. */
  readonly say: (facts: Facts, at: string) => string;
}

const kind = <Facts>(status: number, name: IssueName, say: (facts: Facts, at: string) => string): IssueKind<Facts> => ({
  status,
  name,
  say,
});

/** A fault in the query string: a 400 that names the parameter by its full bracket path. */
const query = <Facts = unknown>(say: (facts: Facts) => string): IssueKind<Facts> =>
  kind(400, 'ValidationError', (facts, at) => `Invalid parameter ${at}: ${say(facts)}`);

/** A value of a body as v4 prints it: strings in quotes, objects as indented JSON; long ones are cut. */
const printed = (value: unknown): string => {
  const text = jsonText(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
};

const jsonText = (value: unknown): string => {
  try {
    return JSON.stringify(value, null, 2) ?? String(value);
  } catch {
    // nested deeper than the stack is
    return '…';
  }
};

const near = (name: string | undefined): string => (name === undefined ? '' : `. Did you mean "${name}"?`);

interface Named {
  readonly type: string;
  readonly name: string;
  readonly near?: string | undefined;
}

export const issueKinds = {
  // ---- brackets: the syntax of the query string
  'query.malformed-key': query<{ key: string }>(
    (f) => `the key "${f.key}" cannot be read; brackets must balance, as in filters[name][$eq]`,
  ),
  'query.mixed-forms': query(() => 'is given as a value and as an object; choose one form'),
  'query.too-many-parameters': kind<{ max: number }>(
    400,
    'ValidationError',
    (f) => `The query string has more than ${f.max} parameters`,
  ),
  'query.nul-character': query(() => 'NUL characters are not accepted'),
  // ---- resolve: names and values
  'query.unknown-name': query<Named>((f) => `${f.type} has no attribute "${f.name}"${near(f.near)}`),
  'query.not-selectable': query<Named>((f) => `"${f.name}" of ${f.type} cannot be selected; use populate`),
  'query.not-populatable': query<Named>(
    (f) => `"${f.name}" of ${f.type} is a field and cannot be populated; use fields`,
  ),
  'query.not-filterable': query<Named>((f) => `"${f.name}" of ${f.type} cannot be filtered by`),
  'query.not-sortable': query<Named>((f) => `"${f.name}" of ${f.type} cannot be sorted by`),
  'query.hidden': query<Named>((f) => `"${f.name}" of ${f.type} is not available`),
  'query.unknown-option': query<{ name: string; options: readonly string[]; near?: string | undefined }>(
    (f) => `"${f.name}" is not an option of populate; known are ${f.options.join(', ')}${near(f.near)}`,
  ),
  'query.populate-with-pagination': query(() => 'populate cannot be combined with pagination'),
  'query.unknown-component': query<{ zone: string; name: string; near?: string | undefined }>(
    (f) => `the dynamic zone "${f.zone}" has no component "${f.name}"${near(f.near)}`,
  ),
  'query.fragments-outside-zone': query<{ name: string }>((f) => `"on" needs a dynamic zone, and "${f.name}" is none`),
  'query.unknown-operator': query<{ name: string; near?: string | undefined }>(
    (f) => `"${f.name}" is not a filter operator${near(f.near)}`,
  ),
  'query.operator-without-attribute': query<{ operator: string }>(
    (f) => `${f.operator} needs an attribute before it, as in filters[name][${f.operator}]`,
  ),
  'query.operator-not-for-type': query<{ operator: string; type: string }>(
    (f) => `${f.operator} does not apply to attributes of type ${f.type}`,
  ),
  'query.flag': query<{ text: string }>((f) => `"${f.text}" is not a flag; expected true, t, 1, false, f or 0`),
  'query.expected-object': kind(
    400,
    'ValidationError',
    (_f, at) => `Invalid parameter ${at}: expected an object, as in ${at}[…]=…`,
  ),
  'query.expected-list': query(() => 'expected a list such as [0]=first&[1]=second'),
  'query.expected-text': query(() => 'expected a single value'),
  'query.expected-names': query(() => 'expected a name or a list of names'),
  'query.expected-two-values': query(() => 'expected exactly two values, a lower and an upper bound'),
  'query.list-too-long': query<{ max: number }>((f) => `more than ${f.max} values`),
  'query.too-many-conditions': query<{ max: number }>((f) => `more than ${f.max} conditions`),
  'query.too-deep': query<{ max: number }>((f) => `nested more than ${f.max} levels deep`),
  'query.too-many-selections': kind<{ max: number }>(
    400,
    'ValidationError',
    (f, at) => `Invalid parameter ${at}: populate is too expensive, more than ${f.max} relations`,
  ),
  'query.sort-direction': query<{ text: string }>((f) => `"${f.text}" is not a direction; expected asc or desc`),
  'query.sort-needs-attribute': query<Named>(
    (f) => `"${f.name}" of ${f.type} is a relation; name one of its attributes, as in ${f.name}.id`,
  ),
  'query.sort-too-long': query<{ max: number }>((f) => `more than ${f.max} steps or keys`),
  'query.publication-state': query<{ text: string }>(
    (f) => `"${f.text}" is not a publication state; expected live or preview`,
  ),
  'query.number': query<{ text: string }>((f) => `"${f.text}" is not a number`),
  'query.integer': query<{ text: string }>((f) => `"${f.text}" is not an integer`),
  'query.too-large': query<{ max: string }>((f) => `is larger than ${f.max}`),
  'query.biginteger': query<{ text: string }>((f) => `"${f.text}" is not an integer in digits`),
  'query.boolean': query<{ text: string }>((f) => `"${f.text}" is not a boolean; expected true, t, 1, false, f or 0`),
  'query.unknown-pagination': query<{ name: string; near?: string | undefined }>(
    (f) => `"${f.name}" is not a pagination parameter${near(f.near)}`,
  ),
  // ---- values whose wording v4's front ends know (contract 5)
  'value.date': kind(400, 'ValidationError', () => 'Invalid format, expected yyyy-MM-dd'),
  'value.no-such-day': kind(400, 'ValidationError', () => 'Invalid date'),
  'value.time': kind(400, 'ValidationError', () => 'Invalid time format, expected HH:mm:ss.SSS'),
  'value.datetime': kind(400, 'ValidationError', () => 'Invalid format, expected a timestamp or an ISO date'),
  'pagination.mixed': kind(
    400,
    'ValidationError',
    () => 'Invalid pagination parameters. Expected either start/limit or page/pageSize',
  ),
  'pagination.top-level': kind<{ name: string }>(
    400,
    'PaginationError',
    (f) => `Invalid pagination attributes. Write pagination[${f.name}] instead of ${f.name}`,
  ),
  'pagination.with-count': kind(
    400,
    'ValidationError',
    () => 'Invalid withCount parameter. Expected "t","1","true","false","0","f"',
  ),
  // ---- run: budgets
  'read.too-expensive': kind<{ what: string; max: number }>(
    400,
    'ValidationError',
    (f) =>
      `populate is too expensive: the answer needs more than ${f.max} ${f.what}. Ask for fewer entries, relations or levels`,
  ),
  'read.too-slow': kind<{ max: number }>(
    400,
    'ValidationError',
    (f) =>
      `The request is too expensive: reading took more than ${f.max} ms. Ask for fewer entries, relations, filters or levels`,
  ),
  'read.too-large': kind<{ max: number }>(
    400,
    'ValidationError',
    (f) =>
      `populate is too expensive: the answer is larger than ${f.max} characters. Ask for fewer entries, fields or levels`,
  ),
  // ---- bodies: wording that v4's front ends know (contract 5), with the path and the ids where v4 leaves them out
  'body.missing': kind(400, 'ValidationError', () => 'Missing "data" payload in the request body'),
  'body.data-type': kind<{ value: unknown }>(
    400,
    'ValidationError',
    (f) => `this must be a \`object\` type, but the final value was: \`${printed(f.value)}\`.`,
  ),
  'body.unknown-key': kind<Named>(
    400,
    'ValidationError',
    (f, at) => `${at}: ${f.type} has no attribute "${f.name}"${near(f.near)}`,
  ),
  'body.required': kind(400, 'ValidationError', (_f, at) => `${at} must be defined.`),
  'body.null': kind(400, 'ValidationError', (_f, at) => `${at} cannot be null.`),
  /** Secrets are not told: their value is undefined. */
  'body.type': kind<{ expected: string; value: unknown }>(
    400,
    'ValidationError',
    (f, at) =>
      `${at} must be a \`${f.expected}\` type${f.value === undefined ? '' : `, but the final value was: \`${printed(f.value)}\``}.`,
  ),
  'body.number': kind<{ value: unknown }>(
    400,
    'ValidationError',
    (f, at) =>
      `${at} must be a \`number\` type, but the final value was: \`NaN\` (cast from the value \`${printed(f.value)}\`).`,
  ),
  'body.integer': kind(400, 'ValidationError', (_f, at) => `${at} must be an integer`),
  'body.min': kind<{ min: number | string }>(
    400,
    'ValidationError',
    (f, at) => `${at} must be greater than or equal to ${f.min}`,
  ),
  'body.max': kind<{ max: number | string }>(
    400,
    'ValidationError',
    (f, at) => `${at} must be less than or equal to ${f.max}`,
  ),
  'body.min-length': kind<{ min: number }>(
    400,
    'ValidationError',
    (f, at) => `${at} must be at least ${f.min} characters`,
  ),
  'body.max-length': kind<{ max: number }>(
    400,
    'ValidationError',
    (f, at) => `${at} must be at most ${f.max} characters`,
  ),
  'body.regex': kind<{ regex: string }>(
    400,
    'ValidationError',
    (f, at) => `${at} must match the following: "/${f.regex}/"`,
  ),
  'body.email': kind(400, 'ValidationError', (_f, at) => `${at} must be a valid email`),
  'body.empty': kind(400, 'ValidationError', (_f, at) => `${at} cannot be empty`),
  'body.enumeration': kind<{ values: readonly string[] }>(
    400,
    'ValidationError',
    (f, at) => `${at} must be one of the following values: ${f.values.map((it) => `${it}, `).join('')}`,
  ),
  'body.unique': kind(400, 'ValidationError', () => 'This attribute must be unique'),
  'body.items-min': kind<{ min: number }>(
    400,
    'ValidationError',
    (f, at) => `${at} field must have at least ${f.min} items`,
  ),
  'body.items-max': kind<{ max: number }>(
    400,
    'ValidationError',
    (f, at) => `${at} field must have less than or equal to ${f.max} items`,
  ),
  'body.component-missing': kind(400, 'ValidationError', (_f, at) => `${at} is a required field`),
  'body.component-unknown': kind<{ known: readonly string[] }>(
    400,
    'ValidationError',
    (f, at) => `${at} must be one of the following values: ${f.known.join(', ')}`,
  ),
  'body.component-foreign': kind<{ id: unknown }>(
    400,
    'ApplicationError',
    (f, at) => `Some of the provided components in ${at} are not related to the entity: ${printed(f.id)}`,
  ),
  'body.block': kind<{ what: string }>(400, 'ValidationError', (f, at) => `${at}: ${f.what}`),
  'body.text': kind(400, 'ValidationError', (_f, at) => `${at} must be well-formed text without NUL characters`),
  'body.too-deep': kind<{ max: number }>(
    400,
    'ValidationError',
    (f, at) => `${at} is nested more than ${f.max} levels deep`,
  ),
  'body.too-many': kind<{ max: number; what: string }>(
    400,
    'ValidationError',
    (f, at) => `${at}: more than ${f.max} ${f.what} in one request`,
  ),
  'relation.invalid': kind<{ value: unknown }>(
    400,
    'ValidationError',
    (f, at) => `Invalid relations: ${at} must be ids, but the final value was: \`${printed(f.value)}\`.`,
  ),
  'relation.set-with-others': kind(
    400,
    'ValidationError',
    (_f, at) => `Invalid relations: ${at} combines set with connect or disconnect`,
  ),
  'relation.unknown-key': kind<{ name: string; near?: string | undefined }>(
    400,
    'ValidationError',
    (f, at) =>
      `Invalid relations: ${at} has the unknown key "${f.name}"; known are connect, disconnect and set${near(f.near)}`,
  ),
  'relation.empty-object': kind(
    400,
    'ValidationError',
    (_f, at) => `Invalid relations: ${at} is an object without connect, disconnect, set or id`,
  ),
  'relation.media-connect': kind<{ name: string }>(
    400,
    'ValidationError',
    (f, at) => `${at}: ${f.name} cannot be used on media; give ids or set`,
  ),
  'relation.connected-twice': kind<{ id: number }>(
    400,
    'ValidationError',
    (f, at) => `The relation with id ${f.id} is already connected. You cannot connect the same relation twice. (${at})`,
  ),
  'relation.position': kind<{ value: unknown }>(
    400,
    'ValidationError',
    (f, at) =>
      `${at} must have exactly one of before, after (an id), start, end (true), but the final value was: \`${printed(f.value)}\`.`,
  ),
  'relation.anchor-missing': kind<{ id: number; position: unknown; anchor: number }>(
    400,
    'ValidationError',
    (f, at) =>
      `There was a problem connecting relation with id ${f.id} at position ${JSON.stringify(f.position)}. The relation with id ${f.anchor} needs to be connected first. (${at})`,
  ),
  'relation.circular': kind<{ id: number }>(
    400,
    'ValidationError',
    (f, at) =>
      `A circular reference was found in the connect array. One relation is trying to connect before/after another one that is trying to connect before/after it: id ${f.id} (${at})`,
  ),
  'relation.absent': kind<{ uid: string; ids: readonly number[] }>(
    400,
    'ValidationError',
    (f, at) =>
      `${f.ids.length} relation(s) of type ${f.uid} associated with this entity do not exist: ${at} ${f.ids.join(', ')}`,
  ),
  // ---- accounts: wording that v4's front ends compare (contract 8)
  'account.required': kind(400, 'ValidationError', (_f, at) => `${at} is a required field`),
  'account.login': kind(400, 'ValidationError', () => 'Invalid identifier or password'),
  'account.not-confirmed': kind(400, 'ApplicationError', () => 'Your account email is not confirmed'),
  'account.blocked': kind(400, 'ApplicationError', () => 'Your account has been blocked by an administrator'),
  'account.provider-disabled': kind(400, 'ApplicationError', () => 'This provider is disabled'),
  'account.registration-disabled': kind(400, 'ApplicationError', () => 'Register action is currently disabled'),
  'account.default-role-missing': kind(400, 'ApplicationError', () => 'Impossible to find the default role'),
  'account.taken': kind(400, 'ApplicationError', () => 'Email or Username are already taken'),
  'account.email-taken': kind(400, 'ApplicationError', () => 'Email already taken'),
  'account.username-taken': kind(400, 'ApplicationError', () => 'Username already taken'),
  'account.reset-code': kind(400, 'ValidationError', () => 'Incorrect code provided'),
  'account.passwords-differ': kind(400, 'ValidationError', () => 'Passwords do not match'),
  'account.current-password': kind(400, 'ValidationError', () => 'The provided current password is invalid'),
  'account.same-password': kind(
    400,
    'ValidationError',
    () => 'Your new password must be different than your current password',
  ),
  'account.password-too-long': kind<{ bytesMax: number }>(
    400,
    'ValidationError',
    (f) => `Password must be less than ${f.bytesMax + 1} bytes`,
  ),
  'account.confirmation': kind(400, 'ValidationError', () => 'Invalid token'),
  'account.already-confirmed': kind(400, 'ApplicationError', () => 'Already confirmed'),
  'account.user-blocked': kind(400, 'ApplicationError', () => 'User blocked'),
  'account.user-absent': kind(404, 'NotFoundError', () => 'User not found'),
  'account.role-absent': kind(404, 'NotFoundError', () => 'Role not found'),
  'account.body-empty': kind(400, 'ValidationError', () => 'Request body cannot be empty'),
  'account.public-role': kind(400, 'ApplicationError', () => 'Cannot delete public role'),
  'account.unknown-action': kind<{ action: string; near?: string | undefined }>(
    400,
    'ValidationError',
    (f, at) => `${at}: there is no action "${f.action}"${near(f.near)}`,
  ),
  // ---- refusals of a project's own handlers, in its own words
  'handler.refused': kind<{ message: string }>(400, 'ApplicationError', (f) => f.message),
  'handler.forbidden': kind<{ message: string }>(403, 'ForbiddenError', (f) => f.message),
  'handler.not-found': kind<{ message: string }>(404, 'NotFoundError', (f) => f.message),
  'handler.conflict': kind<{ message: string }>(409, 'ConflictError', (f) => f.message),
  // ---- http
  'http.not-found': kind(404, 'NotFoundError', () => 'Not Found'),
  'http.forbidden': kind(403, 'ForbiddenError', () => 'Forbidden'),
  'http.bad-credentials': kind(401, 'UnauthorizedError', () => 'Missing or invalid credentials'),
  'http.invalid-credentials': kind(401, 'UnauthorizedError', () => 'Invalid credentials'),
  'http.token-expired': kind(401, 'UnauthorizedError', () => 'Token expired'),
  'http.no-user': kind(401, 'UnauthorizedError', () => 'Unauthorized'),
  'http.too-many-requests': kind(429, 'RateLimitError', () => 'Too many requests, please try again later.'),
  'http.method': kind<{ method: string }>(405, 'MethodNotAllowedError', () => 'Method Not Allowed'),
  'http.url-too-long': kind<{ max: number }>(414, 'UriTooLongError', (f) => `The URL is longer than ${f.max} bytes`),
  'http.body-too-large': kind(413, 'PayloadTooLargeError', () => 'request entity too large'),
  'http.malformed-path': kind(400, 'BadRequestError', () => 'The path cannot be decoded'),
  'http.malformed-request': kind(400, 'BadRequestError', () => 'The request is not HTTP'),
  'http.too-slow': kind(408, 'RequestTimeoutError', () => 'The request took too long to come in'),
  'http.changed-meanwhile': kind(412, 'PreconditionFailedError', () => 'The entry has changed since it was read'),
  'http.busy': kind(503, 'ServiceUnavailableError', () => 'The server is busy or stopping; try again'),
  'http.malformed-body': kind(400, 'ValidationError', () => 'The body is not valid JSON'),
} as const satisfies Record<string, IssueKind<never>>;

export type IssueCode = keyof typeof issueKinds;
type FactsOf<Code extends IssueCode> = (typeof issueKinds)[Code] extends IssueKind<infer Facts> ? Facts : never;

export interface Issue {
  readonly code: IssueCode;
  /** Segments: `['populate','author','fields','0']` in a query, `['seo','metaTitle']` in a body; empty: the whole request. */
  readonly path: readonly string[];
  readonly facts: unknown;
}

export const issue = <Code extends IssueCode>(
  code: Code,
  path: readonly string[],
  ...facts: [FactsOf<Code>] extends [never] ? [] : unknown extends FactsOf<Code> ? [] : [FactsOf<Code>]
): Issue => ({ code, path, facts: facts[0] });

/** The words of an issue. Query paths are written with brackets, body paths with dots and `[0]` for places in lists. */
export const sayIssue = (it: Issue): string => {
  const [first = '', ...rest] = it.path;
  const inQuery = it.code.startsWith('query.');
  const at =
    first + rest.map((segment) => (inQuery || /^\d+$/.test(segment) ? `[${segment}]` : `.${segment}`)).join('');
  const say = issueKinds[it.code].say as (facts: unknown, at: string) => string;
  return say(it.facts, at);
};

/** The error envelope of contract 5; the first issue sets status, name and, if it is alone, the message. */
export const errorEnvelope = (issues: readonly Issue[]): { status: number; body: string } => {
  const [first] = issues;
  if (!first) throw bug('errors.no-issue', {});
  const { status, name } = issueKinds[first.code];
  const message = issues.length === 1 ? sayIssue(first) : `${issues.length} errors occurred`;
  const errors = issues.map((it) => ({ path: it.path, message: sayIssue(it), name: issueKinds[it.code].name }));
  const details = first.path.length > 0 || issues.length > 1 ? { errors } : {};
  return { status, body: JSON.stringify({ data: null, error: { status, name, message, details } }) };
};

export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly Issue[] };
export const ok = <T>(value: T): Result<T> => ({ ok: true, value });
export const refused = (...issues: readonly Issue[]): Result<never> => ({ ok: false, issues });

/** Carries issues out of a database program, past its rollback, to the caller that turns them into a `Result` again. */
export class Refusal extends Error {
  readonly issues: readonly Issue[];
  constructor(...issues: readonly Issue[]) {
    super(issues.map(sayIssue).join('; '));
    this.name = 'Refusal';
    this.issues = issues;
  }
}

/** A broken promise of our own code. The id is unique to the throwing line. */
export class Bug extends Error {
  readonly id: string;
  readonly facts: unknown;
  constructor(id: string, facts: unknown) {
    super(`Bug ${id} ${JSON.stringify(facts)}`);
    this.name = 'Bug';
    this.id = id;
    this.facts = facts;
  }
}
export const bug = (id: string, facts: unknown): Bug => new Bug(id, facts);

/** Closes a switch over a union: a new member turns it red at compile time. */
export const never = (value: never): never => {
  throw bug('errors.unhandled-member', { value });
};

/** The nearest known name, if it is near enough to be meant. */
export const nearest = (text: string, known: Iterable<string>): string | undefined => {
  const names = [...known];
  if (names.length === 0 || text.length > 100) return undefined;
  const lower = text.toLowerCase();
  const best = names.find((it) => it.toLowerCase() === lower) ?? closest(text, names);
  return distance(lower, best.toLowerCase()) <= Math.max(2, Math.floor(best.length / 3)) ? best : undefined;
};

/** The end of a start-up message about a name that is not known. */
export const orNearest = (text: string, known: Iterable<string>): string => {
  const near = nearest(text, known);
  return near === undefined ? '' : `; did you mean "${near}"?`;
};
