// Facts of a plain node, as defaults for worlds and tests: one machine, no cluster DNS, no swap, no huge pages.
import type { NodeFacts } from './node-facts.js';

/** The default facts with overrides. */
export function nodeFacts(given: Partial<NodeFacts> = {}): NodeFacts {
  return {
    cgroupVersion: 2,
    machineMemoryBytes: 16 * 1024 ** 3,
    cpuCfsQuota: true,
    cpuCfsQuotaPeriod: 100_000,
    singleProcessOomKill: false,
    hugePageSizes: [],
    swap: { behavior: '', bytes: 0, controllerAvailable: false },
    memoryQos: null,
    clusterDns: [],
    clusterDomain: '',
    resolvConf: '',
    resolvConfPath: '/etc/resolv.conf',
    nodeIps: [],
    rootDirectory: '/var/lib/kubelet',
    podLogsDirectory: '/var/log/pods',
    cgroupRoot: '/',
    cgroupDriver: 'cgroupfs',
    cgroupsPerQos: true,
    podPidsLimit: -1,
    hostsFile: '',
    seccompDefault: false,
    selinuxEnabled: false,
    seLinuxFileLabel: '',
    seLinuxMount: false,
    projectQuotas: false,
    memoryVolumesMaySwap: false,
    containerStopSignals: false,
    changesStatusOnRestart: false,
    thermalThrottlePaths: [],
    runtimeClasses: {},
    runtimeHandlers: [],
    nodeAddresses: [],
    allocatable: {},
    ...given,
  };
}
