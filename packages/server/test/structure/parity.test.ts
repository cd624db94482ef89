/** What is added to a table of the sources must reach the oracle, which tries it by its own knowledge. */
import { expect, it } from 'vitest';
import { scalarTypes } from '../../src/model/attributes.js';
import { operators } from '../../src/query/operators.js';
import { operatorNames } from '../oracle/request.js';
import { scalarNames } from '../oracle/values.js';

it('the oracle knows every scalar type', () => {
  expect([...scalarNames].sort()).toEqual(Object.keys(scalarTypes).sort());
});

it('the oracle asks with every filter operator', () => {
  expect([...operatorNames].sort()).toEqual(Object.keys(operators).sort());
});
