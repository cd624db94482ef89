/**
 * Passwords as v4 stores them: bcrypt, `$2a$` (BO16). Hashing runs in Node's thread pool, which also
 * compresses responses and reads files, so it uses at most half of the threads.
 */
import { atMost } from '../concurrency.js';
import { limits } from '../limits.js';

/** Loaded when the first password comes: 3 MB that most processes never need. */
const bcrypt = async () => (await import('@node-rs/bcrypt')).default;

/** Runs the work when a thread is free, first come, first served. */
const withThread = atMost(limits.passwordThreadsMax);

/** @param rounds the cost, 4 to 31: each increment doubles the time. */
export const hashPassword = (password: string, rounds: number): Promise<string> =>
  withThread(async () => (await bcrypt()).hash(password, { cost: rounds, version: '2a' }));

/** Hash of an unknown password, so that an unknown user takes as long as a wrong password. */
const dummyHash = '$2b$10$VhpsRV8oRxDMrEmuNlrfV.cdXfTWQnjfjMLi34KaOKYTyM/2IrC.2';

/** Whether the text has the form of a hash. */
export const isBcrypt = (text: string): boolean => /^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/.test(text);

/**
 * Whether the hash is one of the password. Takes the same time if there is no hash to compare with.
 * @param hash as stored; null for users without a password.
 */
export const isPassword = async (password: string, hash: string | null): Promise<boolean> => {
  const isHash = hash !== null && isBcrypt(hash);
  const isRight = await withThread(async () => (await bcrypt()).verify(password, isHash ? hash : dummyHash));
  return isHash && isRight;
};

/** bcrypt ignores everything beyond its last byte. */
export const fitsBcrypt = (password: string): boolean => Buffer.byteLength(password) <= limits.passwordBytesMax;
