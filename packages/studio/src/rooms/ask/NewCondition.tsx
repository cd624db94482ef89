/** Adds a condition, or a group that begins with one. */
import { Button, Group, Select } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useMemo, useState } from 'react';
import type { Model, Type } from '../../model/model.js';
import { words } from '../../words/index.js';
import { Operands, OperatorSelect } from './Operands.js';
import { addCondition, newCondition, newGroup, operandsOf } from './query/filters.js';
import type { Node, Path } from './query/node.js';
import { filterable } from './query/paths.js';

const texts = words.ask.options;

/** The filter of a place, and what changes it. */
export interface Editing {
  readonly model: Model;
  /** Of the entries of the place. */
  readonly types: readonly Type[];
  readonly filter: Node | undefined;
  readonly onChange: (filter: Node | undefined) => void;
}

/** A condition is taken when it is complete. */
export const NewCondition = ({
  editing: { model, filter, onChange },
  types,
  at,
  name,
}: {
  readonly editing: Editing;
  readonly types: readonly Type[];
  readonly at: Path;
  /** Of the relation or group that it is inside of. */
  readonly name?: string;
}) => {
  /** What is being added: a condition, or a group that begins with it. */
  const [opened, setOpened] = useState<'condition' | 'group' | null>(null);
  const isOpen = opened !== null;
  const [chosen, setChosen] = useState<string | null>(null);
  const [operator, setOperatorName] = useState('$eq');
  const [operands, setValues] = useState<readonly string[]>(['']);
  const reachable = useMemo(() => (isOpen ? filterable(model, types) : []), [isOpen, model, types]);
  const found = reachable.find((it) => it.path.join('.') === chosen);
  const label = (what: 'condition' | 'group'): string =>
    what === 'group'
      ? name === undefined
        ? texts.addGroup
        : texts.addGroupTo(name)
      : name === undefined
        ? texts.add
        : texts.addTo(name);
  if (!isOpen)
    return (
      <Group gap={4}>
        {(['condition', 'group'] as const).map((it) => (
          <Button
            key={it}
            size="compact-xs"
            variant="subtle"
            leftSection={<IconPlus size={14} />}
            aria-label={label(it)}
            onClick={() => setOpened(it)}
          >
            {it === 'group' ? texts.addGroup : texts.add}
          </Button>
        ))}
      </Group>
    );
  const choose = (key: string | null): void => {
    const operators = reachable.find((it) => it.path.join('.') === key)?.attribute.operators ?? [];
    setChosen(key);
    if (!operators.includes(operator)) {
      setOperatorName(operators.includes('$eq') ? '$eq' : (operators[0] ?? '$eq'));
      setValues(['']);
    }
  };
  const close = (): void => {
    setOpened(null);
    setChosen(null);
    setOperatorName('$eq');
    setValues(['']);
  };
  const apply = (): void => {
    if (!found) return;
    const isFlag = operandsOf(operator) === 'flag';
    const isBoolean = found.attribute.family === 'boolean' && operands[0] === '';
    const values = isFlag || isBoolean ? ['true'] : operands;
    const condition = newCondition(found.path, operator, values);
    onChange(addCondition(filter, at, opened === 'group' ? newGroup('any', condition) : condition));
    close();
  };
  return (
    <form
      className="ask-adding"
      aria-label={label(opened)}
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      <Select
        size="xs"
        miw={150}
        flex={1}
        searchable
        autoFocus
        limit={200}
        label={texts.attribute}
        data={reachable.map((it) => ({ value: it.path.join('.'), label: it.path.join(' › ') }))}
        value={chosen}
        onChange={choose}
      />
      {found && (
        <>
          <OperatorSelect
            attribute={found.attribute}
            operator={operator}
            onChange={(it) => {
              setOperatorName(it);
              setValues(operandsOf(it) === 'two' ? ['', ''] : operandsOf(it) === 'flag' ? ['true'] : ['']);
            }}
          />
          <Operands attribute={found.attribute} operator={operator} operands={operands} onChange={setValues} />
        </>
      )}
      <Button size="xs" type="submit" disabled={!found}>
        {texts.apply}
      </Button>
      <Button size="xs" variant="default" onClick={close}>
        {texts.cancel}
      </Button>
    </form>
  );
};
