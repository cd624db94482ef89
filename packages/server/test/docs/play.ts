/** Tests of a page's steps; with DOVETAIL_WRITE_DOCS=1 the answers are written into the page instead. */
import fs from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DialectName } from '../../src/sql/dialect.js';
import { type Answer, type Page, type Question, readPage, type Step } from './pages.js';
import { modulesOf, newSession, type Session } from './session.js';

export const isWriting = process.env['DOVETAIL_WRITE_DOCS'] === '1';

const isRead = (step: Step): boolean => {
  if (step.kind === 'requests') return step.requests.every(({ method }) => method === 'GET');
  return step.kind === 'statement' && /^select\b/.test(step.text);
};

const nameOf = (step: Step): string => {
  if (step.kind === 'requests') return step.requests.map((it) => `${it.method} ${it.url}`).join(', ');
  return step.kind === 'file' ? step.path : step.text.split('\n')[0]!;
};

const isAskedOf = (step: Step, dialect: DialectName): boolean =>
  !('dialect' in step) || step.dialect === null || step.dialect === dialect;

const answersOf = (step: Step, dialect: DialectName): readonly Answer[] =>
  'answers' in step ? step.answers.filter((it) => it.dialect === null || it.dialect === dialect) : [];

/** The block in which an answer is written that the page lacks. */
const newAnswer = ({ kind, end, dialect }: Question): Answer => {
  const format = kind === 'requests' ? 'json' : 'text';
  return { format, head: format, text: '', dialect, exitCode: 0, lines: [end, end] };
};

/** An answer as it is to be on the page, with the line of its step and its number among the step's answers; -1 for a new one. */
interface Written {
  readonly answer: Answer;
  readonly shown: string;
  readonly step: number;
  readonly at: number;
}

/** The steps run in their order, in one session. @param folder where commands run */
export const play = (page: Page, dialect: DialectName, steps: readonly Step[], folder: string): void => {
  const state: { session?: Session } = {};
  const written: Written[] = [];
  const modules = modulesOf(steps);
  beforeAll(async () => {
    state.session = await newSession(dialect, folder, modules);
  });
  afterAll(async () => {
    await state.session?.close();
    if (isWriting) writeAnswers(page.name, dialect, written);
  });
  for (const step of steps) {
    if (!isAskedOf(step, dialect) || (step.kind === 'script' && !modules.has(step))) continue;
    test(`line ${step.line}: ${nameOf(step)}`, async () => {
      const answers = modules.get(step)?.blocks.flatMap((it) => it.answers) ?? answersOf(step, dialect);
      const isAnswered = step.kind !== 'file' && answers.length === 0 && (isRead(step) || step.kind === 'command');
      const asked = isAnswered && step.kind !== 'command' ? [newAnswer(step)] : answers;
      const shown = await state.session!.run(step, asked);
      // what a command prints is on the page, if it prints something
      const all = isAnswered && step.kind === 'command' && shown[0] ? [newAnswer(step)] : asked;
      for (const [i, answer] of all.entries()) {
        if (isWriting) written.push(placed(page, answer, shown[i]!, step));
        else expect(shown[i]).toBe(answer.text);
      }
    });
  }
};

const questionsOf = (page: Page): readonly Question[] =>
  page.sections.flatMap((it) => it.steps).filter((it): it is Question => 'answers' in it);

const placed = (page: Page, answer: Answer, shown: string, asked: Step): Written => {
  const questions = questionsOf(page);
  // a script's answers are those of its blocks
  const of = questions.findIndex((it) => it.answers.includes(answer));
  const step = of >= 0 ? of : questions.indexOf(asked as Question);
  return { answer, shown, step, at: questions[step]!.answers.indexOf(answer) };
};

/** A response that is the same on both databases is written as SQLite's. */
const writeAnswers = (name: string, dialect: DialectName, written: readonly Written[]): void => {
  // answers written before have moved the lines
  const page = readPage(name);
  const lines = fs.readFileSync(page.file, 'utf8').split('\n');
  const questions = questionsOf(page);
  const blocks = written
    .filter(({ answer }) => (answer.dialect ?? 'sqlite') === dialect)
    .map(({ answer, shown, step, at }) => {
      const { answers, end } = questions[step]!;
      return { place: answers[at]?.lines ?? [end, end], block: [`\`\`\`${answer.head}`, ...shown.split('\n'), '```'] };
    });
  for (const { place, block } of blocks.sort((a, b) => b.place[0] - a.place[0]))
    lines.splice(place[0], place[1] - place[0], ...block);
  fs.writeFileSync(page.file, lines.join('\n'));
};
