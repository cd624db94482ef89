/** One attribute in a form: its label, its control, and what is wrong with it. */
import { Code, Group, Input, Text } from '@mantine/core';
import { IconLock } from '@tabler/icons-react';
import { memo, use, useCallback, useMemo } from 'react';
import { type Attribute, mayWrite, type Type } from '../../../model/model.js';
import { words } from '../../../words/index.js';
import type { Field, FieldPath, Json, MediaField, PartsField } from '../form/fields.js';
import { isWriteOnly } from '../form/fields.js';
import { RelationField } from '../relations/RelationField.js';
import { ScalarControl } from './controls.js';
import { type Frame, Framed } from './Framed.js';
import { elementId, LockedContext, MarksContext, useForm } from './form-context.js';
import { hintsOf } from './hints.js';
import { MediaControl } from './MediaControl.js';
import { PartsControl } from './PartsControl.js';

const texts = words.content.fields;

interface FieldViewProps {
  readonly attribute: Attribute;
  /** The type or component that has it. */
  readonly owner: Type;
  readonly path: FieldPath;
  /** Undefined: it cannot be read. */
  readonly field: Field | undefined;
  /** The value that a uid is made from. */
  readonly target: Json | undefined;
}

export const FieldView = memo(({ attribute, owner, path, field, target }: FieldViewProps) => {
  const { type, id, locale, readOnly: why, writing, mayChange, dispatch } = useForm();
  const isLocked = use(LockedContext);
  const { faults, conflicts } = use(MarksContext);
  const messages = faults[path];
  const isConflict = conflicts.includes(path);
  const readOnly =
    why ??
    (!isLocked && mayWrite(attribute, writing) && (path.includes('/') || mayChange(attribute.name))
      ? null
      : texts.notWritable(attribute.lockedBy));
  const change = useCallback((next: Field) => dispatch({ kind: 'set', path, field: next }), [dispatch, path]);

  const hints = hintsOf(attribute, owner, field);
  // what holds for the whole form, or for the component around, is said above it
  const locked = why === null && !isLocked ? readOnly : null;
  const frame: Frame = useMemo(
    () => ({
      label: attribute.name,
      description:
        hints === '' && locked === null && !isConflict ? undefined : (
          <>
            {hints}
            {locked !== null && (
              <Group component="span" gap={4} wrap="nowrap">
                <IconLock size={12} aria-hidden />
                {locked}
              </Group>
            )}
            {isConflict && (
              <Text component="span" size="xs" fw={600} display="block">
                {texts.conflict}
              </Text>
            )}
          </>
        ),
      error: messages?.join(' '),
      withAsterisk: attribute.required,
    }),
    [attribute, hints, locked, isConflict, messages],
  );

  if (field === undefined) return <Unreadable attribute={attribute} />;
  switch (field.kind) {
    case 'scalar':
      return (
        <ScalarControl
          attribute={attribute}
          owner={owner}
          path={path}
          field={field}
          onChange={change}
          readOnly={readOnly !== null}
          frame={frame}
          target={target}
        />
      );
    case 'media':
      return (
        <MediaControl
          attribute={attribute}
          path={path}
          field={field satisfies MediaField}
          onChange={change}
          readOnly={readOnly !== null}
          frame={frame}
        />
      );
    case 'parts':
      return (
        <PartsControl
          attribute={attribute}
          path={path}
          field={field satisfies PartsField}
          onChange={change}
          readOnly={readOnly !== null}
          frame={frame}
        />
      );
    case 'relation':
      return (
        <Framed path={path} frame={frame}>
          <RelationField
            attribute={attribute}
            type={owner}
            entry={{ type, id, locale }}
            path={path}
            field={field}
            onChange={(edit) => change({ ...field, edit })}
            readOnly={readOnly}
            faults={messages ?? []}
            labelId={elementId(path, 'label')}
            describedBy={frame.error ? elementId(path, 'error') : undefined}
          />
        </Framed>
      );
  }
});
FieldView.displayName = 'FieldView';

const Unreadable = ({ attribute }: { readonly attribute: Attribute }) => (
  <div>
    <Input.Label labelElement="div">{attribute.name}</Input.Label>
    <Group gap={4} c="dimmed" wrap="nowrap">
      <IconLock size={14} aria-hidden />
      <Text size="sm">
        {reasonOf(attribute)} {attribute.lockedBy !== null && <Code>{attribute.lockedBy}</Code>}
      </Text>
    </Group>
  </div>
);

const reasonOf = (attribute: Attribute): string => {
  if (!attribute.mayRead || isWriteOnly(attribute)) return texts.notReadable;
  return attribute.mayWrite ? texts.notShown : texts.notWritable(null);
};
