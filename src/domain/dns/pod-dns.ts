// A pod's resolv.conf: the node's file or the cluster's DNS by the pod's policy, `dnsConfig` on top, within the C library's limits.
// Invariant: at most 3 name servers and 32 searches of at most 2048 characters together reach the runtime; an event reports omitted ones.
import type { Pod, PodDNSConfig } from '../../ports/model/pod.js';
import { goQuote } from '../values/go-text.js';
import { ipFamily, parseIp } from '../values/ip-address.js';
import { podReferenceTextOf } from '../values/pod-references.js';
import { utf8Length } from '../values/utf8.js';
import { mergeOptions, parseResolvConf, type ResolvConf, type ResolvConfParse } from './resolv-conf.js';

export interface DnsFacts {
  /** Addresses of the cluster's DNS service. */
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** Text of the node's file; null for the empty path: then pods that would inherit it use the node itself. */
  readonly resolvConf: string | null;
  /** Path of that file, for messages. */
  readonly resolvConfPath: string;
  /** The node IPs the kubelet was configured with. */
  readonly nodeIps: readonly string[];
}

/** A Warning event about DNS, on the pod or on the node. */
export interface DnsEvent {
  readonly subject: 'pod' | 'node';
  readonly reason: 'DNSConfigForming' | 'MissingClusterDNS' | 'CheckLimitsForResolvConf';
  readonly message: string;
}

export type PodDns = { readonly ok: true; readonly config: ResolvConf; readonly events: readonly DnsEvent[] } | { readonly ok: false; readonly message: string };

const maxServers = 3;
const maxSearches = 32;
const maxSearchLength = 253;
const maxSearchLineLength = 2048;
/** The pod's namespace, `svc` and the cluster domain come before the node's own searches. */
const clusterSearches = 3;
const defaultClusterOptions: readonly string[] = ['ndots:5'];

export function podDns(pod: Pod, facts: DnsFacts): PodDns {
  const host = hostDns(facts);
  if (!host.ok) return { ok: false, message: `Encountered error while parsing resolv conf file. Error: ${host.message}` };
  const events: DnsEvent[] = [];
  let config: ResolvConf;
  switch (baseOf(pod)) {
    case 'none':
      config = { servers: [], searches: [], options: [] };
      break;
    case 'host':
      config = hostBase(host.value, facts);
      break;
    default:
      if (facts.clusterDns.length === 0) {
        events.push(...missingClusterDns(pod));
        config = hostBase(host.value, facts);
      } else config = clusterBase(pod, host.value, facts);
  }
  if (pod.spec.dnsConfig !== undefined && pod.spec.dnsConfig !== null) config = appended(config, pod.spec.dnsConfig);
  return { ok: true, config: limited(config, events), events };
}

/** The node's file against the limits, so that an operator learns of it before pods do. Stops at the first problem. */
export function resolvConfEvents(facts: DnsFacts): readonly DnsEvent[] {
  if (facts.resolvConf === null) return [];
  const parsed = parseResolvConf(facts.resolvConf);
  if (!parsed.ok) return [limitEvent(parsed.message)];
  const { searches } = parsed.value;
  const most = facts.clusterDomain === '' ? maxSearches : maxSearches - clusterSearches;
  if (searches.length > most) return [limitEvent(`Resolv.conf file '${facts.resolvConfPath}' contains search line consisting of more than ${most} domains!`)];
  if (searches.some((search) => utf8Length(search) > maxSearchLength)) {
    return [limitEvent(`Resolv.conf file ${goQuote(facts.resolvConfPath)} contains a search path which length is more than allowed ${maxSearchLength} chars!`)];
  }
  if (utf8Length(searches.join(' ')) > maxSearchLineLength) {
    return [limitEvent(`Resolv.conf file '${facts.resolvConfPath}' contains search line which length is more than allowed ${maxSearchLineLength} chars!`)];
  }
  return [];
}

function limitEvent(message: string): DnsEvent {
  return { subject: 'node', reason: 'CheckLimitsForResolvConf', message };
}

function hostDns(facts: DnsFacts): ResolvConfParse {
  return facts.resolvConf === null ? { ok: true, value: { servers: [], searches: [], options: [] } } : parseResolvConf(facts.resolvConf);
}

/** A policy the API doesn't know counts as ClusterFirst, its default. */
function baseOf(pod: Pod): 'none' | 'host' | 'cluster' {
  switch (pod.spec.dnsPolicy) {
    case 'None':
      return 'none';
    case 'Default':
      return 'host';
    case 'ClusterFirst':
      return pod.spec.hostNetwork === true ? 'host' : 'cluster';
    default:
      return 'cluster';
  }
}

function hostBase(host: ResolvConf, facts: DnsFacts): ResolvConf {
  if (facts.resolvConf !== null) return host;
  // The empty path means "only the node's own DNS": the loopback address of each family that the node has.
  const loopbacks = facts.nodeIps.map(parseIp).map((ip) => (ip !== null && ipFamily(ip) === 6 ? '::1' : '127.0.0.1'));
  return { ...host, servers: loopbacks.length === 0 ? ['127.0.0.1'] : loopbacks, searches: ['.'] };
}

function clusterBase(pod: Pod, host: ResolvConf, facts: DnsFacts): ResolvConf {
  const domain = facts.clusterDomain;
  const own = domain === '' ? [] : [`${pod.metadata.namespace ?? ''}.svc.${domain}`, `svc.${domain}`, domain];
  return { servers: facts.clusterDns, searches: domain === '' ? host.searches : unique([...own, ...host.searches]), options: defaultClusterOptions };
}

function missingClusterDns(pod: Pod): readonly DnsEvent[] {
  // The text names this policy for both policies; users search for it as it is.
  const text = 'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.';
  return [
    { subject: 'node', reason: 'MissingClusterDNS', message: text },
    { subject: 'pod', reason: 'MissingClusterDNS', message: `pod: ${goQuote(podReferenceTextOf(pod))}. ${text}` },
  ];
}

function appended(base: ResolvConf, more: PodDNSConfig): ResolvConf {
  const options = (more.options ?? []).map(({ name, value }) => (value === undefined || value === null || value === '' ? (name ?? '') : `${name ?? ''}:${value}`));
  return {
    servers: unique([...base.servers, ...(more.nameservers ?? [])]),
    searches: unique([...base.searches, ...(more.searches ?? [])]),
    options: options.length === 0 ? base.options : mergeOptions(base.options, options),
  };
}

function limited(config: ResolvConf, events: DnsEvent[]): ResolvConf {
  const servers = config.servers.slice(0, maxServers);
  if (servers.length < config.servers.length) {
    const message = `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${servers.join(' ')}`;
    events.push({ subject: 'pod', reason: 'DNSConfigForming', message });
  }
  const searches = limitedSearches(config.searches);
  if (searches.length < config.searches.length) {
    const message = `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${searches.join(' ')}`;
    events.push({ subject: 'pod', reason: 'DNSConfigForming', message });
  }
  return { servers, searches, options: config.options };
}

function limitedSearches(all: readonly string[]): readonly string[] {
  const kept = all.slice(0, maxSearches).filter((search) => utf8Length(search) <= maxSearchLength);
  while (utf8Length(kept.join(' ')) > maxSearchLineLength) kept.pop();
  return kept;
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
