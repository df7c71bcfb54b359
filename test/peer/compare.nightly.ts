// Whether this project's kubelet makes of pods what the Go kubelet makes of them: see compare/compare.ts.
import { reportSuite } from './report-suite.js';

reportSuite('the comparison with the Go kubelet', new URL('./compare/compare.js', import.meta.url));
