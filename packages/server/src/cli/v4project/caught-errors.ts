/** Whether a file goes on after an error that something in it has thrown, as far as its text shows: what it guards would be open to all. */

/** @param code without comments and texts. */
export const goesOnAfterErrors = (code: string): boolean =>
  otherCatches.test(code) || [...code.matchAll(/\bcatch\s*(?=[({])/g)].some((it) => !throwsAgain(blockAt(code, it)));

/** All that is no `catch` with a block. */
const otherCatches = new RegExp(
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

const thrown = String.raw`(?:throw\b|(?:return\s+)?ctx\s*\.\s*throw\s*\()`;
const allThrown = new RegExp(thrown, 'g');
// behind a condition it would not be the end of all of it: where there are no semicolons, after a line that is a call
const throwsAtTop = new RegExp(
  String.raw`(?:^|[;}]|(?:^|\n)(?![^\S\n]*(?:if|for|while|else)\b)[\w$.? \t]+\([^\n;]*\)[^\S\n]*\n)\s*${thrown}`,
);

/**
 * Whether the block ends in another error, whatever happens in it. What it returns instead, be it `ctx.forbidden()`, is up to whoever called
 * the function that it is in; and what it calls by the name of `next` is behind the guard.
 */
const throwsAgain = (block: Block | null): boolean =>
  block !== null &&
  throwsAtTop.test(block.top) &&
  !/\b(?:return|break|continue|yield|next)\b/.test(block.inside.replaceAll(allThrown, ''));
