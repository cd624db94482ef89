/** What follows the `?` of a request: a query string, or what the code of a project has made of it. */
import { type Grammar, textQuery } from './brackets.js';
import type { QuerySource } from './raw.js';

/** A query that code has changed. Query strings cannot say all that it may: an empty list would be lost. */
export interface ChangedQuery {
  /** The query string that comes closest to it. */
  readonly text: string;
  /** Whether its `populate` names creators that the request does not name (Q9). */
  readonly addsCreators: boolean;
  /** Throws where a condition says nothing. @param change makes another query of it first. */
  source(
    grammar?: Grammar,
    change?: (query: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>,
  ): QuerySource;
}

/** The query string, without `?`, or a query that code has changed. */
export type Search = string | ChangedQuery;

export const searchQuery = (search: Search, grammar?: Grammar): QuerySource =>
  typeof search === 'string' ? textQuery(search, grammar) : search.source(grammar);

/** For what is no part of a query. */
export const textOfSearch = (search: Search): string => (typeof search === 'string' ? search : search.text);
