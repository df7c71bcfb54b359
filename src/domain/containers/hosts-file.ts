// The hosts file that replaces the image's: generated for pods with a network of their own, the node's file for the others.
// Invariant: every line ends with a newline; the node's file is copied byte for byte.
import type { Pod } from '../../ports/model/pod.js';
import type { PodHostname } from './pod-hostname.js';

const header = '# Kubernetes-managed hosts file.\n';
const hostNetworkHeader = '# Kubernetes-managed hosts file (host network).\n';
const loopbackLines: readonly (readonly [string, string])[] = [
  ['127.0.0.1', 'localhost'],
  ['::1', 'localhost ip6-localhost ip6-loopback'],
  ['fe00::0', 'ip6-localnet'],
  ['fe00::0', 'ip6-mcastprefix'],
  ['fe00::1', 'ip6-allnodes'],
  ['fe00::2', 'ip6-allrouters'],
];

/** A pod without a network has no entries for it. */
export function podGetsHostsFile(pod: Pod, podIps: readonly string[]): boolean {
  return pod.spec.hostNetwork === true || podIps.length > 0;
}

export function hostsFileText(pod: Pod, podIps: readonly string[], name: PodHostname, nodeHostsFile: string): string {
  const base = pod.spec.hostNetwork === true ? hostNetworkHeader + nodeHostsFile : header + loopbackLines.map(line).join('') + ownLines(podIps, name);
  const aliases = pod.spec.hostAliases ?? [];
  if (aliases.length === 0) return base;
  return `${base}\n# Entries added by HostAliases.\n${aliases.map(({ ip, hostnames }) => line([ip, (hostnames ?? []).join('\t')])).join('')}`;
}

/** The short host name is always included, since programs resolve themselves by it. */
function ownLines(podIps: readonly string[], { hostname, domain }: PodHostname): string {
  return podIps.map((ip) => line(domain === '' ? [ip, hostname] : [ip, `${hostname}.${domain}`, hostname])).join('');
}

function line(fields: readonly string[]): string {
  return `${fields.join('\t')}\n`;
}
