/** The message of a refusal for the terminal. */
import { type Refusal, sayIssue } from '../errors.js';

export const sayRefusal = ({ issues, cause }: Refusal): string => {
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  return issues
    .map((it) =>
      it.code === 'http.busy'
        ? `The database is unavailable${why}. Nothing was changed; try again later.`
        : `${sayIssue(it)}${why}`,
    )
    .join('\n');
};
