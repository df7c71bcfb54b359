// Write access to what nodeLease owns. No other folder imports this file.
import type { ContextOf } from '../ownership.js';

export type NodeLeaseContext = ContextOf<'nodeLease'>;
