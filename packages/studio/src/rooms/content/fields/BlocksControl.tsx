/** v4's blocks: its editor's document is what Slate edits, so that nothing is converted. Other documents are edited as JSON. */
import { Text } from '@mantine/core';
import { useMemo } from 'react';
import { words } from '../../../words/index.js';
import { BlocksEditor } from './BlocksEditor.js';
import { blocksOf, valueOfBlocks } from './block-nodes.js';
import { describedBy, Framed } from './Framed.js';
import { elementId } from './form-context.js';
import { JsonControl } from './JsonControl.js';
import type { ScalarProps } from './scalar-control.js';

const texts = words.content.controls.blocks;

export const BlocksControl = (props: ScalarProps) => {
  const { path, field, onChange, readOnly, frame } = props;
  const nodes = useMemo(() => (field.unread === undefined ? blocksOf(field.value) : null), [field]);
  if (nodes === null)
    return (
      <>
        <JsonControl {...props} />
        <Text size="xs" mt={4} c="dimmed">
          {texts.asJson}
        </Text>
      </>
    );
  return (
    <Framed path={path} frame={frame}>
      <BlocksEditor
        nodes={nodes}
        onChange={(next) => onChange({ kind: 'scalar', value: valueOfBlocks(next, field.value) })}
        readOnly={readOnly}
        labelledBy={elementId(path, 'label')}
        describedBy={describedBy(path, frame)}
      />
    </Framed>
  );
};
export default BlocksControl;
