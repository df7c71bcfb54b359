// No container of a pod is started after its termination has begun, or for a pod without a worker.

import type { KubeletOperations } from '../../domain/agent/kubelet.js';
import type { Command } from '../../domain/kernel/machine.js';
import type { CheckedNode, Checker } from './checker.js';

export const terminatedStaysDown: Checker<null> = {
  name: 'terminated-stays-down',
  fresh: () => null,
  look(_memory, what, node, report) {
    if (what.kind !== 'command') return;
    const uid = startedPod(what.command, node);
    if (uid === null) return;
    const record = node.agent.workers.records.get(uid);
    if (record === undefined) report(`${what.command.op} for pod ${uid}, which no worker knows`);
    else if (record.startedTerminating || record.terminatedAt !== null)
      report(`${what.command.op} for pod ${uid}, which is ${record.terminatedAt === null ? 'terminating' : 'terminated'}`);
  },
};

/** The pod that a command starts something of; null for other commands. */
function startedPod(command: Command<KubeletOperations>, { runtime }: CheckedNode): string | null {
  switch (command.op) {
    case 'sandboxes.run':
      return command.request.config.metadata.uid;
    case 'containers.create':
      return command.request.sandboxConfig.metadata.uid;
    case 'containers.start':
      return runtime.containers.get(command.request.containerId)?.podUid ?? null;
    default:
      return null;
  }
}
