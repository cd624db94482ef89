/** Conditions of a list: an attribute, an operator that its family has, and a value. */
import { ActionIcon, Button, Fieldset, Group, NativeSelect, Stack, TextInput } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import type { Attribute, Model, Type } from '../../../model/model.js';
import { words } from '../../../words/index.js';
import { type Condition, filterable, takes } from './list-state.js';

const texts = words.content.filters;

interface FiltersProps {
  readonly model: Model;
  readonly type: Type;
  readonly where: readonly Condition[];
  readonly onChange: (where: readonly Condition[]) => void;
  /** Whether one of them is enough. */
  readonly any: boolean;
  readonly onAny: (any: boolean) => void;
}

export const Filters = ({ model, type, where, onChange, any, onAny }: FiltersProps) => {
  const subjects = filterable(model, type);
  const [first] = subjects;
  if (first === undefined) return null;
  const replace = (place: number, next: Condition): void => onChange(where.map((it, i) => (i === place ? next : it)));
  return (
    <Fieldset legend={texts.title} p="sm">
      <Stack gap="xs">
        {where.length > 1 && (
          <NativeSelect
            size="xs"
            w={200}
            aria-label={texts.join}
            value={any ? 'any' : 'all'}
            data={(['all', 'any'] as const).map((it) => ({ value: it, label: texts.joins[it] }))}
            onChange={({ currentTarget: { value } }) => onAny(value === 'any')}
          />
        )}
        {where.map((condition, place) => {
          const subject = subjects.find(({ on }) => on === condition.on);
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: conditions have nothing else, and their inputs hold no state
            <Group key={place} gap="xs" wrap="wrap">
              <NativeSelect
                size="xs"
                aria-label={texts.attribute(place + 1)}
                value={condition.on}
                // an address may have another one
                data={[...new Set([...subjects.map(({ on }) => on), condition.on])]}
                onChange={({ currentTarget: { value } }) => {
                  const next = subjects.find(({ on }) => on === value);
                  const operators = next?.attribute.operators ?? [];
                  const operator = operators.includes(condition.operator)
                    ? condition.operator
                    : (operators[0] ?? '$eq');
                  replace(place, { on: value, operator, value: '' });
                }}
              />
              <NativeSelect
                size="xs"
                aria-label={texts.operator(place + 1)}
                value={condition.operator}
                data={(subject?.attribute.operators ?? [condition.operator]).map((it) => ({
                  value: it,
                  label: words.operators[it] ?? it,
                }))}
                onChange={({ currentTarget: { value } }) => replace(place, { ...condition, operator: value })}
              />
              {takes(condition.operator) !== 'none' && (
                <ValueInput
                  label={texts.value(place + 1)}
                  attribute={subject?.attribute}
                  condition={condition}
                  onChange={(value) => replace(place, { ...condition, value })}
                />
              )}
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={texts.remove(place + 1)}
                onClick={() => onChange(where.filter((_, i) => i !== place))}
              >
                <IconX size={16} />
              </ActionIcon>
            </Group>
          );
        })}
        <Group>
          <Button
            size="xs"
            variant="default"
            leftSection={<IconPlus size={14} />}
            onClick={() =>
              onChange([...where, { on: first.on, operator: first.attribute.operators[0] ?? '$eq', value: '' }])
            }
          >
            {texts.add}
          </Button>
          {where.length > 0 && (
            <Button size="xs" variant="subtle" onClick={() => onChange([])}>
              {texts.clear}
            </Button>
          )}
        </Group>
      </Stack>
    </Fieldset>
  );
};

interface ValueInputProps {
  readonly label: string;
  readonly attribute: Attribute | undefined;
  readonly condition: Condition;
  readonly onChange: (value: string) => void;
}

const ValueInput = ({ label, attribute, condition: { operator, value }, onChange }: ValueInputProps) => {
  const count = takes(operator);
  const isOne = count === 'one';
  const choices =
    attribute?.family === 'boolean'
      ? ['true', 'false']
      : attribute?.enum && (operator === '$eq' || operator === '$ne')
        ? attribute.enum
        : null;
  if (isOne && choices)
    return (
      <NativeSelect
        size="xs"
        aria-label={label}
        value={value}
        data={['', ...choices]}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  return (
    <SettledInput
      label={label}
      type={isOne && attribute?.family === 'date' ? 'date' : 'text'}
      placeholder={count === 'list' ? texts.list : count === 'two' ? texts.two : placeholderOf(attribute)}
      value={value}
      onChange={onChange}
    />
  );
};

const placeholderOf = (attribute: Attribute | undefined): string => {
  const formats: Readonly<Record<string, string>> = texts.formats;
  return formats[attribute?.family ?? ''] ?? '';
};

const SETTLE_MS = 400;

/** Tells of its text when it is still, so that not each letter is a request. */
export const SettledInput = ({
  label,
  type,
  placeholder,
  value,
  onChange,
}: {
  readonly label: string;
  readonly type: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) => {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return (
    <TextInput
      size="xs"
      aria-label={label}
      type={type}
      placeholder={placeholder}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') onChange(text);
      }}
    />
  );
};
