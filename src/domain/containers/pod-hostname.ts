// The names of a pod: host name and domain in its hosts file, and its kernel's host name.
// Invariant: a host name has at most 63 bytes and never ends in `-` or `.`.
import type { Pod } from '../../ports/model/pod.js';
import { dns1123LabelProblems, dns1123SubdomainProblems } from '../values/dns-names.js';
import { goQuote } from '../values/go-text.js';

const maxHostnameLength = 63;
/** The kernel's limit of a node name (`utsname`), without its end mark. */
const maxKernelHostnameLength = 64;

export interface PodHostname {
  readonly hostname: string;
  /** `''` when the pod has no subdomain. */
  readonly domain: string;
}

export type HostnameResult<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string };

/** From `hostnameOverride` (KEP-4762) alone, or `hostname` and `subdomain`, or the pod's name. */
export function podHostname(pod: Pod, clusterDomain: string): HostnameResult<PodHostname> {
  const { hostnameOverride, hostname, subdomain } = pod.spec;
  if (hostnameOverride !== undefined) {
    const problems = dns1123SubdomainProblems(hostnameOverride);
    if (problems.length > 0) return invalid('HostnameOverride', hostnameOverride, 'subdomain', problems);
    return shortened(pod, hostnameOverride, '');
  }
  if (hostname !== undefined && hostname !== '') {
    const problems = dns1123LabelProblems(hostname);
    if (problems.length > 0) return invalid('Hostname', hostname, 'label', problems);
  }
  if (subdomain !== undefined && subdomain !== '') {
    const problems = dns1123LabelProblems(subdomain);
    if (problems.length > 0) return invalid('Subdomain', subdomain, 'label', problems);
  }
  const domain = subdomain === undefined || subdomain === '' ? '' : `${subdomain}.${pod.metadata.namespace ?? ''}.svc.${clusterDomain}`;
  return shortened(pod, hostname === undefined || hostname === '' ? pod.metadata.name : hostname, domain);
}

/** The sandbox's host name: the full name if `setHostnameAsFQDN` is set and there is a domain. */
export function kernelHostname(pod: Pod, { hostname, domain }: PodHostname): HostnameResult<string> {
  if (pod.spec.setHostnameAsFQDN !== true || domain === '') return { ok: true, value: hostname };
  const full = `${hostname}.${domain}`;
  if (full.length <= maxKernelHostnameLength) return { ok: true, value: full };
  const limits = `(${maxKernelHostnameLength} characters is the max, ${full.length} characters requested)`;
  return { ok: false, message: `failed to construct FQDN from pod hostname and cluster domain, FQDN ${full} is too long ${limits}` };
}

function invalid(field: string, value: string, kind: string, problems: readonly string[]): HostnameResult<never> {
  return { ok: false, message: `pod ${field} ${goQuote(value)} is not a valid DNS ${kind}: ${problems.join(';')}` };
}

function shortened(pod: Pod, name: string, domain: string): HostnameResult<PodHostname> {
  if (name.length <= maxHostnameLength) return { ok: true, value: { hostname: name, domain } };
  const cut = name.slice(0, maxHostnameLength);
  const hostname = cut.replace(/[-.]+$/, '');
  if (hostname === '') return { ok: false, message: `hostname for pod ${goQuote(pod.metadata.name)} was invalid: ${goQuote(cut)}` };
  return { ok: true, value: { hostname, domain } };
}
