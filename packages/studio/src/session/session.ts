/**
 * Who is signed in. The access token lives in this module only; what survives a reload is the server's HttpOnly cookie, by
 * which `refresh` gets a new one. Storage holds nothing but the fact that there may be such a cookie.
 */
import { createClient, DovetailError } from 'dovetail-client';
import { serverUrl } from '../server/address.js';

export interface Administrator {
  readonly id: number;
  readonly firstname: string | null;
  readonly lastname: string | null;
  readonly email: string;
  readonly roles: readonly { readonly id: number; readonly name: string; readonly code: string }[];
}

interface Session {
  readonly token: string;
  readonly expiresAt: string;
  readonly user: Administrator;
}

let session: Session | null = null;
/** Whether the server continues it no more. The page stays as it is, with what was written, until somebody signs in or leaves. */
let isOver = false;
const listeners = new Set<() => void>();

/** Calls the listener when somebody else is signed in, or under another name, and when the session ends. */
export const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** The administrator who is signed in, or was until the session ended. */
export const administrator = (): Administrator | null => session?.user ?? null;

/** Whether the session of `administrator` has ended. */
export const hasEnded = (): boolean => isOver;

const HINT = 'dovetail.signed-in';
const become = (next: Session | null): void => {
  const isAnother = isOver || JSON.stringify(session?.user) !== JSON.stringify(next?.user);
  session = next;
  isOver = false;
  try {
    if (next) localStorage.setItem(HINT, 'yes');
    else localStorage.removeItem(HINT);
  } catch {
    // storage is switched off: a reload asks for the password again
  }
  if (isAnother) for (const listener of listeners) listener();
};
const mayHaveCookie = (): boolean => {
  try {
    return localStorage.getItem(HINT) !== null;
  } catch {
    return false;
  }
};

/** Cookies alone do not authenticate: the server wants this header too, which no other site can send. */
const ownHeader = { 'dovetail-studio': '1' };
const { send } = createClient({ url: serverUrl, prefix: '/admin', headers: ownHeader, retries: 0 });
const post = async (path: string, body: object): Promise<Session> =>
  ((await send({ method: 'POST', path, body })).body as { data: Session }).data;

export const signIn = async (email: string, password: string): Promise<void> =>
  become(await post('/login', { email, password }));

interface Registration {
  /** The one-time key that the server has printed. */
  readonly key: string;
  readonly email: string;
  readonly password: string;
  readonly firstname: string;
  readonly lastname: string;
}

/** Creates the first administrator and signs in. */
export const register = async (registration: Registration): Promise<void> =>
  become(await post('/register', registration));

/** Sets a password by a one-time link, and signs in. */
export const join = async (registrationToken: string, password: string): Promise<void> =>
  become(await post('/register', { registrationToken, userInfo: { password } }));

/** The administrator who is signed in has another name. */
export const changed = ({ id, firstname, lastname, email, roles }: Administrator): void => {
  if (session) become({ ...session, user: { id, firstname, lastname, email, roles } });
};

export const signOut = async (): Promise<void> => {
  try {
    await post('/logout', {});
  } finally {
    become(null);
  }
};

/** One tab at a time: each refresh replaces the cookie that all tabs share. */
const alone = <T>(task: () => Promise<T>): Promise<T> =>
  navigator.locks ? navigator.locks.request('dovetail.refresh', task) : task();

/** Whoever signs out in another tab is signed out here, too; otherwise they are asked to sign in again. */
const end = (): void => {
  if (session === null || !mayHaveCookie()) become(null);
  else {
    isOver = true;
    for (const listener of listeners) listener();
  }
};

/** Nobody is signed in any more, after the session has ended. */
export const leave = (): void => become(null);

let refreshing: Promise<void> | null = null;
/** Gets a new token by the cookie; without a valid cookie the session has ended. */
export const refresh = (): Promise<void> => {
  refreshing ??= alone(() => post('/refresh', {}))
    .then(become, (fault: unknown) => {
      if (fault instanceof DovetailError && fault.status < 500) end();
      else throw fault;
    })
    .finally(() => {
      refreshing = null;
    });
  return refreshing;
};

let restoring: Promise<void> | null = null;
/** Once, when the page has been loaded. */
export const restore = (): Promise<void> => {
  restoring ??= mayHaveCookie() ? refresh() : Promise.resolve();
  return restoring;
};

/** Tokens are replaced this long before they expire. */
const EARLY_MS = 30_000;

/** The token for a request that starts now; null if nobody is signed in. */
export const currentToken = async (): Promise<string | null> => {
  if (session && !isOver && Date.parse(session.expiresAt) - Date.now() < EARLY_MS) await refresh();
  return session?.token ?? null;
};
