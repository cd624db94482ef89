/** In place of a page that does not exist. */
import { Container, Stack, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { AnchorLink } from '../parts/links.js';
import { words } from '../words/index.js';

const { fault: texts, pageTitle } = words.shell;

export const Lost = () => {
  useDocumentTitle(pageTitle(texts.lost));
  return (
    <Container component="main" size="sm" py="lg">
      <Stack gap="xs" align="start">
        <Title order={1}>{texts.lost}</Title>
        <AnchorLink to="/">{texts.toStart}</AnchorLink>
      </Stack>
    </Container>
  );
};
