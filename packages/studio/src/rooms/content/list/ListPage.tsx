/** The entries of a type: chosen columns, search, filters, order, pages. The address holds what is shown. */
import { Anchor, Box, Button, Checkbox, Group, Menu, NativeSelect, Stack, Table, Text, Title } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconColumns, IconFilter, IconPlus } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { encodeQuery } from 'dovetail-client';
import { useEffect, useMemo, useState } from 'react';
import { collectiveName, entryName } from '../../../model/entry-name.js';
import { type Attribute, attributeOf, nameOf, type Type } from '../../../model/model.js';
import { EmptyState } from '../../../parts/EmptyState.js';
import { Fault } from '../../../parts/Fault.js';
import { ButtonLink } from '../../../parts/links.js';
import { Pages } from '../../../parts/Pages.js';
import { Waiting } from '../../../parts/Waiting.js';
import { useClient, useMe, useModel } from '../../../server/queries.js';
import { dependsOnCreator, useMayChange } from '../../../server/rights.js';
import { useLocale } from '../../../shell/choices.js';
import { usePageTitle } from '../../../shell/page-title.js';
import { words } from '../../../words/index.js';
import { attributesOf, idOf, rowsOf } from '../form/fields.js';
import { localeFor } from '../locales.js';
import { pathOf } from '../requests.js';
import { StateBadge } from '../StateBadge.js';
import { BulkBar, bulkRightsOf, hasBulkActions, type ListedEntry } from './BulkBar.js';
import { Cell, isNumeric } from './Cell.js';
import { useColumns } from './columns.js';
import { Filters, SettledInput } from './Filters.js';
import {
  columnsOf,
  defaultColumns,
  type ListSearch,
  listQuery,
  nextSort,
  searchOf,
  sizes,
  stateOf,
} from './list-state.js';

const texts = words.content.list;

/** Undefined: as always. */
type ListChange = { readonly [K in keyof ListSearch]?: unknown };

interface Row extends ListedEntry {
  readonly values: Readonly<Record<string, unknown>>;
}

interface Page {
  readonly rows: readonly Row[];
  readonly total: number;
  readonly pages: number;
  /** The server may give fewer than were asked for. */
  readonly pageSize: number;
}

export const ListPage = ({ type, search }: { readonly type: Type; readonly search: ListSearch }) => {
  const model = useModel();
  const client = useClient();
  const navigate = useNavigate();
  const state = stateOf(search);
  const [columns, setColumns] = useColumns(type);
  const [selected, setSelected] = useState<ReadonlySet<number>>(new Set());
  const [showsFilters, setShowsFilters] = useState(state.where.length > 0);

  const barLocale = useLocale();
  const locale = localeFor(model, type, state.locale ?? barLocale);
  const change = (next: ListChange, replace = false): void =>
    void navigate({ to: `/content/${nameOf(type)}`, search: searchOf({ ...search, ...next }) as never, replace });
  // another page or order: what was chosen is not seen any more
  const shown = JSON.stringify([type.uid, search, locale]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is about what is shown
  useEffect(() => setSelected(new Set()), [shown]);

  const me = useMe();
  const query = encodeQuery(listQuery(model, type, state, columns, locale, dependsOnCreator(me, type)));
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: ['content', type.uid, 'list', query],
    queryFn: async ({ signal }): Promise<Page> => {
      const { body } = await client.send({ method: 'GET', path: pathOf(model, type), query, signal });
      const { data: rows, meta } = body as {
        readonly data: readonly unknown[];
        readonly meta: {
          readonly pagination: { readonly total?: number; readonly pageCount?: number; readonly pageSize?: number };
        };
      };
      return {
        rows: rows.map(rowOf),
        total: meta.pagination.total ?? rows.length,
        pages: meta.pagination.pageCount ?? 1,
        pageSize: meta.pagination.pageSize ?? state.size,
      };
    },
    placeholderData: keepPreviousData,
  });
  // the last page may be gone: its entries were deleted
  const isGone = data !== undefined && !isPlaceholderData && data.pages > 0 && state.page > data.pages;
  useEffect(() => {
    if (isGone) change({ page: data.pages }, true);
  });

  const isNarrowed = state.q !== '' || state.where.length > 0 || state.state !== 'all';
  const shownColumns = useMemo(() => columns.flatMap((name) => attributeOf(type, name) ?? []), [columns, type]);
  const rows = data?.rows ?? [];
  const newLocale = locale === 'all' ? localeFor(model, type, null) : locale;
  const mayCreate = useMayChange(type, { id: null, locale: newLocale, createdBy: null })('create');
  const canSelect = hasBulkActions(type);
  const selectable = rows.filter((it) => {
    const may = bulkRightsOf(me, type, it);
    return may.publish || may.delete;
  });
  const isAllSelected = selectable.length > 0 && selectable.every(({ id }) => selected.has(id));
  usePageTitle(collectiveName(type));
  return (
    <Stack gap="sm">
      <Group justify="space-between" wrap="wrap" gap="xs">
        <Title order={1}>
          {collectiveName(type)}{' '}
          {data && (
            <Text component="span" c="dimmed" size="lg">
              {texts.total(data.total)}
            </Text>
          )}
        </Title>
        <Group gap="xs">
          <ColumnMenu type={type} columns={columns} onChange={setColumns} />
          <Button
            size="xs"
            variant={showsFilters ? 'light' : 'default'}
            aria-expanded={showsFilters}
            leftSection={<IconFilter size={14} />}
            onClick={() => setShowsFilters(!showsFilters)}
          >
            {texts.filters(state.where.length)}
          </Button>
          {mayCreate && (
            <ButtonLink
              size="xs"
              to={`/content/${nameOf(type)}/new` as string}
              search={(locale === null ? {} : { locale }) as never}
              leftSection={<IconPlus size={14} />}
            >
              {texts.create(type.displayName)}
            </ButtonLink>
          )}
        </Group>
      </Group>
      <Group gap="xs" wrap="wrap">
        <SettledInput
          label={texts.search}
          type="search"
          placeholder={texts.searchHint}
          value={state.q}
          onChange={(q) => change({ q: q === '' ? undefined : q, page: undefined })}
        />
        {type.draftAndPublish && (
          <NativeSelect
            size="xs"
            aria-label={texts.state}
            value={state.state}
            data={(['all', 'published', 'draft'] as const).map((it) => ({ value: it, label: texts.states[it] }))}
            onChange={({ currentTarget: { value } }) =>
              change({ state: value === 'all' ? undefined : value, page: undefined })
            }
          />
        )}
        {type.localized && (
          <NativeSelect
            size="xs"
            aria-label={texts.locale}
            value={locale ?? 'all'}
            data={[
              ...model.locales.map(({ code, name }) => ({ value: code, label: name ?? code })),
              { value: 'all', label: texts.allLocales },
            ]}
            onChange={({ currentTarget: { value } }) => change({ locale: value, page: undefined })}
          />
        )}
      </Group>
      {showsFilters && (
        <Filters
          model={model}
          type={type}
          where={state.where}
          any={state.any}
          onAny={(any) => change({ any: any || undefined, page: undefined })}
          onChange={(where) => change({ where: where.length === 0 ? undefined : where, page: undefined })}
        />
      )}
      {selected.size > 0 && (
        <BulkBar
          type={type}
          entries={rows.filter(({ id }) => selected.has(id))}
          onDone={() => setSelected(new Set())}
        />
      )}
      {error ? (
        <Fault fault={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Waiting rows={10} />
      ) : rows.length === 0 ? (
        isNarrowed ? (
          <EmptyState title={texts.nothing} text={texts.nothingHint}>
            <Button
              variant="default"
              onClick={() => change({ q: undefined, where: undefined, state: undefined, page: undefined })}
            >
              {texts.showAll}
            </Button>
          </EmptyState>
        ) : (
          <EmptyState title={texts.none(type.plural)} text={mayCreate ? texts.noneHint : texts.noneMayNot}>
            {mayCreate && (
              <ButtonLink
                to={`/content/${nameOf(type)}/new` as string}
                search={(locale === null ? {} : { locale }) as never}
              >
                {texts.create(type.displayName)}
              </ButtonLink>
            )}
          </EmptyState>
        )
      ) : (
        <Table.ScrollContainer minWidth={320} tabIndex={0} role="region" aria-label={collectiveName(type)}>
          <Table verticalSpacing={6} highlightOnHover aria-busy={isPlaceholderData}>
            <Table.Thead>
              <Table.Tr>
                {canSelect && (
                  <Table.Th w={36}>
                    <Checkbox
                      size="sm"
                      aria-label={texts.selectAll}
                      disabled={selectable.length === 0}
                      checked={isAllSelected}
                      indeterminate={selected.size > 0 && !isAllSelected}
                      onChange={({ currentTarget: { checked } }) =>
                        setSelected(new Set(checked ? selectable.map(({ id }) => id) : []))
                      }
                    />
                  </Table.Th>
                )}
                <SortHead name="id" label="id" sort={state.sort} isNumber onSort={(sort) => change(sorted(sort))} />
                {shownColumns.map((attribute) =>
                  attribute.sortable ? (
                    <SortHead
                      key={attribute.name}
                      name={attribute.name}
                      label={attribute.name}
                      sort={state.sort}
                      isNumber={isNumeric(attribute)}
                      onSort={(sort) => change(sorted(sort))}
                    />
                  ) : (
                    <Table.Th key={attribute.name}>{attribute.name}</Table.Th>
                  ),
                )}
                {type.draftAndPublish && <Table.Th>{texts.state}</Table.Th>}
                {type.localized && locale === 'all' && <Table.Th>{texts.locale}</Table.Th>}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {rows.map((row) => {
                const { id, values } = row;
                const canBeSelected = selectable.includes(row);
                return (
                  <Table.Tr key={id} data-selected={selected.has(id) || undefined}>
                    {canSelect && (
                      <Table.Td>
                        <Checkbox
                          size="sm"
                          aria-label={texts.select(titleOf(type, id, values))}
                          disabled={!canBeSelected}
                          title={canBeSelected ? undefined : words.content.bulk.notThis(titleOf(type, id, values))}
                          checked={selected.has(id)}
                          onChange={() =>
                            setSelected(
                              (it) => new Set(it.has(id) ? [...it].filter((other) => other !== id) : [...it, id]),
                            )
                          }
                        />
                      </Table.Td>
                    )}
                    <Table.Td ta="right">
                      <EntryLink type={type} id={id} label={String(id)} title={titleOf(type, id, values)} />
                    </Table.Td>
                    {shownColumns.map((attribute, place) => (
                      <Table.Td key={attribute.name} ta={isNumeric(attribute) ? 'right' : undefined}>
                        {place === 0 && attribute.kind === 'scalar' && values[attribute.name] !== null ? (
                          <EntryLink
                            type={type}
                            id={id}
                            label={<Cell model={model} attribute={attribute} value={values[attribute.name]} />}
                          />
                        ) : (
                          <Cell model={model} attribute={attribute} value={values[attribute.name]} />
                        )}
                      </Table.Td>
                    ))}
                    {type.draftAndPublish && (
                      <Table.Td>
                        <StateBadge publishedAt={textOf(values['publishedAt'])} />
                      </Table.Td>
                    )}
                    {type.localized && locale === 'all' && <Table.Td>{textOf(values['locale'])}</Table.Td>}
                  </Table.Tr>
                );
              })}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {data && data.total > 0 && (
        <Group justify="space-between" wrap="wrap">
          <NativeSelect
            size="xs"
            aria-label={texts.size}
            value={String(state.size)}
            data={sizes
              .filter((it) => model.rest.maxLimit === null || it <= model.rest.maxLimit)
              .map((it) => ({ value: String(it), label: texts.sizes(it) }))}
            onChange={({ currentTarget: { value } }) => change({ size: Number(value), page: undefined })}
          />
          <Box flex="1 1 280px">
            <Pages page={state.page} pageSize={data.pageSize} total={data.total} onPage={(page) => change({ page })} />
          </Box>
        </Group>
      )}
    </Stack>
  );
};

const sorted = (sort: string | null): ListChange => ({ sort: sort ?? undefined, page: undefined });

const rowOf = (row: unknown): Row => {
  const values = attributesOf(row);
  const creator = idOf(rowsOf(values['createdBy'])[0]);
  return {
    id: idOf(row) ?? 0,
    values,
    updatedAt: textOf(values['updatedAt']),
    locale: textOf(values['locale']),
    createdBy: creator === null ? null : { id: creator },
  };
};

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const titleOf = (type: Type, id: number, values: Readonly<Record<string, unknown>>): string =>
  entryName(type, id, type.mainField === null ? null : values[type.mainField]);

const EntryLink = ({
  type,
  id,
  label,
  title,
}: {
  readonly type: Type;
  readonly id: number;
  readonly label: React.ReactNode;
  readonly title?: string;
}) => (
  <Anchor
    component={Link}
    to={`/content/${nameOf(type)}/${id}` as never}
    size="sm"
    {...(title === undefined ? {} : { 'aria-label': `${id}: ${title}` })}
  >
    {label}
  </Anchor>
);

interface SortHeadProps {
  readonly name: string;
  readonly label: string;
  readonly sort: string | null;
  readonly isNumber: boolean;
  readonly onSort: (sort: string | null) => void;
}

const SortHead = ({ name, label, sort, isNumber, onSort }: SortHeadProps) => {
  const order = sort === `${name}:asc` ? 'ascending' : sort === `${name}:desc` ? 'descending' : 'none';
  return (
    <Table.Th aria-sort={order} ta={isNumber ? 'right' : undefined}>
      <Button
        variant="subtle"
        color="gray"
        size="compact-sm"
        mx={-8}
        rightSection={
          order === 'ascending' ? (
            <IconArrowUp size={14} />
          ) : order === 'descending' ? (
            <IconArrowDown size={14} />
          ) : undefined
        }
        onClick={() => onSort(nextSort(sort, name))}
      >
        {label}
      </Button>
    </Table.Th>
  );
};

const ColumnMenu = ({
  type,
  columns,
  onChange,
}: {
  readonly type: Type;
  readonly columns: readonly string[];
  readonly onChange: (next: readonly string[] | null) => void;
}) => {
  const able = columnsOf(type);
  const toggle = ({ name }: Attribute): void =>
    onChange(columns.includes(name) ? columns.filter((it) => it !== name) : [...columns, name]);
  return (
    <Menu closeOnItemClick={false} position="bottom-end" withinPortal={false} withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <Button size="xs" variant="default" leftSection={<IconColumns size={14} />}>
          {texts.columns}
        </Button>
      </Menu.Target>
      <Menu.Dropdown mah={420} style={{ overflowY: 'auto' }}>
        {able.map((attribute) => (
          <Menu.CheckboxItem
            key={attribute.name}
            checked={columns.includes(attribute.name)}
            disabled={columns.length === 1 && columns.includes(attribute.name)}
            onChange={() => toggle(attribute)}
          >
            {attribute.name}
          </Menu.CheckboxItem>
        ))}
        <Menu.Divider />
        <Menu.Item disabled={columns.join() === defaultColumns(type).join()} onClick={() => onChange(null)}>
          {texts.defaultColumns}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
};
