/** Unsaved work of a form: taken up when it is opened, kept while it is edited. */
import { type Dispatch, useEffect, useEffectEvent, useRef, useState } from 'react';
import type { Type } from '../../../model/model.js';
import { useModel } from '../../../server/queries.js';
import { type EntryForm, type FormAction, isDirty } from '../form/entry-form.js';
import { versionOf } from '../relations/relation-edit.js';
import {
  forgetUnsaved,
  keepUnsaved,
  type LeftWork,
  leftUnsaved,
  readUnsaved,
  type Unsaved,
  unsavedOf,
} from './unsaved.js';
import type { Saving } from './use-saving.js';

/** Milliseconds after the last change. */
const KEEP_AFTER_MS = 300;

export interface UnsavedState {
  /** What was found and taken up again. */
  readonly restored: Unsaved | null;
  /** What else is there of closed tabs. */
  readonly left: readonly LeftWork[];
  readonly cannotKeep: boolean;
  readonly dismiss: () => void;
  readonly forget: () => void;
  /** What is in the form takes its place. */
  readonly takeUp: (work: LeftWork) => void;
  readonly drop: (work: LeftWork) => void;
}

/** Takes up work that was kept, and keeps what is not saved. */
export const useUnsaved = (
  type: Type,
  form: EntryForm,
  dispatch: Dispatch<FormAction>,
  saving: Saving,
): UnsavedState => {
  const model = useModel();
  const { unsavedKey, setClash } = saving;
  const [restored, setRestored] = useState<Unsaved | null>(null);
  const [left, setLeft] = useState<readonly LeftWork[]>([]);
  const [cannotKeep, setCannotKeep] = useState(false);
  const latest = useRef({ form, unsavedKey });
  latest.current = { form, unsavedKey };
  const isTakenUp = useRef(false);
  const isTouched = useRef(false);

  const restore = (found: Unsaved): void => {
    const { entry } = latest.current.form;
    const { base, values, version, isUndecided, isUnsure = false } = found;
    // somebody else has saved since
    if (version !== versionOf(entry.etag)) setClash({ base, mine: values, theirs: entry, isInForm: false });
    else if (isUndecided) dispatch({ kind: 'postponed', base, values });
    else dispatch({ kind: 'restored', base, values, isUnsure });
    setRestored(found);
  };
  const takeUp = ({ tab, unsaved }: LeftWork): void => {
    const { form: now, unsavedKey: key } = latest.current;
    const current = unsavedOf(model, type, now, Date.now());
    if (current === null) forgetUnsaved(key, tab);
    else keepUnsaved(key, current, tab);
    keepUnsaved(key, unsaved);
    setLeft((all) =>
      all.flatMap((it) => (it.tab !== tab ? [it] : current === null ? [] : [{ tab, unsaved: current }])),
    );
    dispatch({ kind: 'discarded' });
    restore(unsaved);
  };
  const begin = useEffectEvent(async () => {
    const { form: now, unsavedKey: key } = latest.current;
    const own = isDirty(now) ? null : readUnsaved(key);
    if (own !== null) restore(own);
    const { works, areClosed } = await leftUnsaved(key);
    const [newest] = works;
    setLeft(works);
    if (newest && areClosed && own === null && !isDirty(latest.current.form)) takeUp(newest);
  });

  useEffect(() => {
    if (isTakenUp.current) return;
    isTakenUp.current = true;
    void begin();
  }, []);

  const { entry, values } = form;
  useEffect(() => {
    const keep = (): void => {
      const { form: now, unsavedKey: key } = latest.current;
      const unsaved = unsavedOf(model, type, now, Date.now());
      if (unsaved === null) {
        if (!isDirty(now) && isTouched.current) forgetUnsaved(key);
        setCannotKeep(false);
      } else setCannotKeep(!keepUnsaved(key, unsaved));
    };
    if (values !== entry.fields) isTouched.current = true;
    const timer = setTimeout(keep, KEEP_AFTER_MS);
    addEventListener('pagehide', keep);
    return () => {
      clearTimeout(timer);
      removeEventListener('pagehide', keep);
      // a page that is left within the pause
      if (values !== entry.fields) keep();
    };
  }, [model, type, entry, values]);

  return {
    // once it is saved or discarded, there is nothing more to say of it
    restored: isDirty(form) ? restored : null,
    left,
    cannotKeep,
    dismiss: () => setRestored(null),
    forget: () => {
      forgetUnsaved(unsavedKey);
      setRestored(null);
    },
    takeUp,
    drop: ({ tab }) => {
      forgetUnsaved(unsavedKey, tab);
      setLeft((all) => all.filter((it) => it.tab !== tab));
    },
  };
};
