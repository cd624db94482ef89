/** Tells what of a file is code, and what is a comment, a text in quotes or a regular expression. */

export interface CodeTexts {
  /** Without comments. */
  readonly text: string;
  /** Without texts and regular expressions too, but for names in brackets: `strapi['db']`. Both have all places and lines of the file. */
  readonly code: string;
}

/** Where it cannot be told, all of it is code. */
export const codeTexts = (source: string): CodeTexts => {
  const found = read(source);
  return found && !evaluates(found) ? found : { text: source, code: source };
};

/** Whether it makes code of texts. `Function` alone is a type, and a word of comments. */
const evaluates = ({ text, code }: CodeTexts): boolean =>
  /\b(?:eval|runIn\w+)\b|\bFunction\s*\(/.test(code) || /['"`](?:node:)?vm['"`]/.test(text);

const read = (source: string): CodeTexts | null => {
  let text = '';
  let code = '';
  let at = 0;
  /** Whether a slash that follows would divide; null after a brace, which ends a value or a block. */
  let divides: boolean | null = false;
  /** The last part that is neither a comment nor white space. */
  let last = '';
  /** Whether what follows the closing parenthesis is a statement. */
  const parentheses: boolean[] = [];
  /** Of the braces that are open: whether it is one of a template. */
  const braces: boolean[] = [];

  const take = (part: string, kind: 'code' | 'text' | 'comment'): void => {
    const blank = part.replaceAll(/[^\n]/g, ' ');
    text += kind === 'comment' ? blank : part;
    code += kind === 'code' ? part : blank;
    at += part.length;
  };
  const next = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    return pattern.exec(source)?.[0] ?? null;
  };
  const isInBrackets = (part: string, before: string): boolean =>
    before === '[' && /^.[\w-]*.$/.test(part) && /^\s*\]/.test(source.slice(at + part.length));
  /** Takes the text of a template up to its end, or to code in it; false if it does not end. */
  const takeTemplate = (): boolean => {
    take(next(templateText) ?? '', 'text');
    const end = next(/`|\$\{/y);
    if (end === null) return false;
    take(end, 'code');
    if (end === '`') divides = true;
    else {
      braces.push(true);
      divides = false;
    }
    return true;
  };

  while (at < source.length) {
    const part = next(token);
    if (part === null) return null;
    if (/^\s/.test(part)) take(part, 'code');
    else if (part.startsWith('//') || part.startsWith('/*')) take(part, 'comment');
    else {
      const before = last;
      // members may have the names of statements, and `for await (` is one
      const isWord = /^[A-Za-z_$\u0080-\uffff]/.test(part);
      last = before === '.' && isWord ? `.${part}` : part === 'await' && before === 'for' ? before : part;
      if (part === '`') {
        const name = next(/`[\w-]*`/y);
        if (name !== null && isInBrackets(name, before)) {
          take(name, 'code');
          divides = true;
          continue;
        }
        take(part, 'code');
        if (!takeTemplate()) return null;
      } else if (part === '"' || part === "'") {
        return null;
      } else if (/^['"]/.test(part)) {
        take(part, isInBrackets(part, before) ? 'code' : 'text');
        divides = true;
      } else if (part === '/') {
        // the end of an element of JSX, or what may be either
        if (before === '<' || (divides === null && /^[^\n]*\//.test(source.slice(at + 1)))) return null;
        const expression: string | null = divides === false ? next(regularExpression) : null;
        if (divides === false && expression === null) return null;
        take(expression ?? part, expression === null ? 'code' : 'text');
        divides = expression !== null;
      } else {
        take(part, 'code');
        if (part === '(') parentheses.push(/^(?:if|while|for|with)$/.test(before));
        if (part === '{') braces.push(false);
        if (part === '}' && braces.pop() === true) {
          if (!takeTemplate()) return null;
        } else if (part === '}') divides = null;
        else if (part === ')') divides = parentheses.pop() !== true;
        // an assertion of TypeScript, after a value
        else if (part === '!') divides = divides === true && /[\w$)\]]/.test(source[at - 2] ?? '');
        else divides = part === ']' || part === '++' || part === '--' || isValue(part, before);
      }
    }
  }
  return { text, code };
};

const token =
  /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\[\s\S]|[^'\\\n])*'|"(?:\\[\s\S]|[^"\\\n])*"|[A-Za-z_$\u0080-\uffff][\w$\u0080-\uffff]*|\d[\w.]*|\+\+|--|[\s\S]/y;
const templateText = /(?:\\[\s\S]|\$(?!\{)|[^\\`$])*/y;
const regularExpression = /\/(?:\\[^\n]|\[(?:\\[^\n]|[^\]\\\n])*\]|[^/\\[\n])+\/\w*/y;

const isValue = (part: string, before: string): boolean =>
  /^[\w$\u0080-\uffff]/.test(part) && !(operators.has(part) && before !== '.');

/** Words before a value. */
const operators: ReadonlySet<string> = new Set([
  ...['return', 'typeof', 'instanceof', 'in', 'of', 'new', 'delete', 'void', 'throw', 'case', 'do', 'else'],
  ...['yield', 'await', 'default'],
]);

/** Removes comments, but not inside strings. The lines stay. Where `codeTexts` cannot tell what is a comment, this guesses. */
export const withoutComments = (source: string): string =>
  source.replace(
    /('(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g,
    (comment, text: string | undefined) => text ?? ` ${comment.replaceAll(/[^\n]/g, '')}`,
  );

/** Counted from 1. */
export const lineAt = (source: string, index: number): number => source.slice(0, index).split('\n').length;
