/** The pages of the room, by their addresses. */
import { useParams, useSearch } from '@tanstack/react-router';
import { contentTypes, nameOf, type Type, typeNamed } from '../../model/model.js';
import { EmptyState } from '../../parts/EmptyState.js';
import { useModel } from '../../server/queries.js';
import { usePageTitle } from '../../shell/page-title.js';
import { words } from '../../words/index.js';
import { shownTypes } from './Content.js';
import { EntryNotFound, EntryPage } from './entry/EntryPage.js';
import { ListPage } from './list/ListPage.js';
import { searchOf } from './list/list-state.js';
import { RelationPage } from './relations/RelationPage.js';

const texts = words.content.types;

interface Params {
  readonly type?: string;
  readonly id?: string;
  readonly field?: string;
  readonly _splat?: string;
}

const useType = (): Type | null => {
  const { type = '' } = useParams({ strict: false }) as Params;
  return typeNamed(useModel(), type);
};

/** `/content`: nothing is chosen yet. */
export const ContentStart = () => {
  const count = shownTypes(contentTypes(useModel())).length;
  return <EmptyState level={1} title={texts.start} text={texts.startHint(count)} />;
};

const UnknownType = () => {
  usePageTitle(texts.unknown);
  return <EmptyState level={1} title={texts.unknown} text={texts.unknownHint} />;
};

/** `/content/articles`, `/content/homepage`. */
export const TypePage = () => {
  const type = useType();
  const search = useSearch({ strict: false }) as Readonly<Record<string, unknown>>;
  if (type === null) return <UnknownType />;
  const state = searchOf(search);
  if (type.kind === 'single') return <EntryPage key={type.uid} type={type} id={null} locale={state.locale ?? null} />;
  return <ListPage key={type.uid} type={type} search={state} />;
};

/** `/content/articles/7`, `/content/articles/new`; of a single type `/content/homepage/stories`. */
export const OneEntryPage = () => {
  const type = useType();
  const { id = '' } = useParams({ strict: false }) as Params;
  const { locale } = searchOf(useSearch({ strict: false }) as Readonly<Record<string, unknown>>);
  const isNew = id === 'new';
  if (type?.kind === 'single') return <RelationPage typeName={nameOf(type)} id={null} path={id} />;
  if (type === null) return <UnknownType />;
  if (!isNew && !/^\d+$/.test(id)) return <EntryNotFound type={type} />;
  return <EntryPage key={`${type.uid} ${id}`} type={type} id={isNew ? null : Number(id)} locale={locale ?? null} />;
};

/** `/content/editions/7/articles`; in a component `/content/pages/7/sections/sections.article-list:3/articles`. */
export const OneRelationPage = () => {
  const { type = '', id = '', field = '', _splat: below = '' } = useParams({ strict: false }) as Params;
  const rest = below === '' ? field : `${field}/${below}`;
  const found = useType();
  if (found?.kind === 'single') return <RelationPage typeName={type} id={null} path={`${id}/${rest}`} />;
  if (found !== null && !/^\d+$/.test(id)) return <EntryNotFound type={found} />;
  return <RelationPage typeName={type} id={Number(id)} path={rest} />;
};
