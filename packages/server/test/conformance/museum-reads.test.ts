/** Recorded GET requests of a localized project with uploads; README.md says how they were made. */
import { testSuite } from './recorded.js';

testSuite('museum', 'reads');
