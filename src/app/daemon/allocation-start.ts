// The state files of allocated resources, read before anything starts: an unreadable one refuses the start, since pods would otherwise
// be allocated their current requests again, on top of other pods' allocations.
import { join } from 'node:path';
import { actuatedPodsCheckpointName, allocatedPodsCheckpointName, readPodResourcesCheckpoint } from '../../domain/checkpoints/pod-resources-checkpoint.js';
import type { Call } from '../../ports/operation.js';
import type { OutboundPorts } from '../../ports/outbound/outbound-ports.js';
import { StartRefusal } from '../../ports/start-refusal.js';

/** @throws StartRefusal */
export async function checkAllocationFiles(rootDirectory: string, stateFiles: OutboundPorts['stateFiles'], call: Call): Promise<void> {
  for (const name of [allocatedPodsCheckpointName, actuatedPodsCheckpointName]) {
    const text = await stateFiles.read({ name }, call);
    const read = text === null ? null : readPodResourcesCheckpoint(text);
    if (read === null || read.ok) continue;
    const path = JSON.stringify(join(rootDirectory, name));
    const advice = `please drain this node and delete pod allocation checkpoint file ${path} before restarting Kubelet`;
    throw new StartRefusal(`failed to run Kubelet: could not restore state from checkpoint: ${read.error}, ${advice}`);
  }
}
