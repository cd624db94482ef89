/** Which statements wait for rows that other transactions have locked. */
import { writesOf } from '../texts.js';

/**
 * Whether a statement writes or locks. A row alone may keep it for twice `limits.lockMsMax` (first the queue of those who want the row,
 * then the transaction that has it), and each further row again, so its statement timeout may fire before a lock timeout does.
 */
export const mayWait = (text: string): boolean => writesOf(text)?.size !== 0 || locking.test(text);

const locking = /\bfor (?:no key update|update|key share|share)\b|\bpg_advisory_xact_lock/;
