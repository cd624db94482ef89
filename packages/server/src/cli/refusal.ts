/** The message of a refusal for the terminal. */
import { formatIssue, type Refusal } from '../errors.js';

export const refusalMessage = ({ issues, cause }: Refusal): string => {
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  return issues
    .map((it) =>
      it.code === 'http.busy'
        ? `The database is unavailable${why}. Nothing was changed; try again later.`
        : `${formatIssue(it)}${why}`,
    )
    .join('\n');
};
