/** Cases that differ from what was recorded, on purpose, for a localized project with uploads; README.md says how they were made. */
import { testSuite } from './recorded.js';

testSuite('museum', 'contract');
