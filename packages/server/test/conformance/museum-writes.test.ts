/** Recorded scenarios of writes to a localized project with uploads; README.md says how they were made. */
import { testSuite } from './recorded.js';

testSuite('museum', 'writes');
