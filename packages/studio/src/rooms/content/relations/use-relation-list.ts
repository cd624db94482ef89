/** A relation list in the page: the windows of it that are shown, and the changes that are pending. */
import { type QueryClient, queryOptions, useQueries, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { type Arrangement, indexOf, lengthOf, place, remove, type Slot, slotsOf } from './arrangement.js';
import {
  arrangementAt,
  type Edited,
  editOf,
  isSameVersion,
  type ListEdit,
  type ListVersion,
  type RelatedRow,
} from './relation-edit.js';
import { type ListSource, type ListWindow, WINDOW_MAX } from './source.js';

/** Rows that are read beyond those that are shown, on either side. */
const AHEAD = 60;

/** How long windows are shown again without asking; a change from the other side of the relation does not change the version. */
const [FIRST_STALE_MS, OTHERS_STALE_MS, KEPT_MS] = [10_000, 5 * 60_000, 15 * 60_000];

const pageOptions = (source: ListSource, page: number) =>
  queryOptions({
    queryKey: [...source.key, 'page', page],
    queryFn: ({ signal }) => source.read(page * WINDOW_MAX, WINDOW_MAX, signal),
    // the first page tells the version of the list: the others are read again if theirs is another one
    staleTime: page === 0 ? FIRST_STALE_MS : OTHERS_STALE_MS,
    gcTime: KEPT_MS,
  });

const pageOf = (home: number): number => Math.floor(home / WINDOW_MAX);

const windowAt = (client: QueryClient, source: ListSource, home: number): ListWindow | undefined =>
  client.getQueryData<ListWindow>(pageOptions(source, pageOf(home)).queryKey);

const rowAt = (client: QueryClient, source: ListSource, home: number): RelatedRow | undefined => {
  const found = windowAt(client, source, home);
  const at = home % WINDOW_MAX;
  return found?.homes[at] === home ? found.rows[at] : undefined;
};

export interface ShownRow extends Slot {
  readonly index: number;
  /** Null while it is being read. */
  readonly row: RelatedRow | null;
}

/** The rows of an arrangement, with windows of its base read as they are shown. */
interface ShownList {
  readonly phase: 'loading' | 'failed' | 'ready';
  readonly fault: unknown;
  readonly retry: () => void;
  /** Of the list that was read. */
  readonly version: ListVersion;
  readonly length: number;
  readonly rowsIn: (start: number, end: number) => readonly ShownRow[];
  readonly rowAt: (home: number) => RelatedRow | undefined;
  /** Says which rows are visible. */
  readonly show: (start: number, end: number) => void;
}

/**
 * @param arrangementOn what is to be shown of the list that was read.
 * @param extra how entries are shown that are not where the list has them.
 */
export const useShownList = (
  source: ListSource,
  arrangementOn: (version: ListVersion) => Arrangement,
  extra: (id: number) => RelatedRow | undefined,
): ShownList => {
  const client = useQueryClient();
  const [range, setRange] = useState({ start: 0, end: 40 });
  const first = pageOptions(source, 0).queryKey;
  const known = client.getQueryData<ListWindow>(first);
  const arrangement = known ? arrangementOn(versionIn(known)) : null;
  const pages = new Set([0]);
  if (arrangement)
    for (const { home } of slotsOf(arrangement, Math.max(0, range.start - AHEAD), range.end + AHEAD))
      if (home !== null && home < known!.total) pages.add(pageOf(home));
  const results = useQueries({ queries: [...pages].map((page) => pageOptions(source, page)) });

  // pages that were read before somebody changed the list are read again
  const newest = results.reduce((a, b) => (b.data && b.dataUpdatedAt > a.dataUpdatedAt ? b : a), results[0]!);
  const outdated = results.flatMap((it, i) =>
    it.data && newest.data && !it.isFetching && !isSameVersion(versionIn(it.data), versionIn(newest.data))
      ? [[...pages][i]!]
      : [],
  );
  const outdatedKey = outdated.join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list of pages is compared by its text
  useEffect(() => {
    for (const page of outdated) void client.refetchQueries({ queryKey: pageOptions(source, page).queryKey });
  }, [client, source, outdatedKey]);

  const data = results[0]?.data;
  const failed = results.find((it) => it.isError);
  const version: ListVersion = data ? versionIn(data) : { version: null, total: 0 };
  const shown = data ? arrangementOn(version) : null;
  return {
    phase: data ? 'ready' : failed ? 'failed' : 'loading',
    fault: failed?.error ?? null,
    retry: () => {
      for (const it of results) if (it.isError) void it.refetch();
    },
    version,
    length: shown ? lengthOf(shown) : 0,
    rowsIn: (start, end) =>
      shown
        ? slotsOf(shown, start, end).map((slot, i) => ({
            ...slot,
            index: start + i,
            row:
              (slot.id === null ? undefined : extra(slot.id)) ??
              (slot.home === null ? undefined : rowAt(client, source, slot.home)) ??
              null,
          }))
        : [],
    rowAt: (home) => rowAt(client, source, home),
    show: useCallback(
      (start: number, end: number) =>
        setRange((now) => (now.start === start && now.end === end ? now : { start, end })),
      [],
    ),
  };
};

const versionIn = ({ version, total }: ListWindow): ListVersion => ({ version, total });

export interface RelationList extends ShownList {
  /** Whether the pending changes were made on another list than the one that was read. */
  readonly isOutdated: boolean;
  readonly arrangement: Arrangement;
  /** Whether ids are being read beside which an entry was put. */
  readonly isSettling: boolean;
  /** To `index` of the list without the entry: moves or adds it. */
  readonly put: (row: RelatedRow, home: number | null, index: number) => void;
  readonly take: (row: RelatedRow, home: number | null) => void;
  readonly undo: (() => void) | null;
  readonly redo: (() => void) | null;
  readonly discard: () => void;
  readonly indexOf: (id: number, home: number | null) => number | null;
}

interface RelationListOptions {
  readonly source: ListSource;
  readonly edit: ListEdit | null;
  readonly onChange: (edit: ListEdit | null) => void;
  readonly isOrdered: boolean;
}

export const useRelationList = ({ source, edit, onChange, isOrdered }: RelationListOptions): RelationList => {
  const client = useQueryClient();
  /** Shown already, while an anchor is being read. */
  const [settling, setSettling] = useState<Arrangement | null>(null);
  /** Why a change of this edit came to nothing. */
  const [failure, setFailure] = useState<{
    readonly of: ListEdit | null;
    readonly fault: unknown;
    readonly settleAgain: () => void;
  } | null>(null);
  const rows = useRef(new Map<number, RelatedRow>());
  const extra = useCallback((id: number) => rows.current.get(id) ?? edit?.rows[id], [edit]);
  const arrangementOn = useCallback(
    (version: ListVersion) => settling ?? arrangementAt(edit, version.total),
    [settling, edit],
  );
  const shown = useShownList(source, arrangementOn, extra);
  const base = edit?.base ?? shown.version;
  const now = arrangementOn(base);
  const latest = useRef(now);
  latest.current = now;

  const past = useRef<(ListEdit | null)[]>([]);
  const future = useRef<(ListEdit | null)[]>([]);
  const kept = useRef(edit);
  // an edit that was not made here (discarded, saved, restored) begins a new history
  if (kept.current !== edit) {
    kept.current = edit;
    past.current = [];
    future.current = [];
  }
  const become = (next: ListEdit | null): void => {
    // a change that still waits for its pages, or did not get them, is dropped
    setSettling(null);
    setFailure(null);
    kept.current = next;
    onChange(next);
  };

  const commit = async (next: Arrangement): Promise<void> => {
    latest.current = next;
    const read = (): Edited =>
      editOf(
        next,
        { base, isOrdered, idAt: (home) => rowAt(client, source, home)?.id ?? edit?.ids[home] },
        (id) => rows.current.get(id) ?? edit?.rows[id],
      );
    let edited = read();
    if (edited.kind === 'unknown') {
      setSettling(next);
      setFailure(null);
      const { homes } = edited;
      try {
        await Promise.all(
          [...new Set(homes.map(pageOf))].map((page) => client.ensureQueryData(pageOptions(source, page))),
        );
      } catch (fault) {
        if (latest.current !== next) return;
        setSettling(null);
        setFailure({ of: edit, fault, settleAgain: () => void commit(next) });
        return;
      }
      // another change has come meanwhile, and reads what it needs itself
      if (latest.current !== next) return;
      edited = read();
    }
    setSettling(null);
    if (edited.kind === 'unknown') return;
    past.current = [...past.current, edit];
    future.current = [];
    become(edited.edit);
  };

  const put = (row: RelatedRow, home: number | null, index: number): void => {
    rows.current.set(row.id, row);
    void commit(place(latest.current, { id: row.id, home }, index));
  };
  const take = (row: RelatedRow, home: number | null): void => {
    rows.current.set(row.id, row);
    void commit(remove(latest.current, { id: row.id, home }));
  };
  const step = (from: typeof past, to: typeof future) => (): void => {
    const next = from.current.at(-1);
    if (next === undefined) return;
    from.current = from.current.slice(0, -1);
    to.current = [...to.current, edit];
    become(next);
  };
  // of what was saved, discarded or restored meanwhile it is no change any more
  const failed = failure !== null && failure.of === edit ? failure : null;
  return {
    ...shown,
    fault: shown.fault ?? failed?.fault ?? null,
    retry: () => {
      shown.retry();
      failed?.settleAgain();
    },
    isOutdated: shown.phase === 'ready' && edit !== null && !isSameVersion(edit.base, shown.version),
    arrangement: now,
    isSettling: settling !== null,
    put,
    take,
    undo: past.current.length > 0 ? step(past, future) : null,
    redo: future.current.length > 0 ? step(future, past) : null,
    discard: () => {
      past.current = [...past.current, edit];
      future.current = [];
      become(null);
    },
    indexOf: (id, home) => indexOf(now, { id, home }),
  };
};

/** Reads a part of the list before something is put there, so that it is known beside what. */
export const useReadAhead = (source: ListSource): ((home: number) => Promise<void>) => {
  const client = useQueryClient();
  return useMemo(
    () => async (home) => {
      await client.ensureQueryData(pageOptions(source, pageOf(Math.max(0, home))));
    },
    [client, source],
  );
};
