/** What stands in the place of a page that could not be shown. */
import { Container, Title } from '@mantine/core';
import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import { Fault } from '../parts/Fault.js';
import { words } from '../words/index.js';
import { usePageTitle } from './page-title.js';

const { title } = words.shell.fault;

/** In the place of a room, or of a page of it. */
export const PageFault = ({ fault, onRetry }: { readonly fault: unknown; readonly onRetry: () => void }) => {
  usePageTitle(title);
  return (
    <Container size="sm" py="lg">
      <Title order={1} mb="sm">
        {title}
      </Title>
      <Fault fault={fault} onRetry={onRetry} />
    </Container>
  );
};

/** Of a room that failed while it was loaded or drawn. */
export const RoomFault = ({ error, reset }: ErrorComponentProps) => {
  const router = useRouter();
  const again = (): void => {
    reset();
    void router.invalidate();
  };
  return <PageFault fault={error} onRetry={again} />;
};

/** The same without the bar. */
export const BareFault = (props: ErrorComponentProps) => (
  <main>
    <RoomFault {...props} />
  </main>
);
