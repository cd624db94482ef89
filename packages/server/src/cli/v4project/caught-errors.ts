/** Where a file goes on after an error that something in it has thrown, as far as its text shows: what it guards would be open to all. */
import { lineAt } from './code-texts.js';

/**
 * The lines of what catches errors, in order.
 * @param code without comments and texts.
 */
export const catchingLines = (code: string): readonly number[] => {
  const caught = [
    ...code.matchAll(otherCatches),
    ...[...code.matchAll(/(?<!\.\s*)\bcatch\s*(?=[({])/g)].filter((it) => !throwsAgain(blockAt(code, it))),
    ...[...code.matchAll(/\bfinally\s*(?=\{)/g)].filter((it) =>
      /\breturn\b/.test(blockAt(code, it)?.inside ?? 'return'),
    ),
  ];
  return [...new Set(caught.map(({ index }) => lineAt(code, index)))].sort((a, b) => a - b);
};

/** All that is no `catch` with a block. */
const otherCatches = new RegExp(
  [
    String.raw`\.\s*catch\b`,
    String.raw`\ballSettled\s*\(|\bPromise\s*\.\s*any\s*\(|\b_\s*\.\s*attempt\s*\(`,
    // a second argument
    String.raw`\.\s*then\s*\((?:[^(),[\]{}]|\([^()]*\)|\[[^[\]]*\]|\{[^{}]*\})*,`,
  ].join('|'),
  'g',
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
const throwsAt = new RegExp(String.raw`(?:^|[;}])\s*${thrown}`);
const startsWithThrow = new RegExp(String.raw`^\s*${thrown}`);

/** Whether an error is thrown behind no condition. Where there are no semicolons, the line before tells. @param top of a block. */
const throwsAtTop = (top: string): boolean => {
  if (throwsAt.test(top)) return true;
  let statement = '';
  let depth = 0;
  for (const line of top.split('\n')) {
    if (depth === 0 && startsWithThrow.test(line) && isStatement(statement)) return true;
    if (line.trim() === '') continue;
    statement = depth === 0 ? line : `${statement}\n${line}`;
    for (const character of line) depth += '(['.includes(character) ? 1 : ')]'.includes(character) ? -1 : 0;
  }
  return false;
};

/** Whether the line behind these begins a statement of its own, under no condition. */
const isStatement = (lines: string): boolean =>
  /[\w$)\]'"`]\s*$/.test(lines) && !/\b(?:if|else|for|while|do|with|case|return)\b/.test(lines);

/**
 * Whether the block ends in another error, whatever happens in it. What it returns instead, be it `ctx.forbidden()`, is up to whoever called
 * the function that it is in; and whatever it reaches through `next` lies behind the guard.
 */
const throwsAgain = (block: Block | null): boolean =>
  block !== null &&
  throwsAtTop(block.top) &&
  !/\b(?:return|break|continue|yield|next)\b/.test(block.inside.replaceAll(allThrown, ''));
