// Node facts for the configuration of pods: the host as it was read, the configuration, and the host's two files (hosts,
// resolv.conf) that pods inherit and that may change at any time.

import { hostname } from 'node:os';
import type { HostReading, PassingFacts } from '../../adapters/linux/index.js';
import { keepsTmpfsFromSwap } from '../../adapters/storage/index.js';
import type { CgroupDriver } from '../../domain/cgroups/cgroup-name.js';
import { hugePageUnit } from '../../domain/cgroups/huge-page-sizes.js';
import { machineCapacity, machineFacts, noDevices, nodeReservation, nodeResources } from '../../domain/cgroups/node-allocatable.js';
import type { LoadedConfiguration } from '../../domain/configuration/load-configuration.js';
import type { StartupValues } from '../../domain/configuration/startup-checks.js';
import { clusterNameServers } from '../../domain/configuration/taken-values.js';
import type { NodeFacts } from '../../domain/containers/node-facts.js';
import type { NodeAddress } from '../../domain/status/pod-addresses.js';
import type { MachineReading } from '../../ports/outbound/machine.js';
import { micros, nodeIpsOf } from './kubelet-settings.js';

/** Facts that stay unchanged while the agent runs. */
export interface SteadyFacts {
  readonly loaded: LoadedConfiguration;
  readonly host: HostReading;
  readonly startup: StartupValues;
  readonly cgroupDriver: CgroupDriver;
  readonly machine: MachineReading;
}

const unspecified: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

export function nodeFactsOf(steady: SteadyFacts, passing: PassingFacts): NodeFacts {
  const { loaded, host, cgroupDriver } = steady;
  const { configuration: c, options, features } = loaded;
  const v2 = host.cgroupVersion === 2;
  return {
    cgroupVersion: host.cgroupVersion,
    machineMemoryBytes: host.memoryBytes,
    cpuCfsQuota: c.cpuCFSQuota,
    cpuCfsQuotaPeriod: micros(c.cpuCFSQuotaPeriod),
    singleProcessOomKill: c.singleProcessOOMKill ?? !v2,
    hugePageSizes: host.hugePageBytes.flatMap((bytes) => {
      const unit = hugePageUnit(BigInt(bytes));
      return unit.ok ? [unit.unit] : [];
    }),
    swap: { behavior: c.memorySwap.swapBehavior, bytes: host.swapBytes, controllerAvailable: host.swapControllerAvailable },
    // Pods get no memory.min, memory.low or memory.high yet, whatever the gate MemoryQoS says.
    memoryQos: null,
    clusterDns: clusterNameServers(c),
    clusterDomain: c.clusterDomain,
    resolvConf: passing.resolvConf,
    resolvConfPath: c.resolvConf,
    nodeIps: nodeIpsOf(options.nodeIp),
    rootDirectory: options.rootDir,
    podLogsDirectory: c.podLogsDir,
    cgroupRoot: c.cgroupRoot === '' ? '/' : c.cgroupRoot,
    cgroupDriver,
    cgroupsPerQos: c.cgroupsPerQOS,
    podPidsLimit: c.podPidsLimit,
    hostsFile: passing.hostsFile,
    seccompDefault: c.seccompDefault || options.seccompDefault,
    selinuxEnabled: host.selinuxEnabled,
    seLinuxFileLabel: host.seLinuxFileLabel,
    seLinuxMount: features.seLinuxMount,
    memoryVolumesMaySwap: host.swapOn && !keepsTmpfsFromSwap(),
    projectQuotas: features.projectQuotas,
    containerStopSignals: features.containerStopSignals,
    changesStatusOnRestart: features.changesStatusOnRestart,
    thermalThrottlePaths: host.thermalThrottlePaths,
    runtimeClasses: {},
    runtimeHandlers: [],
    nodeAddresses: nodeAddresses(nodeIpsOf(options.nodeIp), passing.addresses),
    allocatable: allocatable(steady),
  };
}

/** The configured addresses, else the first of each family on the host. */
function nodeAddresses(asked: readonly string[], found: readonly string[]): NodeAddress[] {
  const specific = asked.filter((ip) => !unspecified.has(ip));
  const isV6 = (ip: string): boolean => ip.includes(':');
  const first = [found.find((ip) => !isV6(ip)), found.find(isV6)].filter((ip) => ip !== undefined);
  const internal = specific.length > 0 ? specific : asked[0] === '::' ? first.toReversed() : first;
  return [...internal.map((address) => ({ type: 'InternalIP', address })), { type: 'Hostname', address: hostname() }];
}

/** As the Node will have them: until that is known, and in a standalone node, these are the limits of pods without limits of their own. */
function allocatable({ loaded, startup, machine }: SteadyFacts): Readonly<Record<string, string>> {
  const { configuration: c } = loaded;
  const disk = c.localStorageCapacityIsolation ? machine.rootFilesystemBytes : null;
  const facts = machineFacts(machine, disk);
  return nodeResources(facts, nodeReservation(machineCapacity(facts), startup), { maxPods: c.maxPods, podsPerCore: c.podsPerCore }, noDevices, {}).allocatable;
}
