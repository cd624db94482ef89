/** Signing out is a page, because whoever has unsaved work is asked before a page is left. */
import { Container, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useNavigate, useRouterState } from '@tanstack/react-router';
import { useCallback, useEffect, useState } from 'react';
import { Fault } from '../parts/Fault.js';
import { Waiting } from '../parts/Waiting.js';
import { words } from '../words/index.js';
import { signOut } from './session.js';

declare module '@tanstack/history' {
  interface HistoryState {
    /** Set by the menu: a link from elsewhere to this page signs nobody out. */
    readonly isSigningOut?: boolean;
  }
}

export const SignOut = () => {
  useDocumentTitle(words.shell.pageTitle(words.shell.account.signOut));
  const navigate = useNavigate();
  const isMeant = useRouterState({ select: ({ location }) => location.state.isSigningOut === true });
  const [fault, setFault] = useState<unknown>(null);
  const leave = useCallback(async () => {
    setFault(null);
    try {
      if (isMeant) await signOut();
      await navigate({ to: '/', replace: true });
    } catch (found) {
      setFault(found);
    }
  }, [isMeant, navigate]);
  useEffect(() => void leave(), [leave]);
  return (
    <Container component="main" size="xs" py="lg">
      <Title order={1}>{words.shell.account.signOut}</Title>
      {fault === null ? <Waiting rows={1} /> : <Fault fault={fault} onRetry={() => void leave()} />}
    </Container>
  );
};
