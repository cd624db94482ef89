/** Moves files and folders into another folder, and back. */
import { useRef, useState } from 'react';
import { folderActions, useRefresh } from '../../parts/media/library.js';
import { useClient } from '../../server/queries.js';
import { oneByOne } from './one-by-one.js';

export interface Moved {
  readonly kind: 'file' | 'folder';
  readonly id: number;
  /** The folder that it was in; null at the top, undefined if that is not known. */
  readonly from: number | null | undefined;
}

export type MoveState =
  | { readonly kind: 'moving'; readonly done: number; readonly all: number }
  | {
      readonly kind: 'ended';
      /** Those that were moved. */
      readonly what: readonly Moved[];
      /** How many were to be moved; more if it was stopped or one was refused. */
      readonly all: number;
      /** Where to; undefined: back to where they were. */
      readonly to: number | null | undefined;
      /** Why one was refused; null if none was. */
      readonly fault: unknown;
    };

export interface Moving {
  readonly state: MoveState | null;
  move(what: readonly Moved[], to: number | null): Promise<void>;
  /** After the one that is being moved. */
  stop(): void;
  /** Back to where they were. */
  undo(): Promise<void>;
  dismiss(): void;
}

/** Whether there is something that can be moved back. */
export const mayUndo = (state: MoveState): boolean =>
  state.kind === 'ended' && state.to !== undefined && state.what.some((it) => it.from !== undefined);

/** @param onMoved told of the files that are elsewhere now. */
export const useMoving = (onMoved: (files: readonly number[]) => void): Moving => {
  const client = useClient();
  const refresh = useRefresh();
  const [state, setState] = useState<MoveState | null>(null);
  const running = useRef(new AbortController());

  /** @param to undefined: back to where they were */
  const run = async (what: readonly Moved[], to: number | null | undefined): Promise<void> => {
    const all = what.length;
    running.current = new AbortController();
    const { done, fault } = await oneByOne(
      what,
      ({ kind, id, from = null }) => {
        const target = to === undefined ? from : to;
        return kind === 'folder'
          ? folderActions.update(id, { parent: target })
          : client.files.describe(id, { folder: target });
      },
      { signal: running.current.signal, onProgress: (count) => setState({ kind: 'moving', done: count, all }) },
    );
    setState({ kind: 'ended', what: done, all, to, fault });
    onMoved(done.filter((it) => it.kind === 'file').map((it) => it.id));
    await refresh();
  };

  return {
    state,
    move: run,
    stop: () => running.current.abort(),
    undo: async () => {
      if (state?.kind !== 'ended' || !mayUndo(state)) return;
      await run(
        state.what.filter((it) => it.from !== undefined),
        undefined,
      );
    },
    dismiss: () => setState(null),
  };
};
