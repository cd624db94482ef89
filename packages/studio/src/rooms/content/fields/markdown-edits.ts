/** What the buttons above a markdown text do to it. */

interface Selected {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

export type MarkdownEdit = 'bold' | 'italic' | 'code' | 'link' | 'heading' | 'quote' | 'bullets' | 'numbers';

const around: Partial<Record<MarkdownEdit, readonly [before: string, after: string]>> = {
  bold: ['**', '**'],
  italic: ['_', '_'],
  code: ['`', '`'],
  link: ['[', '](https://)'],
};
const lineStart: Partial<Record<MarkdownEdit, (line: number) => string>> = {
  heading: () => '## ',
  quote: () => '> ',
  bullets: () => '- ',
  numbers: (line) => `${line + 1}. `,
};

/** The same edit again takes it back. */
export const editMarkdown = ({ text, start, end }: Selected, edit: MarkdownEdit): Selected => {
  const marks = around[edit];
  if (marks) {
    const [before, after] = marks;
    const inner = text.slice(start, end);
    if (text.slice(start - before.length, start) === before && text.slice(end, end + after.length) === after)
      return {
        text: text.slice(0, start - before.length) + inner + text.slice(end + after.length),
        start: start - before.length,
        end: end - before.length,
      };
    return {
      text: text.slice(0, start) + before + inner + after + text.slice(end),
      start: start + before.length,
      end: end + before.length,
    };
  }
  const prefix = lineStart[edit] ?? (() => '');
  const first = text.lastIndexOf('\n', start - 1) + 1;
  const next = text.indexOf('\n', end);
  const last = next === -1 ? text.length : next;
  const lines = text.slice(first, last).split('\n');
  const isSet = lines.every((line, i) => line.startsWith(prefix(i)));
  const changed = lines.map((line, i) => (isSet ? line.slice(prefix(i).length) : prefix(i) + line)).join('\n');
  return { text: text.slice(0, first) + changed + text.slice(last), start: first, end: first + changed.length };
};
