/** The entry of the page: styles that everything has, and the app in its element. */
import '@mantine/core/styles.css';
import './shell/shell.css';
import { setNonce } from 'get-nonce';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { watchLoading } from './parts/not-loaded.js';
import { App } from './shell/App.js';
import { styleNonce } from './shell/theme.js';

// dialogs keep the page behind them from scrolling by a style of their own (react-remove-scroll)
setNonce(styleNonce());

watchLoading();

createRoot(document.getElementById('studio')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
