/** The bar with its rooms, around each of them. */
import { Alert } from '@mantine/core';
import { useDocumentTitle, useNetwork } from '@mantine/hooks';
import { IconWifiOff } from '@tabler/icons-react';
import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { Suspense } from 'react';
import { Waiting } from '../parts/Waiting.js';
import { useAdministrator, useHasEnded } from '../server/queries.js';
import { SignInAgain } from '../session/SignInAgain.js';
import { words } from '../words/index.js';
import { AccountMenu } from './AccountMenu.js';
import { AsMenu } from './AsMenu.js';
import { FindButton } from './FindButton.js';
import { roomId } from './focus.js';
import { LocaleMenu } from './LocaleMenu.js';
import { useOpenPage } from './page-title.js';
import { rooms } from './rooms.js';
import { SchemeMenu } from './SchemeMenu.js';

const texts = words.shell;

export const Frame = () => {
  const { pathname } = useLocation();
  const room = rooms.find((it) => pathname === `/${it}` || pathname.startsWith(`/${it}/`));
  const page = useOpenPage() ?? (room ? texts.rooms[room] : null);
  useDocumentTitle(page === null ? texts.name : texts.pageTitle(page));
  const { online } = useNetwork();
  const who = useAdministrator();
  const hasEnded = useHasEnded();
  return (
    <div className="frame">
      <a className="skip" href={`#${roomId}`}>
        {texts.skip}
      </a>
      <header className="bar">
        <div className="bar-line">
          <Link to="/" className="brand">
            <img src="./icon.svg" alt="" width={20} height={20} />
            <span className="wide">{texts.name}</span>
          </Link>
          <nav className="rooms" aria-label={texts.roomsLabel}>
            {rooms.map((it) => (
              <Link key={it} to={`/${it}`} className="room-link">
                {texts.rooms[it]}
              </Link>
            ))}
          </nav>
          <div className="menus">
            <FindButton />
            <AsMenu />
            <LocaleMenu />
            <SchemeMenu />
            <AccountMenu />
          </div>
        </div>
        {!online && (
          <Alert color="yellow" icon={<IconWifiOff />} radius={0} role="status">
            {texts.offlineBar}
          </Alert>
        )}
      </header>
      <main id={roomId} className="room" tabIndex={-1}>
        <Suspense fallback={<Waiting />}>
          <Outlet />
        </Suspense>
      </main>
      {hasEnded && who !== null && <SignInAgain email={who.email} />}
    </div>
  );
};
