/** Lifecycles as hooks of the write line: inside its transaction, which what they await joins. */
import { dropPrototypes } from '../write/places.js';
import type { HooksOf, RunHook } from '../write/request.js';
import type { Session, WriteAction } from '../write/session.js';
import { type Entities, plain, storableIn } from './entities.js';
import { creatorsSet } from './given.js';
import type { Lifecycles, Operated, Operation } from './lifecycles.js';
import { isMembers, type Members } from './parts.js';
import { queryOf } from './queries.js';
import { currentOperation, inScope, isSilent, isUntold } from './scope.js';
import { asBody } from './values.js';

const operatedBy: Readonly<Record<WriteAction, Operated>> = { create: 'Create', update: 'Update', delete: 'Delete' };

export const hooksOf = (lifecycles: Lifecycles, entities: () => Entities): HooksOf => {
  /** Operations that the server itself began, such as a registration, between their two hooks. */
  const begun = new WeakMap<Session, Operation[]>();

  return (type) => {
    const heard = (action: WriteAction): boolean => lifecycles.hears(type.uid, operatedBy[action]);

    const operationOf = (
      action: WriteAction,
      session: Session,
      when: 'before' | 'after',
      id: number | null,
    ): Operation => {
      const known = currentOperation();
      if (known?.uid === type.uid) return known;
      const own = begun.get(session) ?? [];
      begun.set(session, own);
      if (when === 'after') {
        const last = own.findLastIndex((it) => it.uid === type.uid);
        if (last >= 0) return own.splice(last, 1)[0]!;
      }
      const operation = lifecycles.begin(type.uid, operatedBy[action], id === null ? {} : { where: { id } });
      if (when === 'before') own.push(operation);
      return operation;
    };

    const titleOf = (when: string, action: WriteAction): string => `${when}${operatedBy[action]} of ${type.uid}`;

    const before =
      (action: WriteAction): RunHook =>
      async ({ id, data, session, preview }) => {
        if (isSilent()) return;
        const copy = data && (plain(data) as Record<string, unknown>);
        if (copy) dropPrototypes(copy, type, entities().model);
        // what is invalid is refused before hooks see it, as in v4, which does not check what db.query writes
        if (copy && preview) {
          if (isUntold()) preview.addTimes(copy);
          else if (!(await preview.complete(copy))) return;
        }
        const operation = operationOf(action, session, 'before', id);
        if (copy) operation.params['data'] = copy;
        const seen = { ...copy };
        if (action === 'delete' && operation.result === undefined && id !== null)
          operation.result = await inScope(session, () => entities().findOne(type.uid, id, {}));
        await inScope(session, () => operation.before(), { title: titleOf('before', action) });
        if (!preview) return;
        const left = dataIn(operation);
        preview.take(left, type.kind === 'component' ? null : creatorsSet(left, seen));
      };

    /** What hooks have left as the data of the write: dates become their texts. */
    const dataIn = ({ params: { data } }: Operation): Members => {
      if (!isMembers(data)) throw new TypeError(`params.data of ${type.uid} must be an object`);
      const { model } = entities();
      return asBody(storableIn(data, type, model), type, model, 'bare');
    };

    const after =
      (action: WriteAction): RunHook =>
      async ({ id, session }) => {
        if (isSilent()) return;
        const operation = operationOf(action, session, 'after', id);
        await inScope(
          session,
          async () => {
            const result = action === 'delete' ? operation.result : await shown(operation, id);
            await operation.after(result);
          },
          { title: titleOf('after', action) },
        );
      };

    const shown = async ({ params }: Operation, id: number | null): Promise<unknown> => {
      if (id === null) return null;
      const { select, fields, populate } = params as Members;
      const { model } = entities();
      return entities().findOne(type.uid, id, queryOf({ select, fields, populate }, type, model, 'keep'));
    };

    return {
      before: (action) => (heard(action) ? before(action) : undefined),
      after: (action) => (heard(action) ? after(action) : undefined),
    };
  };
};
