/** The dialog that picks files, loaded when it is first opened. */
import { lazyDialog } from '../lazy-part.js';

export const MediaPicker = lazyDialog('MediaPicker', async () => (await import('./MediaPicker.js')).MediaPicker);
