// The configuration as it is in effect, which is not always as it was written: the runtime knows its cgroup driver, whole reserved CPUs replace
// amounts, a flag switches a setting on, the node's owner sets its log level while it runs. /configz and /flagz show this one.
// Invariant: pure; a setting that the start changes is changed here by the same rule, and test/domain/settings-in-effect.test.ts has a row for it.
import type { CgroupDriver } from '../cgroups/cgroup-name.js';
import type { CpuSet } from '../values/cpu-set.js';
import type { ProcessOptions } from './apply-flags.js';
import type { LoadedConfiguration } from './load-configuration.js';
import { type KubeletConfiguration, withValue } from './schema.js';
import { reservationsWithCpus } from './startup-checks.js';
import { clusterNameServers, takenPeriod } from './taken-values.js';

/** What the start found out, or did differently. */
export interface FactsOfStart {
  readonly cgroupDriver: CgroupDriver;
  readonly reservedSystemCpus: CpuSet;
  /** Of the pair that the agent made for itself; null: it serves another one. */
  readonly ownServingFiles: { readonly certificate: string; readonly key: string } | null;
  /** Of the kubelet's port; null: as configured. */
  readonly port: number | null;
  /** Of the log, now. */
  readonly verbosity: number;
}

type Shown = Pick<LoadedConfiguration, 'configuration' | 'options'>;

export function settingsInEffect({ configuration: c, options }: Shown, facts: FactsOfStart): { readonly configuration: KubeletConfiguration; readonly options: ProcessOptions } {
  const seccompDefault = c.seccompDefault || options.seccompDefault;
  const own = facts.ownServingFiles;
  const changes: Readonly<Record<string, unknown>> = {
    cgroupDriver: facts.cgroupDriver,
    ...reservationsWithCpus(c, facts.reservedSystemCpus),
    seccompDefault,
    ...(own === null ? {} : { tlsCertFile: own.certificate, tlsPrivateKeyFile: own.key }),
    port: facts.port ?? c.port,
    syncFrequency: takenPeriod(c, 'syncFrequency'),
    fileCheckFrequency: takenPeriod(c, 'fileCheckFrequency'),
    httpCheckFrequency: takenPeriod(c, 'httpCheckFrequency'),
    clusterDNS: clusterNameServers(c),
    'logging.verbosity': facts.verbosity,
  };
  const configuration = Object.entries(changes).reduce((changed, [path, value]) => withValue(changed, path.split('.'), value), c);
  return { configuration, options: { ...options, seccompDefault } };
}
