/** The request that is being made, what it was before, and its address. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useReducer, useRef } from 'react';
import { type Model, nameOf } from '../../model/model.js';
import { writeSearch } from './query/brackets.js';
import { askable, newRequest, type Request, readUrl, typeOfRequest } from './query/request.js';
import type { AskSearch } from './route.js';

interface History {
  readonly past: readonly Request[];
  readonly request: Request;
  readonly future: readonly Request[];
}

type Step = { readonly kind: 'change'; readonly request: Request } | { readonly kind: 'undo' | 'redo' };

const PAST_MAX = 200;

const after = ({ past, request, future }: History, step: Step): History => {
  switch (step.kind) {
    case 'change':
      return { past: [...past.slice(-PAST_MAX), request], request: step.request, future: [] };
    case 'undo': {
      const before = past.at(-1);
      return before
        ? { past: past.slice(0, -1), request: before, future: [request, ...future] }
        : { past, request, future };
    }
    case 'redo': {
      const [next, ...rest] = future;
      return next ? { past: [...past, request], request: next, future: rest } : { past, request, future };
    }
  }
};

interface Asking {
  readonly request: Request;
  readonly change: (request: Request) => void;
  readonly undo: (() => void) | null;
  readonly redo: (() => void) | null;
  /** The address as it was opened, if it cannot be read. */
  readonly unreadable: string | null;
}

/** Starts with what the address says; the address follows every change. Null if there is no type to ask for. */
export const useAsking = (model: Model): Asking | null => {
  const search = useSearch({ from: '/frame/ask' });
  const navigate = useNavigate();
  const opened = useMemo(() => requestOf(search, model), [search, model]);
  const [history, dispatch] = useReducer(after, { past: [], request: opened?.request ?? noRequest, future: [] });
  const { past, request, future } = history;
  const address = JSON.stringify(searchOf(request, model));
  const given = JSON.stringify(opened ? searchOf(opened.request, model) : {});
  const seen = useRef(given);
  const last = useRef(address);
  /** Addresses that this room has written, in their order: they come back later, when there may be a newer one already. */
  const written = useRef<readonly string[]>([]);
  useEffect(() => {
    if (given === seen.current || !opened) return;
    seen.current = given;
    const place = written.current.indexOf(given);
    // those before it come no more
    written.current = written.current.slice(place + 1);
    if (place === -1) dispatch({ kind: 'change', request: opened.request });
  }, [given, opened]);
  useEffect(() => {
    if (last.current === address) return;
    last.current = address;
    if (address === seen.current && written.current.length === 0) return;
    written.current = [...written.current, address];
    void navigate({ to: '/ask', search: JSON.parse(address) as AskSearch, replace: true, resetScroll: false });
  }, [address, navigate]);
  const change = useCallback((next: Request) => dispatch({ kind: 'change', request: next }), []);
  const undo = useCallback(() => dispatch({ kind: 'undo' }), []);
  const redo = useCallback(() => dispatch({ kind: 'redo' }), []);
  if (!opened) return null;
  return {
    request,
    change,
    undo: past.length > 0 ? undo : null,
    redo: future.length > 0 ? redo : null,
    unreadable: past.length === 0 ? opened.unreadable : null,
  };
};

const noRequest: Request = { type: '', id: null, query: {} };

const searchOf = (request: Request, model: Model): AskSearch => {
  const type = typeOfRequest(model, request);
  if (!type) return {};
  const q = writeSearch(request.query);
  return {
    type: nameOf(type),
    ...(request.id === null ? {} : { id: Number(request.id) }),
    ...(q === '' ? {} : { q }),
  };
};

interface Opened {
  readonly request: Request;
  readonly unreadable: string | null;
}

const requestOf = ({ type: name, id, q = '' }: AskSearch, model: Model): Opened | null => {
  const types = askable(model);
  const type =
    types.find((it) => nameOf(it) === name) ??
    types.find((it) => it.kind === 'collection' && it.origin === 'project' && it.may.find) ??
    types[0];
  if (!type) return null;
  const path = `${type.path ?? ''}${id === undefined ? '' : `/${id}`}`;
  const read = readUrl(`${path}?${q}`, model, null);
  if (read.ok) return { request: read.value, unreadable: null };
  const request = newRequest(type);
  return { request: id === undefined ? request : { ...request, id: String(id) }, unreadable: `${path}?${q}` };
};
