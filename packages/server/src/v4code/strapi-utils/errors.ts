/** The errors of `@strapi/utils`, and what each becomes as a response. */
import http from 'node:http';
import { formatIssue, type Issue, issueKinds, Refusal, statusOf } from '../../errors.js';
import { isMembers, type Members } from '../loading/parts.js';

/** An error with details. Each class has a message for those that are thrown without one. */
class DetailedError extends Error {
  protected static readonly usual: string;
  // before the details, as in v4's JSON
  override name = 'Error';
  details: unknown;
  constructor(message?: string, details: unknown = {}) {
    const text = message ?? new.target.usual;
    super(text);
    this.details = details;
    // as in v4, code that answers with an error, or copies it, shows what it says
    Reflect.deleteProperty(this, 'message');
    this.message = text;
  }
}

/** Sets what code may read, and clients do not see where it answers with the error itself. */
const withHidden = <T extends Error>(fault: T, members: { readonly status?: number; readonly cause?: unknown }): T => {
  for (const [name, value] of Object.entries(members))
    Object.defineProperty(fault, name, { value, writable: true, configurable: true });
  return fault;
};

/** What project code throws to refuse a request: `message` and `details` are sent to the client. */
export class ApplicationError extends DetailedError {
  protected static override readonly usual: string = 'An application error occurred';
  override name = 'ApplicationError';
}

export class ValidationError extends ApplicationError {
  protected static override readonly usual: string = 'Validation error';
  override name = 'ValidationError';
}

/** The faults of a yup schema, as v4 words them. */
export class YupValidationError extends ValidationError {
  constructor(fault: YupFault, message?: string) {
    super('', {});
    const inner = fault.inner ?? [];
    const errors = (inner.length > 0 ? inner : [fault]).map((it) => ({
      path: (it.path ?? '').split(/[.[\]]+/).filter((step) => step !== ''),
      message: it.message,
      name: it.name,
    }));
    this.message = message ?? (errors.length === 1 ? errors[0]!.message : `${errors.length} errors occurred`);
    this.details = { errors };
  }
}

export interface YupFault {
  readonly name: string;
  readonly message: string;
  readonly path?: string;
  readonly inner?: readonly YupFault[];
}

export class PaginationError extends ApplicationError {
  protected static override readonly usual = 'Invalid pagination';
  override name = 'PaginationError';
}

export class NotFoundError extends ApplicationError {
  protected static override readonly usual = 'Entity not found';
  override name = 'NotFoundError';
}

export class ForbiddenError extends ApplicationError {
  protected static override readonly usual: string = 'Forbidden access';
  override name = 'ForbiddenError';
}

export class PolicyError extends ForbiddenError {
  protected static override readonly usual = 'Policy Failed';
  override name = 'PolicyError';
}

export class UnauthorizedError extends ApplicationError {
  protected static override readonly usual = 'Unauthorized';
  override name = 'UnauthorizedError';
}

export class PayloadTooLargeError extends ApplicationError {
  protected static override readonly usual = 'Entity too large';
  override name = 'PayloadTooLargeError';
}

export class RateLimitError extends ApplicationError {
  protected static override readonly usual = 'Too many requests, please try again later.';
  override name = 'RateLimitError';
}

export class NotImplementedError extends ApplicationError {
  protected static override readonly usual = 'This feature is not implemented yet';
  override name = 'NotImplementedError';
}

export class HttpError extends DetailedError {
  protected static override readonly usual = 'An HTTP error occurred';
  override name = 'HttpError';
}

/** `require('@strapi/utils').errors`. */
export const errors = {
  HttpError,
  ApplicationError,
  ValidationError,
  YupValidationError,
  PaginationError,
  NotFoundError,
  ForbiddenError,
  PolicyError,
  UnauthorizedError,
  PayloadTooLargeError,
  RateLimitError,
  NotImplementedError,
};

// ---- as responses

export interface ErrorResponse {
  readonly status: number;
  readonly body: {
    readonly data: null;
    readonly error: {
      readonly status: number;
      readonly name: string;
      readonly message: string;
      readonly details?: unknown;
    };
  };
}

export const errorResponse = (status: number, name: string, message: string, details?: unknown): ErrorResponse => ({
  status,
  body: { data: null, error: { status, name, message, ...(details === undefined ? {} : { details }) } },
});

const statusOfError = (fault: ApplicationError): number => {
  if (fault instanceof UnauthorizedError) return 401;
  if (fault instanceof ForbiddenError) return 403;
  if (fault instanceof NotFoundError) return 404;
  if (fault instanceof PayloadTooLargeError) return 413;
  if (fault instanceof RateLimitError) return 429;
  return fault instanceof NotImplementedError ? 501 : 400;
};

/** Statuses of what the project's own copy of `@strapi/utils` throws, whose classes are not these. */
const statusByName: ReadonlyMap<string, number> = new Map(
  Object.entries(errors)
    .filter(([, it]) => it !== HttpError)
    .map(([name, it]) => [name, statusOfError(Object.create(it.prototype) as ApplicationError)]),
);

/** An error of such a copy. Its names are not enough: other libraries have a `ValidationError` whose details are not for clients. */
const isForeign = (fault: unknown): fault is Error & { readonly details: Members } =>
  fault instanceof Error &&
  statusByName.has(fault.name) &&
  Object.hasOwn(fault, 'details') &&
  isMembers((fault as { readonly details?: unknown }).details) &&
  isOfClass(fault, ApplicationError.name);

const isOfClass = (fault: object, name: string): boolean => {
  for (let it: unknown = Object.getPrototypeOf(fault); it !== null; it = Object.getPrototypeOf(it))
    if ((it as object).constructor?.name === name) return true;
  return false;
};

/** Null for a fault that nobody has thrown on purpose. */
const statusOfMeant = (fault: unknown): number | null => {
  if (fault instanceof ApplicationError) return statusOfError(fault);
  return isForeign(fault) ? statusByName.get(fault.name)! : null;
};

/** Whether v4's wrapper that authorises catches it around a route, and says it by the context: to what stands around, it is not thrown. */
export const isOfAuthorisation = (fault: unknown): boolean => {
  const status = statusOfMeant(fault);
  return status === 401 || status === 403;
};

/** What a client learns of an error that was thrown on purpose; null for any other, which is a fault to be logged. */
export const responseOf = (fault: unknown): ErrorResponse | null => {
  if (fault instanceof ApplicationError && ofServer.has(fault))
    return errorResponse(ofServer.get(fault)!, fault.name, fault.message, fault.details);
  // the wrapper that authorises answers these for the whole route, without what they say
  const status = statusOfMeant(fault);
  if (status === 403) return errorResponse(403, 'ForbiddenError', 'Forbidden', {});
  if (status === 401) return errorResponse(401, 'UnauthorizedError', 'Unauthorized', {});
  if (status !== null) {
    const { name, message, details } = fault as ApplicationError;
    return errorResponse(status, name, message, details);
  }
  const thrown = statusIn(fault);
  if (!(fault instanceof Error) || thrown === null) return null;
  // what `ctx.throw` makes of a text is for clients, and has the name of its status; of other errors only the client's faults are
  const isMade = isOfClass(fault, 'HttpError');
  if (thrown >= 500 && !isMade) return null;
  const { details } = fault as { readonly details?: unknown };
  return errorResponse(thrown, isMade ? nameOfStatus(thrown) : fault.name, fault.message, details ?? {});
};

/** The status, 400 to 599, that an error names as its `status` or, as clients of other services do, as `statusCode`; null if it names none. */
export const statusIn = (fault: unknown): number | null => {
  if (!(fault instanceof Error)) return null;
  const { status, statusCode } = fault as { readonly status?: unknown; readonly statusCode?: unknown };
  const named = status ?? statusCode;
  return typeof named === 'number' && named >= 400 && named < 600 ? named : null;
};

export const phraseOf = (status: number): string => http.STATUS_CODES[status] ?? 'Error';

/** `NotFoundError`, `ImATeapotError`: the reason phrase as a name. */
export const nameOfStatus = (status: number): string => {
  const name = phraseOf(status)
    .replaceAll("'", '')
    .split(/[^A-Za-z]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
  return name.endsWith('Error') ? name : `${name}Error`;
};

/** A refusal of the read or write line, as the error that v4's code would throw there, so that project code can catch it. */
export const thrownBy = (fault: unknown): unknown => {
  if (!(fault instanceof Refusal)) return fault;
  const [first] = fault.issues;
  if (!first) return fault;
  if (statusOf[issueKinds[first.code].name] >= 500) return unavailable(fault);
  return withHidden(errorOf(fault.issues, first), { cause: fault });
};

/** That the server is busy is not about what code asked for: no `ApplicationError`, which code may say to clients as their fault. */
const unavailable = (refusal: Refusal): HttpError => {
  const { status, body } = v4Refusal(refusal);
  const { name, message } = body.error;
  return withHidden(Object.assign(new HttpError(message), { name }), { status, cause: refusal });
};

/** The refusal of a server that is busy, which code was told as an error; any other fault as it is. */
export const untold = (fault: unknown): unknown =>
  fault instanceof HttpError && fault.cause instanceof Refusal ? fault.cause : fault;

/** What code asks the database for and cannot be done is a fault of the code, not of the client. */
export const faultOfCode = (fault: unknown): unknown =>
  fault instanceof ApplicationError && fault.cause instanceof Refusal && !isPrecondition(fault.cause)
    ? new Error(fault.message, { cause: fault })
    : fault;

/** What a client has said of the entry, whoever writes it. */
const isPrecondition = ({ issues }: Refusal): boolean =>
  issues.every((it) => issueKinds[it.code].name === 'PreconditionFailedError');

const errorOf = (issues: readonly Issue[], first: Issue): ApplicationError => {
  const { name } = issueKinds[first.code];
  const status = statusOf[name];
  const faults = issues.map((it) => ({ path: it.path, message: formatIssue(it), name: 'ValidationError' }));
  const message = faults.length === 1 ? faults[0]!.message : `${faults.length} errors occurred`;
  if (status === 404) return withHidden(new NotFoundError(message), { status });
  if (status === 400) return withHidden(new ValidationError(message, { errors: faults }), { status });
  return errorOfResponse(errorResponse(status, name, message, { errors: faults }));
};

/** A refusal of the server in v4's words, for projects whose code and front ends know those. */
export const v4Refusal = ({ issues }: Refusal): ErrorResponse => {
  const [first] = issues;
  const { name } = issueKinds[first!.code];
  const status = statusOf[name];
  if (status !== 400 || first!.path.length === 0) return errorResponse(status, name, formatIssue(first!), {});
  if (first!.code.startsWith('query.'))
    return errorResponse(status, name, `Invalid parameter ${wrongName(first!)}`, {});
  const faults = issues.map((it) => ({ path: it.path, message: formatIssue(it), name: issueKinds[it.code].name }));
  const message = faults.length === 1 ? faults[0]!.message : `${faults.length} errors occurred`;
  return errorResponse(status, name, message, { errors: faults });
};

/** Refusals of the server as errors, with their statuses: clients see them as they are. */
const ofServer = new WeakMap<ApplicationError, number>();

/** The error of v4 that such a response stands for. */
export const errorOfResponse = ({ status, body }: ErrorResponse): ApplicationError => {
  const { name, message, details } = body.error;
  const Class = classes.get(name) ?? ApplicationError;
  const made = withHidden(Object.assign(new Class(message, details), { name }), { status });
  ofServer.set(made, status);
  return made;
};

const classes: ReadonlyMap<string, typeof ApplicationError> = new Map(
  [
    ValidationError,
    PaginationError,
    NotFoundError,
    ForbiddenError,
    UnauthorizedError,
    PayloadTooLargeError,
    RateLimitError,
  ].map((it) => [it.name, it]),
);

/** A refusal of the server as v4's error, for code that catches it; a client sees the same of both. Any other fault as it is. */
export const forCode = (fault: unknown): unknown => {
  if (!(fault instanceof Refusal)) return fault;
  const response = v4Refusal(fault);
  if (response.status >= 500) return unavailable(fault);
  return withHidden(errorOfResponse(response), { cause: fault });
};

/** Runs work whose refusals code may catch. */
export const catchable = <T>(work: () => T): T => {
  try {
    return work();
  } catch (fault) {
    throw forCode(fault);
  }
};

/** Null for an entry that does not exist, of which v4's actions say nothing; throws what else is refused. */
export const absentOrThrown = (fault: unknown): null => {
  const thrown = forCode(fault);
  if (thrown instanceof NotFoundError && ofServer.has(thrown)) return null;
  throw thrown;
};

/** The name that a query may not use; the parameter of which there is too much. */
const wrongName = ({ path, facts }: Issue): string =>
  'max' in facts
    ? path[0]!
    : 'name' in facts && typeof facts.name === 'string'
      ? facts.name
      : (path.findLast((it) => !/^\d+$/.test(it)) ?? '');
