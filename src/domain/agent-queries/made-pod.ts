// The pod that a command makes something of on the node, for the marks of an agent's own pods.
import type { KubeletOperations } from '../agent/kubelet.js';
import type { Command } from '../kernel/machine.js';

const podCgroup = /^pod(.+)$/;

/** Its UID; null for commands that make nothing new. */
export function podMadeBy(command: Command<KubeletOperations>): string | null {
  switch (command.op) {
    case 'podDirectories.prepare':
      return command.request.uid;
    case 'sandboxes.run':
      return command.request.config.metadata.uid;
    case 'podCgroups.ensure':
      return podCgroup.exec(command.request.name.at(-1) ?? '')?.[1] ?? null;
    default:
      return null;
  }
}
