/** The order of the files of a run: a long one that comes last keeps one worker busy while the other has nothing to do. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take longer than their size, which decides otherwise, lets expect; the longest first. */
const longest = [
  'conformance/museum-writes',
  'faults/uploads',
  'rules/adopt',
  'rules/init',
  'faults/workers',
  'rules/auth-attributes-sweep',
  'fuzz/deep-bodies',
  'faults/webhooks',
  'fuzz/fuzz',
  'oracle/oracle',
  'docs/rules',
  'rules/adopt-hazards',
  'conformance/toolshed',
  'rules/backup',
  'conformance/core-writes',
  'properties/kept-responses',
  'faults/kill',
  'rules/write-parts',
  'fuzz/bodies',
  'rules/command-line',
  'faults/starting',
  'packages/installed',
  'faults/siblings',
  'rules/dev',
  'properties/relations',
  'properties/beside-v4',
  'properties/flat',
  'faults/readers',
  'faults/process',
  'rules/changed-types',
  'rules/write-relations',
  'conformance/museum-contract',
  'rules/write-passwords',
  'rules/auth-login',
  'faults/concurrency',
  'conformance/core-reads',
  // of the Studio
  'browser/relations',
  'browser/media',
  'browser/addresses',
  'browser/content-forms',
  'browser/saving',
  'browser/access',
  'browser/health',
  'browser/ask',
  'browser/content-lists',
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
