/** Where a list would be and nothing is: what that means, and what to do next. */
import { Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

export const EmptyState = ({
  title,
  level = 2,
  text,
  children,
}: {
  readonly title: string;
  /** 1 if it is all of the page. */
  readonly level?: 1 | 2;
  readonly text?: string;
  /** What to do next: buttons or links. */
  readonly children?: ReactNode;
}) => (
  <Stack align="center" gap="xs" py="xl" ta="center">
    <Title order={level} size="h3">
      {title}
    </Title>
    {text && (
      <Text c="dimmed" maw={480}>
        {text}
      </Text>
    )}
    {children}
  </Stack>
);
