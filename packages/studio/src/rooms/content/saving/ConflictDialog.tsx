/** Two people have changed one entry: what differs, attribute by attribute, and whose value is to stand. */
import { Badge, Button, Group, Modal, SegmentedControl, Stack, Table, Text } from '@mantine/core';
import { useMemo, useState } from 'react';
import { type Model, typeOf } from '../../../model/model.js';
import { useModel } from '../../../server/queries.js';
import { words } from '../../../words/index.js';
import type { Field, FieldPath } from '../form/fields.js';
import { titleOf } from '../relations/source.js';
import { type Choice, conflictOf, usualChoice } from './conflict.js';
import type { Clash } from './use-saving.js';

const texts = words.relations.conflict;

export const ConflictDialog = ({
  clash,
  onResolve,
  onCancel,
}: {
  readonly clash: Clash;
  /** @param choices by path, where they are not the usual ones. */
  readonly onResolve: (choices: ReadonlyMap<FieldPath, Choice>) => void;
  readonly onCancel: () => void;
}) => {
  const model = useModel();
  const { base, mine, theirs, isInForm } = clash;
  const differences = useMemo(() => conflictOf(base, mine, theirs.fields), [base, mine, theirs]);
  const [choices, setChoices] = useState<ReadonlyMap<FieldPath, Choice>>(new Map());
  const by = theirs.updatedBy?.name;
  const isContested = differences.some((it) => it.by === 'both');
  const isUnseen = isInForm && differences.every((it) => it.by === 'mine');
  return (
    <Modal closeButtonProps={{ 'aria-label': texts.later }} opened onClose={onCancel} title={texts.title} size="xl">
      <Stack gap="md">
        {/* not the button that closes it, which stands before it */}
        <Text size="sm" tabIndex={-1} data-autofocus className="conflict-lead">
          {by ? texts.leadBy(by) : texts.lead} {isContested ? texts.contested : texts.apart}
        </Text>
        {isUnseen && <Text size="sm">{texts.unseen}</Text>}
        {!isInForm && <Text size="sm">{texts.kept}</Text>}
        {differences.length > 0 && (
          <Table.ScrollContainer minWidth={620}>
            <Table verticalSpacing="xs" layout="fixed">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th w={200}>{texts.attribute}</Table.Th>
                  <Table.Th>{texts.base}</Table.Th>
                  <Table.Th>{texts.theirs}</Table.Th>
                  <Table.Th>{texts.mine}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {differences.map(({ path, by: changedBy, ...values }) => (
                  <Table.Tr key={path}>
                    <Table.Th scope="row">
                      {nameAt(model, path)}
                      <Text size="xs" c="dimmed" fw={400}>
                        {texts.changedBy[changedBy]}
                      </Text>
                      <SegmentedControl
                        fullWidth
                        mt={4}
                        size="xs"
                        aria-label={texts.chooseFor(nameAt(model, path))}
                        value={choices.get(path) ?? usualChoice(changedBy)}
                        onChange={(value) => setChoices(new Map([...choices, [path, value as Choice]]))}
                        data={[
                          ...(changedBy === 'apart' ? [{ value: 'all', label: texts.all }] : []),
                          { value: 'theirs', label: texts.theirs },
                          { value: 'mine', label: texts.mine },
                        ]}
                      />
                      {values.theirs === undefined && hasList(values.mine) && (
                        <Text size="xs" fw={400} mt={4}>
                          {texts.comesBack}
                        </Text>
                      )}
                    </Table.Th>
                    <Table.Td>
                      <Value field={values.base} />
                    </Table.Td>
                    <Table.Td>
                      <Value field={values.theirs} isSame={changedBy === 'mine'} />
                    </Table.Td>
                    <Table.Td>
                      <Value field={values.mine} isSame={changedBy === 'theirs'} />
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        )}
        <Group gap="xs">
          <Button onClick={() => onResolve(choices)}>{texts.goOn}</Button>
          <Button variant="default" onClick={onCancel}>
            {texts.later}
          </Button>
        </Group>
        <Text size="xs" c="dimmed">
          {texts.hint}
        </Text>
      </Stack>
    </Modal>
  );
};

/** Components are named by their types: at every second place of a path stands `<component>:<id>`. */
const nameAt = (model: Model, path: FieldPath): string =>
  path
    .split('/')
    .map((name, i) => (i % 2 === 0 ? name : componentName(model, name.split(':')[0]!)))
    .join(' › ');

const componentName = (model: Model, uid: string): string => typeOf(model, uid)?.displayName ?? uid;

/** Whether it has a list that is read in windows: what it held is not known any more. */
const hasList = (field: Field | undefined): boolean =>
  field?.kind === 'relation'
    ? field.stored === null
    : field?.kind === 'parts' && field.parts.some(({ fields }) => Object.values(fields).some(hasList));

const Value = ({ field, isSame = false }: { readonly field: Field | undefined; readonly isSame?: boolean }) => {
  const model = useModel();
  if (isSame)
    return (
      <Text size="sm" c="dimmed">
        {texts.asBefore}
      </Text>
    );
  if (field === undefined) return <Badge variant="default">{texts.gone}</Badge>;
  const text = textOf(model, field);
  return (
    <Text size="sm" lineClamp={8} className="conflict-value">
      {text === '' ? texts.nothing : text}
    </Text>
  );
};

const textOf = (model: Model, field: Field): string => {
  switch (field.kind) {
    case 'scalar':
      if (field.unread !== undefined) return field.unread;
      return typeof field.value === 'string' ? field.value : field.value === null ? '' : JSON.stringify(field.value);
    case 'media':
      return field.files.map(({ name }) => name).join(', ');
    case 'parts':
      return field.parts
        .map(({ component, fields }) => {
          const inner = Object.values(fields)
            .map((it) => textOf(model, it))
            .filter((it) => it !== '');
          return `${componentName(model, component)}: ${inner.join(' · ')}`;
        })
        .join('\n');
    case 'relation': {
      const rows =
        field.edit === null
          ? (field.stored ?? [])
          : field.edit.kind === 'one'
            ? field.edit.row
              ? [field.edit.row]
              : []
            : field.edit.kind === 'morph'
              ? field.edit.rows
              : Object.values(field.edit.rows);
      return rows.map(titleOf).join(', ');
    }
  }
};
