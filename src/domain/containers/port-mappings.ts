// The port mappings of a pod for the network plugin.
// Invariant: only regular containers' ports count; ports without a host port are included.
import type { ContainerPort } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PortMapping } from '../../ports/model/sandbox-config.js';

export function portMappings(pod: Pod): readonly PortMapping[] {
  return pod.spec.containers.flatMap((container) => uniquePorts(container.ports ?? []).map(mapping));
}

/** A port given twice in one container counts once: the same name, or without a name the same address, ports and protocol. */
function uniquePorts(ports: readonly ContainerPort[]): readonly ContainerPort[] {
  const byKey = new Map<string, ContainerPort>();
  for (const port of ports) {
    const key = keyOf(port);
    if (!byKey.has(key)) byKey.set(key, port);
  }
  return [...byKey.values()];
}

/** Names of ports have no colon, so that no name is another port's key. */
function keyOf({ name = '', protocol = '', hostIP = '', containerPort, hostPort = 0 }: ContainerPort): string {
  return name === '' ? `${protocol}-${hostIP}:${containerPort}:${hostPort}` : name;
}

function mapping(port: ContainerPort): PortMapping {
  const protocol = port.protocol === 'UDP' || port.protocol === 'SCTP' ? port.protocol : 'TCP';
  return { protocol, containerPort: port.containerPort, hostPort: port.hostPort ?? 0, hostIp: port.hostIP ?? '' };
}
