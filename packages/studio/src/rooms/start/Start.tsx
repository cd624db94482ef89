/** The first page: what this server is, shown by a request to it, and what to do next. */
import { Badge, Button, Code, CopyButton, Group, Paper, Table, Text, Title } from '@mantine/core';
import { useQueries, useQuery } from '@tanstack/react-query';
import { DovetailError, encodeQuery } from 'dovetail-client';
import type { ReactNode } from 'react';
import { contentTypes, nameOf, type Type } from '../../model/model.js';
import { Fault } from '../../parts/Fault.js';
import { AnchorLink, ButtonLink } from '../../parts/links.js';
import { Waiting } from '../../parts/Waiting.js';
import { serverUrl } from '../../server/address.js';
import { serverSend } from '../../server/clients.js';
import { initOptions, useAdministrator, useClient, useModel } from '../../server/queries.js';
import { words } from '../../words/index.js';
import styles from './start.module.css';
import { type Example, exampleOf, type Tour, tourOf } from './tour.js';

const texts = words.start;

export const Start = () => {
  const model = useModel();
  const types = contentTypes(model);
  const { asked, ordered } = tourOf(model);
  const example = exampleOf(model, asked);
  const list = useFirstList(ordered);
  return (
    <div className={styles['start']}>
      <header>
        <Title order={1} className={styles['title']}>
          {texts.title}
        </Title>
        <Text mt={4}>
          {types.length === 0 ? (
            texts.noTypes
          ) : (
            <>
              {texts.lead(types.length)} <Code>{serverUrl + model.prefix}</Code>. {texts.leadEnd}
            </>
          )}
        </Text>
      </header>
      <div className={styles['columns']}>
        {types.length > 0 && (example ? <Request example={example} /> : <NothingOpen />)}
        <nav aria-label={texts.next} className={styles['steps']}>
          <SignInStep />
          {ordered && list !== null && (
            // it stands there before the list is known, so that nothing moves
            <Step
              title={texts.order.title(ordered.target.displayName, ordered.type.displayName)}
              text={texts.order.text}
            >
              {list === undefined ? (
                <Button variant="default" size="xs" disabled>
                  {texts.order.action}
                </Button>
              ) : (
                <ButtonLink to={list as never} variant="default" size="xs">
                  {texts.order.action}
                </ButtonLink>
              )}
            </Step>
          )}
          <Step title={texts.map.title} text={texts.map.text}>
            <ButtonLink to="/map" variant="default" size="xs">
              {texts.map.action}
            </ButtonLink>
          </Step>
          <Step title={texts.content.title} text={texts.content.text}>
            <ButtonLink to="/content" variant="default" size="xs">
              {texts.content.action}
            </ButtonLink>
          </Step>
        </nav>
      </div>
      {types.length > 0 && <Types types={types} />}
    </div>
  );
};

// ---- a request that is really sent

const Request = ({ example: { type, query } }: { readonly example: Example }) => {
  const whose = useAdministrator()?.id ?? 'public';
  const text = encodeQuery(query);
  const url = `${serverUrl}${type.path}?${text}`;
  const { data, error, refetch } = useQuery({
    queryKey: ['start', whose, url],
    queryFn: async ({ signal }) => {
      const begun = performance.now();
      const { body } = await serverSend()({ method: 'GET', path: type.path!, query: text, signal });
      return { body, ms: Math.max(1, Math.round(performance.now() - begun)) };
    },
  });
  return (
    <Paper component="section" withBorder className={styles['request']} aria-label={texts.request.title}>
      <Group justify="space-between" gap="xs" mb="xs">
        <Title order={2} fz={15}>
          {texts.request.title}
        </Title>
        <Group gap="xs">
          <CopyButton value={url}>
            {({ copied, copy }) => (
              <Button size="compact-sm" variant="default" onClick={copy}>
                {copied ? texts.request.copied : texts.request.copy}
              </Button>
            )}
          </CopyButton>
          <ButtonLink size="compact-sm" to="/ask" search={{ type: nameOf(type), q: text } as never}>
            {texts.request.change}
          </ButtonLink>
        </Group>
      </Group>
      <pre className={styles['url']}>
        <span className={styles['method']}>GET</span> {serverUrl}
        <b>{type.path}</b>
        {text.split('&').map((it, i) => (
          <span key={it} className={styles['part']}>
            {`\n  ${i === 0 ? '?' : '&'}${decodeURIComponent(it)}`}
          </span>
        ))}
      </pre>
      {error ? (
        <Fault fault={error} onRetry={() => void refetch()} />
      ) : data ? (
        <>
          <Text size="sm" c="dimmed" mt="xs" mb={4}>
            {texts.request.answered(data.ms)}
          </Text>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long answer is scrolled with the keyboard too */}
          <section className={styles['answer']} tabIndex={0} aria-label={texts.request.answer}>
            <pre>{JSON.stringify(data.body, null, 2)}</pre>
          </section>
        </>
      ) : (
        <Waiting rows={8} />
      )}
    </Paper>
  );
};

const NothingOpen = () => {
  const isSignedIn = useAdministrator() !== null;
  return (
    <Paper component="section" withBorder className={styles['request']} aria-label={texts.closed.title}>
      <Title order={2} size="h4" mb="xs">
        {texts.closed.title}
      </Title>
      <Text>{isSignedIn ? texts.closed.role : texts.closed.public}</Text>
    </Paper>
  );
};

// ---- what to do next

const Step = ({
  title,
  text,
  children,
}: {
  readonly title: string;
  readonly text: string;
  readonly children?: ReactNode;
}) => (
  <Paper withBorder p="sm">
    <Title order={2} fz={15}>
      {title}
    </Title>
    <Text size="sm" c="dimmed" mb="xs">
      {text}
    </Text>
    {children}
  </Paper>
);

/** Whoever is not signed in may only look; the first administrator has to be made. */
const SignInStep = () => {
  const who = useAdministrator();
  const init = useQuery({ ...initOptions, enabled: who === null }).data;
  if (who !== null || !init) return null;
  if (init.hasAdmin)
    return (
      <Step title={texts.signIn.title} text={texts.signIn.text}>
        <ButtonLink to="/sign-in" search={{ to: '/' }} size="xs">
          {texts.signIn.action}
        </ButtonLink>
      </Step>
    );
  return (
    <Step title={texts.account.title} text={init.mayRegister ? texts.account.link : texts.account.command}>
      <Code block>{words.shell.signIn.command}</Code>
    </Step>
  );
};

// ---- what there is

/** More are found on the map. */
const TYPES_MAX = 12;

const Types = ({ types }: { readonly types: readonly Type[] }) => {
  const shown = types.slice(0, TYPES_MAX);
  const counts = useCounts(shown);
  return (
    <section aria-label={texts.types.title}>
      <Title order={2} fz={15} mb="xs">
        {texts.types.title}
      </Title>
      <Table.ScrollContainer type="native" minWidth={320} tabIndex={0} role="group" aria-label={texts.types.title}>
        <Table verticalSpacing={6} aria-label={texts.types.title}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{texts.types.type}</Table.Th>
              <Table.Th visibleFrom="sm">{texts.types.path}</Table.Th>
              <Table.Th ta="right">{texts.types.entries}</Table.Th>
              <Table.Th ta="right">{texts.types.go}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {shown.map((type, i) => (
              <Table.Tr key={type.uid}>
                <Table.Td>
                  <AnchorLink to={`/content/${nameOf(type)}` as string}>{type.displayName}</AnchorLink>
                </Table.Td>
                <Table.Td visibleFrom="sm">
                  <Code>{type.path}</Code>
                </Table.Td>
                <Table.Td ta="right">
                  {type.may.find ? (
                    (counts[i]?.toLocaleString('en') ?? '–')
                  ) : (
                    <Badge color="gray" variant="light" c="var(--mantine-color-text)">
                      {texts.types.closed}
                    </Badge>
                  )}
                </Table.Td>
                <Table.Td ta="right">
                  <AnchorLink
                    to="/ask"
                    search={{ type: nameOf(type) } as never}
                    aria-label={texts.types.askFor(type.displayName)}
                  >
                    {words.shell.rooms.ask}
                  </AnchorLink>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {shown.length < types.length && (
        <Text size="sm" mt="xs">
          <AnchorLink to="/map">{texts.types.more(types.length - shown.length)}</AnchorLink>
        </Text>
      )}
    </section>
  );
};

/** How many entries each type has, drafts too; undefined while it is not known. A single type has one or none. */
const useCounts = (types: readonly Type[]): readonly (number | undefined)[] => {
  const whose = useAdministrator()?.id ?? 'public';
  return useQueries({
    queries: types.map((type) => ({
      queryKey: ['start count', whose, type.uid],
      enabled: type.may.find && type.path !== null,
      queryFn: async ({ signal }: { readonly signal: AbortSignal }): Promise<number> => {
        const query = encodeQuery({
          fields: ['id'],
          ...(type.kind === 'collection' ? { pagination: { pageSize: 1 } } : {}),
          ...(type.draftAndPublish ? { publicationState: 'preview' } : {}),
        });
        const { body } = await serverSend()({ method: 'GET', path: type.path!, query, signal });
        const { data, meta } = body as { data: unknown; meta: { pagination?: { total?: number } } };
        return meta.pagination?.total ?? (data === null ? 0 : 1);
      },
    })),
    // a single type without an entry is a 404
    combine: (found) => found.map((it) => (it.error instanceof DovetailError && it.error.status === 404 ? 0 : it.data)),
  });
};

/** The address of the list in the first entry that has one; null if there is none, undefined while that is not known. */
const useFirstList = (ordered: Tour['ordered']): string | null | undefined => {
  const client = useClient();
  const whose = useAdministrator()?.id ?? 'public';
  const found = useQuery({
    queryKey: ['first list', whose, ordered?.type.uid, ordered?.attribute],
    enabled: ordered?.type.may.find === true,
    queryFn: async ({ signal }): Promise<string | null> => {
      const { type, attribute } = ordered!;
      const query = {
        fields: ['id'],
        filters: { [attribute]: { id: { $notNull: true } } },
        sort: 'id',
        pagination: { pageSize: 1, withCount: false },
      };
      const { data } = await client.collection(type.plural).find(query, { signal });
      return data[0] ? `/content/${type.plural}/${data[0].id}/${attribute}` : null;
    },
  });
  return found.isError || ordered?.type.may.find !== true ? null : found.data;
};
