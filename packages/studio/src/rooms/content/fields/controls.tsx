/** The controls of scalar attributes, one for each kind (control-kinds.ts). */
import {
  Button,
  CloseButton,
  Group,
  Input,
  NativeSelect,
  PasswordInput,
  SegmentedControl,
  Skeleton,
  Text,
  Textarea,
  TextInput,
  Tooltip,
} from '@mantine/core';
import { type ComponentType, useState } from 'react';
import { lazyPart } from '../../../parts/lazy-part.js';
import { words } from '../../../words/index.js';
import type { FieldPath, Json, ScalarField } from '../form/fields.js';
import { type ControlKind, controlKindOf } from './control-kinds.js';
import { describedBy, Framed } from './Framed.js';
import { elementId } from './form-context.js';
import {
  clockOf,
  clockOfTime,
  instantOf,
  stepOf,
  storedInstant,
  timeOf,
  valueOfInstant,
  type Zone,
  zoneName,
} from './instants.js';
import { numberOfText, textOfNumber } from './number-text.js';
import type { ScalarProps } from './scalar-control.js';
import { UidControl } from './UidControl.js';

const texts = words.content.controls;

const valueField = (value: Json): ScalarField => ({ kind: 'scalar', value });
const textField = (text: string): ScalarField => valueField(text === '' ? null : text);
const textIn = ({ value }: ScalarField): string => (value === null ? '' : String(value));
const idOf = (path: FieldPath): string => elementId(path);

/** An emptied text is null, as in v4's panel: nothing was entered. An empty text that is stored is shown as one, with the button that clears it. */
const LineControl = ({ attribute, path, field, onChange, readOnly, frame }: ScalarProps) => (
  <TextInput
    {...frame}
    id={idOf(path)}
    type={attribute.type === 'email' ? 'email' : 'text'}
    value={textIn(field)}
    readOnly={readOnly}
    placeholder={field.value === null ? texts.none : ''}
    onChange={(event) => onChange(textField(event.currentTarget.value))}
    rightSection={<Clear field={field} onChange={onChange} readOnly={readOnly} name={attribute.name} />}
  />
);

const LinesControl = ({ attribute, path, field, onChange, readOnly, frame }: ScalarProps) => (
  <Textarea
    {...frame}
    id={idOf(path)}
    autosize
    minRows={3}
    maxRows={16}
    value={textIn(field)}
    readOnly={readOnly}
    placeholder={field.value === null ? texts.none : ''}
    onChange={(event) => onChange(textField(event.currentTarget.value))}
    rightSection={<Clear field={field} onChange={onChange} readOnly={readOnly} name={attribute.name} />}
    rightSectionProps={{ style: { alignItems: 'flex-start', paddingTop: 4 } }}
  />
);

interface ClearProps extends Pick<ScalarProps, 'field' | 'onChange' | 'readOnly'> {
  readonly name: string;
  /** Whether something is shown although there is no value. */
  readonly isIncomplete?: boolean;
}

/** Sets null, which is not the same as an empty text. */
const Clear = ({ field, onChange, readOnly, name, isIncomplete = false }: ClearProps) =>
  readOnly || (field.value === null && !isIncomplete) ? null : (
    <Tooltip label={texts.clear(name)}>
      <CloseButton size="sm" aria-label={texts.clear(name)} onClick={() => onChange(valueField(null))} />
    </Tooltip>
  );

const NumberControl = ({ attribute, path, field, onChange, readOnly, frame }: ScalarProps) => {
  const isText = attribute.type === 'biginteger';
  return (
    <TextInput
      {...frame}
      id={idOf(path)}
      inputMode={attribute.type === 'float' || attribute.type === 'decimal' ? 'decimal' : 'numeric'}
      value={textOfNumber(field.value)}
      readOnly={readOnly}
      placeholder={field.value === null ? texts.none : ''}
      maw={320}
      onChange={(event) => onChange(valueField(numberOfText(event.currentTarget.value, isText)))}
      rightSection={<Clear field={field} onChange={onChange} readOnly={readOnly} name={attribute.name} />}
    />
  );
};

const BooleanControl = ({ path, field, onChange, readOnly, frame }: ScalarProps) => (
  <Framed path={path} frame={frame}>
    <SegmentedControl
      aria-labelledby={elementId(path, 'label')}
      aria-describedby={describedBy(path, frame)}
      readOnly={readOnly}
      value={field.value === null ? 'null' : String(field.value)}
      onChange={(next) => onChange(valueField(next === 'null' ? null : next === 'true'))}
      data={[
        { value: 'true', label: texts.yes },
        { value: 'false', label: texts.no },
        { value: 'null', label: texts.none },
      ]}
    />
  </Framed>
);

const EnumerationControl = ({ attribute, path, field, onChange, readOnly, frame }: ScalarProps) => {
  const values = attribute.enum ?? [];
  const value = textIn(field);
  return (
    <NativeSelect
      {...frame}
      id={idOf(path)}
      value={value}
      disabled={readOnly}
      maw={320}
      onChange={(event) => onChange(textField(event.currentTarget.value))}
    >
      <option value="">{texts.none}</option>
      {value !== '' && !values.includes(value) && <option value={value}>{texts.notListed(value)}</option>}
      {values.map((it) => (
        <option key={it} value={it}>
          {it}
        </option>
      ))}
    </NativeSelect>
  );
};

/** Null is "not changed": nothing is shown of what is stored. */
const PasswordControl = ({ path, field, onChange, readOnly, frame }: ScalarProps) => (
  <PasswordInput
    {...frame}
    description={
      <>
        {texts.password} {frame.description}
      </>
    }
    id={idOf(path)}
    value={textIn(field)}
    readOnly={readOnly}
    maw={400}
    autoComplete="new-password"
    onChange={(event) => onChange(textField(event.currentTarget.value))}
  />
);

/** A native date or time that is only partly filled in has no value: it says so once it loses the focus, or is to be saved. */
const useIncomplete = ({ field: { value }, onChange }: Pick<ScalarProps, 'field' | 'onChange'>) => {
  const [isFound, setFound] = useState(false);
  const [version, setVersion] = useState(0);
  const check = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }): void =>
    setFound(currentTarget.validity.badInput);
  const isIncomplete = isFound && value === null;
  /** A new input: this one would keep showing the parts that are filled in. */
  const clear: ScalarProps['onChange'] = (next) => {
    setVersion(version + 1);
    setFound(false);
    onChange(next);
  };
  return { isIncomplete, error: isIncomplete ? texts.incomplete : null, check, clear, key: version };
};

const DateControl = ({ attribute, path, field, onChange, readOnly, frame }: ScalarProps) => {
  const { isIncomplete, error, check, clear, key } = useIncomplete({ field, onChange });
  return (
    <TextInput
      key={key}
      {...frame}
      error={error ?? frame.error}
      id={idOf(path)}
      type="date"
      value={textIn(field)}
      readOnly={readOnly}
      maw={240}
      onBlur={check}
      onInvalid={check}
      onChange={(event) => onChange(textField(event.currentTarget.value))}
      rightSection={
        <Clear field={field} onChange={clear} readOnly={readOnly} name={attribute.name} isIncomplete={isIncomplete} />
      }
    />
  );
};

const TimeControl = ({ attribute, path, field, onChange, readOnly, frame }: ScalarProps) => {
  const { isIncomplete, error, check, clear, key } = useIncomplete({ field, onChange });
  return (
    <TextInput
      key={key}
      {...frame}
      error={error ?? frame.error}
      id={idOf(path)}
      type="time"
      step={stepOf(clockOfTime(textIn(field)), 1)}
      value={clockOfTime(textIn(field))}
      readOnly={readOnly}
      maw={240}
      onBlur={check}
      onInvalid={check}
      onChange={(event) => onChange(valueField(timeOf(event.currentTarget.value)))}
      rightSection={
        <Clear field={field} onChange={clear} readOnly={readOnly} name={attribute.name} isIncomplete={isIncomplete} />
      }
    />
  );
};

/** The clock of a zone, and below it the exact instant; or ISO 8601, also for years that no clock shows. */
const InstantControl = ({ attribute, path, field, onChange, readOnly, frame: given }: ScalarProps) => {
  const { isIncomplete, error, check, clear, key } = useIncomplete({ field, onChange });
  const frame = error === null ? given : { ...given, error };
  const [zone, setZone] = useState<Zone | 'text'>('local');
  const instant = storedInstant(field.value);
  const clock = instant && zone !== 'text' ? clockOf(instant, zone) : null;
  const isClock = zone !== 'text' && (field.value === null || clock !== null);
  const set = (next: Date | null): void =>
    onChange(valueField(next === null ? null : valueOfInstant(next, attribute.type)));
  return (
    <Framed path={path} frame={frame}>
      <Group gap="xs" wrap="wrap">
        <Input
          key={key}
          id={idOf(path)}
          aria-labelledby={elementId(path, 'label')}
          aria-describedby={describedBy(path, frame)}
          error={frame.error}
          type={isClock ? 'datetime-local' : 'text'}
          step={isClock ? stepOf(clock ?? '', 60) : undefined}
          miw={isClock ? undefined : 260}
          value={isClock ? (clock ?? '') : textIn(field)}
          readOnly={readOnly}
          onBlur={check}
          onInvalid={check}
          onChange={(event) => {
            const typed = event.currentTarget.value;
            if (zone === 'text' || !isClock) onChange(valueField(typed === '' ? null : typed));
            else set(typed === '' ? null : instantOf(typed, zone));
          }}
          rightSection={
            <Clear
              field={field}
              onChange={clear}
              readOnly={readOnly}
              name={attribute.name}
              isIncomplete={isIncomplete}
            />
          }
          rightSectionPointerEvents="all"
        />
        <NativeSelect
          aria-label={texts.zone(attribute.name)}
          value={zone}
          onChange={(event) => setZone(event.currentTarget.value as Zone | 'text')}
        >
          <option value="local">{zoneName(instant ?? new Date(), 'local')}</option>
          <option value="utc">{texts.utc}</option>
          <option value="text">{texts.asText}</option>
        </NativeSelect>
        {!readOnly && (
          <Button variant="default" onClick={() => set(new Date())} aria-label={texts.nowFor(attribute.name)}>
            {texts.now}
          </Button>
        )}
      </Group>
      {instant && (
        <Text size="xs" c="dimmed" mt={4}>
          {texts.exactly(instant.toISOString())}
        </Text>
      )}
    </Framed>
  );
};

// ---- loaded when a form has one

const waiting = <Skeleton height={120} />;
const JsonControl = lazyPart('JsonControl', async () => (await import('./JsonControl.js')).default, waiting);
const MarkdownControl = lazyPart(
  'MarkdownControl',
  async () => (await import('./MarkdownControl.js')).default,
  waiting,
);
const BlocksControl = lazyPart('BlocksControl', async () => (await import('./BlocksControl.js')).default, waiting);

const controls: Readonly<Record<ControlKind, ComponentType<ScalarProps>>> = {
  line: LineControl,
  lines: LinesControl,
  markdown: MarkdownControl,
  enumeration: EnumerationControl,
  password: PasswordControl,
  uid: UidControl,
  date: DateControl,
  time: TimeControl,
  instant: InstantControl,
  number: NumberControl,
  boolean: BooleanControl,
  json: JsonControl,
  blocks: BlocksControl,
};

export const ScalarControl = (props: ScalarProps) => {
  const Control = controls[controlKindOf(props.attribute)];
  return <Control {...props} />;
};
