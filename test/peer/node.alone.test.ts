// What happens to a node of a real control plane: see node.ts.
import { reportSuite } from './report-suite.js';

reportSuite('a node of a real control plane', new URL('./node.js', import.meta.url));
