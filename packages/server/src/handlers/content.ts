/** The content as a project's code reads and writes it: any type, with the server's own rights. */
import { Refusal, type Result } from '../errors.js';
import type { EntryType, Model } from '../model/model.js';
import type { ResolveContext } from '../query/resolve.js';
import type { Gate, ReadAction } from '../query/selection.js';
import type { Answer, Reader } from '../read/find.js';
import type { Tx } from '../sql/dialect.js';
import { savepoint } from '../sql/savepoint.js';
import type { WriteAction, WriteRequest, Writer } from '../write/apply.js';
import type { Content } from './handlers.js';
import { refuse, stepAnswer } from './run.js';

/** The server's own hand: everything may be seen and changed, hidden attributes stay hidden. */
const ownGate: Gate = { version: 'handlers', allows: (_type, attribute, use) => !attribute.hidden || use === 'write' };

export interface ContentDeps {
  readonly model: Model;
  readonly reader: Reader;
  /** Given late: hooks belong to the writer that they use. */
  readonly writer: () => Writer;
  readonly context: Omit<ResolveContext, 'gate' | 'model'>;
  /** Milliseconds that a hook may take; `limits.hookMsMax` when it is not given. */
  readonly hookMsMax?: number;
}

/** @param tx the transaction to stay inside; null outside of writes. */
export const newContent = ({ model, reader, writer, context }: ContentDeps, tx: Tx | null): Content => {
  const own: ResolveContext = { ...context, model, gate: ownGate };
  const typeOf = (uid: string): EntryType => model.types.get(uid) ?? refuse(`there is no content type "${uid}"`);
  const granted = <T>(result: Result<T>): T => {
    if (result.ok) return result.value;
    throw new Refusal(...result.issues);
  };
  const read = async (action: ReadAction, uid: string, id: number | null, search: string): Promise<Answer | null> => {
    const request = { action, type: typeOf(uid), id, search };
    if (tx) return granted(await reader.readInside(request, own, tx));
    const result = await reader.read(request, own);
    return !result.ok && result.issues[0]?.code === 'http.not-found' ? null : granted(result);
  };
  const write = async (action: WriteAction, uid: string, id: number | null, data: unknown): Promise<Answer> => {
    const request: WriteRequest = { action, type: typeOf(uid), id, body: { data }, search: '', ifMatch: null };
    // what is refused inside a transaction is undone there, whatever the hook makes of the refusal
    return tx
      ? savepoint(tx, () => writer().writeInside(request, own, tx))
      : granted(await writer().write(request, own));
  };
  return {
    find: async (uid, search = '') => {
      const answer = await read(typeOf(uid).kind === 'single' ? 'single' : 'find', uid, null, search);
      return answer ? stepAnswer(answer).json() : { data: null, meta: {} };
    },
    findOne: async (uid, id, search = '') => {
      const answer = await read('findOne', uid, id, search);
      return answer && stepAnswer(answer).json();
    },
    create: async (uid, data) => stepAnswer(await write('create', uid, null, data)).json(),
    update: async (uid, id, data) => stepAnswer(await write('update', uid, id, data)).json(),
    delete: async (uid, id) => {
      await write('delete', uid, id, undefined);
    },
  };
};
