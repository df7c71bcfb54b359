// The parts of an input that the sandbox-config and container-config areas share, as our own types.

import type { NodeFacts, RuntimeHandlerFacts } from '../../src/domain/containers/node-facts.js';
import type { PodInputs } from '../../src/domain/containers/sandbox-config.js';
import { parseGoDuration } from '../../src/domain/values/go-duration.js';
import type { Pod } from '../../src/ports/model/pod.js';

export interface NodeInput {
  readonly cgroupVersion: 1 | 2;
  readonly singleProcessOOMKill: boolean;
  readonly cpuCFSQuota: boolean;
  readonly cpuCFSQuotaPeriod: string;
  readonly seccompDefault: boolean;
  readonly memoryBytes: number;
  readonly swapBehavior: string;
  readonly swapBytes: number;
  readonly swapControllerAvailable: boolean;
  readonly hugePageSizes: readonly string[];
  readonly clusterDNS: readonly string[];
  readonly clusterDomain: string;
  readonly resolvConf: string;
  readonly runtimeClasses: Readonly<Record<string, string>>;
  readonly runtimeHandlers: readonly RuntimeHandlerFacts[];
}

export interface ConfigInput {
  readonly pod: Pod;
  readonly attempt: number;
  readonly cgroupParent: string;
  readonly userNamespaceMapping?: { readonly hostId: number; readonly length: number };
  readonly volumeSupplementalGroups?: readonly number[];
  readonly exclusiveCPUs?: boolean;
  readonly node: NodeInput;
}

export function nodeFacts(node: NodeInput): NodeFacts {
  return {
    rootDirectory: '/var/lib/kubelet',
    podLogsDirectory: '/var/log/pods',
    cgroupVersion: node.cgroupVersion,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: '/',
    cgroupsPerQos: true,
    podPidsLimit: -1,
    clusterDns: node.clusterDNS,
    clusterDomain: node.clusterDomain,
    resolvConf: node.resolvConf,
    resolvConfPath: '/etc/resolv.conf',
    nodeIps: [],
    hostsFile: '',
    cpuCfsQuota: node.cpuCFSQuota,
    cpuCfsQuotaPeriod: parseGoDuration(node.cpuCFSQuotaPeriod)!,
    seccompDefault: node.seccompDefault,
    machineMemoryBytes: node.memoryBytes,
    hugePageSizes: node.hugePageSizes,
    swap: { behavior: node.swapBehavior, bytes: node.swapBytes, controllerAvailable: node.swapControllerAvailable },
    memoryQos: null,
    singleProcessOomKill: node.singleProcessOOMKill,
    selinuxEnabled: false,
    seLinuxFileLabel: '',
    seLinuxMount: false,
    projectQuotas: false,
    memoryVolumesMaySwap: false,
    containerStopSignals: false,
    changesStatusOnRestart: false,
    thermalThrottlePaths: [],
    runtimeClasses: node.runtimeClasses,
    runtimeHandlers: node.runtimeHandlers,
    nodeAddresses: [],
    allocatable: {},
  };
}

export function podInputs(input: ConfigInput): PodInputs {
  const { cgroupParent, userNamespaceMapping, volumeSupplementalGroups, exclusiveCPUs } = input;
  return {
    cgroupParent,
    ...(userNamespaceMapping === undefined ? {} : { userNamespaceMapping }),
    ...(volumeSupplementalGroups === undefined ? {} : { volumeSupplementalGroups }),
    ...(exclusiveCPUs === undefined ? {} : { exclusiveCpus: exclusiveCPUs }),
  };
}
