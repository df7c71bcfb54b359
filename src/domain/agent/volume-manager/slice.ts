// Write access to what volumeManager owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import { type ContextOf, contextOf } from '../ownership.js';

export type VolumeManagerContext = ContextOf<'volumeManager'>;

/** For functions that other parts call with the context of their step. */
export const asVolumeManager: (caller: AgentContext) => VolumeManagerContext = contextOf<'volumeManager'>();
