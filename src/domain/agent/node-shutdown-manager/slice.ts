// Write access to what nodeShutdownManager owns. No other folder imports this file.
import type { ContextOf } from '../ownership.js';

export type NodeShutdownManagerContext = ContextOf<'nodeShutdownManager'>;
