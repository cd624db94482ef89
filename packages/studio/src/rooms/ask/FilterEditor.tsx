/** The conditions of a place: what is there, and forms for more. */
import { ActionIcon, Button, Code, Group, Select, Stack, Text } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useMemo } from 'react';
import type { Type } from '../../model/model.js';
import { words } from '../../words/index.js';
import { type Editing, NewCondition } from './NewCondition.js';
import { Operands, OperatorSelect, operatorText } from './Operands.js';
import {
  affirm,
  type Comparison,
  type Filter,
  negate,
  removeAt,
  setJoin,
  setOperands,
  setOperator,
  viewFilter,
} from './query/filters.js';
import { textOf } from './query/items.js';
import { isList, nodeAt, type Path } from './query/node.js';

const texts = words.ask.options;

export const FilterEditor = ({ model, types, filter, onChange }: Editing) => {
  const view = useMemo(() => viewFilter(filter, types, model), [filter, types, model]);
  const editing: Editing = { model, types, filter, onChange };
  return (
    <Stack gap={4}>
      {view === null ? (
        <Text size="xs" c="dimmed">
          {texts.noConditions}
        </Text>
      ) : (
        <View view={view} editing={editing} types={types} />
      )}
      <NewCondition editing={editing} types={types} at={[]} />
    </Stack>
  );
};

interface Negation {
  /** Of the `$not` that it is inside of; null: it holds. */
  readonly notAt: Path | null;
}

const View = ({
  view,
  editing,
  types,
  notAt = null,
}: {
  readonly view: Filter;
  readonly editing: Editing;
  readonly types: readonly Type[];
} & Partial<Negation>) => {
  const { filter, onChange } = editing;
  switch (view.kind) {
    case 'compare':
      return <CompareRow view={view} editing={editing} notAt={notAt} />;
    case 'text':
      return (
        <Group gap={4} wrap="nowrap">
          {notAt && (
            <Text size="xs" fw={600}>
              {texts.not}
            </Text>
          )}
          <Code className="ask-kept">{textOf(view.at.join('.'), view.node)}</Code>
          <Removal
            label={view.at.join('.')}
            onRemove={() => filter !== undefined && onChange(removeAt(filter, view.at))}
          />
        </Group>
      );
    case 'not':
      // a double negation is shown as it is written
      return notAt === null ? (
        <View view={view.member} editing={editing} types={types} notAt={view.at} />
      ) : (
        <div className="ask-group">
          <Text size="xs" fw={600}>
            {texts.not}
          </Text>
          <View view={view} editing={editing} types={types} />
        </div>
      );
    case 'related':
      return (
        <section className="ask-group" aria-label={texts.some(view.attribute.name)}>
          <Group gap={4}>
            <Not at={view.at} notAt={notAt} editing={editing} label={view.attribute.name} />
            <Text size="xs" fw={600}>
              {(notAt ? texts.none : texts.some)(view.attribute.name)}
            </Text>
          </Group>
          {view.members.map((it) => (
            <View key={it.at.join('.')} view={it} editing={editing} types={[view.target]} />
          ))}
          <NewCondition editing={editing} types={[view.target]} at={view.at} name={view.attribute.name} />
        </section>
      );
    case 'group': {
      const isListed = isList(nodeAt(filter, view.at));
      const members = view.members.map((it) => (
        <View key={it.at.join('.')} view={it} editing={editing} types={types} />
      ));
      // beside each other, all of them hold
      const [only, ...others] = view.members;
      if (!isListed && only && others.length === 0)
        return <View view={only} editing={editing} types={types} notAt={notAt} />;
      if (!isListed && !only) return null;
      const isRoot = view.at.length === 0;
      const label = texts.group(view.join);
      const content = (
        <>
          <Group gap={4} mb={4}>
            <Not at={view.at} notAt={notAt} editing={editing} label={label} />
            <Select
              size="xs"
              w={110}
              aria-label={texts.join}
              allowDeselect={false}
              data={[
                { value: 'all', label: texts.all },
                { value: 'any', label: texts.any },
              ]}
              value={view.join}
              onChange={(join) =>
                filter !== undefined && onChange(setJoin(filter, view.at, join === 'any' ? 'any' : 'all'))
              }
            />
            {!isRoot && (
              <Removal
                label={label}
                onRemove={() => filter !== undefined && onChange(removeAt(filter, notAt ?? view.at))}
              />
            )}
          </Group>
          <Stack gap={4}>{members}</Stack>
          {/* the root has its own below all */}
          {isListed && <NewCondition editing={editing} types={types} at={view.at} name={label} />}
        </>
      );
      return isRoot && notAt === null ? (
        <div>{content}</div>
      ) : (
        <section className="ask-group" aria-label={notAt ? texts.notGroup(label) : label}>
          {content}
        </section>
      );
    }
  }
};

/** Whether the opposite is meant. */
const Not = ({
  at,
  notAt,
  label,
  editing: { filter, onChange },
}: {
  readonly at: Path;
  readonly label: string;
  readonly editing: Editing;
} & Negation) => (
  <Button
    size="compact-xs"
    variant={notAt ? 'filled' : 'default'}
    className="ask-not"
    aria-pressed={notAt !== null}
    aria-label={texts.notOf(label)}
    onClick={() => filter !== undefined && onChange(notAt ? affirm(filter, notAt) : negate(filter, at))}
  >
    {texts.not}
  </Button>
);

const CompareRow = ({
  view,
  editing,
  notAt,
}: {
  readonly view: Comparison;
  readonly editing: Editing;
} & Negation) => {
  const { filter, onChange } = editing;
  if (filter === undefined) return null;
  const name = view.attribute.name;
  return (
    <Group
      gap={4}
      wrap="wrap"
      className="ask-condition"
      role="group"
      aria-label={`${notAt ? `${texts.not} ` : ''}${name} ${operatorText(view.operator)}`}
    >
      <Not at={view.at} notAt={notAt} editing={editing} label={`${name} ${operatorText(view.operator)}`} />
      <Text size="sm" fw={500}>
        {name}
      </Text>
      <OperatorSelect
        attribute={view.attribute}
        operator={view.operator}
        onChange={(operator) => onChange(setOperator(filter, view, operator))}
      />
      <Operands
        attribute={view.attribute}
        operator={view.operator}
        operands={view.operands}
        onChange={(operands) => onChange(setOperands(filter, view, operands))}
      />
      <Removal label={`${name} ${operatorText(view.operator)}`} onRemove={() => onChange(removeAt(filter, view.at))} />
    </Group>
  );
};

const Removal = ({ label, onRemove }: { readonly label: string; readonly onRemove: () => void }) => (
  <ActionIcon size="sm" variant="subtle" color="gray" aria-label={texts.remove(label)} onClick={onRemove}>
    <IconTrash size={14} />
  </ActionIcon>
);
