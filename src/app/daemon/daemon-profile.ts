// The role of a daemon on its host: the node's kubelet, a second agent beside it, or a demonstration. The agent is the same in each;
// the roles differ in how much of the host it may change.
import type { FlightRecordSettings } from '../../adapters/flight-record/index.js';
import type { PortOf } from '../../ports/operation.js';
import type { ProbingOperations } from '../../ports/outbound/probing.js';

export interface DaemonProfile {
  /** The directory of symlinks to container logs for log collectors. */
  readonly containerLogLinks: string;
  /**
   * This is the node's kubelet: it owns the runtime with every pod in it, the kernel's tunables and its own place among processes.
   * Any other agent shares the host, so it sets nothing of the kind and takes a runtime only if that holds no pod it doesn't know.
   */
  readonly ownsNode: boolean;
  /**
   * The runtime's images belong to this agent: unused ones are removed by the configured rules. Otherwise another program
   * of the host may need them, and none is removed.
   */
  readonly ownsImages: boolean;
  /** The directory of `projects` and `projid`, which record the host's projects; null: this agent may not assign projects. */
  readonly projectFilesDirectory: string | null;
  /** Take over the runtime with its pods: those without a source on this agent are stopped. */
  readonly takeOver: boolean;
  /** A running pod also counts as known if a manifest defines it: an agent that lost its root directory recognizes its pods. */
  readonly adoptsByManifest: boolean;
  /** The advice in the error for pods of other agents. */
  readonly takeOverAdvice: string;
  /** Port of the loopback listener in place of the configured one; 0: any free one. null: as configured. */
  readonly listenPort: number | null;
  /** The same for the authenticated port, and the address in place of the configured one. */
  readonly apiPort: number | null;
  readonly apiAddress: string | null;
  /** NDJSON file for the record of the agent's inputs and outputs; null: none. */
  readonly flightRecord: FlightRecordSettings | null;
  /** The live page's settings; null: no page. */
  readonly livePage: LivePageSettings | null;
  /** The implementation of probes; null: the network itself. Pods of a mock runtime have unreachable addresses. */
  readonly probing: PortOf<ProbingOperations> | null;
  /** Whether AppArmor profiles can be enforced; null: by the host's kernel. Containers of a mock runtime have no kernel. */
  readonly apparmorEnabled: boolean | null;
  readonly logind: LogindSettings;
}

/** The agent's use of logind, if node shutdown waits for pods. */
export interface LogindSettings {
  /** The configuration file that raises logind's maximum delay; null: this agent may not write it. */
  readonly dropIn: string | null;
  /** The program that holds the lock, in place of `systemd-inhibit`; null: that one. */
  readonly inhibitor: readonly string[] | null;
}

export interface LivePageSettings {
  /** A loopback address. */
  readonly address: string;
  /** 0: any free one. */
  readonly port: number;
}

export const defaultRootDirectory = '/var/lib/kubelet';
const logindDropIn = '/etc/systemd/logind.conf.d/99-kubelet.conf';
const nodeLogLinks = '/var/log/containers';
const takeOverAdvice =
  `Only the kubelet of the node takes over what it finds: with --root-dir ${defaultRootDirectory}, with --kubeconfig, ` +
  'or with node: own in the file that KUBELET_TS_CONFIG names.';

/** The inputs for the node's ownership: the root directory, membership of a cluster, and the agent's own settings. */
export interface NodeClaim {
  readonly rootDirectory: string;
  /** With --kubeconfig or --bootstrap-kubeconfig. */
  readonly joinsCluster: boolean;
}

/** The agent's own settings of the role; null: not set. */
export interface OwnClaims extends Pick<DaemonProfile, 'flightRecord' | 'livePage'> {
  readonly ownsImages: boolean | null;
  readonly ownsNode: boolean | null;
}

/** For `kubelet-ts`: the node's kubelet with the default root directory or as a node of a cluster, otherwise an agent beside it. */
export function kubeletProfile({ rootDirectory, joinsCluster }: NodeClaim, own: OwnClaims): DaemonProfile {
  const ownsNode = own.ownsNode ?? (rootDirectory === defaultRootDirectory || joinsCluster);
  return {
    containerLogLinks: ownsNode ? nodeLogLinks : `${rootDirectory}/containers-log`,
    ownsNode,
    ownsImages: own.ownsImages ?? ownsNode,
    projectFilesDirectory: '/etc',
    takeOver: false,
    adoptsByManifest: true,
    takeOverAdvice,
    listenPort: null,
    apiPort: null,
    apiAddress: null,
    flightRecord: own.flightRecord,
    livePage: own.livePage,
    probing: null,
    apparmorEnabled: null,
    logind: { dropIn: ownsNode ? logindDropIn : null, inhibitor: null },
  };
}
