/** The order of the files of a run: a long one that comes last keeps one worker busy while the other has nothing to do. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take longer than their size, which decides otherwise, lets expect; the longest first. */
const longest = [
  'conformance/museum-writes',
  'fuzz/fuzz',
  'oracle/oracle',
  'faults/kill',
  'rules/init',
  'faults/workers',
  'faults/concurrency',
  'properties/kept-responses',
  'conformance/core-writes',
  'conformance/toolshed',
  'faults/slow-writes',
  'faults/contention',
  'faults/webhooks',
  'faults/siblings',
  'faults/process',
  'properties/relations',
  'fuzz/clock',
  'fuzz/bodies',
  'packages/installed',
  'conformance/museum-contract',
  'conformance/core-reads',
  'docs/rules',
  // of the Studio
  'browser/saving',
  'browser/relations',
  'browser/content-forms',
  'browser/ask',
  'browser/content-relations',
  'browser/sign-in',
  'browser/addresses',
  'browser/health',
].map((it) => `/test/${it}.test.ts`);

const placeOf = ({ moduleId }: TestSpecification): number => {
  const found = longest.findIndex((it) => moduleId.endsWith(it));
  return found === -1 ? longest.length : found;
};

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => placeOf(a) - placeOf(b));
  }
}
