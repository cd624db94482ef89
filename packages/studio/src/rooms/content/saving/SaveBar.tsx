/** What stands above the form of an entry: its state, its locales, and all that can be done with it. */
import { ActionIcon, Badge, Button, Code, Group, Menu, Text } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { IconCopy, IconDots, IconTrash } from '@tabler/icons-react';
import { type Dispatch, type RefObject, useEffect, useEffectEvent, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import type { Type } from '../../../model/model.js';
import { Confirm, type Question } from '../../../parts/Confirm.js';
import { Fault } from '../../../parts/Fault.js';
import { Instant } from '../../../parts/Instant.js';
import { useModel } from '../../../server/queries.js';
import type { useMayChange } from '../../../server/rights.js';
import { words } from '../../../words/index.js';
import { elementId } from '../fields/form-context.js';
import { isUnchanged } from '../form/entry.js';
import { changedNames, type EntryForm, type FormAction, isDirty } from '../form/entry-form.js';
import type { FieldPath } from '../form/fields.js';
import type { OtherLocale } from '../locales.js';
import { printed } from '../relations/BodyView.js';
import { entryAddress } from '../relations/entry-address.js';
import { StateBadge } from '../StateBadge.js';
import { ConflictDialog } from './ConflictDialog.js';
import { emptyIncomplete, incompleteIn } from './incomplete.js';
import { LeaveGuard } from './LeaveGuard.js';
import { LocaleSwitch } from './LocaleSwitch.js';
import { Notice } from './Notice.js';
import './saving.css';
import { arrivedWith, forgetArrival } from './outcome.js';
import { UnsavedNotice } from './UnsavedNotice.js';
import { requestOf, type Saving, useSaving } from './use-saving.js';
import { useUnsaved } from './use-unsaved.js';

const texts = words.relations.saving;

interface SaveBarProps {
  readonly type: Type;
  readonly form: EntryForm;
  readonly dispatch: Dispatch<FormAction>;
  readonly other: OtherLocale | null;
  readonly mayChange: MayChange;
}

type MayChange = ReturnType<typeof useMayChange>;

const canDuplicate = (type: Type, mayChange: MayChange): boolean => type.kind !== 'single' && mayChange('create');

/** Whether anything can be done with an entry whatever its form holds. */
export const hasActions = (type: Type, mayChange: MayChange): boolean =>
  mayChange('delete') || canDuplicate(type, mayChange);

export const SaveBar = ({ type, form, dispatch, other, mayChange }: SaveBarProps) => {
  const model = useModel();
  const saving = useSaving(type, form, dispatch);
  const { entry } = form;
  const dirty = isDirty(form);
  const unsaved = useUnsaved(type, form, dispatch, saving);
  const [question, setQuestion] = useState<Question | null>(null);
  const [isShown, setShown] = useState(false);
  const isNew = entry.id === null;
  const may = mayChange(isNew ? 'create' : 'update');
  const mayPublish = type.draftAndPublish && may && mayChange('publish');
  const isDraft = type.draftAndPublish && entry.publishedAt === null;
  const canUnpublish = mayPublish && !isDraft;
  const isBusy = saving.busy !== null;
  const canSave = may && !isBusy && (dirty || isNew);
  const save = (): void => {
    // a date that is only partly filled in is no change, but whoever saves is told of it
    if (canSave || (may && !isBusy && incompleteIn(form.values).length > 0)) void saving.save();
  };
  // in the editors of JSON and blocks, too
  useHotkeys([['mod+S', save]], [], true);
  const deletion: Question = {
    title: texts.deleteTitle,
    text: texts.deleteLead,
    action: texts.delete,
    run: saving.remove,
  };
  const bar = useFocusKept(type, form.entry.id, saving.busy === null && saving.clash === null && question === null);
  useFaultFocused(form, saving);
  const request = isShown ? requestOf(model, type, form) : null;

  return (
    <>
      <section ref={bar} className="save-bar" aria-label={texts.label} tabIndex={-1}>
        <Group gap="xs" wrap="nowrap" className="save-state">
          {isNew && <Badge variant="default">{texts.new}</Badge>}
          {type.draftAndPublish && !isNew && <StateBadge publishedAt={entry.publishedAt} />}
          {dirty && (
            <Text size="sm" lh={1.2} c="dimmed" lineClamp={2}>
              {texts.changed(changedNames(form).length)}
            </Text>
          )}
          {!dirty && entry.updatedAt !== null && (
            <Text size="sm" lh={1.2} c="dimmed" component="div" lineClamp={2}>
              {isUnchanged(entry) ? texts.createdAt : texts.savedAt} <Instant value={entry.updatedAt} />{' '}
              {entry.updatedBy && texts.by(entry.updatedBy.name)}
            </Text>
          )}
        </Group>
        <Group gap="xs">
          {may && (dirty || !isNew) && (
            // their room is kept, so that nothing moves when something is changed
            <Group gap="xs" className="save-pending" data-idle={!dirty || undefined}>
              <Button variant="subtle" size="sm" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
                {texts.request}
              </Button>
              <Button
                variant="default"
                disabled={isBusy}
                onClick={() => {
                  emptyIncomplete(form.values);
                  dispatch({ kind: 'discarded' });
                  saving.clear();
                  unsaved.forget();
                }}
              >
                {texts.discard}
              </Button>
            </Group>
          )}
          {type.localized && <LocaleSwitch type={type} form={form} saving={saving} />}
          {may && (
            <Button
              variant={type.draftAndPublish && isDraft ? 'default' : 'filled'}
              loading={saving.busy === 'save'}
              disabled={!canSave}
              onClick={save}
            >
              {type.draftAndPublish && isNew ? texts.saveDraft : texts.save}
            </Button>
          )}
          {mayPublish && (isDraft || isNew) && (
            <Button loading={saving.busy === 'publish'} disabled={isBusy} onClick={() => void saving.save('publish')}>
              {texts.publish}
            </Button>
          )}
          {!isNew && (canUnpublish || hasActions(type, mayChange)) && (
            <Menu position="bottom-end" withInitialFocusPlaceholder={false}>
              <Menu.Target>
                <ActionIcon
                  variant="default"
                  size="lg"
                  aria-label={texts.more}
                  loading={isBusy && saving.busy !== 'save'}
                >
                  <IconDots size={18} />
                </ActionIcon>
              </Menu.Target>
              <Menu.Dropdown>
                {canUnpublish && <Menu.Item onClick={() => void saving.unpublish()}>{texts.unpublish}</Menu.Item>}
                {canDuplicate(type, mayChange) && (
                  <Menu.Item leftSection={<IconCopy size={16} />} onClick={() => void saving.duplicate()}>
                    {texts.duplicate}
                  </Menu.Item>
                )}
                {mayChange('delete') && (
                  <Menu.Item color="red" leftSection={<IconTrash size={16} />} onClick={() => setQuestion(deletion)}>
                    {texts.delete}
                  </Menu.Item>
                )}
              </Menu.Dropdown>
            </Menu>
          )}
        </Group>
        <div className="save-notices">
          {saving.fault !== null && <Fault fault={saving.fault} />}
          <Notice saving={saving} type={type} form={form} />
          {request && (
            <Code block tabIndex={0} aria-label={texts.request} className="save-request">
              {`${request.line}\n\n${printed(request.body)}`}
            </Code>
          )}
        </div>
      </section>
      <UnsavedNotice unsaved={unsaved} onDiscard={() => dispatch({ kind: 'discarded' })} />
      {saving.clash && <ConflictDialog clash={saving.clash} onResolve={saving.resolve} onCancel={saving.postpone} />}
      {question && <Confirm question={question} onClose={() => setQuestion(null)} />}
      <LeaveGuard
        isDirty={dirty}
        isKept={!unsaved.cannotKeep}
        own={entryAddress(type, entry)}
        other={other}
        canSave={canSave}
        onSave={saving.save}
        onDrop={() => {
          flushSync(() => dispatch({ kind: 'discarded' }));
          unsaved.forget();
        }}
      />
    </>
  );
};

/** After a save that was refused or stopped, the first field that has to be mended gets the focus. */
const useFaultFocused = ({ faults }: EntryForm, { fault, outcome }: Saving): void => {
  const unsendable = outcome?.kind === 'unsendable' ? outcome.fields : null;
  const focusFirst = useEffectEvent(() => {
    const [first] = (unsendable?.map(({ path }) => path) ?? Object.keys(faults))
      .flatMap((path) => elementAt(path) ?? [])
      .sort((a, b) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
    first?.focus({ preventScroll: true });
    // not below the bar
    first?.scrollIntoView({ block: 'center' });
  });
  const refused = fault ?? unsendable;
  useEffect(() => {
    if (refused !== null) focusFirst();
  }, [refused]);
};

/** The field at a path, or what opens the collapsed component that it is in. */
const elementAt = (path: FieldPath): HTMLElement | null =>
  path === ''
    ? null
    : (document.getElementById(elementId(path)) ??
      document.getElementById(elementId(path, 'open')) ??
      elementAt(path.split('/').slice(0, -1).join('/')));

/** A button that is disabled while it works, or a dialog that is gone, takes the focus with it: the bar gets it. */
const useFocusKept = (type: Type, id: number | null, isIdle: boolean): RefObject<HTMLElement | null> => {
  const bar = useRef<HTMLElement>(null);
  useEffect(() => {
    if (arrivedWith(type, id) === null) return;
    forgetArrival();
    bar.current?.focus({ preventScroll: true });
  }, [type, id]);
  const wasIdle = useRef(true);
  useEffect(() => {
    if (isIdle && !wasIdle.current && document.activeElement === document.body)
      bar.current?.focus({ preventScroll: true });
    wasIdle.current = isIdle;
  }, [isIdle]);
  return bar;
};
