// Long outputs and inputs of commands on a real control plane: see long-streams.ts.
import { reportSuite } from './report-suite.js';

reportSuite('long streams on a real control plane', new URL('./long-streams.js', import.meta.url));
