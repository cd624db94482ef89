/** A value in a list. */
import { Code, Text } from '@mantine/core';
import type { Attribute, Model } from '../../../model/model.js';
import { Instant } from '../../../parts/Instant.js';
import type { MediaFile } from '../../../parts/media/files.js';
import { Picture } from '../../../parts/media/Picture.js';
import { words } from '../../../words/index.js';
import { storedInstant } from '../fields/instants.js';
import { attributesOf, idOf, type Json, relatedRows, rowsOf } from '../form/fields.js';

const texts = words.content;
const TEXT_MAX = 90;

export const Cell = ({
  model,
  attribute,
  value,
}: {
  readonly model: Model;
  readonly attribute: Attribute;
  readonly value: unknown;
}) => {
  switch (attribute.kind) {
    case 'media': {
      const [row] = rowsOf(value);
      if (row === undefined) return <None />;
      const count = rowsOf(value).length;
      return (
        <>
          <Picture file={{ ...attributesOf(row), id: idOf(row) ?? 0 } as unknown as MediaFile} size="row" />
          {count > 1 && ` +${count - 1}`}
        </>
      );
    }
    case 'relation': {
      const [row] = relatedRows(model, attribute, value);
      if (row === undefined) return <None />;
      const { firstname, lastname } = attributesOf(rowsOf(value)[0]) as { firstname?: string; lastname?: string };
      // administrators are people
      const person = [firstname, lastname].filter(Boolean).join(' ');
      return <bdi>{person === '' ? row.title : person}</bdi>;
    }
    default:
      return <Scalar attribute={attribute} value={value as Json | undefined} />;
  }
};

const Scalar = ({ attribute, value }: { readonly attribute: Attribute; readonly value: Json | undefined }) => {
  if (value === null || value === undefined) return <None />;
  if (typeof value === 'boolean') return <>{value ? texts.controls.yes : texts.controls.no}</>;
  const instant = attribute.family === 'instant' ? storedInstant(value) : null;
  if (instant) return <Instant value={instant.toISOString()} />;
  if (typeof value === 'object') return <Code>{shortened(JSON.stringify(value))}</Code>;
  return <bdi>{shortened(String(value))}</bdi>;
};

const shortened = (text: string): string => (text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text);

const None = () => (
  <Text component="span" c="dimmed" aria-label={texts.controls.none}>
    –
  </Text>
);

/** Numbers line up at the right. */
export const isNumeric = ({ family, kind }: Attribute): boolean => kind === 'scalar' && family === 'number';
