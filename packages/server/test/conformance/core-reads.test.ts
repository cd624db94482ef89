/** Recorded GET requests; README.md says how they were made. */
import { testSuite } from './recorded.js';

testSuite('core', 'reads');
