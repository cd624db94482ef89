/** JSON as text, which stays as it was typed for as long as it means the value. */
import { Button, Text } from '@mantine/core';
import { useRef } from 'react';
import { words } from '../../../words/index.js';
import { inexactIn } from '../form/digits.js';
import type { ScalarField } from '../form/fields.js';
import { isSameJson } from '../form/paths.js';
import { CodeEditor } from './CodeEditor.js';
import { describedBy, Framed } from './Framed.js';
import { elementId } from './form-context.js';
import { fieldOfText, repeatedNames, textOfJson } from './json-text.js';
import type { ScalarProps } from './scalar-control.js';

const texts = words.content.controls.json;

export const JsonControl = ({ path, field, onChange, readOnly, frame }: ScalarProps) => {
  const typed = useRef<{ readonly text: string; readonly field: ScalarField } | null>(null);
  // what was typed stays as it was typed, for as long as it means the value
  const isTyped =
    typed.current !== null &&
    typed.current.field.unread === field.unread &&
    isSameJson(typed.current.field.value, field.value);
  const text = isTyped && typed.current ? typed.current.text : (field.unread ?? textOfJson(field.value));
  const change = (next: string): void => {
    const made = fieldOfText(next, field.value);
    typed.current = { text: next, field: made };
    onChange(made);
  };
  const repeated = isTyped && field.unread === undefined ? repeatedNames(text) : [];
  const inexact = field.unread === undefined ? null : inexactIn(field.unread);
  const reason = inexact === null ? texts.unread : texts.inexact(inexact);
  // as it was read, it is kept: only what is changed is sent
  const isStored = inexact !== null && typed.current === null;
  return (
    <Framed
      path={path}
      frame={field.unread === undefined ? frame : { ...frame, error: isStored ? frame.error : reason }}
      side={
        !readOnly &&
        field.unread === undefined &&
        text !== textOfJson(field.value) && (
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => {
              typed.current = null;
              onChange({ ...field });
            }}
          >
            {texts.tidy}
          </Button>
        )
      }
    >
      <CodeEditor
        id={elementId(path)}
        value={text}
        onChange={change}
        readOnly={readOnly}
        labelledBy={elementId(path, 'label')}
        describedBy={describedBy(path, frame)}
      />
      {repeated.length > 0 && (
        <Text size="xs" mt={4} role="status">
          {texts.repeated(repeated)}
        </Text>
      )}
      {isStored && (
        <Text size="xs" mt={4} role="note">
          {texts.keepsDigits(inexact)}
        </Text>
      )}
    </Framed>
  );
};
export default JsonControl;
