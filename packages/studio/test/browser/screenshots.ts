/** Where the pictures of a run are kept, for people to look at: STUDIO_SCREENSHOTS, or `.tmp/screenshots` here. */
import fs from 'node:fs';
import path from 'node:path';

export const screenshotsDir =
  process.env['STUDIO_SCREENSHOTS'] ?? path.join(import.meta.dirname, '../../.tmp/screenshots');

export default (): void => {
  fs.mkdirSync(screenshotsDir, { recursive: true });
  process.stdout.write(`screenshots are kept in ${screenshotsDir}\n`);
};
