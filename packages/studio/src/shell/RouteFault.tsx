import { Container, Title } from '@mantine/core';
import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import { Fault } from '../parts/Fault.js';
import { words } from '../words/index.js';

/** In the place of a room that could not be shown. */
export const RoomFault = ({ error, reset }: ErrorComponentProps) => {
  const router = useRouter();
  const again = (): void => {
    reset();
    void router.invalidate();
  };
  return (
    <Container size="sm" py="lg">
      <Title order={1} mb="sm">
        {words.shell.fault.title}
      </Title>
      <Fault fault={error} onRetry={again} />
    </Container>
  );
};

/** The same for the whole page. */
export const PageFault = (props: ErrorComponentProps) => (
  <main>
    <RoomFault {...props} />
  </main>
);
