/** What a save sends for one list, as the documentation writes it. */
import { Button, Code, CopyButton, Group, Stack, Text } from '@mantine/core';
import type { Attribute, Type } from '../../../model/model.js';
import { useModel } from '../../../server/queries.js';
import { words } from '../../../words/index.js';
import type { FieldPath } from '../form/fields.js';
import { pathOf } from '../requests.js';
import { type ListEdit, listBody } from './relation-edit.js';

const texts = words.relations.body;

export const BodyView = ({
  type,
  id,
  path,
  attribute,
  edit,
}: {
  readonly type: Type;
  readonly id: number | null;
  readonly path: FieldPath;
  readonly attribute: Attribute;
  readonly edit: ListEdit;
}) => {
  const model = useModel();
  const value = { [attribute.name]: listBody(edit) };
  const isInside = path.includes('/');
  const isNew = id === null && type.kind !== 'single';
  const line = `${isNew ? 'POST' : 'PUT'} ${model.prefix}${pathOf(model, type, id)}`;
  const body = printed(isInside ? value : { data: value });
  return (
    <Stack gap={4} component="section" aria-label={texts.label}>
      <Group justify="space-between">
        <Text size="sm" fw={600}>
          {texts.label}
        </Text>
        <CopyButton value={body}>
          {({ copied, copy }) => (
            <Button size="compact-xs" variant="default" onClick={copy}>
              {copied ? texts.copied : texts.copy}
            </Button>
          )}
        </CopyButton>
      </Group>
      {isInside && (
        <Text size="xs" c="dimmed">
          {texts.inside}
        </Text>
      )}
      <Code block className="related-body" tabIndex={0}>
        {isInside ? body : `${line}\n\n${body}`}
      </Code>
    </Stack>
  );
};

/** One element on a line, as in the documentation. */
export const printed = (value: unknown, depth = 0): string => {
  const indent = '  '.repeat(depth + 1);
  if (Array.isArray(value) && value.length > 1)
    return `[\n${value.map((it) => indent + oneLine(it)).join(',\n')}\n${'  '.repeat(depth)}]`;
  if (value !== null && typeof value === 'object' && !Array.isArray(value) && oneLine(value).length > 72)
    return `{\n${Object.entries(value)
      .map(([key, it]) => `${indent}${JSON.stringify(key)}: ${printed(it, depth + 1)}`)
      .join(',\n')}\n${'  '.repeat(depth)}}`;
  return oneLine(value);
};

const oneLine = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`;
  if (value !== null && typeof value === 'object')
    return `{ ${Object.entries(value)
      .map(([key, it]) => `${JSON.stringify(key)}: ${oneLine(it)}`)
      .join(', ')} }`;
  return JSON.stringify(value);
};
