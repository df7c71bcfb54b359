// Which addresses a pod's status shows: of its sandbox, and of the node.
// Invariant: at most one address of each IP family, in canonical text.
import type { PodStatus } from '../../ports/model/pod-status.js';
import { formatIp, type IpAddress, ipFamily, parseIp } from '../values/ip-address.js';

export interface NodeAddress {
  readonly type: string;
  readonly address: string;
}

/**
 * The sandbox's first address of the node's primary family, then its first of the other.
 * @param nodeIps the node IPs the kubelet was configured with; the first decides, none means IPv4
 * @param known an address in canonical text: the one that the pod had before
 */
export function podIpsInOrder(sandboxIps: readonly string[], nodeIps: readonly string[], known?: string): readonly string[] {
  if (sandboxIps.length === 1 && sandboxIps[0] === known) return sandboxIps;
  const addresses = sandboxIps.map(parseIp).filter((address) => address !== null);
  const first = nodeIps[0] === undefined ? null : parseIp(nodeIps[0]);
  const primary = first === null ? 4 : ipFamily(first);
  const chosen = [addresses.find((address) => ipFamily(address) === primary), addresses.find((address) => ipFamily(address) !== primary)];
  return chosen.filter((address) => address !== undefined).map(formatIp);
}

/** The node's first address, internal before external, then the first of the other family; empty without addresses. */
export function hostIpsOf(nodeAddresses: readonly NodeAddress[]): readonly IpAddress[] {
  const ofType = (type: string): IpAddress[] =>
    nodeAddresses
      .filter((candidate) => candidate.type === type)
      .map((candidate) => parseIp(candidate.address))
      .filter((address) => address !== null);
  const all = [...ofType('InternalIP'), ...ofType('ExternalIP')];
  const first = all[0];
  if (first === undefined) return [];
  const second = all.find((address) => ipFamily(address) !== ipFamily(first));
  return second === undefined ? [first] : [first, second];
}

/** The address fields of a pod's status. A host-network pod has the node's addresses; once set they stay, but a missing second family is added. */
export function addressFields(podIps: readonly string[], hostIps: readonly IpAddress[], hostNetwork: boolean): Pick<PodStatus, 'hostIP' | 'hostIPs' | 'podIP' | 'podIPs'> {
  const hosts = hostIps.map(formatIp);
  let pods = podIps;
  const second = hostIps[1];
  if (hostNetwork && hosts[0] !== undefined) {
    if (pods.length === 0) pods = [hosts[0]];
    const only = pods.length === 1 ? parseIp(pods[0]!) : null;
    if (second !== undefined && only !== null && ipFamily(only) !== ipFamily(second)) pods = [...pods, formatIp(second)];
  }
  return {
    ...(hosts[0] === undefined ? {} : { hostIP: hosts[0], hostIPs: hosts.map((ip) => ({ ip })) }),
    ...(pods[0] === undefined ? {} : { podIP: pods[0], podIPs: pods.map((ip) => ({ ip })) }),
  };
}
