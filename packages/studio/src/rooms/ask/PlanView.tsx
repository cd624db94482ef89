/** How the server reads the request: nodes and statements, what each reads, and what would end reading a whole table. */
import { Alert, Badge, Code, Group, Stack, Text, Title } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { DovetailError } from 'dovetail-client';
import { Fault } from '../../parts/Fault.js';
import { Waiting } from '../../parts/Waiting.js';
import { words } from '../../words/index.js';
import { useExplanation } from './answer.js';
import { type Explanation, type Statement, type TableRead, wholeOf } from './explanation.js';

const texts = words.ask.plan;

export const PlanView = ({ url }: { readonly url: string | null }) => {
  const { data, error, isPending, refetch } = useExplanation(url, { analyze: true });
  if (isPending && url !== null) return <Waiting rows={4} />;
  if (error) {
    const isClosed = error instanceof DovetailError && [401, 403, 404, 405].includes(error.status);
    return isClosed ? (
      <Text c="dimmed">{texts.unavailable}</Text>
    ) : (
      <Fault fault={error} onRetry={() => void refetch()} />
    );
  }
  return data ? <Plan explanation={data} /> : null;
};

const Plan = ({ explanation: { plan, statements, leftOut, counts } }: { readonly explanation: Explanation }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
  <section className="ask-scroll" tabIndex={0} aria-label={texts.label}>
    <Stack gap="md" p={4}>
      {leftOut.length > 0 && (
        <ul className="ask-list">
          {leftOut.map((it) => (
            <li key={it.name}>
              <Code>{it.name}</Code> {it.why}
            </li>
          ))}
        </ul>
      )}
      <section aria-label={texts.statements}>
        <Title order={2} size="h5" mb={4}>
          {texts.statements}: {statements.length}
          {counts.isUnited && (
            <Text span size="sm" c="dimmed" fw={400}>
              {' '}
              {texts.united}
            </Text>
          )}
        </Title>
        <Stack gap="sm">
          {statements.map((it) => (
            <StatementView key={`${it.fetches} ${it.sql}`} statement={it} />
          ))}
        </Stack>
      </section>
      <section aria-label={texts.nodes}>
        <Title order={2} size="h5" mb={4}>
          {texts.nodes}: {plan.shape.nodes.length}
        </Title>
        <ul className="ask-list">
          {plan.shape.nodes
            .map((node, i) => ({ node, i }))
            .reverse()
            .map(({ node, i }) => (
              <li key={i}>
                {texts.node(i)}: {node.uid}, {texts.fields(node.fields.length)}
                {node.edges.map((edge) => (
                  <Text span key={edge.name} c="dimmed">
                    {' '}
                    {edge.name} → {edge.targets.map((it) => texts.node(it.node)).join(', ')}
                  </Text>
                ))}
              </li>
            ))}
        </ul>
      </section>
    </Stack>
  </section>
);

const textOfRead = ({ table, index, extent, rows }: TableRead): string =>
  `${texts.reads[extent](table, index)}${rows === null ? '' : `, ${texts.about(rows)}`}`;

const StatementView = ({ statement }: { readonly statement: Statement }) => {
  const { fetches, sql, reads, advice, ran } = statement;
  const whole = wholeOf(reads);
  return (
    <div className="ask-statement" data-scan={whole !== null || undefined}>
      <Group gap="xs">
        <Text size="sm" fw={600}>
          {fetches}
        </Text>
        {whole && (
          <Badge
            color="orange"
            variant="light"
            c="var(--mantine-color-text)"
            leftSection={<IconAlertTriangle size={12} />}
          >
            {texts.scan[whole]}
          </Badge>
        )}
        {ran && (
          <Text size="xs" c="dimmed">
            {ran.times === 0
              ? texts.notRun
              : `${texts.ran(ran.times)}, ${texts.rows(ran.rows)}, ${words.ask.answer.ms(ran.ms)}`}
          </Text>
        )}
      </Group>
      <ul className="ask-list">
        {[...new Set(reads.map(textOfRead))].map((it) => (
          <li key={it}>{it}</li>
        ))}
      </ul>
      {advice && (
        <Alert color="orange" variant="light" p="xs" icon={<IconAlertTriangle size={16} />}>
          {advice.text}
        </Alert>
      )}
      <details>
        <summary>{texts.sql}</summary>
        <Code block>{sql}</Code>
      </details>
    </div>
  );
};
