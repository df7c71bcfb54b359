// Valid values of the configuration that are not used as they are: malformed addresses of name servers, and periods so short
// that the agent would do nothing else. Invariant: pure; the warning and the effective value come from the same rule.
import { formatIp, parseIp } from '../values/ip-address.js';
import type { KubeletConfiguration } from './schema.js';

/** Nanoseconds. The Go kubelet spins, or panics, on a zero period; ten checks a second are no noticeable load. */
export const shortestPeriod = 100_000_000;

const periods = ['syncFrequency', 'fileCheckFrequency', 'httpCheckFrequency'] as const;

/** Nanoseconds of a period of the configuration. */
export function takenPeriod(configuration: KubeletConfiguration, period: (typeof periods)[number]): number {
  return Math.max(configuration[period], shortestPeriod);
}

/** The periods below the minimum. */
export function shortPeriods(configuration: KubeletConfiguration): string[] {
  return periods.filter((period) => configuration[period] < shortestPeriod);
}

/** The name servers of the cluster, as addresses are written. */
export function clusterNameServers(configuration: Pick<KubeletConfiguration, 'clusterDNS'>): string[] {
  return configuration.clusterDNS.flatMap((text) => {
    const address = parseIp(text);
    return address === null ? [] : [formatIp(address)];
  });
}

/** Malformed entries of clusterDNS, which are ignored. */
export function badNameServers(configuration: Pick<KubeletConfiguration, 'clusterDNS'>): string[] {
  return configuration.clusterDNS.filter((text) => parseIp(text) === null);
}
