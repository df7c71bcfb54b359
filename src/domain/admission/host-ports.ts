// Host ports that pods request: two pods can't have the same one.
// Invariant: the wildcard address clashes with every address; `::` is an address like any other.
import type { Pod } from '../../ports/model/pod.js';
import { isRestartableInit } from '../status/restart-rules.js';
import { derived } from '../values/derived.js';

const wildcard = '0.0.0.0';

/** Addresses by protocol and port. */
export type UsedHostPorts = ReadonlyMap<string, ReadonlySet<string>>;

interface HostPort {
  readonly key: string;
  readonly address: string;
}

export function usedHostPorts(pods: readonly Pod[]): UsedHostPorts {
  const used = new Map<string, Set<string>>();
  for (const pod of pods) {
    for (const { key, address } of hostPortsOf(pod)) {
      const addresses = used.get(key);
      if (addresses === undefined) used.set(key, new Set([address]));
      else addresses.add(address);
    }
  }
  return used;
}

export function areHostPortsFree(pod: Pod, used: UsedHostPorts): boolean {
  return hostPortsOf(pod).every(({ key, address }) => {
    const addresses = used.get(key);
    return addresses === undefined || (address !== wildcard && !addresses.has(wildcard) && !addresses.has(address));
  });
}

/** Plain init containers end before any client connects, so theirs don't count. */
const hostPortsOf = derived((pod: Pod): readonly HostPort[] => {
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(isRestartableInit)];
  return containers.flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort = 0, protocol = '', hostIP = '' }) =>
      hostPort > 0 ? [{ key: `${protocol === '' ? 'TCP' : protocol} ${hostPort}`, address: hostIP === '' ? wildcard : hostIP }] : [],
    ),
  );
});
