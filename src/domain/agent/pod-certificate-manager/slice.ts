// Write access to what podCertificateManager owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import { type ContextOf, contextOf } from '../ownership.js';

export type PodCertificateManagerContext = ContextOf<'podCertificateManager'>;

/** For functions that other parts call with the context of their step. */
export const asPodCertificateManager: (caller: AgentContext) => PodCertificateManagerContext = contextOf<'podCertificateManager'>();
