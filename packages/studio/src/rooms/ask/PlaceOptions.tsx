/** Everything that can be said of a place beside what it shows: conditions, order, state; of the root also pages and locale. */
import { CloseButton, Group, NativeSelect, Select, Stack, Switch, Text } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import type { Model } from '../../model/model.js';
import { words } from '../../words/index.js';
import { DraftInput } from './DraftInput.js';
import { FilterEditor } from './FilterEditor.js';
import { setOption } from './query/edits.js';
import type { PlaceItem } from './query/items.js';
import { memberOf, type Node, noMembers } from './query/node.js';
import {
  type PageName,
  type Paging,
  readLocale,
  readPaging,
  readSort,
  readState,
  writePaging,
  writeSort,
} from './query/options.js';
import { type Ground, optionsAt } from './query/place.js';
import { actionOf, type Request } from './query/request.js';
import { SortEditor } from './SortEditor.js';

const texts = words.ask.options;

export const PlaceOptions = ({
  item,
  name,
  request,
  ground,
  onChange,
  onClose,
}: {
  readonly item: PlaceItem;
  readonly name: string;
  readonly request: Request;
  readonly ground: Ground;
  readonly onChange: (request: Request) => void;
  readonly onClose: () => void;
}) => {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    panel.current?.scrollIntoView({ block: 'nearest' });
    panel.current?.focus();
  }, []);
  const { place, types, summary } = item;
  const { model, leniency, type } = ground;
  const options = optionsAt(request.query, place, leniency) ?? noMembers;
  const set = (option: string, node: Node | undefined): void =>
    onChange({ ...request, query: setOption(request.query, place, ground, option, node) });
  const isRoot = place.length === 0;
  const action = actionOf(type, request);
  const keys = readSort(memberOf(options, 'sort'));
  const state = readState(memberOf(options, 'publicationState'));
  return (
    <section
      ref={panel}
      tabIndex={-1}
      className="ask-options"
      aria-label={words.ask.tree.options(name)}
      onKeyDown={(event) => {
        const isOpen = (event.target as HTMLElement).getAttribute('aria-expanded') === 'true';
        if (event.key === 'Escape' && !isOpen) onClose();
      }}
    >
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm" fw={600}>
          {words.ask.tree.options(name)}
        </Text>
        <CloseButton size="sm" aria-label={words.ask.tree.closeOptions(name)} onClick={onClose} />
      </Group>
      {!summary.may.filter && !isRoot && (
        <Text size="xs" c="dimmed">
          {texts.notOnMorph}
        </Text>
      )}
      {summary.may.filter && (
        <>
          <Section title={texts.conditions}>
            <FilterEditor
              model={model}
              types={types}
              filter={memberOf(options, 'filters')}
              onChange={(it) => set('filters', it)}
            />
          </Section>
          {keys && (
            <Section title={texts.order}>
              <SortEditor model={model} types={types} keys={keys} onChange={(it) => set('sort', writeSort(it))} />
            </Section>
          )}
        </>
      )}
      <Group gap="sm" align="flex-end">
        {summary.may.state && state !== null && (
          <NativeSelect
            size="xs"
            label={texts.state}
            value={state ?? ''}
            data={[
              { value: '', label: isRoot ? texts.states.default : texts.states.inherit },
              ...(isRoot ? [] : [{ value: 'live', label: texts.states.live }]),
              { value: 'preview', label: texts.states.preview },
            ]}
            onChange={({ currentTarget: { value } }) => set('publicationState', value === '' ? undefined : value)}
          />
        )}
        {isRoot && type.localized && action !== 'findOne' && (
          <LocaleSelect model={model} node={memberOf(options, 'locale')} onChange={(it) => set('locale', it)} />
        )}
        {isRoot && action === 'find' && (
          <DraftInput
            label={texts.search}
            value={textIn(memberOf(options, '_q'))}
            onCommit={(it) => set('_q', it === '' ? undefined : it)}
          />
        )}
      </Group>
      {isRoot && action === 'find' && (
        <Pages model={model} node={memberOf(options, 'pagination')} onChange={(it) => set('pagination', it)} />
      )}
    </section>
  );
};

const textIn = (node: Node | undefined): string => (typeof node === 'string' ? node : '');

const Section = ({ title, children }: { readonly title: string; readonly children: ReactNode }) => (
  <section aria-label={title}>
    <Text size="xs" fw={600} c="dimmed" mb={4}>
      {title}
    </Text>
    {children}
  </section>
);

const LocaleSelect = ({
  model,
  node,
  onChange,
}: {
  readonly model: Model;
  readonly node: Node | undefined;
  readonly onChange: (node: Node | undefined) => void;
}) => {
  const chosen = readLocale(node);
  if (chosen === null) return null;
  const [only] = chosen ?? [''];
  const known = [...model.locales.map((it) => it.code), 'all', ''];
  return (
    <Select
      size="xs"
      label={texts.locale}
      allowDeselect={false}
      data={[
        { value: '', label: texts.defaultLocale },
        ...model.locales.map((it) => ({ value: it.code, label: it.name ?? it.code })),
        { value: 'all', label: texts.allLocales },
        ...(only !== undefined && !known.includes(only) ? [{ value: only, label: only }] : []),
      ]}
      value={chosen && chosen.length > 1 ? chosen.join(', ') : (only ?? '')}
      onChange={(it) => onChange(it === null || it === '' ? undefined : it)}
    />
  );
};

const Pages = ({
  model,
  node,
  onChange,
}: {
  readonly model: Model;
  readonly node: Node | undefined;
  readonly onChange: (node: Node | undefined) => void;
}) => {
  const paging = readPaging(node);
  if (!paging) return null;
  const byOffset = paging.start !== undefined || paging.limit !== undefined;
  const set = (next: Paging): void => onChange(writePaging(next));
  const field = (it: PageName, placeholder: string): ReactNode => (
    <DraftInput
      w={110}
      inputMode="numeric"
      label={texts.paging[it as keyof typeof texts.paging]}
      placeholder={placeholder}
      value={paging[it] ?? ''}
      onCommit={(text) => {
        const { [it]: _, ...others } = paging;
        set(text === '' ? others : { ...others, [it]: text });
      }}
    />
  );
  const withCount = paging.withCount === undefined ? model.rest.withCount : /^(true|t|1)$/.test(paging.withCount);
  const count = paging.withCount === undefined ? {} : { withCount: paging.withCount };
  return (
    <Stack gap={4}>
      <Text size="xs" fw={600} c="dimmed">
        {texts.page}
      </Text>
      <Group gap="sm" align="flex-end">
        <NativeSelect
          size="xs"
          aria-label={texts.page}
          value={byOffset ? 'offset' : 'page'}
          data={[
            { value: 'page', label: texts.byPage },
            { value: 'offset', label: texts.byOffset },
          ]}
          onChange={({ currentTarget: { value } }) => {
            const { page = '1', pageSize, start = '0', limit } = paging;
            const size = Number(pageSize ?? limit ?? model.rest.defaultLimit) || model.rest.defaultLimit;
            if (value === 'offset') set({ ...count, start: String((Number(page) - 1) * size), limit: String(size) });
            else set({ ...count, page: String(Math.floor(Number(start) / size) + 1), pageSize: String(size) });
          }}
        />
        {byOffset ? (
          <>
            {field('start', '0')}
            {field('limit', String(model.rest.defaultLimit))}
          </>
        ) : (
          <>
            {field('page', '1')}
            {field('pageSize', String(model.rest.defaultLimit))}
          </>
        )}
        <Switch
          size="xs"
          label={texts.withCount}
          checked={withCount}
          onChange={({ currentTarget: { checked } }) => {
            const { withCount: _, ...others } = paging;
            set(checked === model.rest.withCount ? others : { ...others, withCount: String(checked) });
          }}
        />
      </Group>
    </Stack>
  );
};
