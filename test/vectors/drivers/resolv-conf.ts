// resolv-conf: a pod's DNS settings from the node's file, the cluster's DNS and the pod.
import { type DnsEvent, type DnsFacts, podDns, resolvConfEvents } from '../../../src/domain/dns/pod-dns.js';
import { byCodeUnits } from '../../../src/domain/values/text-order.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly kind: 'podDNS' | 'checkLimits';
  readonly pod: Pod;
  readonly resolvConf?: string;
  readonly clusterDNS: readonly string[];
  readonly clusterDomain: string;
  readonly nodeIPs: readonly string[];
}

export const driver: VectorDriver = {
  run(input: Input) {
    const facts: DnsFacts = {
      clusterDns: input.clusterDNS,
      clusterDomain: input.clusterDomain,
      resolvConf: input.resolvConf ?? null,
      resolvConfPath: '{resolvConf}',
      nodeIps: input.nodeIPs,
    };
    if (input.kind === 'checkLimits') return { events: texts(resolvConfEvents(facts)) };
    const dns = podDns(input.pod, facts);
    if (!dns.ok) return { error: dns.message, events: [] };
    const { servers, searches, options } = dns.config;
    return { dnsConfig: { servers, searches, options: [...options].sort(byCodeUnits) }, events: texts(dns.events) };
  },
};

function texts(events: readonly DnsEvent[]): readonly string[] {
  return events.map(({ reason, message }) => `Warning ${reason} ${message}`);
}
