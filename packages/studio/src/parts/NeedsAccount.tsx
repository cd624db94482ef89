/** In the place of a room that shows nothing to the public: what signing in would show. */
import { useLocation } from '@tanstack/react-router';
import { words } from '../words/index.js';
import { EmptyState } from './EmptyState.js';
import { ButtonLink } from './links.js';

export const NeedsAccount = ({ title, text }: { readonly title: string; readonly text: string }) => {
  const { href } = useLocation();
  return (
    <EmptyState title={title} level={1} text={text}>
      <ButtonLink to="/sign-in" search={{ to: href }}>
        {words.shell.account.signIn}
      </ButtonLink>
    </EmptyState>
  );
};
