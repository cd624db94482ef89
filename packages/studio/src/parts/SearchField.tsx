/** A field that narrows a list down while it is typed in. */
import { TextInput, type TextInputProps } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';

export const SearchField = ({
  label,
  value,
  onSearch,
  ...field
}: Pick<TextInputProps, 'rightSection' | 'placeholder'> & {
  readonly label: string;
  readonly value: string;
  readonly onSearch: (text: string) => void;
}) => (
  <TextInput
    flex="1 1 180px"
    size="xs"
    type="search"
    aria-label={label}
    placeholder={label}
    leftSection={<IconSearch size={16} />}
    value={value}
    onChange={({ currentTarget: { value: text } }) => onSearch(text)}
    {...field}
  />
);
