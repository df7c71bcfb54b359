// Thirty pods that kubelets take over from each other, on a real control plane: see takeovers.ts.
import { reportSuite } from './report-suite.js';

reportSuite('kubelets that take over from each other', new URL('./takeovers.js', import.meta.url));
