/** A JSON value as text. */
import { Code, ScrollArea } from '@mantine/core';

export const Json = ({ value, label }: { readonly value: unknown; readonly label?: string }) => (
  <ScrollArea type="auto">
    <Code block aria-label={label}>
      {JSON.stringify(value, null, 2)}
    </Code>
  </ScrollArea>
);
