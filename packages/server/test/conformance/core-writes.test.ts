/** Recorded scenarios of writes; README.md says how they were made. */
import { testSuite } from './recorded.js';

testSuite('core', 'writes');
