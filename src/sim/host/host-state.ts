// The state that a simulated host keeps for the agent, as plain data: it can be cloned, hashed and serialized.

import type { Micros } from '../../ports/micros.js';
import type { CgroupValues } from '../../ports/model/cgroup-values.js';
import type { PodEnd } from '../../ports/model/pod-end.js';
import type { CsiNodeOperations } from '../../ports/outbound/csi-node.js';
import type { DraClaimName, DraDevice, DraPluginOperations } from '../../ports/outbound/dra-plugin.js';
import type { EventRecord } from '../../ports/outbound/event-sink.js';
import type { HostPathKind } from '../../ports/outbound/pod-volumes.js';
import type { NodeDockerConfig } from '../../ports/outbound/registry-credentials.js';
import type { PortErrorKind } from '../../ports/port-error.js';
import { newSimMachine, type SimMachineState } from './sim-machine.js';
import { newSimShutdown, type SimShutdownState } from './sim-node-shutdown.js';
import { noSimUsage, type SimUsage } from './sim-node-stats.js';

export interface SimPodDirectory {
  /** '' until it is written. */
  hosts: string;
  /** The file `userns`; null if absent. */
  userNamespace: string | null;
  /** `<container>/<8 hex>`. */
  readonly terminationFiles: Set<string>;
  /** Paths below the directory where a scenario placed a mount, or data in a volume. */
  readonly mounts: Set<string>;
  readonly volumeData: Set<string>;
  /** By `<plugin>/<volume>`. */
  readonly volumes: Map<string, SimVolume>;
  /** The content of `volume-subpaths`, including directories; `source`: the bind mount's source. */
  readonly subPaths: Map<string, { readonly source: string | null }>;
  /** Links to devices, by `<plugin>/<volume>`. */
  readonly deviceLinks: Map<string, string>;
  /** Markers of volumes that were set up. */
  readonly readyVolumes: Set<string>;
}

export type SimVolumeNode =
  | { readonly kind: 'directory'; readonly mode: number; readonly gid: number }
  | { readonly kind: 'file'; readonly bytes: Uint8Array; readonly mode: number; readonly uid: number; readonly gid: number }
  | { readonly kind: 'symlink'; readonly target: string };

export interface SimVolume {
  mode: number;
  gid: number | null;
  /** Null: it is no tmpfs; 0: one without a limit. */
  readonly tmpfsBytes: number | null;
  /** Files written by the kubelet, by path in the volume. */
  readonly nodes: Map<string, SimVolumeNode>;
}

/** Something mounted into a volume. */
export interface SimVolumeMount {
  /** The path that is bound, or the file system's type and source. */
  readonly shown: string;
  readonly options: readonly string[];
  readonly gid: number;
}

/** A plugin at a registration socket. */
export interface SimPlugin {
  /** Of the socket: changes with each restart. */
  identity: string;
  readonly type: string;
  readonly name: string;
  readonly supportedVersions: readonly string[];
  readonly nodeId: string;
  maxVolumes: bigint;
  readonly topology: Readonly<Record<string, string>>;
  readonly capabilities: readonly string[];
  /** By volume: its size in bytes after the last expansion. */
  readonly sizes: Map<string, number>;
  /** Failures of its next calls by name, in order. */
  readonly failures: { readonly call: keyof CsiNodeOperations | keyof DraPluginOperations; readonly kind: PortErrorKind; readonly message: string }[];
  /** Of a DRA driver: its errors for claims with these names. */
  readonly claimErrors: Map<string, string>;
  /** The last registration result that it received; null: none yet. */
  notified: { readonly registered: boolean; readonly error: string } | null;
}

export interface SimLogWriter {
  path: string;
  readonly bytesPerSecond: number;
  since: Micros;
}

export interface SimEvent {
  readonly at: Micros;
  readonly record: EventRecord;
}

/** A plugin's output, or its failure, and its duration. */
export interface SimCredentialPlugin {
  readonly stdout: string;
  readonly failure: string | null;
  readonly takes: Micros;
  /** Records its input, once per call, for scenarios that check it. */
  readonly asked?: string[];
}

export interface SimHostState {
  /** By uid. */
  readonly podDirectories: Map<string, SimPodDirectory>;
  /** Paths of the host that scenarios and hostPath volumes made. */
  readonly hostPaths: Map<string, HostPathKind>;
  /** By mount point. */
  readonly volumeMounts: Map<string, SimVolumeMount>;
  /** Files processed by a running walk, by mount point. */
  readonly ownershipWalks: Map<string, number>;
  /** By registration socket. */
  readonly plugins: Map<string, SimPlugin>;
  pluginStarts: number;
  /** By DRA driver: the claims that it has prepared, by uid. */
  readonly draClaims: Map<string, Map<string, DraClaimName>>;
  /** By a claim's name: the devices that its driver assigns. */
  readonly draDevices: Map<string, readonly DraDevice[]>;
  /** By the mount path of a CSI volume. */
  readonly csiFiles: Map<string, { readonly data: string | null; readonly isMade: boolean }>;
  /** The device, by its bind-mounted file. */
  readonly blockMaps: Map<string, string>;
  /** Whether the file system has project quotas; by `<uid>/<plugin>/<volume>`: the project. */
  readonly projectQuotas: { isSupported: boolean; readonly projects: Map<string, number> };
  /** Pod log directory -> container -> name of a log file -> its size in bytes. */
  readonly logs: Map<string, Map<string, Map<string, number>>>;
  /** Running containers that log, by id: the file they write, and since when its size has not been counted up. */
  readonly logWriters: Map<string, SimLogWriter>;
  /** Link's path -> target. */
  readonly links: Map<string, string>;
  /** Cgroups that exist, names joined by `/`, parents too. */
  readonly cgroups: Set<string>;
  /** The last values, by the same names. */
  readonly cgroupValues: Map<string, CgroupValues>;
  readonly machine: SimMachineState;
  /** By name: their text. */
  readonly stateFiles: Map<string, string>;
  /** What ended agents by a programmer error. */
  readonly endedSteps: PodEnd[];
  readonly shutdown: SimShutdownState;
  /** The latest, oldest first. */
  readonly events: SimEvent[];
  /** Files of image pulls, by directory and name. */
  readonly pullRecords: { readonly pulling: Map<string, string>; readonly pulled: Map<string, string> };
  /** The node's Docker configuration; null if absent. */
  dockerConfig: NodeDockerConfig | null;
  /** What each credential provider plugin answers. */
  readonly credentialPlugins: Map<string, SimCredentialPlugin>;
  /** The size of the one disk, and its other usage besides images, in bytes. */
  readonly disk: { capacityBytes: number; otherBytes: number };
  /** Measured usage of the node and its pods. */
  readonly usage: SimUsage;
  eventsLost: number;
  terminationFilesMade: number;
  /** Keys of pods' certificates that were made. */
  podCertificateKeys: number;
}

export function emptyHostState(): SimHostState {
  return {
    podDirectories: new Map(),
    hostPaths: new Map(),
    volumeMounts: new Map(),
    ownershipWalks: new Map(),
    plugins: new Map(),
    pluginStarts: 0,
    draClaims: new Map(),
    draDevices: new Map(),
    csiFiles: new Map(),
    blockMaps: new Map(),
    projectQuotas: { isSupported: true, projects: new Map() },
    logs: new Map(),
    logWriters: new Map(),
    links: new Map(),
    cgroups: new Set(),
    cgroupValues: new Map(),
    machine: newSimMachine(),
    stateFiles: new Map(),
    endedSteps: [],
    shutdown: newSimShutdown(),
    events: [],
    ...nothingOfImages(),
    disk: { capacityBytes: 100 * 1024 ** 3, otherBytes: 10 * 1024 ** 3 },
    usage: noSimUsage(),
    eventsLost: 0,
    terminationFilesMade: 0,
    podCertificateKeys: 0,
  };
}

function nothingOfImages(): Pick<SimHostState, 'pullRecords' | 'dockerConfig' | 'credentialPlugins'> {
  return { pullRecords: { pulling: new Map(), pulled: new Map() }, dockerConfig: null, credentialPlugins: new Map() };
}
