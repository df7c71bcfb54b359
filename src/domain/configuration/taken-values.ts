// Valid values of the configuration that are not used as they are: malformed addresses of name servers, and periods so short
// that the agent would do nothing else. Invariant: pure; the warning and the effective value come from the same rule.
import { formatIp, parseIp } from '../values/ip-address.js';
import type { KubeletConfiguration } from './schema.js';

/** Nanoseconds. The reference spins, or panics, on a period of nothing; ten looks a second cost a busy node nothing that it notices. */
export const shortestPeriod = 100_000_000;

const periods = ['syncFrequency', 'fileCheckFrequency', 'httpCheckFrequency'] as const;

/** Nanoseconds of a period of the configuration. */
export function takenPeriod(configuration: KubeletConfiguration, period: (typeof periods)[number]): number {
  return Math.max(configuration[period], shortestPeriod);
}

/** The periods that are shorter than what is taken. */
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

/** Entries of clusterDNS that are no addresses; they are left out. */
export function badNameServers(configuration: Pick<KubeletConfiguration, 'clusterDNS'>): string[] {
  return configuration.clusterDNS.filter((text) => parseIp(text) === null);
}
