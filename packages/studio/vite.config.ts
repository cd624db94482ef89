import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Where `npm run dev` sends requests that are not the Studio's own. */
const server = process.env['DOVETAIL_URL'] ?? 'http://127.0.0.1:1337';

export default defineConfig(({ command }) => ({
  // relative, so that the files work below any path; index.html has a <base> that the server sets
  base: command === 'build' ? './' : '/studio/',
  plugins: [react()],
  // the server puts the nonce of its Content-Security-Policy in the place of this text
  ...(command === 'build' ? { html: { cspNonce: '__CSP_NONCE__' } } : {}),
  // the worker that lays out the map
  worker: { format: 'es' },
  build: {
    target: 'es2022',
    manifest: true,
    // every script and font is a file: the policy allows no data: URLs but for images
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2000,
  },
  server: {
    proxy: Object.fromEntries(['/api', '/admin', '/_dovetail', '/uploads', '/_health'].map((it) => [it, server])),
  },
}));
