// Settings of a node in a cluster, from flags and configuration.
import { hostname } from 'node:os';
import type { LoadedConfiguration } from '../../domain/configuration/load-configuration.js';
import type { StartupValues } from '../../domain/configuration/startup-checks.js';
import { declaredFeatures } from '../../domain/node-status/declared-features.js';
import type { NodeSettings } from '../../domain/node-status/node-settings.js';
import { reportedVersion } from '../cli/version.js';
import { micros, nodeIpsOf } from './kubelet-settings.js';

/** Go's names of architectures, as `kubernetes.io/arch` has them. */
const architectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386', ppc64: 'ppc64le', mips: 'mips', mipsel: 'mipsle' };

export function architectureName(): string {
  return architectures[process.arch] ?? process.arch;
}

export function clusterNode({ configuration: c, options, gates }: LoadedConfiguration, nodeName: string, startup: StartupValues): NodeSettings {
  return {
    nodeName,
    // The label's value: the override, else the host's name.
    hostname: options.hostnameOverride.trim() === '' ? hostname().trim().toLowerCase() : nodeName,
    architecture: architectureName(),
    nodeLabels: options.nodeLabels,
    registerWithTaints: (c.registerWithTaints ?? []).map(({ key, value, effect }) => (value === undefined || value === '' ? { key, effect } : { key, value, effect })),
    externalCloudProvider: options.cloudProvider === 'external',
    enableControllerAttachDetach: c.enableControllerAttachDetach,
    providerId: c.providerID,
    registerNode: c.registerNode,
    nodeIps: nodeIpsOf(options.nodeIp),
    kubeletPort: c.port,
    kubeletVersion: reportedVersion(),
    maxPods: c.maxPods,
    podsPerCore: c.podsPerCore,
    reservation: startup,
    localStorageCapacityIsolation: c.localStorageCapacityIsolation,
    nodeStatusMaxImages: c.nodeStatusMaxImages,
    updateFrequency: micros(c.nodeStatusUpdateFrequency),
    reportFrequency: micros(c.nodeStatusReportFrequency),
    leaseDurationSeconds: c.nodeLeaseDurationSeconds,
    declaredFeatures: declaredFeatures(gates),
  };
}
