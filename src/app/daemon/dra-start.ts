// The initial state of resource claims: the state file of the previous agent. An unreadable one refuses the start, and an administrator must resolve it:
// without it prepared claims would never be unprepared.
import type { AgentSettings } from '../../domain/agent/settings.js';
import { draCheckpointName } from '../../domain/checkpoints/dra-checkpoint.js';
import { startDraManager } from '../../domain/dra-manager/dra-state.js';
import type { Call } from '../../ports/operation.js';
import type { OutboundPorts } from '../../ports/outbound/outbound-ports.js';
import { StartRefusal } from '../../ports/start-refusal.js';

/** @throws StartRefusal */
export async function draSettings(stateFiles: OutboundPorts['stateFiles'], call: Call): Promise<NonNullable<AgentSettings['dra']>> {
  const checkpoint = await stateFiles.read({ name: draCheckpointName }, call);
  const started = startDraManager(checkpoint);
  if (!started.ok) throw new StartRefusal(`failed to run Kubelet: ${started.error}`);
  return { checkpoint };
}
