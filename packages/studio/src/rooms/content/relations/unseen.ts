/** Relations that hold entries which the administrator may not see: they are read as empty, and saves leave what they hold (SU7). */
import { useQuery } from '@tanstack/react-query';
import { getData, serverSend } from '../../../server/clients.js';
import { useMe, useModel } from '../../../server/queries.js';
import type { FieldPath } from '../form/fields.js';
import type { RelationFieldProps } from './relation-field.js';
import { listPath, listsKey } from './source.js';

/** Whether a relation holds some: `unknown` if the server could not tell, and `none` until it has. */
export type Unseen = 'none' | 'some' | 'unknown';

export const useUnseen = ({ type, id, locale = null }: RelationFieldProps['entry'], at: FieldPath): Unseen => {
  const model = useModel();
  const me = useMe();
  const { data, isError } = useQuery({
    // read again with the lists, after a save
    queryKey: [...listsKey({ type, id, locale }), 'unseen'],
    queryFn: ({ signal }) =>
      getData<readonly string[]>(serverSend(), `/_dovetail/entries/${type.uid}/${id}/unseen`, signal),
    // super admins see everything
    enabled: id !== null && me != null && !me.isSuperAdmin,
  });
  if (isError) return 'unknown';
  return data?.includes(listPath(model, type, at)) ? 'some' : 'none';
};
