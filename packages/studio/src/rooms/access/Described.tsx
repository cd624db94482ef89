/** The name and the description of a role or a token. */
import { Textarea, TextInput } from '@mantine/core';
import { words } from '../../words/index.js';

const texts = words.access.described;

interface Description {
  readonly name: string;
  readonly description: string;
}

export const Described = ({
  form,
  onForm,
}: {
  readonly form: Description;
  readonly onForm: (next: Partial<Description>) => void;
}) => (
  <>
    <TextInput
      label={texts.name}
      required
      data-autofocus
      value={form.name}
      onChange={({ currentTarget: { value } }) => onForm({ name: value })}
    />
    <Textarea
      label={texts.description}
      autosize
      value={form.description}
      onChange={({ currentTarget: { value } }) => onForm({ description: value })}
    />
  </>
);
