/** The attributes of an entry or a component, one below the other. */
import { Stack } from '@mantine/core';
import { memo } from 'react';
import { type Attribute, ownAttributes, type Type } from '../../../model/model.js';
import type { FieldPath, Fields, Json } from '../form/fields.js';
import { pathTo } from '../form/paths.js';
import { FieldView } from './FieldView.js';

export const FieldsView = memo(
  ({ type, path, fields }: { readonly type: Type; readonly path: FieldPath; readonly fields: Fields }) => (
    <Stack gap="lg">
      {ownAttributes(type).map((attribute) => (
        <FieldView
          key={attribute.name}
          attribute={attribute}
          owner={type}
          path={pathTo(path, attribute.name)}
          field={fields[attribute.name]}
          target={targetOf(attribute, fields)}
        />
      ))}
    </Stack>
  ),
);
FieldsView.displayName = 'FieldsView';

const targetOf = ({ targetField }: Attribute, fields: Fields): Json | undefined => {
  const field = targetField === null ? undefined : fields[targetField];
  return field?.kind === 'scalar' ? field.value : undefined;
};
