// Write access to what pluginManager owns. No other folder imports this file.
import type { AgentContext } from '../agent-context.js';
import { type ContextOf, contextOf } from '../ownership.js';

export type PluginManagerContext = ContextOf<'pluginManager'>;

/** For functions that other parts call with the context of their step. */
export const asPluginManager: (caller: AgentContext) => PluginManagerContext = contextOf<'pluginManager'>();
