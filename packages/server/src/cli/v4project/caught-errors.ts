/** Whether a file goes on where something in it has thrown an error, as far as its text shows: what it guards would be open to all. */

/** @param code without comments and texts. @param place of the file, as v4 names folders. */
export const goesOnAfterErrors = (code: string, place: string): boolean =>
  elsewhere.test(code) || [...code.matchAll(/\bcatch\s*(?=[({])/g)].some((it) => !refuses(blockAt(code, it), place));

const elsewhere = new RegExp(
  [
    String.raw`\.\s*catch\b`,
    String.raw`\bfinally\s*\{[^{}]*\breturn\b`,
    String.raw`\ballSettled\s*\(|\b_\s*\.\s*attempt\s*\(`,
    // a second argument
    String.raw`\.\s*then\s*\((?:[^(),[\]{}]|\([^()]*\)|\[[^[\]]*\]|\{[^{}]*\})*,`,
  ].join('|'),
);

interface Block {
  /** All of it, between its braces. */
  readonly inside: string;
  /** Without what stands in braces. */
  readonly top: string;
}

/** The block of a `catch`; null if its text does not show where it ends. */
const blockAt = (code: string, { index, 0: word }: RegExpExecArray): Block | null => {
  const head = /(?:\([^()]*\)\s*)?\{/y;
  head.lastIndex = index + word.length;
  if (!head.test(code)) return null;
  const start = head.lastIndex;
  let top = '';
  let depth = 0;
  for (let at = start; at < code.length; at += 1) {
    const character = code[at]!;
    if (character === '}') depth -= 1;
    if (depth < 0) return { inside: code.slice(start, at), top };
    if (depth === 0) top += character;
    if (character === '{') depth += 1;
  }
  return null;
};

/** Whether the block ends in an error or a refusal, whatever happens in it. */
const refuses = (block: Block | null, place: string): boolean => {
  if (block === null) return false;
  const returned = place.includes('policies/')
    ? String.raw`false\b`
    : String.raw`ctx\s*\.\s*(?:${refusals.join('|')})\s*\(`;
  const refusal = String.raw`(?:throw\b|(?:return\s+)?ctx\s*\.\s*throw\s*\(|return\s+${returned})`;
  // behind a condition it would not be the end of all of it
  const isAtTop = new RegExp(String.raw`(?:^|[;}])\s*${refusal}`).test(block.top);
  return isAtTop && !/\b(?:return|break|continue|yield)\b/.test(block.inside.replaceAll(new RegExp(refusal, 'g'), ''));
};

/** Helpers of `ctx` whose answer is an error. In a policy they do not refuse: it passes unless it returns false or throws. */
const refusals = [
  'badRequest',
  'unauthorized',
  'paymentRequired',
  'forbidden',
  'notFound',
  'methodNotAllowed',
  'notAcceptable',
  'conflict',
  'gone',
  'unprocessableEntity',
  'locked',
  'tooManyRequests',
  'internalServerError',
  'notImplemented',
  'badGateway',
  'serviceUnavailable',
];
