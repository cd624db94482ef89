/** What the endpoints of files do. Independent of HTTP. */
import { type Caller, newGate } from '../access/access.js';
import type { KnownCaller } from '../access/caller.js';
import { bug, catchRefusal, issue, ok, type Result, refuse, refused, unwrap } from '../errors.js';
import { FILE_UID, type Model, typeOf } from '../model/model.js';
import type { Grammar } from '../query/brackets.js';
import { noQuery } from '../query/objects.js';
import type { ResolveContext } from '../query/resolve.js';
import { type Search, searchQuery } from '../query/searches.js';
import { type Answer, answerOf } from '../read/answer.js';
import type { Precondition } from '../read/etag.js';
import { applyAndAnswer, shownTo } from '../write/answer.js';
import type { Session } from '../write/session.js';
import { placeIn } from './folders.js';
import { readInfo, readInfos } from './info.js';
import type { Recorder, SavedObject } from './journal.js';
import type { FileInfo } from './prepare.js';
import type { Form, IncomingForm, Received } from './receive.js';
import { type Reference, readReference, updateFor } from './reference.js';
import { type FileRow, findFile, lockFile } from './rows.js';
import type { Part, Storing } from './storing.js';

export interface FileRequest {
  readonly caller: KnownCaller;
  readonly form: IncomingForm | null;
  /** The parsed JSON body; undefined if there is none. */
  readonly body: unknown;
  readonly search: Search;
  /** The file that the URL names; null if there is no such id. */
  readonly id: number | null;
  readonly match: Precondition | null;
  /** Whether `folder` of `fileInfo` is read: by default that of administrators is. */
  readonly mayPlace?: boolean;
  /** The model as code sees it, which may write more; that of requests by default. */
  readonly codeModel?: Model;
  /** An upload or a removal is perhaps a part of another write; it has a transaction of its own by default. */
  readonly part?: Part;
}

export type FileAction = (request: FileRequest) => Promise<Result<Answer>>;

export interface FileActions {
  readonly find: FileAction;
  /** How many files a list has on all of its pages; v4 answers lists of files without it. */
  readonly count: FileAction;
  readonly findOne: FileAction;
  readonly upload: FileAction;
  /** Changes what is known of a file, or replaces its content. */
  readonly update: FileAction;
  readonly destroy: FileAction;
}

export const newFileActions = (storing: Storing): FileActions => {
  const { db, model, reader, writer, settings, store, hasUpdateHandler } = storing.deps;
  const type = typeOf(model, FILE_UID);
  const contextOf = (caller: Caller): ResolveContext => ({
    ...settings,
    model,
    gate: newGate(caller, model),
    defaultLocale: null,
  });
  const showing = { query: noQuery, form: 'plain' } as const;

  const read = async (id: number, context: ResolveContext, session: Session): Promise<Answer> => {
    const answer = unwrap(
      await reader.readInside({ action: 'findOne', type, id, drafts: 'written', ...showing }, context, session.tx),
    );
    if (!answer) throw bug('files.not-readable', { id });
    return answer;
  };

  const upload = async (form: Form, request: FileRequest): Promise<Answer> => {
    const { caller, part, codeModel } = request;
    const received = filesOf(form);
    if (received.length === 0) return refuse(issue('media.no-files', []));
    const infos = unwrap(readInfos(infoTextsOf(form), received.length, mayPlaceBy(request)));
    const reference = readReference(form, codeModel ?? model, { caller, hasUpdateHandler });
    const files = received.map((it, i) => ({ received: it, info: infos[i] ?? {} }));
    return storing.store(
      files,
      (stored) =>
        (part ?? writer).transaction((session) =>
          storing.insert(stored, session, uploaderOf(caller), async (inserted) => {
            const ids = inserted.map((it) => it.id);
            if (reference) await addTo(reference, ids, request, session);
            const texts: string[] = [];
            for (const written of inserted) {
              const answer = await read(written.id, contextOf(caller), session);
              texts.push(shownTo(caller, { written, answer }).body.toString());
            }
            return answerOf(`[${texts.join(',')}]`, null, []);
          }),
        ),
      part,
    );
  };

  /** An update of the entry with the caller's rights. */
  const addTo = async (
    reference: Reference,
    ids: readonly number[],
    { caller, codeModel = model }: FileRequest,
    session: Session,
  ): Promise<void> => {
    const update = await updateFor(
      reference,
      ids,
      { caller, hasUpdateHandler },
      { model: codeModel, tx: session.tx, dialect: db.dialect },
    );
    await writer.apply(
      { action: 'update', ...update, isOfUpload: true },
      { ...contextOf(caller), model: codeModel },
      session,
    );
  };

  const placed = async ({ folder, ...info }: FileInfo, { tx }: Session) => ({
    ...info,
    ...(folder === undefined ? {} : await placeIn(folder, model, tx, db.dialect)),
  });

  const changeInfo = (id: number, info: FileInfo, { caller, match }: FileRequest): Promise<Answer> =>
    writer.transaction(async (session) => {
      const data = await placed(info, session);
      const request = { action: 'update', type, id, data, match, adminId: uploaderOf(caller) } as const;
      return shownTo(caller, await applyAndAnswer(request, showing, contextOf(caller), session, { reader, writer }));
    });

  const replace = async (row: FileRow, received: Received, info: FileInfo, request: FileRequest): Promise<Answer> => {
    const { id } = row;
    const { caller, match } = request;
    const { values, objects } = await storing.prepare({ received, info }, row);
    // the transaction may run twice, but the store is changed once
    let saved: readonly SavedObject[] | null = null;
    let isPut = false;
    const answered = await storing.during((record) =>
      writer.transaction(async (session) => {
        const stored = await lockFile(id, session.tx, db.dialect);
        if (!stored) return refuse(issue('media.entity-absent', []));
        const place = info.folder === undefined ? {} : await placeIn(info.folder, model, session.tx, db.dialect);
        const data = { ...values, ...place };
        const write = { action: 'update', type, id, data, match, adminId: uploaderOf(caller) } as const;
        const answered = await applyAndAnswer(write, showing, contextOf(caller), session, { reader, writer });
        const { version } = answered.written;
        const { content: after = '' } = (await lockFile(id, session.tx, db.dialect)) ?? {};
        saved ??= await copiesOf(objects.keys());
        const obsolete = stored.provider === store.provider ? stored.keys.filter((key) => !objects.has(key)) : [];
        await record({
          row: { kind: 'replaced', id, version, before: stored.content, after },
          written: [...objects.keys()],
          obsolete,
          saved,
        });
        if (!isPut) await storing.put(objects);
        isPut = true;
        return { answer: shownTo(caller, answered), replaced: stored };
      }),
    );
    tellOfKept(answered.replaced);
    return answered.answer;
  };

  const tellOfKept = ({ id, provider, keys }: FileRow): void => {
    if (provider !== store.provider) storing.deps.onKept?.({ id, provider, keys });
  };

  /** Copies of the objects that are there. */
  const copiesOf = async (keys: Iterable<string>): Promise<readonly SavedObject[]> => {
    const copies: SavedObject[] = [];
    for (const key of keys) {
      const path = await storing.newPath();
      const copy = await storing.save(key, path);
      if (copy) copies.push({ key, ...copy });
    }
    return copies;
  };

  const update = async (request: FileRequest): Promise<Answer> => {
    const { id, body, form: incoming } = request;
    const row = id === null ? null : await findFile(id, db);
    if (!row) return refuse(issue('media.entity-absent', []));
    if (!incoming) return changeInfo(row.id, unwrap(infoInJson(body, mayPlaceBy(request))), request);
    return storing.withForm(incoming, async (form) => {
      const [file, ...others] = filesOf(form);
      if (others.length > 0) return refuse(issue('media.several-for-one', []));
      const [info = {}] = unwrap(readInfos(infoTextsOf(form), 1, mayPlaceBy(request)));
      return file ? replace(row, file, info, request) : changeInfo(row.id, info, request);
    });
  };

  const destroy = async (given: FileRequest & { readonly id: number }): Promise<Answer> => {
    const { id, caller, match, part } = given;
    const remove = (record: Recorder) =>
      (part ?? writer).transaction(async (session) => {
        const row = await lockFile(id, session.tx, db.dialect);
        if (!row) return refuse(issue('media.absent', []));
        const request = { action: 'delete', type, id, match } as const;
        const { answer } = await applyAndAnswer(request, showing, contextOf(caller), session, { reader, writer });
        const obsolete = row.provider === store.provider ? row.keys : [];
        await record({ row: { kind: 'deleted', id }, written: [], obsolete, saved: [] });
        return { answer, deleted: row };
      });
    const { answer, deleted } = await storing.during(remove, { isPart: part !== undefined });
    tellOfKept(deleted);
    return answer;
  };

  return {
    find: async ({ caller, search }) =>
      reader.read(
        { action: 'find', type, id: null, query: searchQuery(search, listGrammar), form: 'plain' },
        contextOf(caller),
      ),
    count: async ({ caller, search }) => {
      const counted = await reader.count({ type, query: searchQuery(search, listGrammar) }, contextOf(caller));
      return counted.ok ? ok(answerOf(String(counted.value.total), null, counted.value.leftOut)) : counted;
    },
    findOne: async ({ caller, search, id }) => {
      if (id === null) return absent();
      const query = searchQuery(search, entryGrammar);
      const answer = await reader.read({ action: 'findOne', type, id, query, form: 'plain' }, contextOf(caller));
      return asAbsent(answer, 'media.absent');
    },
    upload: async (request) => {
      const { form: incoming } = request;
      if (!incoming) return refused(issue('media.no-files', []));
      return catchRefusal(() => storing.withForm(incoming, (form) => upload(form, request)));
    },
    update: async (request) => asAbsent(await catchRefusal(() => update(request)), 'media.entity-absent'),
    destroy: async (request) => {
      const { id } = request;
      if (id === null) return absent();
      return asAbsent(await catchRefusal(() => destroy({ ...request, id })), 'media.absent');
    },
  };
};

/** The administrator who uploads or changes a file. Unlike what else a token writes (AD16), its files have no creator, as in v4. */
export const uploaderOf = ({ who }: KnownCaller): number | null => (who.kind === 'admin' ? who.id : null);
const mayPlaceBy = ({ mayPlace, caller: { who } }: FileRequest): boolean => mayPlace ?? who.kind === 'admin';

const absent = (): Result<never> => refused(issue('media.absent', []));

/** A file that the caller may not see is answered like one that does not exist (AD11). */
const asAbsent = <T>(result: Result<T>, code: 'media.absent' | 'media.entity-absent'): Result<T> =>
  !result.ok && result.issues[0]?.code === 'http.not-found' ? refused(issue(code, [])) : result;

/** The files of the field `files`. Others would be lost, so they are refused beside them; alone they count as none, as in v4. */
const filesOf = ({ files }: Form): readonly Received[] => {
  const wanted = files.filter((it) => it.field === 'files');
  const other = files.find((it) => it.field !== 'files');
  return other && wanted.length > 0 ? refuse(issue('media.field', [], { name: other.field })) : wanted;
};

const infoTextsOf = ({ fields }: Form): readonly string[] =>
  fields.filter((it) => it.name === 'fileInfo').map((it) => it.value);

const infoInJson = (body: unknown, mayPlace: boolean): Result<FileInfo> =>
  readInfo(
    body !== null && typeof body === 'object' && 'fileInfo' in body ? body.fileInfo : {},
    ['fileInfo'],
    mayPlace,
  );

// ---- queries

/** v4 takes `start` and `limit` of files at the top level; here they are bounded like any pagination. */
const listGrammar: Grammar = {
  name: 'files',
  place: (segments) => {
    const [name] = segments;
    return segments.length === 1 && (name === 'start' || name === 'limit') ? ['pagination', name] : segments;
  },
};

/** One file is always shown whole: `fields` has no effect, as in v4. */
const entryGrammar: Grammar = {
  name: 'file',
  place: (segments) => (segments[0] === 'fields' ? null : segments),
};
