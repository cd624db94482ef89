/** What the benchmark has measured, run by run: `history.jsonl`, a JSON object in each line, the newest last. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const file = path.join(import.meta.dirname, 'history.jsonl');

/** Appends the figures of a run, with the day, the commit and the machine. */
export const record = (figures) => {
  const entry = { at: new Date().toISOString().slice(0, 16), commit: commitOf(), machine: machine(), ...figures };
  fs.appendFileSync(file, `${JSON.stringify(entry, compact)}\n`);
};

/** The newest value that a run has recorded. @param find gives undefined for runs that did not measure it. */
export const newest = (find) => {
  for (const entry of readHistory().reverse()) {
    const found = find(entry);
    if (found !== undefined) return found;
  }
  return undefined;
};

const readHistory = () =>
  fs.existsSync(file)
    ? fs
        .readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
    : [];

const commitOf = () => {
  const git = (...args) => execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8' }).trim();
  try {
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain') === '' ? '' : ' and changes');
  } catch {
    return null;
  }
};

const machine = () => ({
  cpu: os.cpus()[0]?.model.trim() ?? 'unknown',
  cores: os.availableParallelism(),
  memoryGb: Math.round(os.totalmem() / 2 ** 30),
  system: `${os.type()} ${os.release()}`,
  node: process.version,
});

/** Without the slices, from which everything else was computed, and with numbers as exact as they are. */
const compact = (key, value) => {
  if (key === 'slices') return undefined;
  return typeof value === 'number' ? Number(value.toPrecision(4)) : value;
};
