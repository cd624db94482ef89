/** A part of a page in a frame, with its heading. */
import { Paper, Title } from '@mantine/core';
import type { ReactNode } from 'react';

export const Section = ({ title, children }: { readonly title: string; readonly children: ReactNode }) => (
  <Paper component="section" withBorder p="md" aria-label={title}>
    <Title order={2} size="h3" mb="sm">
      {title}
    </Title>
    {children}
  </Paper>
);
