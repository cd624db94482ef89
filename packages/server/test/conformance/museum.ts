/** Rules of the museum's cases that are not supported yet; their cases are skipped until they are. */
import type { Case } from './cases.js';

const pending = new Set(['multipart']);

/** Cases of supported rules that need something else: the entries that use a file, and files sent with an entry. */
const pendingCases = new Set([
  ...['upload-read-030', 'upload-read-040', 'upload-read-041', 'upload-read-042', 'upload-ref-w07', 'upload-ref-w08'],
  ...['c-upload-read-029', 'c-upload-read-039'],
  'i18n-localization-w33',
  ...['c-upload-order-002', 'c-upload-order-003', 'c-upload-order-004'],
]);

export const isServed = ({ id, rule }: Case): boolean => !pending.has(rule) && !pendingCases.has(id);
