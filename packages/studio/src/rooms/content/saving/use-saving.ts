/** What can be done with an entry: each action names the version that was seen, and what was refused is told. */
import { type Query, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { DovetailError } from 'dovetail-client';
import { type Dispatch, useEffect, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import type { Type } from '../../../model/model.js';
import { isUnreachable } from '../../../parts/Fault.js';
import { useClient, useModel } from '../../../server/queries.js';
import { readAgain } from '../../../server/query-client.js';
import { administrator } from '../../../session/session.js';
import { words } from '../../../words/index.js';
import { type Body, bodyOf, unsendable } from '../form/body.js';
import { readEntry, type StoredEntry } from '../form/entry.js';
import { bodyOfForm, type EntryForm, type FormAction, isDirty } from '../form/entry-form.js';
import { type FieldPath, type Fields, newFields } from '../form/fields.js';
import { mergeFields } from '../form/merge.js';
import { copyOfFields } from '../form/parts.js';
import { entryAddress, listAddress } from '../relations/entry-address.js';
import { listsKey } from '../relations/source.js';
import { pathOf } from '../requests.js';
import { type Choice, conflictOf, resolved } from './conflict.js';
import { incompleteIn } from './incomplete.js';
import { pendingLists, readBack, settleLists } from './lists.js';
import { arrivedWith, arriveWith, isPlain, type Outcome } from './outcome.js';
import { roundedNumbers } from './rounded.js';
import { forgetUnsaved, keepNew, readUnsaved, type Unsaved, type UnsavedKey } from './unsaved.js';
import { copyOf, deleteEntry, localizeEntry, writeEntry } from './writes.js';

/** How often a save is tried again over what somebody else has stored elsewhere meanwhile. */
const TRIES_MAX = 3;

/** Somebody else has stored something; what is done about it is the editor's choice. */
export interface Clash {
  /** What the edits began with. */
  readonly base: Fields;
  readonly mine: Fields;
  readonly theirs: StoredEntry;
  /** False: the edits were kept by the browser, and the form shows what is stored. */
  readonly isInForm: boolean;
}

export interface Saving {
  /** What is being done. */
  readonly busy: 'save' | 'publish' | 'unpublish' | 'duplicate' | 'delete' | 'localize' | null;
  readonly fault: unknown;
  readonly outcome: Outcome | null;
  readonly clash: Clash | null;
  readonly setClash: (clash: Clash) => void;
  /** Ends a clash: the form is what was chosen. @param choices by path, where they are not the usual ones. */
  readonly resolve: (choices: ReadonlyMap<FieldPath, Choice>) => void;
  /** Closes a clash without a choice: the edits stay in the form. */
  readonly postpone: () => void;
  readonly clear: () => void;
  readonly unsavedKey: UnsavedKey;
  /** True if it was saved. @param isAgain whether a new entry may be sent although it may be stored already. */
  readonly save: (state?: 'publish' | 'draft', isAgain?: boolean) => Promise<boolean>;
  readonly unpublish: () => Promise<void>;
  /** @param isReplacing whether the copy may take the place of a new entry that is not saved. */
  readonly duplicate: (isReplacing?: boolean) => Promise<void>;
  /** What is in the form becomes a new entry that is not saved: its own is gone. */
  readonly renew: (isReplacing?: boolean) => Promise<void>;
  readonly remove: () => Promise<void>;
  /** @param isCopy whether the new entry begins with the text of this one. */
  readonly localize: (locale: string, isCopy: boolean) => Promise<void>;
}

export const useSaving = (type: Type, form: EntryForm, dispatch: Dispatch<FormAction>): Saving => {
  const client = useClient();
  const model = useModel();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [busy, setBusy] = useState<Saving['busy']>(null);
  const [fault, setFault] = useState<unknown>(null);
  const [outcome, setOutcome] = useState<Outcome | null>(() => arrivedWith(type, form.entry.id));
  const [clash, setClash] = useState<Clash | null>(null);
  const { entry, values, undecided, isUnsure } = form;
  const latest = useRef(form);
  latest.current = form;
  const isChanged = isDirty(form);
  // what is said of a save is about what was saved
  const said = useRef(values);
  useEffect(() => {
    if (isChanged && said.current !== values) setOutcome((it) => (it !== null && isPlain(it) ? null : it));
    said.current = values;
  }, [isChanged, values]);
  const site = { client, model, type };
  const owner = { type, id: entry.id, locale: entry.locale };
  // whoever has begun it: a session that ends meanwhile leaves the work to nobody else
  const [user] = useState(() => administrator()?.id ?? null);
  const unsavedKey: UnsavedKey = {
    user,
    type: type.uid,
    id: entry.id,
    locale: entry.locale,
  };
  const open = (
    to: string | null,
    options: { readonly locale?: string | null; readonly replace?: true } = {},
  ): void => {
    const { locale = null, replace } = options;
    // addresses are made of the model's names, which the router does not know
    if (to !== null)
      void navigate({ to, search: locale === null ? {} : { locale }, replace, ignoreBlocker: true } as never);
  };
  const ofType = ({ queryKey }: Pick<Query, 'queryKey'>): boolean => queryKey.includes(type.uid);
  const changed = (): void => {
    void readAgain(queries, { queryKey: listsKey(owner) });
    void readAgain(queries, { predicate: ofType });
  };

  /** Another version is stored: shows what differs. */
  const meet = async (): Promise<void> => {
    const theirs = await readEntry(client, model, type, owner);
    void readAgain(queries, { queryKey: listsKey(owner) });
    // with what was written while the server answered
    const { entry: began, values: mine, undecided } = latest.current;
    setClash({ base: undecided ?? began.fields, mine, theirs, isInForm: true });
  };
  const resolve: Saving['resolve'] = (choices) => {
    if (clash === null) return;
    const { base, mine, theirs } = clash;
    dispatch({ kind: 'loaded', entry: theirs });
    dispatch({ kind: 'restored', base: theirs.fields, values: resolved(base, mine, theirs.fields, choices) });
    // what is left of it is kept again
    forgetUnsaved(unsavedKey);
    setClash(null);
    setFault(null);
    setOutcome({ kind: 'chosen' });
  };
  const postpone = (): void => {
    // marked where it stands against theirs
    if (clash?.isInForm === false) dispatch({ kind: 'postponed', base: clash.base, values: clash.mine });
    setClash(null);
  };
  const refused = async (found: unknown): Promise<void> => {
    if (found instanceof DovetailError && found.status === 412) return meet();
    if (found instanceof DovetailError && found.status === 404 && entry.id !== null)
      return setOutcome({ kind: 'gone' });
    if (found instanceof DovetailError && found.status === 400) {
      dispatch({ kind: 'refused', faults: found.faults, message: found.message });
      // an entry beside which another was put may be gone: the list is read again
      if (found.faults.some(({ code }) => code.startsWith('relation.')))
        void readAgain(queries, { queryKey: listsKey(owner) });
    }
    setFault(found);
  };
  const act = async <T>(name: NonNullable<Saving['busy']>, task: () => Promise<T>): Promise<T | null> => {
    setBusy(name);
    setFault(null);
    setOutcome(null);
    try {
      return await task();
    } catch (found) {
      await refused(found).catch(setFault);
      return null;
    } finally {
      setBusy(null);
    }
  };

  const save: Saving['save'] = async (state, isAgain = false) => {
    const isSaved = await act(state === 'publish' ? 'publish' : 'save', async () => {
      if (isUnsure && !isAgain) {
        setOutcome({ kind: 'unsure', state });
        return false;
      }
      if (undecided !== null && conflictOf(undecided, values, entry.fields).some(({ by }) => by !== 'mine')) {
        await meet();
        return false;
      }
      const fields = [...unsendable(entry.id === null ? undefined : entry.fields, values), ...incompleteIn(values)];
      if (fields.length > 0) {
        setOutcome({ kind: 'unsendable', fields });
        return false;
      }
      let [stored, mine] = [entry, values];
      for (let tries = 1; ; tries++) {
        const { fields, contested } = await settleLists({ client, model, owner }, stored.fields, mine);
        if (contested.length > 0) {
          void readAgain(queries, { queryKey: listsKey(owner) });
          setOutcome({ kind: 'contested', lists: contested });
          return false;
        }
        try {
          const data = { ...bodyOf(model, type, stored.fields, fields), ...stateOf(type, stored, state) };
          const kind = state === 'publish' ? 'published' : 'saved';
          return await finish(await writeEntry(site, stored, data), fields, mine, kind);
        } catch (found) {
          if (entry.id === null && type.kind !== 'single' && isLost(found)) {
            dispatch({ kind: 'lost' });
            setOutcome({ kind: 'unsure', state });
          }
          if (!(found instanceof DovetailError && found.status === 412) || tries === TRIES_MAX) throw found;
          const theirs = await readEntry(client, model, type, owner);
          // they have changed nothing of what the form shows, only lists, which settle by themselves
          if (conflictOf(stored.fields, mine, theirs.fields).some(({ by }) => by !== 'mine')) throw found;
          dispatch({ kind: 'rebased', entry: theirs });
          mine = mergeFields(stored.fields, mine, theirs.fields).fields;
          stored = theirs;
        }
      }
    });
    return isSaved === true;
  };

  /** After the write: reads everything back. */
  const finish = async (id: number, fields: Fields, sent: Fields, kind: 'saved' | 'published'): Promise<true> => {
    const lists = pendingLists(model, type, fields);
    forgetUnsaved(unsavedKey);
    changed();
    const isNew = entry.id === null && type.kind !== 'single';
    const at = { ...owner, id: type.kind === 'single' ? null : id };
    const readStored = async () => {
      const stored = await readEntry(client, model, type, at);
      return { stored, compared: await readBack({ client, model, owner: at }, lists, stored.fields) };
    };
    const read = await readStored().catch((found: unknown) => {
      if (!isNew) throw found;
      return null;
    });
    if (read === null) {
      // it is stored, only not read: a second save from here would make a second entry
      flushSync(() => dispatch({ kind: 'discarded' }));
      forgetUnsaved(unsavedKey);
      open(entryAddress(type, { id }), { replace: true });
      return true;
    }
    const { stored, compared } = read;
    // when the page is left, only what was edited meanwhile is unsaved
    flushSync(() => dispatch({ kind: 'saved', entry: stored, sent }));
    const done: Outcome = { kind, readBack: compared, rounded: roundedNumbers(fields, stored.fields) };
    setOutcome(done);
    if (isNew) {
      // it was kept once more if it was still being written when it was saved
      forgetUnsaved(unsavedKey);
      arriveWith(type, id, done);
      open(entryAddress(type, { id }), { replace: true });
    }
    return true;
  };

  const unpublish: Saving['unpublish'] = async () => {
    await act('unpublish', async () => {
      await writeEntry(site, entry, { publishedAt: null });
      changed();
      dispatch({ kind: 'rebased', entry: await readEntry(client, model, type, owner) });
      setOutcome({ kind: 'unpublished' });
    });
  };

  const newKey: UnsavedKey = { ...unsavedKey, id: null };
  const openNew = (origin: Unsaved['origin'], values: Fields): void => {
    if (!keepNew(newKey, type, origin, values)) throw new Error(words.relations.saving.cannotCopy);
    open(entryAddress(type, { id: null }), { locale: entry.locale });
  };
  const duplicate: Saving['duplicate'] = async (isReplacing = false) => {
    await act('duplicate', async () => {
      if (!isReplacing && readUnsaved(newKey)?.origin === 'form')
        return setOutcome({ kind: 'occupied', by: 'duplicate' });
      openNew('copy', await copyOf(site, entry));
    });
  };

  const renew: Saving['renew'] = async (isReplacing = false) => {
    await act('duplicate', async () => {
      if (!isReplacing && readUnsaved(newKey)?.origin === 'form') return setOutcome({ kind: 'occupied', by: 'renew' });
      openNew('form', copyOfFields(model, type, values, 'create'));
      flushSync(() => dispatch({ kind: 'discarded' }));
      forgetUnsaved(unsavedKey);
    });
  };

  const remove: Saving['remove'] = async () => {
    await act('delete', async () => {
      await deleteEntry(site, entry);
      flushSync(() => dispatch({ kind: 'discarded' }));
      forgetUnsaved(unsavedKey);
      // what this page shows is gone; other pages read again what they show
      void queries.invalidateQueries({ predicate: ofType, refetchType: 'none' });
      open(listAddress(type));
    });
  };

  const localize: Saving['localize'] = async (locale, isCopy) => {
    await act('localize', async () => {
      const data: Body = isCopy ? bodyOf(model, type, newFields(type), await copyOf(site, entry)) : {};
      const id = await localizeEntry(site, entry, locale, data);
      changed();
      dispatch({ kind: 'rebased', entry: await readEntry(client, model, type, owner) });
      open(entryAddress(type, { id }));
    });
  };

  return {
    busy,
    fault,
    outcome,
    clash,
    setClash,
    resolve,
    postpone,
    clear: () => {
      setFault(null);
      setOutcome(null);
    },
    unsavedKey,
    save,
    unpublish,
    duplicate,
    renew,
    remove,
    localize,
  };
};

/** Nothing came back from the server itself: it may have done all the same what it was asked. */
const isLost = (fault: unknown): boolean =>
  isUnreachable(fault) || (fault instanceof DovetailError && (fault.status === 502 || fault.status === 504));

/** A new entry is published at once unless it is said to be a draft (DR6). */
const stateOf = (type: Type, entry: StoredEntry, state: 'publish' | 'draft' | undefined): Body => {
  if (!type.draftAndPublish) return {};
  if (state === 'publish') return { publishedAt: new Date().toISOString() };
  return entry.id === null ? { publishedAt: null } : {};
};

/** The request that a save sends, as the documentation writes it. */
export const requestOf = (
  model: ReturnType<typeof useModel>,
  type: Type,
  form: EntryForm,
): { readonly line: string; readonly body: object } | null => {
  if (!isDirty(form)) return null;
  const isNew = form.entry.id === null && type.kind !== 'single';
  return {
    line: `${isNew ? 'POST' : 'PUT'} ${model.prefix}${pathOf(model, type, form.entry.id)}`,
    body: { data: bodyOfForm(model, type, form) },
  };
};
