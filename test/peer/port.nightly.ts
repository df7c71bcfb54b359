// Whether this project's kubelet shows the metrics and statistics that the Go kubelet shows: see port/port.ts.
import { reportSuite } from './report-suite.js';

reportSuite('metrics and statistics at the port of the kubelet', new URL('./port/port.js', import.meta.url));
