/** Writes an entry and reads the response in the same transaction. */
import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '../access/access.js';
import { bug, catchRefusal, issue, type Result, refuse, unwrap } from '../errors.js';
import type { Attribute, EntryType } from '../model/model.js';
import { systemNames } from '../model/system.js';
import type { LeftOut } from '../query/lenient.js';
import { objectQuery } from '../query/objects.js';
import { type QuerySource, shapeOf } from '../query/raw.js';
import type { ResolveContext } from '../query/resolve.js';
import type { Gate } from '../query/selection.js';
import { readDocumentLocale, readQueryStatus } from '../query/state.js';
import { type Answer, answerOf } from '../read/answer.js';
import { namesAnswer } from '../read/etag.js';
import type { Reader } from '../read/find.js';
import type { AnswerForm } from '../read/plan.js';
import type { ReadRequest } from '../read/plans.js';
import { pipeline } from '../sql/pipeline.js';
import type { Writer } from './apply.js';
import { readQueryLocale } from './locales.js';
import { hashPasswords } from './passwords.js';
import {
  type Place,
  refuseChanged,
  refuseExcluded,
  type SeenEntry,
  type WriteRequest,
  type Written,
} from './request.js';
import type { Session } from './session.js';

export interface Lines {
  readonly reader: Reader;
  readonly writer: Writer;
}

/** What the response contains: `fields` and `populate` select it; drafts are included. */
export interface Show {
  readonly query: QuerySource;
  /** An envelope by default. */
  readonly form?: AnswerForm;
}

export interface Answered {
  readonly written: Written;
  /** The entry after the write; for a deletion, before it, or null if its hook has deleted it. */
  readonly answer: Answer;
}

/**
 * Writes one entry in the session and reads it back. Throws `Refusal`.
 */
export const applyAndAnswer = async (
  request: WriteRequest,
  show: Show,
  context: ResolveContext,
  session: Session,
  { reader, writer }: Lines,
  place: Place = 'inside',
): Promise<Answered> => {
  const readRequest: Omit<ReadRequest, 'id'> = { action: 'findOne', type: request.type, drafts: 'written', ...show };
  const isBounded = (context.gate.entries?.(request.type, 'root') ?? null) !== null;
  // reject an invalid query before touching the database
  unwrap(reader.check({ ...readRequest, id: null }, context));
  const locale = readQueryLocale(request.type, show.query);
  const stated = withParameters(request, show.query, context);
  const { id, undecided, goesOn, isGone, run } = await writer.prepare({ locale, ...stated }, context, session, place);
  /** As a parameter of a read it would have no effect. */
  const isTaken = ({ name }: LeftOut): boolean =>
    name === 'locale' && context.format === 'v5' && request.action === 'create' && request.type.localized;
  const answered = (written: Written, answer: Answer): Answered => ({
    written,
    answer: { ...answer, leftOut: [...answer.leftOut.filter((it) => !isTaken(it)), ...written.leftOut] },
  });
  const read = async (): Promise<Answer> => {
    if (isGone) return answerOf('null', null, []);
    const find = async (shown: typeof readRequest): Promise<Answer | null> =>
      unwrap(await reader.readInside({ ...shown, id }, context, session.tx));
    const answer = isBounded
      ? ((await find({ ...readRequest, drafts: 'found' })) ??
        (await find({ ...readRequest, query: ofEveryEntry(request.type) })))
      : await find(readRequest);
    if (!answer) throw bug('answer.entry-not-readable', { uid: request.type.uid, id });
    return answer;
  };
  if (undecided) {
    const { etag } = await read();
    if (undecided.match && !namesAnswer(undecided.match, etag)) return refuseChanged();
    if (undecided.noneMatch && namesAnswer(undecided.noneMatch, etag)) return refuseExcluded();
  }
  // a second read may be needed
  const endsTurn = place === 'last' && !goesOn && !isBounded;
  if (request.action === 'delete') {
    const answer = await read();
    if (endsTurn) session.tx.finish();
    return answered(await run(), answer);
  }
  if (goesOn) return answered(await run(), await read());
  // the first statements of the read are sent together with the operations
  if (endsTurn) session.tx.finish();
  return answered(...(await pipeline(run, read)));
};

/** Selects what an administrator is shown of an entry that they may write and not read (AD13). */
const ofEveryEntry = ({ attributes }: EntryType): QuerySource => {
  const isShown = ({ kind, name }: Attribute): boolean => kind === 'scalar' && systemNames.has(name);
  return objectQuery({ fields: ['id', ...[...attributes.values()].filter(isShown).map((it) => it.name)] });
};

/** What hooks of a v4 project have left of a write, for its response; null where none have heard of it. Administrators see what is stored. */
export const leftByHooks = (caller: Caller, { seen }: Written): SeenEntry | null => (caller.rights ? null : seen);

/**
 * What the response to a caller says: where hooks of a v4 project have heard of the write, what they have left of its result, as in v4.
 * @param isSelected whether the answer has what the query of a client has selected, or is in v5's form, which hooks do not know.
 */
export const shownTo = (
  caller: Caller,
  { written, answer }: Answered,
  { isSelected }: { readonly isSelected: boolean } = { isSelected: false },
): Answer => {
  const seen = leftByHooks(caller, written);
  if (!seen) return answer;
  const stored = answer.body.toString();
  const text = seen.show(caller, isSelected ? stored : null);
  // as it is stored it has its entity tag
  return isDeepStrictEqual(JSON.parse(text), JSON.parse(stored)) ? answer : answerOf(text, null, answer.leftOut);
};

/** What v5's parameters say of the entry itself (VF4, VF8); the body must not say anything else of its locale. */
const withParameters = (request: WriteRequest, query: QuerySource, { format, gate }: ResolveContext): WriteRequest => {
  if (format !== 'v5')
    return request.action === 'delete' && findsPublished(request.type, query, gate)
      ? { ...request, isPublished: true }
      : request;
  const locale = readDocumentLocale(request.type, request.action, query);
  if (request.action === 'delete') return request;
  const status = readQueryStatus(request.type, request.action, query);
  // whoever may not publish is refused, rather than given the draft that silence would be (AD13)
  const isAsked =
    request.type.draftAndPublish && (status === 'draft' || (status === 'published' && gate.changes !== undefined));
  const { data } = request;
  const given = data['locale'] ?? locale;
  if (locale !== undefined && given !== locale)
    return refuse(
      issue('query.locale-in-body', ['locale'], { given: typeof given === 'string' ? given : typeof given }),
    );
  return {
    ...request,
    data: {
      ...data,
      ...(locale === undefined ? {} : { locale }),
      ...(isAsked && data['publishedAt'] === undefined ? { publishedAt: status === 'draft' ? null : Date.now() } : {}),
    },
  };
};

/** Whether a deletion is of the single type's entry as a read with the query shows it (DR3); administrators see drafts. */
const findsPublished = (type: EntryType, query: QuerySource, gate: Gate): boolean => {
  if (type.kind !== 'single' || !type.draftAndPublish || gate.changes !== undefined) return false;
  const node = unwrap(query.read()).get('publicationState');
  const shape = node && shapeOf(node);
  return !(shape?.kind === 'text' && shape.text === 'preview');
};

/** One write in its own transaction. Passwords are hashed before it begins. */
export const writeAndAnswer = async (
  request: WriteRequest,
  show: Show,
  context: ResolveContext,
  lines: Lines,
): Promise<Result<Answered>> =>
  catchRefusal(async () => {
    const hashed = request.action === 'delete' ? request : await withHashedPasswords(request, context);
    return lines.writer.transaction((session) => applyAndAnswer(hashed, show, context, session, lines, 'last'), hashed);
  });

/** Hashes the passwords of the data, which takes too long for a transaction. */
export const withHashedPasswords = async <Request extends Exclude<WriteRequest, { readonly action: 'delete' }>>(
  request: Request,
  { model }: ResolveContext,
): Promise<Request> => ({ ...request, hashes: unwrap(await hashPasswords(request.data, request.type, model)) });
