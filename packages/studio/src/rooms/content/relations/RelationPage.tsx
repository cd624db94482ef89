/** One relation of one entry, or of a component in it, with all the room there is: `/content/<plural>/<id>/<path>`. */
import { Alert, Breadcrumbs, Stack, Text, Title } from '@mantine/core';
import { useId, useReducer } from 'react';
import { collectiveName, entryName } from '../../../model/entry-name.js';
import {
  type Attribute,
  attributeOf,
  type Model,
  mayWrite,
  type Type,
  typeNamed,
  typeOf,
} from '../../../model/model.js';
import { EmptyState } from '../../../parts/EmptyState.js';
import { Waiting } from '../../../parts/Waiting.js';
import { useModel } from '../../../server/queries.js';
import { useMayChange } from '../../../server/rights.js';
import { usePageTitle } from '../../../shell/page-title.js';
import { PageFault } from '../../../shell/RouteFault.js';
import { words } from '../../../words/index.js';
import { EntryNotFound, isNotFound } from '../entry/EntryPage.js';
import { useEntry } from '../entry/use-entry.js';
import type { StoredEntry } from '../form/entry.js';
import { formOf, isDirty, reduceForm } from '../form/entry-form.js';
import type { FieldPath } from '../form/fields.js';
import { fieldAt } from '../form/paths.js';
import { type OtherLocale, useFormLocale, useOtherLocale } from '../locales.js';
import { SaveBar } from '../saving/SaveBar.js';
import { EntryLink } from './EntryLink.js';
import { entryAddress, listAddress } from './entry-address.js';
import { RelationField } from './RelationField.js';

const texts = words.relations.page;

interface RelationPageProps {
  /** The name of the type in addresses. */
  readonly typeName: string;
  /** Null: the entry of a single type. */
  readonly id: number | null;
  readonly path: FieldPath;
}

export const RelationPage = ({ typeName, id, path }: RelationPageProps) => {
  const model = useModel();
  const type = typeNamed(model, typeName);
  const way = type && attributesAt(model, type, path);
  const attribute = way?.at(-1);
  if (
    !type ||
    !way ||
    !attribute ||
    (attribute.kind !== 'relation' && attribute.kind !== 'morph') ||
    !attribute.mayRead
  )
    return <UnknownRelation />;
  return <Relation key={`${type.uid} ${id}`} type={type} id={id} path={path} attribute={attribute} way={way} />;
};

const UnknownRelation = () => {
  usePageTitle(texts.unknown);
  return <EmptyState level={1} title={texts.unknown} />;
};

interface RelationProps {
  readonly type: Type;
  readonly id: number | null;
  readonly path: FieldPath;
  readonly attribute: Attribute;
  /** The attributes that lead to it, itself the last. */
  readonly way: readonly Attribute[];
}

const Relation = (props: RelationProps) => {
  const { type, id, path } = props;
  const { locale, other } = useFormLocale(type, id, null);
  const { data, error, refetch } = useEntry(type, id, locale, path);
  if (isNotFound(error)) return <EntryNotFound type={type} id={id} />;
  if (error) return <PageFault fault={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Waiting />;
  return <RelationEditor key={`${type.uid} ${id ?? locale} ${path}`} {...props} entry={data} other={other} />;
};

/** The name of an entry may be one long word. */
const brokenAnywhere = { overflowWrap: 'anywhere', whiteSpace: 'normal' } as const;

interface RelationEditorProps extends RelationProps {
  readonly entry: StoredEntry;
  readonly other: OtherLocale | null;
}

const RelationEditor = ({ type, id, path, attribute, way, entry, other }: RelationEditorProps) => {
  const [form, dispatch] = useReducer(reduceForm, entry, formOf);
  const labelId = useId();
  const name = path.includes('/') ? `${path.split('/')[0]} › ${attribute.name}` : attribute.name;
  const field = fieldAt(form.values, path);
  const mayChange = useMayChange(type, form.entry);
  const change = form.entry.id === null ? 'create' : 'update';
  const may = mayChange(change);
  const isOpen = mayChange(change, way[0]?.name) && way.every((it) => mayWrite(it, change));
  const main = type.mainField === null ? undefined : form.entry.fields[type.mainField];
  const title = id === null ? type.displayName : entryName(type, id, main?.kind === 'scalar' ? main.value : null);
  usePageTitle(words.content.entry.page(texts.title(name, title), type.displayName, isDirty(form)));
  useOtherLocale(other, isDirty(form));
  return (
    <Stack gap="sm">
      <Breadcrumbs component="nav" aria-label={texts.where} styles={{ breadcrumb: brokenAnywhere }}>
        <EntryLink to={listAddress(type)}>{collectiveName(type)}</EntryLink>
        <EntryLink to={entryAddress(type, { id }) ?? '/content'}>{title}</EntryLink>
        <Text span>{name}</Text>
      </Breadcrumbs>
      <Title order={1} id={labelId} style={brokenAnywhere}>
        {texts.title(name, title)}
      </Title>
      <SaveBar type={type} form={form} dispatch={dispatch} other={other} mayChange={mayChange} />
      {!may && <Alert variant="light">{words.content.entry.mayNot}</Alert>}
      {field?.kind === 'relation' ? (
        <RelationField
          attribute={attribute}
          type={type}
          entry={{ type, id: form.entry.id, locale: form.entry.locale }}
          path={path}
          field={field}
          onChange={(edit) => dispatch({ kind: 'set', path, field: { ...field, edit } })}
          readOnly={isOpen ? null : words.relations.readOnly}
          faults={form.faults[path] ?? []}
          labelId={labelId}
          describedBy={undefined}
          isPage
        />
      ) : (
        <EmptyState title={texts.unknown} />
      )}
    </Stack>
  );
};

/** The attributes on a path of a form: of the entry, of its components, and at last the one that the path leads to. Null: there is none. */
const attributesAt = (model: Model, type: Type, path: FieldPath): readonly Attribute[] | null => {
  const names = path.split('/');
  const found: Attribute[] = [];
  let owner: Type | null = type;
  for (let i = 0; i < names.length; i += 2) {
    const attribute = owner && attributeOf(owner, names[i] ?? '');
    if (attribute === null) return null;
    found.push(attribute);
    owner = typeOf(model, names[i + 1]?.split(':')[0] ?? '');
  }
  return found;
};
