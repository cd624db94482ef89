/** Cases that differ from what was recorded, on purpose; README.md says how they were made. */
import { testSuite } from './recorded.js';

testSuite('core', 'contract');
