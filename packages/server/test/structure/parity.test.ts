/** Additions to the tables of the sources must also reach the oracle, which lists them independently, and the docs. */
import fs from 'node:fs';
import { expect, it } from 'vitest';
import { scalarTypes } from '../../src/model/attributes.js';
import { lenient } from '../../src/query/lenient.js';
import { operators } from '../../src/query/operators.js';
import { operatorNames } from '../oracle/request.js';
import { scalarNames } from '../oracle/values.js';

it('the oracle knows every scalar type', () => {
  expect([...scalarNames].sort()).toEqual(Object.keys(scalarTypes).sort());
});

it('the oracle uses every filter operator', () => {
  expect([...operatorNames].sort()).toEqual(Object.keys(operators).sort());
});

it('FL2: docs/rules/filters.md names every filter operator', () => {
  const page = fs.readFileSync(new URL('../../../../docs/rules/filters.md', import.meta.url), 'utf8');
  const [, rule = ''] = /^## FL2\. (.*?)^```/ms.exec(page) ?? [];
  expect([...rule.matchAll(/`(\$[a-zA-Z]+)`/g)].map((it) => it[1]).sort()).toEqual(Object.keys(operators).sort());
});

it('Q16: docs/lenient.md lists what lenient mode ignores', () => {
  const page = fs.readFileSync(new URL('../../../../docs/lenient.md', import.meta.url), 'utf8');
  const listed = [...page.matchAll(/^\| `([a-z]+\.[a-z-]+)` \|/gm)].map((it) => it[1]);
  expect(listed.sort()).toEqual([...lenient].sort());
});
