/** The map as text: every type with its relations. */
import { Anchor, Table, Text } from '@mantine/core';
import type { Model, Type } from '../../model/model.js';
import { words } from '../../words/index.js';
import { useCount } from './counts.js';
import type { Edge, Graph } from './graph.js';
import { sayEdge } from './wording.js';

const texts = words.map;

interface TypeListProps {
  readonly model: Model;
  readonly graph: Graph;
  readonly found: ReadonlySet<string> | null;
  readonly onSelect: (uid: string) => void;
}

export const TypeList = ({ model, graph, found, onSelect }: TypeListProps) => (
  <Table.ScrollContainer minWidth={320} flex={1}>
    <Table verticalSpacing={4}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{texts.type.name}</Table.Th>
          <Table.Th>{texts.type.kind}</Table.Th>
          <Table.Th>{texts.type.relations}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {graph.types
          .filter((it) => !found || found.has(it.uid))
          .map((type) => (
            <Row
              key={type.uid}
              model={model}
              type={type}
              edges={graph.edges.filter(({ from, to }) => from.uid === type.uid || to.uid === type.uid)}
              onSelect={onSelect}
            />
          ))}
      </Table.Tbody>
    </Table>
  </Table.ScrollContainer>
);

const Row = ({
  model,
  type,
  edges,
  onSelect,
}: {
  readonly model: Model;
  readonly type: Type;
  readonly edges: readonly Edge[];
  readonly onSelect: (uid: string) => void;
}) => {
  const count = useCount(type);
  return (
    <Table.Tr>
      <Table.Td valign="top">
        <Anchor component="button" type="button" onClick={() => onSelect(type.uid)}>
          {type.displayName}
        </Anchor>
      </Table.Td>
      <Table.Td valign="top">
        {[texts.kinds[type.kind], ...(count === undefined ? [] : [texts.entries(count)])].join(' · ')}
      </Table.Td>
      <Table.Td>
        {edges.map((edge) => (
          <Text key={edge.id} size="sm">
            {sayEdge(model, edge)}
          </Text>
        ))}
      </Table.Td>
    </Table.Tr>
  );
};
