/** One type in full: what it is, its attributes, what leads to it, and what whoever looks may do with it. */
import { ActionIcon, Badge, Code, Group, Stack, Table, Text, Title, Tooltip } from '@mantine/core';
import { IconLock, IconX } from '@tabler/icons-react';
import { type Model, nameOf, type Type } from '../../model/model.js';
import { ButtonLink } from '../../parts/links.js';
import { useAdministrator } from '../../server/queries.js';
import { nameOfAs, useAs } from '../../shell/choices.js';
import { words } from '../../words/index.js';
import { useCount } from './counts.js';
import type { Edge } from './graph.js';
import { kindOf, rulesOf, sayEdge } from './wording.js';

const texts = words.map;
const rights = ['find', 'findOne', 'create', 'update', 'delete', 'publish', 'createLocalization'] as const;

interface TypePanelProps {
  readonly model: Model;
  readonly type: Type;
  readonly edges: readonly Edge[];
  readonly onClose: () => void;
}

export const TypePanel = ({ model, type, edges, onClose }: TypePanelProps) => {
  const count = useCount(type);
  const isSignedIn = useAdministrator() !== null;
  /** Whose permissions they are; null: the administrator's own. */
  const who = nameOfAs(useAs()) ?? (isSignedIn ? null : words.shell.as.public);
  const allowed = rights.filter(
    (it) =>
      type.may[it] && (it !== 'publish' || type.draftAndPublish) && (it !== 'createLocalization' || type.localized),
  );
  const own = edges.filter(({ from, to }) => from.uid === type.uid || to.uid === type.uid);
  return (
    <Stack component="section" gap="sm" aria-label={type.displayName}>
      <Group justify="space-between" wrap="nowrap">
        <Title order={2} size="h3">
          {type.displayName}
        </Title>
        <ActionIcon variant="subtle" color="gray" aria-label={texts.type.close} onClick={onClose}>
          <IconX size={18} />
        </ActionIcon>
      </Group>
      <Text size="sm" c="dimmed">
        {[
          texts.kinds[type.kind],
          ...(type.localized ? [texts.localized] : []),
          ...(type.draftAndPublish ? [texts.drafts] : []),
          ...(count === undefined ? [] : [texts.entries(count)]),
        ].join(' · ')}
      </Text>
      {type.description && <Text size="sm">{type.description}</Text>}
      <Code>{type.path ?? type.uid}</Code>
      {type.path !== null && (
        <Group gap="xs">
          <ButtonLink size="xs" to="/ask" search={{ type: nameOf(type) } as never}>
            {texts.type.ask}
          </ButtonLink>
          <ButtonLink size="xs" variant="default" to={`/content/${nameOf(type)}` as never}>
            {texts.type.content}
          </ButtonLink>
        </Group>
      )}
      {type.kind !== 'component' && (
        <div>
          <Title order={3} size="h4">
            {who === null ? texts.type.youMay : texts.type.may(who)}
          </Title>
          {allowed.length === 0 ? (
            <Text size="sm">{texts.type.nothing}</Text>
          ) : (
            <Group gap={4} mt={4} role="list">
              {allowed.map((it) => (
                <Badge key={it} variant="default" role="listitem">
                  {texts.rights[it]}
                </Badge>
              ))}
            </Group>
          )}
        </div>
      )}
      <Title order={3} size="h4">
        {texts.type.attributes}
      </Title>
      <Table verticalSpacing={4} fz="sm" layout="fixed">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{texts.type.name}</Table.Th>
            <Table.Th>{texts.type.kind}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {type.attributes.map((attribute) => (
            <Table.Tr key={attribute.name}>
              <Table.Td valign="top">
                {attribute.name}
                {attribute.lockedBy !== null && <Locked permission={attribute.lockedBy} />}
              </Table.Td>
              <Table.Td>
                {kindOf(model, attribute)}
                <Text size="xs" c="dimmed">
                  {rulesOf(attribute).join(' · ')}
                </Text>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {own.length > 0 && (
        <>
          <Title order={3} size="h4">
            {texts.type.relations}
          </Title>
          <ul>
            {own.map((edge) => (
              <li key={edge.id}>
                <Text size="sm">{sayEdge(model, edge)}</Text>
              </li>
            ))}
          </ul>
        </>
      )}
    </Stack>
  );
};

const Locked = ({ permission }: { readonly permission: string }) => (
  <Tooltip label={texts.locked(permission)}>
    <IconLock size={14} role="img" aria-label={texts.locked(permission)} />
  </Tooltip>
);
