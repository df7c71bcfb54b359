// Write access to what runtimeState owns. No other folder imports this file.
import type { ContextOf } from '../ownership.js';

export type RuntimeStateContext = ContextOf<'runtimeState'>;
