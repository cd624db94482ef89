/** A relation in a form: a list to put in order, one entry to pick, or entries of any type. */
import { Stack, Text } from '@mantine/core';
import { typeOf } from '../../../model/model.js';
import { useModel } from '../../../server/queries.js';
import { words } from '../../../words/index.js';
import { ListField } from './ListField.js';
import { MorphField } from './MorphField.js';
import { OneField } from './OneField.js';
import type { RelationFieldProps } from './relation-field.js';

export const RelationField = (props: RelationFieldProps) => {
  const { attribute } = props;
  const model = useModel();
  if (attribute.kind === 'morph') return <MorphField {...props} />;
  const target = typeOf(model, attribute.relation?.target ?? '');
  // the form says which permission would open it
  if (target === null || attribute.relation === null)
    return (
      <Stack gap={4} role="group" aria-labelledby={props.labelId}>
        <Text size="sm" c="dimmed">
          {words.relations.unknownTarget}
        </Text>
      </Stack>
    );
  return attribute.relation.list ? (
    <ListField {...props} target={target} isOrdered={attribute.relation.ordered} />
  ) : (
    <OneField {...props} target={target} />
  );
};
