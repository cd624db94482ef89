/** Who may do what: roles, users, API tokens, administrators. */
import { Title } from '@mantine/core';
import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { NeedsAccount } from '../../parts/NeedsAccount.js';
import { useAdministrator } from '../../server/queries.js';
import { usePageTitle } from '../../shell/page-title.js';
import { words } from '../../words/index.js';
import styles from './access.module.css';

const texts = words.access;
const pages = ['roles', 'users', 'tokens', 'administrators'] as const;

export const Access = () => {
  const { pathname } = useLocation();
  const page = pages.find((it) => pathname.startsWith(`/access/${it}`));
  usePageTitle(page === undefined ? texts.title : words.shell.pageOf(texts.pages[page], texts.title));
  if (useAdministrator() === null) return <NeedsAccount title={texts.title} text={texts.signIn} />;
  return (
    <>
      <Title order={1} mb={4}>
        {texts.title}
      </Title>
      <nav className={styles['tabs']} aria-label={texts.pagesLabel}>
        {pages.map((it) => (
          <Link key={it} to={`/access/${it}`}>
            {texts.pages[it]}
          </Link>
        ))}
      </nav>
      <Outlet />
    </>
  );
};
