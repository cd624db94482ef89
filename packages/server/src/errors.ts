/**
 * Expected faults are values: an `Issue` has a code, the path of the parameter or attribute, and the facts of that code.
 * This file holds every code with its error name (ER1) and its message; no other file writes error messages.
 * A `Bug` is a violated invariant of our own code; it is thrown, logged with its id and answered with 500.
 */

import { closest, distance } from 'fastest-levenshtein';
import { limits } from './limits.js';
import type { Ready } from './ready.js';

/** The error name determines the status of the response (ER1). */
export const statusOf = {
  ValidationError: 400,
  PaginationError: 400,
  ApplicationError: 400,
  BadRequestError: 400,
  UnauthorizedError: 401,
  ForbiddenError: 403,
  NotFoundError: 404,
  MethodNotAllowedError: 405,
  RequestTimeoutError: 408,
  ConflictError: 409,
  PreconditionFailedError: 412,
  PayloadTooLargeError: 413,
  UriTooLongError: 414,
  UnsupportedMediaTypeError: 415,
  RangeNotSatisfiableError: 416,
  RateLimitError: 429,
  ServiceUnavailableError: 503,
} as const;

export type IssueName = keyof typeof statusOf;

interface IssueKind<Facts extends object> {
  readonly name: IssueName;
  readonly message: Wording<Facts>;
}

/** `at` is the path as the client wrote it: `populate[author][fields][0]`, or `seo.metaTitle` for a body. */
type Wording<Facts extends object> = (facts: Facts & { readonly at: string }) => string;
type NoFacts = Record<never, never>;

const named = <Facts extends object = NoFacts>(name: IssueName, message: Wording<Facts>): IssueKind<Facts> => ({
  name,
  message,
});

/** Input that breaks a rule. */
const invalid = <Facts extends object = NoFacts>(message: Wording<Facts>): IssueKind<Facts> =>
  named('ValidationError', message);

/** A fault in the query string: the message names the parameter by its full bracket path. */
const query = <Facts extends object = NoFacts>(message: Wording<Facts>): IssueKind<Facts> =>
  invalid((facts) => `Invalid parameter ${facts.at}: ${message(facts)}`);

/** Characters of a rejected value, key or name that a message quotes. */
const quotedMax = 200;
const shorten = (text: string): string => (text.length > quotedMax ? `${text.slice(0, quotedMax)}…` : text);

/**
 * A value of a body as v4 prints it: quoted strings, objects as indented JSON, truncated. Printing stops at the
 * truncation point, so its cost does not depend on the size of the value. Each level of nesting prints something, so this
 * bounds the recursion too.
 */
const print = (value: unknown): string => {
  let text = '';
  const add = (it: unknown, indent: string): void => {
    if (typeof it === 'string') text += JSON.stringify(it.slice(0, quotedMax));
    else if (it instanceof Date) text += String(JSON.stringify(it));
    else if (it === null || typeof it !== 'object') text += String(it);
    else addMembers(it, indent);
  };
  const addMembers = (it: object, indent: string): void => {
    const isList = Array.isArray(it);
    const start = text.length;
    text += isList ? '[' : '{';
    for (const key of isList ? it.keys() : Object.keys(it)) {
      if (text.length > quotedMax) return;
      text += `${text.length > start + 1 ? ',' : ''}\n${indent}  `;
      if (typeof key === 'string') text += `${JSON.stringify(key.slice(0, quotedMax))}: `;
      add((it as Record<string | number, unknown>)[key], `${indent}  `);
    }
    if (text.length > start + 1) text += `\n${indent}`;
    text += isList ? ']' : '}';
  };
  add(value, '');
  return shorten(text);
};

/** What a message about an unknown name adds: the name that was probably meant, or else the known names. */
export interface Hint {
  readonly near?: string | undefined;
  readonly known?: readonly string[] | undefined;
}

const didYouMean = ({ near, known }: Hint): string => {
  if (near !== undefined) return `. Did you mean "${near}"?`;
  return known === undefined || known.length === 0 ? '' : `. Expected one of ${listNames(known)}`;
};

interface Name extends Hint {
  readonly name: string;
}

interface AttributeName extends Name {
  readonly type: string;
}

export const issueKinds = {
  // ---- brackets: the syntax of the query string
  'query.malformed-key': query<{ key: string }>(
    ({ key }) => `the key "${key}" cannot be read; brackets must balance, as in filters[name][$eq]`,
  ),
  'query.mixed-forms': query(() => 'is given both as a value and as an object; use one form'),
  'query.two-places': query(() => 'is given in two places, by itself and inside of a parameter; use one of them'),
  'query.too-many-parameters': invalid<{ max: number }>(
    ({ max }) => `The query string has more than ${max} parameters`,
  ),
  'query.too-many-values': invalid<{ max: number }>(
    ({ max }) => `The query has more than ${max} names and values, with what code has added to it`,
  ),
  'query.nul-character': query(() => 'NUL characters are not accepted'),
  // ---- resolve: names and values
  'query.status': query<{ text: string | null }>(({ text }) =>
    text === null
      ? 'expected published or draft, as a single value'
      : `expected published or draft, got ${JSON.stringify(shorten(text))}`,
  ),
  'query.two-states': query(
    () => 'cannot be combined with publicationState, which has the same meaning; use one of them',
  ),
  'query.status-of-update': query(
    () => 'applies to new entries only; send publishedAt in the body, with a date to publish and null for a draft',
  ),
  'query.locale-of-version': query(
    () =>
      'selects a version of a document, but each locale is a separate entry here: use the id of that entry, without locale',
  ),
  'query.locale-in-body': query<{ given: string }>(
    ({ given }) => `differs from the locale in the body, ${JSON.stringify(given)}`,
  ),
  'query.locales': query(() => 'expected a locale, a list of locales, or all by itself'),
  'query.window-sort': query(() => 'is not allowed here: a relation list has its own order'),
  'query.window-locale': query(() => 'expected one locale'),
  'query.one-locale': query(() => 'expected one locale, or all'),
  'query.locale-of-entry': query(
    () => 'is not allowed here: the id identifies the entry, and a new entry takes its locale from the body',
  ),
  'query.locale-of-type': query<{ type: string }>(({ type }) => `${type} has no locales`),
  'query.no-effect': query(() => 'has no effect on this request'),
  'query.unknown-parameter': query<Name>((it) => `there is no parameter "${it.name}"${didYouMean(it)}`),
  'query.unknown-name': query<AttributeName>((it) => `${it.type} has no attribute "${it.name}"${didYouMean(it)}`),
  'query.not-selectable': query<AttributeName>(
    ({ name, type }) => `"${name}" of ${type} cannot be selected; use populate`,
  ),
  'query.not-populatable': query<AttributeName>(
    ({ name, type }) => `"${name}" of ${type} is a field and cannot be populated; use fields`,
  ),
  'query.not-filterable': query<AttributeName>(({ name, type }) => `cannot filter by "${name}" of ${type}`),
  'query.not-sortable': query<AttributeName>(({ name, type }) => `cannot sort by "${name}" of ${type}`),
  'query.hidden': query<AttributeName>(({ name, type }) => `"${name}" of ${type} is not available`),
  'query.unknown-option': query<Name & { options: readonly string[] }>(
    ({ name, options, near }) =>
      `"${name}" is not a populate option; expected one of ${options.join(', ')}${didYouMean({ near })}`,
  ),
  'query.populate-with-pagination': query(() => 'populate cannot be combined with pagination'),
  'query.unknown-component': query<Name & { zone: string }>(
    (it) => `the dynamic zone "${it.zone}" has no component "${it.name}"${didYouMean(it)}`,
  ),
  'query.unknown-target': query<Name & { attribute: string }>(
    (it) => `"${it.attribute}" cannot lead to "${it.name}"${didYouMean(it)}`,
  ),
  'query.option-without-type': query<{ option: string }>(
    ({ option }) => `"${option}" needs a type here: write it as [on][<type>][${option}]`,
  ),
  'query.fragments-outside-zone': query<{ name: string }>(
    ({ name }) => `"on" applies only to dynamic zones and polymorphic relations, and "${name}" is neither`,
  ),
  'query.unknown-operator': query<Name>((it) => `"${it.name}" is not a filter operator${didYouMean(it)}`),
  'query.operator-without-attribute': query<{ operator: string }>(
    ({ operator }) => `${operator} needs an attribute before it, as in filters[name][${operator}]`,
  ),
  'query.operator-not-for-type': query<{ operator: string; type: string }>(
    ({ operator, type }) => `${operator} does not apply to attributes of type ${type}`,
  ),
  'query.flag': query<{ text: string }>(({ text }) => `"${text}" is not a boolean; expected true, t, 1, false, f or 0`),
  'query.expected-object': query(({ at }) => `expected an object, as in ${at}[…]=…`),
  'query.empty-condition': query(() => 'is an object without a condition; give a value or an operator'),
  'query.expected-list': query(() => 'expected a list such as [0]=first&[1]=second'),
  'query.expected-text': query(() => 'expected a single value'),
  'query.expected-names': query(() => 'expected a name or a list of names'),
  'query.expected-two-values': query(() => 'expected exactly two values, a lower and an upper bound'),
  'query.list-too-long': query<{ max: number }>(({ max }) => `more than ${max} values`),
  'query.too-many-conditions': query<{ max: number }>(
    ({ max }) => `more than ${max} conditions and steps through relations`,
  ),
  'query.too-deep': query<{ max: number }>(({ max }) => `nested more than ${max} levels deep`),
  'query.too-many-selections': query<{ max: number }>(
    ({ max }) => `populate is too expensive: it selects more than ${max} relations`,
  ),
  'query.sort-forms': query(
    ({ at }) => `is given in several forms; use one: ${at}=name:desc, ${at}[0]=name:desc or ${at}[name]=desc`,
  ),
  'query.sort-direction': query<{ text: string }>(({ text }) => `"${text}" is not a direction; expected asc or desc`),
  'query.sort-needs-attribute': query<AttributeName>(
    ({ name, type }) => `"${name}" of ${type} is a relation; name one of its attributes, as in ${name}.id`,
  ),
  'query.sort-too-long': query<{ max: number }>(({ max }) => `more than ${max} steps or keys`),
  'query.publication-state': query<{ text: string | null }>(({ text }) =>
    text === null
      ? 'expected live or preview, as a single value'
      : `"${text}" is not a publication state; expected live or preview`,
  ),
  'query.number': query<{ text: string }>(({ text }) => `"${text}" is not a number`),
  'query.integer': query<{ text: string }>(({ text }) => `"${text}" is not an integer`),
  'query.too-large': query<{ max: string }>(({ max }) => `is larger than ${max}`),
  'query.biginteger': query<{ text: string }>(({ text }) => `"${text}" is not a decimal integer`),
  'query.boolean': query<{ text: string }>(
    ({ text }) => `"${text}" is not a boolean; expected true, t, 1, false, f or 0`,
  ),
  'query.unknown-pagination': query<Name>((it) => `"${it.name}" is not a pagination parameter${didYouMean(it)}`),
  // ---- values whose wording v4's front ends know (ER4)
  'value.date': invalid(() => 'Invalid format, expected yyyy-MM-dd'),
  'value.no-such-day': invalid(() => 'Invalid date'),
  'value.time': invalid(() => 'Invalid time format, expected HH:mm:ss.SSS'),
  'value.datetime': invalid(() => 'Invalid format, expected a timestamp or an ISO date'),
  'pagination.mixed': invalid(() => 'Invalid pagination parameters. Expected either start/limit or page/pageSize'),
  'pagination.top-level': named<{ name: string }>(
    'PaginationError',
    ({ name }) => `Invalid pagination attributes. Write pagination[${name}] instead of ${name}`,
  ),
  'pagination.with-count': invalid(() => 'Invalid withCount parameter. Expected "t","1","true","false","0","f"'),
  'explain.no-content': invalid<{ paths: readonly string[] }>(
    ({ at, paths }) => `${at} must be a path that reads content: ${listNames(paths)}`,
  ),
  'explain.by-code': invalid<{ path: string; place: string; paths: readonly string[] }>(
    ({ at, path, place, paths }) =>
      `${at} is answered by code of the project, on the route GET ${path} of ${place}: what it reads only the code says. What the server itself reads: ${listNames(paths)}`,
  ),
  // ---- run: budgets
  'read.too-expensive': invalid<{ what: string; max: number }>(
    ({ max, what }) =>
      `populate is too expensive: the response needs more than ${max} ${what}. Ask for fewer entries, relations or levels`,
  ),
  'read.too-slow': invalid<{ max: number }>(
    ({ max }) =>
      `The request is too expensive: reading took more than ${max} ms. Ask for fewer entries, relations, filters or levels`,
  ),
  'read.too-large': invalid<{ max: number }>(
    ({ max }) =>
      `populate is too expensive: the response is larger than ${max} characters. Ask for fewer entries, fields or levels`,
  ),
  // ---- bodies: wording that v4's front ends know (ER4), with the path and the ids where v4 leaves them out
  'body.missing': invalid(() => 'Missing "data" payload in the request body'),
  'body.data-type': invalid<{ value: unknown }>(
    ({ value }) => `this must be a \`object\` type, but the final value was: \`${print(value)}\`.`,
  ),
  'body.unknown-key': invalid<AttributeName>(
    (it) => `${it.at}: ${it.type} has no attribute "${shorten(it.name)}"${didYouMean(it)}`,
  ),
  'body.required': invalid(({ at }) => `${at} must be defined.`),
  'body.null': invalid(({ at }) => `${at} cannot be null.`),
  /** Secrets are passed as undefined, which leaves them out of the message. */
  'body.type': invalid<{ expected: string; value: unknown }>(
    ({ at, expected, value }) =>
      `${at} must be a \`${expected}\` type${value === undefined ? '' : `, but the final value was: \`${print(value)}\``}.`,
  ),
  'body.number': invalid<{ value: unknown }>(
    ({ at, value }) =>
      `${at} must be a \`number\` type, but the final value was: \`NaN\` (cast from the value \`${print(value)}\`).`,
  ),
  'body.integer': invalid(({ at }) => `${at} must be an integer`),
  'body.min': invalid<{ min: number | string }>(({ at, min }) => `${at} must be greater than or equal to ${min}`),
  'body.max': invalid<{ max: number | string }>(({ at, max }) => `${at} must be less than or equal to ${max}`),
  'body.min-length': invalid<{ min: number }>(({ at, min }) => `${at} must be at least ${min} characters`),
  'body.max-length': invalid<{ max: number }>(({ at, max }) => `${at} must be at most ${max} characters`),
  'body.regex': invalid<{ regex: string }>(({ at, regex }) => `${at} must match the following: "/${regex}/"`),
  'body.regex-slow': invalid<{ regex: string }>(
    ({ at, regex }) => `${at} takes too long to compare with the following: "/${regex}/"`,
  ),
  'body.email': invalid(({ at }) => `${at} must be a valid email`),
  'body.empty': invalid(({ at }) => `${at} cannot be empty`),
  'body.enumeration': invalid<{ values: readonly string[] }>(
    ({ at, values }) => `${at} must be one of the following values: ${values.map((it) => `${it}, `).join('')}`,
  ),
  'body.unique': invalid(() => 'This attribute must be unique'),
  'body.items-min': invalid<{ min: number }>(({ at, min }) => `${at} field must have at least ${min} items`),
  'body.items-max': invalid<{ max: number }>(
    ({ at, max }) => `${at} field must have less than or equal to ${max} items`,
  ),
  'body.component-missing': invalid(({ at }) => `${at} is a required field`),
  'body.component-unknown': invalid<{ known: readonly string[] }>(
    ({ at, known }) => `${at} must be one of the following values: ${known.join(', ')}`,
  ),
  'body.component-foreign': named<{ id: unknown }>(
    'ApplicationError',
    ({ at, id }) => `Some of the provided components in ${at} are not related to the entity: ${print(id)}`,
  ),
  'body.block': invalid<{ what: string }>(({ at, what }) => `${at}: ${what}`),
  'body.unstorable': invalid<{ what: string }>(({ at, what }) => `${at} cannot be stored: it is ${what}`),
  'body.text': invalid(({ at }) => `${at} must be well-formed text without NUL characters`),
  'body.too-deep': invalid<{ max: number }>(({ at, max }) => `${at} is nested more than ${max} levels deep`),
  'body.locale': named('ApplicationError', () => "This locale doesn't exist"),
  'body.locale-kept': invalid(({ at }) => `${at}: the locale of an entry cannot be changed`),
  'body.localizations': invalid(({ at }) => `${at}: add localizations by POST to …/localizations`),
  'body.not-writable': named(
    'ForbiddenError',
    ({ at }) => `${at}: your roles do not allow you to write this attribute`,
  ),
  'body.not-publishable': named(
    'ForbiddenError',
    ({ at }) => `${at}: your roles do not let you publish or unpublish it`,
  ),
  'body.not-findable': invalid(
    ({ at }) => `${at}: the caller does not have permission to find the target of this relation`,
  ),
  'body.password-too-long': invalid<{ bytesMax: number }>(
    ({ at, bytesMax }) => `${at} must be at most ${bytesMax} bytes`,
  ),
  'body.check': invalid<{ constraint: string }>(
    ({ constraint }) => `The database refuses the values: constraint ${shorten(constraint)}`,
  ),
  'locale.missing': named('ApplicationError', () => 'locale is missing'),
  'locale.invalid': named('ApplicationError', () => 'locale is invalid'),
  'locale.used': named('ApplicationError', () => 'locale is already used'),
  'locale.no-entry': named('NotFoundError', () => 'Entity not found'),
  'body.single-exists': invalid(() => 'singleType.alreadyExists'),
  'body.too-many': invalid<{ max: number; what: string }>(
    ({ at, max, what }) => `${at}: more than ${max} ${what} in one request`,
  ),
  'relation.no-list': named<AttributeName>(
    'NotFoundError',
    (it) => `${it.type} has no relation list "${shorten(it.name)}"${didYouMean(it)}`,
  ),
  'relation.invalid': invalid<{ value: unknown }>(
    ({ at, value }) => `Invalid relations: ${at} must be ids, but the final value was: \`${print(value)}\`.`,
  ),
  'relation.set-with-others': invalid(({ at }) => `Invalid relations: ${at} combines set with connect or disconnect`),
  'relation.sides-differ': invalid<{ id: number; inverse: string }>(
    ({ at, id, inverse }) =>
      `Invalid relations: of ${at} and ${inverse}, which show the same links, only one links the entry ${id} to itself`,
  ),
  'relation.unknown-key': invalid<Name>(
    ({ at, name, near }) =>
      `Invalid relations: ${at} has the unknown key "${shorten(name)}"; expected connect, disconnect or set${didYouMean({ near })}`,
  ),
  'relation.empty-object': invalid(
    ({ at }) => `Invalid relations: ${at} is an object without connect, disconnect, set or id`,
  ),
  'relation.morph': invalid<{ value: unknown }>(
    ({ at, value }) => `Invalid relations: ${at} must be { id, __type }, but the final value was: \`${print(value)}\`.`,
  ),
  'relation.unknown-type': invalid<Hint & { value: unknown }>(
    (it) => `${it.at} must be a content type, but was ${print(it.value)}${didYouMean(it)}`,
  ),
  'relation.morph-position': invalid(
    ({ at }) => `${at}: entries of polymorphic relations have no position; connected ones go last`,
  ),
  'relation.media-connect': invalid<{ name: string }>(
    ({ at, name }) => `${at}: ${name} cannot be used with media; use ids or set`,
  ),
  'relation.connected-twice': invalid<{ id: number }>(
    ({ at, id }) =>
      `The relation with id ${id} is already connected. You cannot connect the same relation twice. (${at})`,
  ),
  'relation.position': invalid<{ value: unknown }>(
    ({ at, value }) =>
      `${at} must have exactly one of before, after (an id), start, end (true), but the final value was: \`${print(value)}\`.`,
  ),
  'relation.anchor-missing': invalid<{ id: number; position: unknown; anchor: number }>(
    ({ at, id, position, anchor }) =>
      `There was a problem connecting relation with id ${id} at position ${JSON.stringify(position)}. The relation with id ${anchor} needs to be connected first. (${at})`,
  ),
  'relation.circular': invalid<{ id: number }>(
    ({ at, id }) =>
      `A circular reference was found in the connect array. One relation is trying to connect before/after another one that is trying to connect before/after it: id ${id} (${at})`,
  ),
  'relation.absent': invalid<{ uid: string; ids: readonly number[] }>(
    ({ at, ids, uid }) =>
      `${ids.length} relation(s) of type ${uid} associated with this entity do not exist: ${at} ${shorten(ids.join(', '))}`,
  ),
  /** A constraint of the database: another request or program was faster, or a table has constraints of its own. */
  'relation.rejected': invalid(() => 'A related entry no longer exists, or another entry still requires this one'),
  // ---- accounts: wording that v4's front ends compare (ER4)
  'account.required': invalid(({ at }) => `${at} is a required field`),
  'account.login': invalid(() => 'Invalid identifier or password'),
  'account.not-confirmed': named('ApplicationError', () => 'Your account email is not confirmed'),
  'account.blocked': named('ApplicationError', () => 'Your account has been blocked by an administrator'),
  'account.provider-disabled': named('ApplicationError', () => 'This provider is disabled'),
  'account.registration-disabled': named('ApplicationError', () => 'Register action is currently disabled'),
  'account.default-role-missing': named('ApplicationError', () => 'Impossible to find the default role'),
  'account.taken': named('ApplicationError', () => 'Email or Username are already taken'),
  'account.email-taken': named('ApplicationError', () => 'Email already taken'),
  'account.username-taken': named('ApplicationError', () => 'Username already taken'),
  'account.reset-code': invalid(() => 'Incorrect code provided'),
  'account.passwords-differ': invalid(() => 'Passwords do not match'),
  'account.current-password': invalid(() => 'The provided current password is invalid'),
  'account.same-password': invalid(() => 'Your new password must be different than your current password'),
  'account.password-too-long': invalid<{ bytesMax: number }>(
    ({ bytesMax }) => `Password must be less than ${bytesMax + 1} bytes`,
  ),
  'account.confirmation': invalid(() => 'Invalid token'),
  'account.user-absent': named('NotFoundError', () => 'User not found'),
  'account.role-absent': named('NotFoundError', () => 'Role not found'),
  'account.body-empty': invalid(() => 'Request body cannot be empty'),
  'account.public-role': named('ApplicationError', () => 'Cannot delete public role'),
  'account.unknown-action': invalid<{ action: string; near?: string | undefined }>(
    ({ at, action, near }) => `${at}: there is no action "${shorten(action)}"${didYouMean({ near })}`,
  ),
  // ---- administrators
  'admin.login': invalid(() => 'Invalid credentials'),
  'admin.no-session': named('UnauthorizedError', () => 'There is no session, or it has ended. Sign in again'),
  'admin.header': named('ForbiddenError', () => 'The request needs the header Dovetail-Studio: 1'),
  'admin.foreign': named('ForbiddenError', () => 'Requests from pages of other sites are not allowed'),
  'admin.registered': named('ApplicationError', () => 'There is already an administrator'),
  'admin.register-key': invalid(
    () => 'The key is not valid or has expired. In development, the server prints a new one when it starts',
  ),
  'admin.registration-token': invalid(() => 'The link is not valid or has expired; ask an administrator for a new one'),
  'admin.blocked': named('ApplicationError', () => 'The administrator is blocked; unblock them first'),
  'admin.token-absent': named('NotFoundError', () => 'API Token not found'),
  'admin.token-name': named('ApplicationError', () => 'Name already taken'),
  'admin.super-admins': named(
    'ForbiddenError',
    () => 'Only super admins may change super admins, or make others super admins',
  ),
  'admin.last-super-admin': named('ApplicationError', () => 'At least one super admin must be able to sign in'),
  'admin.as': named<{ text: string }>(
    'BadRequestError',
    ({ text }) =>
      `The header Dovetail-As must name an existing role or token, as role:TYPE or token:ID; got ${JSON.stringify(shorten(text))}`,
  ),
  'admin.as-write': named('ForbiddenError', () => 'Requests with the header Dovetail-As can only read'),
  'admin.role-absent': named<{ role: string }>('ApplicationError', ({ role }) => `There is no role "${shorten(role)}"`),
  // ---- uploads: wording that v4's front ends know (ER4), where v4 has any
  'form.malformed': invalid(() => 'The body is not valid multipart/form-data'),
  'form.too-large': named('PayloadTooLargeError', () => 'FileTooBig'),
  'form.too-many-parts': named<{ max: number }>(
    'PayloadTooLargeError',
    ({ max }) => `The form has more than ${max} parts`,
  ),
  'form.too-many-files': named<{ max: number }>(
    'PayloadTooLargeError',
    ({ max }) => `The form has more than ${max} files`,
  ),
  'form.too-many-fields': named<{ max: number }>(
    'PayloadTooLargeError',
    ({ max }) => `The form has more than ${max} fields`,
  ),
  'form.field-name': invalid<{ name: string }>(
    ({ name }) => `The brackets of the field "${shorten(name)}" do not match`,
  ),
  'form.not-utf8': invalid(() => 'The form is not UTF-8'),
  'form.encoded': named('UnsupportedMediaTypeError', () => 'Forms must not be compressed'),
  'form.no-data': invalid(() => "When using multipart/form-data you need to provide your data in a JSON 'data' field."),
  'form.data': invalid(() => "Invalid 'data' field. 'data' should be a valid JSON."),
  'form.file-name': invalid<{ name: string; what: string }>(
    ({ name, what }) => `The file "${shorten(name)}" cannot be stored: ${what}`,
  ),
  'form.no-media': invalid<AttributeName & { key: string }>(
    (it) =>
      `The file "${shorten(it.name)}" cannot be stored: ${it.type} has no media attribute "${shorten(it.key)}"${didYouMean(it)}`,
  ),
  'form.not-a-file': invalid<{ name: string }>(({ name }) => `The field "${shorten(name)}" must hold a file, not text`),
  'media.no-files': invalid(() => 'Files are empty'),
  'media.field': invalid<{ name: string }>(({ name }) => `Files belong in the field "files", not "${shorten(name)}"`),
  'media.file-name': named('ApplicationError', () => 'File name contains invalid characters'),
  'media.not-an-image': named('ApplicationError', () => 'File is not a valid image'),
  /** Files by their ids, or by their names if they came with the request and have no ids any more. */
  'media.type': invalid<{ allowed: readonly string[]; files: readonly (number | string)[] }>(
    ({ at, allowed, files }) =>
      `${at} accepts only ${listNames(allowed)}; files of other types: ${shorten(files.join(', '))}`,
  ),
  'media.handled': named<{ type: string }>(
    'ForbiddenError',
    ({ at, type }) => `${at}: the project handles updates of ${type} itself; send the files with the update`,
  ),
  'media.reference': invalid<{ what: string }>(({ at, what }) => `${at}: ${what}`),
  'media.too-many-pixels': named<{ max: number }>(
    'ApplicationError',
    ({ max }) => `The image has more than ${max} pixels`,
  ),
  'media.several-for-one': invalid(() => 'Cannot replace a file with multiple ones'),
  'media.info': invalid<{ expected: 'object' | 'array'; value: unknown }>(
    ({ at, expected, value }) =>
      `${at} must be a \`${expected}\` type, but the final value was: \`null\` (cast from the value \`${print(value)}\`).`,
  ),
  'media.entity-absent': named('NotFoundError', () => 'Entity not found'),
  'media.absent': named('NotFoundError', () => 'file.notFound'),
  'media.folder-absent': named('NotFoundError', () => 'There is no such folder'),
  'media.no-such-folder': invalid<{ id: number }>(({ at, id }) => `${at}: there is no folder ${id}`),
  'media.folder-name': invalid(
    ({ at }) => `${at} must be a text without slashes, and without spaces at its beginning or end`,
  ),
  'media.folder-taken': invalid<{ name: string }>(
    ({ at, name }) => `${at}: there is already a folder "${shorten(name)}" there`,
  ),
  'media.folder-inside': invalid(({ at }) => `${at}: a folder cannot be moved into itself`),
  'media.folder-full': named<{ files: number; folders: number }>(
    'ApplicationError',
    ({ files, folders }) => `The folder is not empty: it holds ${files} file(s) and ${folders} folder(s)`,
  ),
  'media.store-failed': named(
    'ServiceUnavailableError',
    () => 'The storage of uploads is not available; nothing was changed',
  ),
  'media.disk-full': named(
    'ServiceUnavailableError',
    () => 'The disk that holds the uploads is full; nothing was changed',
  ),
  // ---- refusals of a project's own handlers, in its own words
  'handler.refused': named<{ message: string }>('ApplicationError', ({ message }) => message),
  'handler.forbidden': named<{ message: string }>('ForbiddenError', ({ message }) => message),
  'handler.not-found': named<{ message: string }>('NotFoundError', ({ message }) => message),
  'handler.conflict': named<{ message: string }>('ConflictError', ({ message }) => message),
  // ---- http
  'http.not-found': named('NotFoundError', () => 'Not Found'),
  'http.forbidden': named('ForbiddenError', () => 'Forbidden'),
  'http.bad-credentials': named('UnauthorizedError', () => 'Missing or invalid credentials'),
  'http.invalid-credentials': named('UnauthorizedError', () => 'Invalid credentials'),
  'http.token-expired': named('UnauthorizedError', () => 'Token expired'),
  'http.no-user': named('UnauthorizedError', () => 'Unauthorized'),
  'http.too-many-requests': named('RateLimitError', () => 'Too many requests, please try again later.'),
  'http.method': named('MethodNotAllowedError', () => 'Method Not Allowed'),
  'http.url-too-long': named<{ max: number }>('UriTooLongError', ({ max }) => `The URL is longer than ${max} bytes`),
  'http.body-too-large': named('PayloadTooLargeError', () => 'request entity too large'),
  'http.malformed-path': named('BadRequestError', () => 'The path cannot be decoded'),
  'http.malformed-request': named('BadRequestError', () => 'The request is not valid HTTP'),
  'http.too-slow': named('RequestTimeoutError', () => 'The request took too long to arrive'),
  'http.changed-meanwhile': named('PreconditionFailedError', () => 'The entry has changed since it was read'),
  'http.excluded': named('PreconditionFailedError', () => 'The entry exists, which If-None-Match excludes'),
  'database.full': named(
    'ServiceUnavailableError',
    () => 'The disk that holds the database is full; nothing was changed',
  ),
  'http.busy': named('ServiceUnavailableError', () => 'The server is busy or stopping; try again'),
  'http.response-format': named<{ text: string }>(
    'BadRequestError',
    ({ text }) => `The header Strapi-Response-Format is v4 or v5, got ${JSON.stringify(shorten(text))}`,
  ),
  'http.format-of-code': named(
    'BadRequestError',
    () =>
      "Code of the project takes part in this request and knows only v4's format: send it without Strapi-Response-Format: v5",
  ),
  'http.range': named('RangeNotSatisfiableError', () => 'The file has no such range'),
  'http.content-encoding': named('UnsupportedMediaTypeError', () => 'Bodies may be encoded as br, gzip or deflate'),
  'http.malformed-body': invalid(() => 'The body is not valid JSON'),
} as const;

export type IssueCode = keyof typeof issueKinds;
type FactsByCode = {
  readonly [Code in IssueCode]: (typeof issueKinds)[Code] extends IssueKind<infer Facts extends object> ? Facts : never;
};

/** An issue of one of the codes, with the facts of that code. */
export type Issue<Codes extends IssueCode = IssueCode> = {
  readonly [Code in Codes]: {
    readonly code: Code;
    /** Segments: `['populate','author','fields','0']` in a query, `['seo','metaTitle']` in a body; empty: the whole request. */
    readonly path: readonly string[];
    readonly facts: FactsByCode[Code];
  };
}[Codes];

/** Codes without facts take none. */
export const issue = <Code extends IssueCode>(
  code: Code,
  path: readonly string[],
  ...[facts]: NoFacts extends FactsByCode[Code] ? [] : [FactsByCode[Code]]
): Issue => ({ code, path, facts: facts ?? {} }) as Issue;

/** The message of an issue. Query paths use brackets, body paths dots and `[0]` for list positions. */
export const formatIssue = <Code extends IssueCode>({ code, path, facts }: Issue<Code>): string => {
  const kinds: { readonly [Each in IssueCode]: IssueKind<FactsByCode[Each]> } = issueKinds;
  const inQuery = code.startsWith('query.');
  const [first = '', ...rest] = inQuery ? path : path.map(shorten);
  const at =
    first + rest.map((segment) => (inQuery || /^\d+$/.test(segment) ? `[${segment}]` : `.${segment}`)).join('');
  return kinds[code].message({ ...facts, at });
};

/**
 * The error envelope of ER1, with every issue and its code in `details.errors`, up to `limits.issuesMax`. The
 * first issue determines the status and name and, if it is the only one, the message.
 */
export const errorEnvelope = (issues: readonly Issue[]): { status: number; body: string } => {
  const errors = issues.slice(0, limits.issuesMax).map((it) => ({
    path: it.path,
    message: formatIssue(it),
    name: issueKinds[it.code].name,
    code: it.code,
  }));
  const [first] = errors;
  if (!first) throw bug('errors.no-issue', {});
  const { name } = first;
  const status = statusOf[name];
  const message = errors.length === 1 ? first.message : countMessage(issues.length);
  return { status, body: JSON.stringify({ data: null, error: { status, name, message, details: { errors } } }) };
};

const countMessage = (count: number): string =>
  count > limits.issuesMax
    ? `More than ${limits.issuesMax} errors occurred; these are the first`
    : `${count} errors occurred`;

export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly Issue[] };
export const ok = <T>(value: T): Result<T> => ({ ok: true, value });
export const refused = (...issues: readonly Issue[]): Result<never> => ({ ok: false, issues });

/** Carries issues out of a transaction, which rolls back, to the caller that turns them into a `Result` again. */
export class Refusal extends Error {
  readonly issues: readonly Issue[];
  constructor(...issues: readonly Issue[]) {
    super(issues.slice(0, limits.issuesMax).map(formatIssue).join('; '));
    this.name = 'Refusal';
    this.issues = issues;
  }
}

/** The database could not serve the request; `cause` says why, for the log. */
export const busy = (cause: unknown): Refusal => Object.assign(new Refusal(issue('http.busy', [])), { cause });

/** Throws the issues as a `Refusal`. */
export const refuse = (...issues: readonly Issue[]): never => refuseAll(issues);

/** The same for a list of any length; keeps one more issue than a response lists, to show that there were more. */
export const refuseAll = (issues: readonly Issue[]): never => {
  throw new Refusal(...issues.slice(0, limits.issuesMax + 1));
};

/** The value of a result; throws its issues. */
export const unwrap = <T>(result: Result<T>): T => (result.ok ? result.value : refuseAll(result.issues));

/** Runs the work and turns a `Refusal` that it throws into a failed result. Work that need not wait makes no promise. */
export function catchRefusal<T>(work: () => Promise<T>): Promise<Result<T>>;
export function catchRefusal<T>(work: () => Ready<T>): Ready<Result<T>>;
export function catchRefusal<T>(work: () => Ready<T>): Ready<Result<T>> {
  try {
    const done = work();
    return done instanceof Promise ? done.then(ok<T>, refusedBy) : ok(done);
  } catch (fault) {
    return refusedBy(fault);
  }
}

const refusedBy = (fault: unknown): Result<never> => {
  if (fault instanceof Refusal) return { ok: false, issues: fault.issues };
  throw fault;
};

/** A violated invariant of our own code. The id is unique to the throwing line. */
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

/** Makes a switch over a union exhaustive: a new member is a compile error. */
export const never = (value: never): never => {
  throw bug('errors.unhandled-member', { value });
};

/**
 * The nearest known name, if it is near enough to be a plausible typo: less than half of its letters differ. Short names
 * have too few letters to tell, so `zz` is not `id`.
 */
export const nearest = (text: string, known: Iterable<string>): string | undefined => {
  const names = [...known];
  if (names.length === 0 || text.length > 100) return undefined;
  const lower = text.toLowerCase();
  const best = names.find((it) => it.toLowerCase() === lower) ?? closest(text, names);
  const errors = isOneErrorAway(lower, best.toLowerCase()) ? 1 : distance(lower, best.toLowerCase());
  const isPlausible = errors <= Math.max(2, Math.floor(best.length / 3));
  return isPlausible && errors * 2 < Math.max(lower.length, best.length) ? best : undefined;
};

/** Whether one letter is missing, extra or different, or two neighbours are swapped. */
export const isOneErrorAway = (text: string, name: string): boolean => {
  if (Math.abs(text.length - name.length) > 1) return false;
  const shorter = Math.min(text.length, name.length);
  let start = 0;
  while (start < shorter && text[start] === name[start]) start += 1;
  let end = 0;
  while (end < shorter - start && text.at(-1 - end) === name.at(-1 - end)) end += 1;
  const [left, right] = [text.slice(start, text.length - end), name.slice(start, name.length - end)];
  const isSwap = left.length === 2 && right.length === 2 && left[0] === right[1] && left[1] === right[0];
  return isSwap || (left.length <= 1 && right.length <= 1);
};

/** `a, b and c`, for messages. */
export const enumerated = (items: readonly (string | number)[]): string =>
  items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;

/** @param listed the names to list if none is near; not all that are known may be of use. */
export const hintAt = (text: string, known: readonly string[], listed: readonly string[] = known): Hint => {
  const near = nearest(text, known);
  return near === undefined ? { known: listed } : { near };
};

/** Names that a message lists at most. */
const listedMax = 20;

export const listNames = (names: readonly string[]): string =>
  names.length <= listedMax
    ? names.join(', ')
    : `${names.slice(0, listedMax).join(', ')} and ${names.length - listedMax} more`;

/** The end of a start-up message about an unknown name. */
export const orNearest = (text: string, known: Iterable<string>): string => {
  const near = nearest(text, known);
  return near === undefined ? '' : `; did you mean "${near}"?`;
};

/** The same, and what is known if no name is near. */
export const orKnown = (text: string, known: Iterable<string>): string => {
  const names = [...known];
  return orNearest(text, names) || (names.length === 0 ? '' : `; expected one of ${listNames(names)}`);
};
