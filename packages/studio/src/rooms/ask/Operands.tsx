/** The operator of a condition, and what it compares with. */
import { Select, TagsInput } from '@mantine/core';
import { filterValue } from '../../model/model.js';
import { words } from '../../words/index.js';
import { DraftInput } from './DraftInput.js';
import { type Compared, operandsOf } from './query/filters.js';

const texts = words.ask.options;

export const operatorText = (operator: string): string => words.operators[operator] ?? operator;

export const OperatorSelect = ({
  attribute,
  operator,
  onChange,
}: {
  readonly attribute: Compared;
  readonly operator: string;
  readonly onChange: (operator: string) => void;
}) => (
  <Select
    size="xs"
    w={150}
    aria-label={texts.operator}
    allowDeselect={false}
    data={attribute.operators.map((it) => ({ value: it, label: operatorText(it) }))}
    value={operator}
    onChange={(it) => it !== null && onChange(it)}
  />
);

/** A control for the values of an operator, by what the attribute holds. */
export const Operands = ({
  attribute,
  operator,
  operands,
  onChange,
}: {
  readonly attribute: Compared;
  readonly operator: string;
  readonly operands: readonly string[];
  readonly onChange: (operands: readonly string[]) => void;
}) => {
  const takes = operandsOf(operator);
  switch (takes) {
    case 'flag':
      return <YesNo label={texts.value} value={operands[0] ?? 'true'} onChange={(it) => onChange([it])} />;
    case 'list':
      return (
        <TagsInput
          size="xs"
          miw={140}
          flex={1}
          aria-label={texts.values}
          data={attribute.enum ? [...attribute.enum] : []}
          value={operands.filter((it) => it !== '')}
          onChange={(it) => onChange(it.length > 0 ? it : [''])}
        />
      );
    case 'two':
      return (
        <>
          <ValueInput
            label={texts.from}
            attribute={attribute}
            value={operands[0] ?? ''}
            onChange={(it) => onChange([it, operands[1] ?? it])}
          />
          <ValueInput
            label={texts.to}
            attribute={attribute}
            value={operands[1] ?? ''}
            onChange={(it) => onChange([operands[0] ?? it, it])}
          />
        </>
      );
    case 'one':
      if (operands.length > 1)
        return (
          <TagsInput size="xs" miw={140} flex={1} aria-label={texts.values} value={[...operands]} onChange={onChange} />
        );
      return (
        <ValueInput
          label={texts.value}
          attribute={attribute}
          value={operands[0] ?? ''}
          onChange={(it) => onChange([it])}
        />
      );
  }
};

const isTrue = (text: string): boolean => /^(true|t|1)$/i.test(text);

const YesNo = ({
  label,
  value,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
}) => (
  <Select
    size="xs"
    w={90}
    aria-label={label}
    allowDeselect={false}
    data={[
      { value: 'true', label: texts.yes },
      { value: 'false', label: texts.no },
    ]}
    value={isTrue(value) ? 'true' : 'false'}
    onChange={(it) => it !== null && onChange(it)}
  />
);

interface ValueProps {
  readonly label: string;
  readonly attribute: Compared;
  readonly value: string;
  readonly onChange: (text: string) => void;
}

const ValueInput = ({ label, attribute, value, onChange }: ValueProps) => {
  const { family, enum: choices } = attribute;
  if (choices)
    return (
      <Select
        size="xs"
        miw={120}
        flex={1}
        aria-label={label}
        allowDeselect={false}
        searchable
        data={[...new Set([...choices, ...(value === '' ? [] : [value])])]}
        value={value === '' ? null : value}
        onChange={(it) => it !== null && onChange(it)}
      />
    );
  if (family === 'boolean') return <YesNo label={label} value={value} onChange={onChange} />;
  return (
    <DraftInput
      miw={120}
      flex={1}
      aria-label={label}
      value={value}
      onCommit={(it) => onChange(filterValue(attribute, it))}
      inputMode={family === 'number' ? 'decimal' : 'text'}
      {...(family === 'date' && /^(\d{4}-\d\d-\d\d)?$/.test(value) ? { type: 'date' } : {})}
      {...(family === 'instant' ? { placeholder: '2026-01-31T12:00:00Z' } : {})}
      {...(family === 'time' ? { placeholder: '12:30' } : {})}
    />
  );
};
