// What people do with a cluster, on a real control plane: see flows.ts.
import { reportSuite } from './report-suite.js';

reportSuite('flows on a real control plane', new URL('./flows.js', import.meta.url));
