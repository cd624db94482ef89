/** One entry, or the one of a single type: its form. */
import { Alert, Anchor, Group, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { DovetailError } from 'dovetail-client';
import { useEffect, useMemo, useReducer } from 'react';
import { collectiveName, entryName } from '../../../model/entry-name.js';
import { nameOf, ownAttributes, type Type } from '../../../model/model.js';
import { EmptyState } from '../../../parts/EmptyState.js';
import { Instant } from '../../../parts/Instant.js';
import { ButtonLink } from '../../../parts/links.js';
import { Waiting } from '../../../parts/Waiting.js';
import { useModel } from '../../../server/queries.js';
import { useMayChange } from '../../../server/rights.js';
import { usePageTitle } from '../../../shell/page-title.js';
import { PageFault } from '../../../shell/RouteFault.js';
import { words } from '../../../words/index.js';
import { FieldsView } from '../fields/FieldsView.js';
import { elementId, FormContext, type FormFacts, MarksContext } from '../fields/form-context.js';
import { isUnchanged, type StoredEntry } from '../form/entry.js';
import { formOf, isDirty, reduceForm } from '../form/entry-form.js';
import type { Fields } from '../form/fields.js';
import { type OtherLocale, useFormLocale, useOtherLocale } from '../locales.js';
import { listAddress } from '../relations/entry-address.js';
import { StateBadge } from '../StateBadge.js';
import { OrphanedWorks } from '../saving/OrphanedWorks.js';
import { hasActions, SaveBar } from '../saving/SaveBar.js';
import { useEntry } from './use-entry.js';

const texts = words.content.entry;

interface EntryPageProps {
  readonly type: Type;
  /** Null: a new one, or the entry of a single type. */
  readonly id: number | null;
  /** Of a new entry, and of a single type. */
  readonly locale: string | null;
}

export const EntryPage = ({ type, id, locale: wished }: EntryPageProps) => {
  const { locale, other } = useFormLocale(type, id, wished);
  const { data, error, refetch } = useEntry(type, id, locale);
  if (isNotFound(error)) return <EntryNotFound type={type} id={id} />;
  if (error) return <PageFault fault={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Waiting rows={10} />;
  return <EntryEditor key={`${type.uid} ${id ?? locale}`} type={type} entry={data} other={other} />;
};

export const isNotFound = (fault: unknown): boolean => fault instanceof DovetailError && fault.status === 404;

export const EntryNotFound = ({ type, id = null }: { readonly type: Type; readonly id?: number | null }) => {
  usePageTitle(texts.notFound);
  return (
    <EmptyState level={1} title={texts.notFound} text={texts.notFoundHint}>
      {id !== null && <OrphanedWorks type={type} id={id} />}
      <ButtonLink to={listAddress(type) as '/content'} variant="default">
        {texts.toList(collectiveName(type))}
      </ButtonLink>
    </EmptyState>
  );
};

interface EntryEditorProps {
  readonly type: Type;
  readonly entry: StoredEntry;
  readonly other: OtherLocale | null;
}

const EntryEditor = ({ type, entry, other }: EntryEditorProps) => {
  const model = useModel();
  const [form, dispatch] = useReducer(reduceForm, entry, formOf);
  const { id, publishedAt, updatedAt, updatedBy, createdAt, createdBy, locale } = form.entry;
  const mayChange = useMayChange(type, form.entry);
  const writing = id === null ? 'create' : 'update';
  const may = mayChange(writing);
  // other locales, a copy and deletion are not a matter of changing this one
  const hasBar = may || (id !== null && (type.localized || hasActions(type, mayChange)));
  const readOnly = may ? null : id === null ? texts.mayNotCreate : texts.mayNot;
  const facts: FormFacts = useMemo(
    () => ({
      model,
      type,
      id,
      locale,
      readOnly,
      writing,
      mayChange: (name) => mayChange(writing, name),
      dispatch,
    }),
    [model, type, id, locale, readOnly, writing, mayChange],
  );
  const marks = useMemo(() => ({ faults: form.faults, conflicts: form.conflicts }), [form.faults, form.conflicts]);
  // who makes a new entry begins to write
  const first = id === null && type.kind === 'collection' ? ownAttributes(type)[0]?.name : undefined;
  useEffect(() => {
    if (first !== undefined) document.getElementById(elementId(first))?.focus({ preventScroll: true });
  }, [first]);
  const title = titleOf(type, form.values, id);
  usePageTitle(texts.page(title, type.displayName, isDirty(form)));
  useOtherLocale(other, isDirty(form));
  const own = form.faults[''];
  return (
    <Stack gap="lg" maw={880} pb={96}>
      <div>
        {type.kind === 'collection' && (
          <Anchor component={Link} to={`/content/${nameOf(type)}` as never} size="sm">
            {texts.back(collectiveName(type))}
          </Anchor>
        )}
        <Group gap="sm" wrap="wrap">
          <Title order={1} style={{ overflowWrap: 'anywhere' }}>
            {title}
          </Title>
          {type.draftAndPublish && id !== null && !hasBar && <StateBadge publishedAt={publishedAt} />}
        </Group>
        <Text size="sm" c="dimmed">
          {[
            id !== null && <span key="id">{words.content.entryId(id)}</span>,
            locale !== null && <span key="locale">{texts.locale(locale)}</span>,
            createdAt !== null && !(hasBar && isUnchanged(form.entry)) && (
              <span key="created">
                {texts.created} <Instant value={createdAt} /> {createdBy && texts.by(createdBy.name)}
              </span>
            ),
            // where there is a bar, it says so
            updatedAt !== null && !hasBar && (
              <span key="updated">
                {texts.updated} <Instant value={updatedAt} /> {updatedBy && texts.by(updatedBy.name)}
              </span>
            ),
          ]
            .filter((it) => it !== false)
            .flatMap((it, i) => (i === 0 ? [it] : [' · ', it]))}
        </Text>
      </div>
      {readOnly !== null && <Alert variant="light">{readOnly}</Alert>}
      {hasBar && <SaveBar type={type} form={form} dispatch={dispatch} other={other} mayChange={mayChange} />}
      {own && (
        <Alert role="alert" color="red" variant="light" title={texts.refused}>
          {own.join(' ')}
        </Alert>
      )}
      <FormContext value={facts}>
        <MarksContext value={marks}>
          <FieldsView type={type} path="" fields={form.values} />
        </MarksContext>
      </FormContext>
    </Stack>
  );
};

const titleOf = (type: Type, values: Fields, id: number | null): string => {
  const field = type.mainField === null ? undefined : values[type.mainField];
  const title = field?.kind === 'scalar' ? field.value : null;
  if (id !== null) return entryName(type, id, title);
  const typed = typeof title === 'string' ? title.trim() : '';
  if (typed !== '') return typed;
  return type.kind === 'single' ? type.displayName : texts.untitled(type.displayName);
};
