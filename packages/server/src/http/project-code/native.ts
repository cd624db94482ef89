/** What the code of a project asks of the server while it handles a request: the actions themselves, rights, and what is allowed. */
import type Koa from 'koa';
import { LRUCache } from 'lru-cache';
import { type KnownCaller, nobody } from '../../access/caller.js';
import { readTokenDetails } from '../../accounts/tokens.js';
import { type Issue, issue, never, Refusal, unwrap } from '../../errors.js';
import { limits } from '../../limits.js';
import type { EntryType } from '../../model/model.js';
import { textQuery } from '../../query/brackets.js';
import type { LeftOut } from '../../query/lenient.js';
import { objectQuery, type QueryObject } from '../../query/objects.js';
import { parameterName } from '../../query/parameters.js';
import type { QuerySource } from '../../query/raw.js';
import type { ChangedQuery } from '../../query/searches.js';
import type { Answer } from '../../read/answer.js';
import { whenReady } from '../../ready.js';
import type { BoundCode } from '../../v4code/code.js';
import { isPlainData, storableIn } from '../../v4code/data/entities.js';
import { type EntryBody, entryBodyOf, receivedFiles } from '../../v4code/data/files.js';
import { withPlainParameters } from '../../v4code/data/queries.js';
import { withLocalDates } from '../../v4code/data/query-changes.js';
import { inRequest, requestContext } from '../../v4code/data/scope.js';
import { asBody } from '../../v4code/data/values.js';
import { type CoreAction, isMembers, type Members } from '../../v4code/loading/parts.js';
import type { CodeContext, Native } from '../../v4code/native.js';
import { allowedQuery, lookedAt } from '../../v4code/requests/allowed.js';
import { absentOrThrown, catchable, forCode } from '../../v4code/strapi-utils/errors.js';
import { type ActionByCode, contextFor, performAction } from '../actions.js';
import { identifyCaller, isReading } from '../credentials.js';
import { LEFT_OUT_HEADER, leftOutHeader } from '../left-out.js';
import { parseId } from '../routes.js';
import { searchOf } from '../target.js';
import { bodyOf } from './answers.js';
import { authOf, CALLER, isKnownBy, type WithCaller } from './auth.js';
import { sourceOfContext } from './context.js';
import { type EndpointDeps, newEndpoints } from './endpoints.js';

/** To whom only private attributes are closed. */
const anyCaller = { version: 'anybody', may: () => true };

/** What a kept query takes besides its text. */
const SOURCE_BYTES = 300;

export interface NativeDeps extends Omit<EndpointDeps, 'callerOf' | 'reportLeftOut'> {
  readonly findUser: BoundCode['findUser'];
  readonly withForm: Native['withForm'];
  readonly logLeftOut: (leftOut: readonly LeftOut[], url: string) => void;
}

export const newNative = ({ findUser, withForm, logLeftOut, ...given }: NativeDeps): Native => {
  const { site, contexts } = given;
  const { callers, accountDeps } = site;
  /** By query string: what is known of a query is kept by its key, which is the same text each time then. */
  const sources = new LRUCache<string, QuerySource>({
    maxSize: limits.targetBytesMax,
    sizeCalculation: (_source, search) => 4 * search.length + SOURCE_BYTES,
  });
  const textSource = (search: string): QuerySource => {
    const known = sources.get(search);
    if (known) return known;
    const source = textQuery(search);
    sources.set(search, source);
    return source;
  };

  const callerOfAuth = (auth: unknown): KnownCaller | null =>
    auth !== null && typeof auth === 'object' ? ((auth as WithCaller)[CALLER] ?? nobody) : null;
  /** What code gives in place of a context may have no more than `state.auth`. */
  const callerOf = (ctx: object | undefined): KnownCaller =>
    (ctx as WithCaller | undefined)?.[CALLER] ??
    callerOfAuth((ctx as Partial<CodeContext> | undefined)?.state?.['auth']) ??
    nobody;
  const requestOf = (ctx: CodeContext): Koa.Context => ctx as unknown as Koa.Context;

  /** The text of the request as long as nobody has changed what was made of it. */
  const sourceOf = (koa: Koa.Context, changed: ChangedQuery | null, type: EntryType): QuerySource =>
    changed?.source(undefined, (query) => withLocalDates(query, type, site.model)) ??
    sourceOfContext(koa) ??
    textSource(searchOf(koa.req.url!));

  /** What code has put into the data of a client, such as dates, as the entity service takes it. */
  const bodyGiven = (body: unknown, type: EntryType): unknown => {
    const data = isMembers(body) ? body['data'] : undefined;
    if (!isMembers(data) || isPlainData(data)) return body;
    return { ...(body as Members), data: asBody(storableIn(data, type, site.model), type, site.model, 'checked') };
  };

  const performForm = async (
    asked: Omit<ActionByCode, 'body' | 'files'>,
    { data, files: given }: EntryBody,
  ): Promise<Answer> => {
    const files = await receivedFiles(given, 'files.');
    return site.media.withCopies(files, async (copies) =>
      performAction({ ...asked, body: { data }, files: copies }, site),
    );
  };

  const queryOf = (ctx: CodeContext): Members =>
    Object.fromEntries(
      Object.entries(ctx.query).filter(([name, value]) => value !== undefined && parameterName(name).kind !== 'other'),
    );

  const credentialsOf = async ({ who }: KnownCaller): Promise<object | null> => {
    switch (who.kind) {
      case 'public':
        return null;
      case 'user': {
        const user = await findUser(who.id);
        // gone or blocked since the credentials were read, by another process, or hidden by code of the project
        if (!user || user['blocked'] === true) throw forCode(new Refusal(issue('http.invalid-credentials', [])));
        return user;
      }
      case 'token': {
        const [token] = await readTokenDetails(accountDeps.db, who.id);
        if (!token) throw forCode(new Refusal(issue('http.bad-credentials', [])));
        const { lifespan } = token;
        return { ...token, lifespan: lifespan === null ? null : String(lifespan) };
      }
      case 'admin':
        return { id: who.id };
      default:
        return never(who);
    }
  };

  /** Sets what code sees of the caller. */
  const admitted = (koa: Koa.Context, caller: KnownCaller, credentials: object | null): KnownCaller => {
    (koa as unknown as WithCaller)[CALLER] = caller;
    const { state } = koa;
    state['isAuthenticated'] = true;
    state['auth'] = authOf(caller, credentials);
    if (caller.who.kind === 'user') state['user'] = credentials;
    return caller;
  };

  const answer: Native['answer'] = (ctx, type, action) => {
    const { request }: Partial<CodeContext> = ctx;
    // a list has no id, whatever the route calls its parameters
    const given = action === 'find' ? undefined : idIn(ctx);
    const id = given === undefined ? null : parseId(given);
    if (given !== undefined && id === null) throw new Refusal(issue('http.not-found', []));
    const koa = requestOf(ctx);
    const changed = contexts.changedQuery(koa);
    const { body, files }: { readonly body?: unknown; readonly files?: unknown } = request ?? {};
    const asked = {
      type,
      action: coreActionOf(type, action),
      id,
      query: sourceOf(koa, changed, type),
      creatorFields: changed?.addsCreators === true,
      caller: callerOf(ctx),
      headers: (koa as Partial<Koa.Context>).req?.headers ?? {},
      body,
      files: [],
    };
    if (action === 'find' || action === 'findOne' || action === 'delete') return performAction(asked, site);
    if (files === undefined) return performAction({ ...asked, body: bodyGiven(body, type) }, site);
    const form = entryBodyOf({ body, files });
    return performForm(asked, { ...form, data: (bodyGiven(form, type) as EntryBody).data });
  };

  /** On the response of code itself, which may be another than the server's answer with its header. */
  const reportLeftOut = (ctx: CodeContext, leftOut: readonly LeftOut[]): void => {
    if (leftOut.length === 0) return;
    const koa = requestOf(ctx);
    // what code gives in place of a context may have neither
    logLeftOut(leftOut, koa.url ?? '');
    koa.set?.(LEFT_OUT_HEADER, leftOutHeader(leftOut));
  };

  return {
    ...newEndpoints({ ...given, callerOf, reportLeftOut }),
    answer,
    perform: (ctx, type, action) => {
      const shown = (answered: Answer): object => {
        reportLeftOut(ctx, answered.leftOut);
        return bodyOf(answered);
      };
      try {
        const answered = answer(ctx, type, action);
        return answered instanceof Promise ? answered.then(shown, absentOrThrown) : shown(answered);
      } catch (fault) {
        return absentOrThrown(fault);
      }
    },
    validateQuery: (ctx, type, asked) => {
      const context = contextFor(type, { caller: callerOf(ctx), defaultLocale: null, format: 'v4' }, {}, site);
      const isOfOne = asked === undefined && parseId(idIn(ctx) ?? '') !== null;
      const action = type.kind === 'single' ? 'single' : isOfOne ? 'findOne' : 'find';
      const koa = requestOf(ctx);
      const query = sourceOf(koa, contexts.changedQuery(koa), type);
      return catchable(() => {
        const checked = site.reader.check({ action, type, id: null, query }, context);
        const isOfService = ({ code, path }: Issue): boolean =>
          (code === 'pagination.top-level' && asked === 'own find') ||
          (code === 'query.populate-with-pagination' && !contexts.isAsked(koa, path));
        if (!checked.ok) {
          const others = checked.issues.filter((it) => !isOfService(it));
          if (others.length > 0) throw new Refusal(...others);
          return true;
        }
        reportLeftOut(ctx, checked.value);
        return checked.value.length > 0;
      });
    },
    queryOf,
    checkQuery: (given, type, whose) => {
      const caller: KnownCaller = { ...(whose ?? anyCaller), who: { kind: 'public' } };
      const context = contextFor(type, { caller, defaultLocale: null, format: 'v4' }, {}, site);
      const action = type.kind === 'single' ? 'single' : 'find';
      const query = objectQuery(withPlainParameters(lookedAt(given)) as QueryObject);
      catchable(() => unwrap(site.reader.check({ action, type, id: null, query }, context)));
    },
    allowedQuery: (given, type, whose) => {
      const caller: KnownCaller = { ...(whose ?? anyCaller), who: { kind: 'public' } };
      const ctx = requestContext() as CodeContext | undefined;
      const whole = {
        reader: site.reader,
        context: contextFor(type, { caller, defaultLocale: null, format: 'v4' }, {}, site),
        isClients: (holder: object, name: string) =>
          ctx !== undefined && contexts.isClients(requestOf(ctx), holder, name),
        ...(ctx
          ? {
              before: () => contexts.askedQuery(ctx),
              noteLeftOut: (leftOut: readonly LeftOut[]) => {
                // what has been said of the whole query stays
                if (requestOf(ctx).response.get(LEFT_OUT_HEADER) === '') reportLeftOut(ctx, leftOut);
              },
            }
          : {}),
      };
      return catchable(() => allowedQuery(given, type, whole));
    },
    callerOf,
    limitsPopulate: (ctx) => contexts.limitsPopulate(requestOf(ctx)),
    addsCreators: (ctx) => contexts.changedQuery(requestOf(ctx))?.addsCreators === true,
    refuse: () => {
      throw forCode(new Refusal(issue('body.missing', [])));
    },
    authenticate: (ctx, only) => {
      const koa = ctx as Koa.Context;
      const { headers, method } = koa.req;
      return whenReady(identifyCaller(headers, isReading(method), callers), (identified) => {
        const caller = catchable(() => unwrap(identified));
        if (only !== null && !isKnownBy(caller, only)) throw forCode(new Refusal(issue('http.bad-credentials', [])));
        return caller.who.kind === 'public'
          ? admitted(koa, caller, null)
          : inRequest(koa, () => credentialsOf(caller)).then((credentials) => admitted(koa, caller, credentials));
      });
    },
    skipAuthentication: (ctx) => {
      (ctx as WithCaller)[CALLER] = nobody;
    },
    callerOfAuth,
    withForm,
  };
};

const idIn = ({ params }: Partial<CodeContext>): string | undefined => params?.['id'];

const coreActionOf = (type: EntryType, action: CoreAction): CoreAction | 'single' =>
  type.kind === 'single' && action === 'find' ? 'single' : action;
