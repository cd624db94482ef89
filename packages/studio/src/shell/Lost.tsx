import { Container, Stack, Title } from '@mantine/core';
import { AnchorLink } from '../parts/links.js';
import { words } from '../words/index.js';

export const Lost = () => (
  <Container component="main" size="sm" py="lg">
    <Stack gap="xs" align="start">
      <Title order={1}>{words.shell.fault.lost}</Title>
      <AnchorLink to="/">{words.shell.fault.toStart}</AnchorLink>
    </Stack>
  </Container>
);
