/** The benchmark's output on the terminal. */

export const say = (text) => process.stdout.write(`${text}\n`);

/** One line that is overwritten; null ends it. Without a terminal: an occasional line. */
let saidAt = 0;
export const progress = (text) => {
  if (process.stdout.isTTY) process.stdout.write(`\r\u001b[K${text ?? ''}`);
  else if (text !== null && performance.now() - saidAt > 5000) {
    saidAt = performance.now();
    say(`  ${text}`);
  }
};

/** @param {[title: string, width: number][]} columns the first is left-aligned, the others right-aligned. */
export const newTable = (columns) => {
  const row = (cells) =>
    say(cells.map((cell, i) => (i === 0 ? cell.padEnd(columns[i][1]) : cell.padStart(columns[i][1]))).join(''));
  return { head: () => row(columns.map(([title]) => title)), row };
};

/** Latencies of the two sides. */
export const bothMs = ({ dovetail, baseline }, key) => `${dovetail[key].toFixed(1)} / ${baseline[key].toFixed(1)}`;

/**
 * @param functions shares of the server's time, the greatest first.
 * @param statements milliseconds of each, the slowest first.
 */
export const printProfile = (title, functions, statements) => {
  say(`\n${title}: share of the server's time by function, without what it calls`);
  for (const { where, share } of functions.slice(0, 12)) say(`  ${(share * 100).toFixed(1).padStart(5)} %  ${where}`);
  const sum = statements.reduce((total, { ms }) => total + ms, 0);
  say(`  ${statements.length} different statements, one after the other ${sum.toFixed(2)} ms; the slowest:`);
  for (const { sql, ms } of statements.slice(0, 4)) say(`  ${ms.toFixed(2).padStart(6)} ms  ${middleCut(sql, 150)}`);
};

const middleCut = (text, length) =>
  text.length <= length ? text : `${text.slice(0, length / 2)} … ${text.slice(-length / 2)}`;
