/** Files on their way to the server: two at a time, each with its progress, until all are there, failed or cancelled. */
import type { MediaFile } from './files.js';

type UploadState =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'sending'; readonly sent: number; readonly total: number }
  /** All bytes have left; the server makes the formats. */
  | { readonly kind: 'processing' }
  | { readonly kind: 'done'; readonly file: MediaFile }
  | { readonly kind: 'failed'; readonly fault: unknown }
  | { readonly kind: 'cancelled' };

export interface Upload {
  readonly key: number;
  readonly name: string;
  readonly bytes: number;
  readonly state: UploadState;
}

export type SendFile = (
  file: File,
  folder: number | null,
  options: {
    readonly signal: AbortSignal;
    readonly onProgress: (progress: { readonly sent: number; readonly total: number }) => void;
  },
) => Promise<MediaFile>;

export interface Uploads {
  /** The same list until something changes. */
  all(): readonly Upload[];
  subscribe(listener: () => void): () => void;
  /**
   * @param onRetried told of each file that is stored when it is sent again
   * @returns the stored files, in the order given, without those that failed or were cancelled
   */
  add(
    files: readonly File[],
    folder: number | null,
    onRetried?: (file: MediaFile) => void,
  ): Promise<readonly MediaFile[]>;
  cancel(key: number): void;
  cancelAll(): void;
  /** Sends a failed or cancelled one again. */
  retry(key: number): void;
  retryAll(): void;
  /** Forgets those that are not on their way. */
  clear(): void;
}

interface Entry {
  readonly file: File;
  readonly folder: number | null;
  readonly abort: AbortController;
  /** Told of the end of an attempt; null if nothing is stored. */
  readonly settled: (file: MediaFile | null) => void;
  readonly onRetried: (file: MediaFile) => void;
}

/** More would only share the line, and the server makes the formats of one picture at a time. */
const CONCURRENT = 2;

/** @param onStored told of each file that is there. */
export const newUploads = (send: SendFile, onStored: () => void = () => undefined): Uploads => {
  const entries = new Map<number, Entry>();
  const listeners = new Set<() => void>();
  let list: readonly Upload[] = [];
  let lastKey = 0;

  const set = (next: readonly Upload[]): void => {
    list = next;
    for (const listener of listeners) listener();
  };
  const mark = (key: number, state: UploadState): void =>
    set(list.map((it) => (it.key === key ? { ...it, state } : it)));
  const stateOf = (key: number): UploadState | undefined => list.find((it) => it.key === key)?.state;

  const run = async (key: number): Promise<void> => {
    const entry = entries.get(key)!;
    mark(key, { kind: 'sending', sent: 0, total: entry.file.size });
    try {
      const stored = await send(entry.file, entry.folder, {
        signal: entry.abort.signal,
        onProgress: ({ sent, total }) =>
          mark(key, sent < total ? { kind: 'sending', sent, total } : { kind: 'processing' }),
      });
      mark(key, { kind: 'done', file: stored });
      entry.settled(stored);
      onStored();
    } catch (fault) {
      mark(key, entry.abort.signal.aborted ? { kind: 'cancelled' } : { kind: 'failed', fault });
      entry.settled(null);
    }
    next();
  };

  const next = (): void => {
    const busy = list.filter(({ state }) => state.kind === 'sending' || state.kind === 'processing').length;
    const waiting = list.filter(({ state }) => state.kind === 'waiting').slice(0, CONCURRENT - busy);
    for (const { key } of waiting) void run(key);
  };

  const cancel = (key: number): void => {
    const state = stateOf(key)?.kind;
    const entry = entries.get(key);
    if (!entry || (state !== 'waiting' && state !== 'sending' && state !== 'processing')) return;
    entry.abort.abort();
    // one that is being sent says so itself, when its request has ended
    if (state === 'waiting') {
      mark(key, { kind: 'cancelled' });
      entry.settled(null);
    }
  };
  const retry = (key: number): void => {
    const state = stateOf(key)?.kind;
    const entry = entries.get(key);
    if (!entry || (state !== 'failed' && state !== 'cancelled')) return;
    const settled = (file: MediaFile | null): void => {
      if (file) entry.onRetried(file);
    };
    entries.set(key, { ...entry, abort: new AbortController(), settled });
    mark(key, { kind: 'waiting' });
    next();
  };

  return {
    all: () => list,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    add: async (files, folder, onRetried = () => undefined) => {
      const added: Upload[] = [];
      const results = files.map(
        (file) =>
          new Promise<MediaFile | null>((resolve) => {
            lastKey += 1;
            entries.set(lastKey, { file, folder, abort: new AbortController(), settled: resolve, onRetried });
            added.push({ key: lastKey, name: file.name, bytes: file.size, state: { kind: 'waiting' } });
          }),
      );
      // what came before is over: its progress is not that of the new ones
      const isOver = !list.some(({ state }) => isUnderWay(state));
      const staying = isOver ? list.filter(({ state }) => state.kind !== 'done') : list;
      set([...staying, ...added]);
      next();
      return (await Promise.all(results)).filter((it) => it !== null);
    },
    cancel,
    // those that wait first, so that none of them takes the place of one that is cancelled
    cancelAll: () => {
      for (const { key } of list.filter(({ state }) => state.kind === 'waiting')) cancel(key);
      for (const { key } of list) cancel(key);
    },
    retry,
    retryAll: () => {
      for (const { key } of list) retry(key);
    },
    clear: () => {
      const staying = list.filter(({ state }) => isUnderWay(state));
      for (const { key } of list) if (!staying.some((it) => it.key === key)) entries.delete(key);
      set(staying);
    },
  };
};

export const isUnderWay = ({ kind }: UploadState): boolean =>
  kind === 'waiting' || kind === 'sending' || kind === 'processing';

interface UploadCounts {
  readonly all: number;
  readonly done: number;
  readonly underWay: number;
  readonly failed: number;
  readonly cancelled: number;
}

export const countsOf = (uploads: readonly Upload[]): UploadCounts => {
  const count = (kind: UploadState['kind']): number => uploads.filter(({ state }) => state.kind === kind).length;
  return {
    all: uploads.length,
    done: count('done'),
    underWay: uploads.filter(({ state }) => isUnderWay(state)).length,
    failed: count('failed'),
    cancelled: count('cancelled'),
  };
};

/** Bytes of all that are sent or wait; null if nothing is under way. */
export const progressOf = (uploads: readonly Upload[]): { readonly sent: number; readonly total: number } | null => {
  if (!uploads.some(({ state }) => isUnderWay(state))) return null;
  const parts = uploads.map(partOf);
  return {
    sent: Math.round(parts.reduce((sum, it) => sum + it.sent, 0)),
    total: parts.reduce((sum, it) => sum + it.total, 0),
  };
};

const partOf = ({ bytes, state }: Upload): { readonly sent: number; readonly total: number } => {
  switch (state.kind) {
    case 'waiting':
      return { sent: 0, total: bytes };
    case 'sending':
      return { sent: state.total === 0 ? 0 : (state.sent / state.total) * bytes, total: bytes };
    case 'processing':
    case 'done':
      return { sent: bytes, total: bytes };
    case 'failed':
    case 'cancelled':
      return { sent: 0, total: 0 };
  }
};
