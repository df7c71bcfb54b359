// The configuration in effect, which can differ from the configured one: the runtime reports its cgroup driver, reserved CPUs replace
// reserved amounts, a flag enables a setting, the log level changes at run time. /configz and /flagz show it.
// Invariant: pure; a setting that the start changes is changed here by the same rule, and test/app/shown-settings.test.ts has a row for it.
import type { CgroupDriver } from '../cgroups/cgroup-name.js';
import type { CpuSet } from '../values/cpu-set.js';
import type { ProcessOptions } from './apply-flags.js';
import type { LoadedConfiguration } from './load-configuration.js';
import { type KubeletConfiguration, withValue } from './schema.js';
import { reservationsWithCpus } from './startup-checks.js';
import { clusterNameServers, takenPeriod } from './taken-values.js';

/** Facts found or changed at the start. */
export interface FactsOfStart {
  readonly cgroupDriver: CgroupDriver;
  readonly reservedSystemCpus: CpuSet;
  /** Files of the self-signed serving certificate; null: another certificate is served. */
  readonly ownServingFiles: { readonly certificate: string; readonly key: string } | null;
  /** The port that is listened on; null: as configured. */
  readonly port: number | null;
  /** The log level now. */
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
