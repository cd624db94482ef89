/**
 * Runs the examples of docs/rules on the example magazine; the responses must be those on the pages. With
 * DOVETAIL_WRITE_DOCS=1 the responses are written into the pages instead: review the diff before you commit it.
 */
import { describe } from 'vitest';
import { dialects } from '../world/databases.js';
import { readPage, ruleNames, type Section } from './pages.js';
import { play } from './play.js';

for (const name of ruleNames) {
  const page = readPage(name);
  describe.each(dialects)(`${name} on %s`, (dialect) => {
    const playRules = (rules: readonly Section[]): void =>
      play(
        page,
        dialect,
        rules.flatMap((it) => it.steps),
        'examples/magazine',
      );
    // a rule that changes files or tables has a magazine of its own
    const isOwn = ({ steps }: Section): boolean =>
      !steps.every((it) => it.kind === 'requests' || (it.kind === 'statement' && /^select\b/.test(it.text)));
    const shared = page.sections.filter((it) => it.steps.length > 0 && !isOwn(it));
    if (shared.length > 0) describe('all steps in order', () => playRules(shared));
    for (const rule of page.sections.filter(isOwn)) describe(rule.id ?? rule.title, () => playRules([rule]));
  });
}
