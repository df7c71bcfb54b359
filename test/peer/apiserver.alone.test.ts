// Whether the recorded answers of kube-apiserver are still what it answers: see api/record.ts.
import { reportSuite } from './report-suite.js';

reportSuite('the recording of kube-apiserver', new URL('./api/record.js', import.meta.url));
