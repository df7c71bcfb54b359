// The plugins that registered at this node, as data.
//
// | part    | contains                                                          | written by          |
// |---------|-------------------------------------------------------------------|---------------------|
// | sockets | each registration socket, and the progress of its registration    | the plugin manager  |
// | drivers | CSI drivers that can be called, and their endpoints               | the plugin manager  |
// | draPlugins | plugins of DRA drivers that can be called, and their endpoints | the plugin manager  |
// | jobs    | pending updates of the node's API objects, in order               | the CSINode keeper  |
//
// Invariant: a driver is in `drivers` only while its socket is registered, or is about to be.
import type { Micros } from '../../ports/micros.js';
import type { PluginInfo } from '../../ports/outbound/plugin-sockets.js';
import { newRetryPauses, type RetryPauses } from '../backoff/retry-pauses.js';
import type { View } from '../kernel/view.js';
import { microsPerSecond } from '../values/time.js';

export interface PluginRecord {
  readonly path: string;
  /** Of the socket in progress. */
  identity: string;
  /** Of the socket that was seen last; null: it is gone. */
  seen: string | null;
  phase: 'info' | 'nodeInfo' | 'objects' | 'notify' | 'registered' | 'refused' | 'leaving';
  info: PluginInfo | null;
  /** Why it was not registered; null: it was. */
  error: string | null;
  retryAt: Micros;
  delay: Micros;
}

export interface CsiDriverRecord {
  readonly name: string;
  readonly endpoint: string;
  /** The registration socket that brought it. */
  readonly socket: string;
  /** Highest version that both know. */
  readonly version: string;
}

/** A plugin of a DRA driver. */
export interface DraPluginRecord {
  readonly name: string;
  readonly endpoint: string;
  /** The registration socket that brought it. */
  readonly socket: string;
}

/** A driver's data for the Node and the CSINode. */
export interface CsiNodeEntry {
  readonly nodeId: string;
  readonly topology: Readonly<Record<string, string>>;
  /** null: no limit. */
  readonly maxVolumes: number | null;
}

export interface CsiNodeJob {
  /** '': no driver; the CSINode is to be there, and to name the plugins that are drivers' by now. */
  readonly driver: string;
  /** The registration that waits for it; null: it is of a driver's count, or of no driver. */
  readonly socket: string | null;
  /** null: remove the driver's data. */
  readonly entry: CsiNodeEntry | null;
  step: 'node' | 'annotate' | 'csiNode' | 'delete' | 'write';
  tries: number;
  nodeUid: string;
  /** The apiserver doesn't know of such objects at all. */
  isForeign: boolean;
}

export interface PluginManager {
  /** By path. */
  readonly sockets: Map<string, PluginRecord>;
  /** By name. */
  readonly drivers: Map<string, CsiDriverRecord>;
  /** The newest last. */
  readonly draPlugins: DraPluginRecord[];
  /** The first is being worked on. */
  readonly jobs: CsiNodeJob[];
  /** Drivers whose volume count is being updated. */
  readonly counting: Set<string>;
  /** Whether the API is known to have a CSINode; it is made before the first driver comes. */
  csiNode: 'unknown' | 'asked' | 'there';
  /** The apiserver is too old to have any: nothing waits for it. */
  isCsiNodeForeign: boolean;
  /** The earliest time of the next request. */
  csiNodeNotBefore: Micros;
  /** Consecutive failures to write it after a successful read, and the last error. null: no failure. */
  csiNodeFailures: number;
  csiNodeError: string | null;
  /** The UID of the Node that the CSINode and its drivers belong to; null: none seen. */
  nodeUid: string | null;
  /** Something changed while a scan was under way. */
  scanAgain: boolean;
  readonly scanPauses: RetryPauses;
}

export function newPluginManager(): PluginManager {
  return {
    sockets: new Map(),
    drivers: new Map(),
    draPlugins: [],
    jobs: [],
    counting: new Set(),
    csiNode: 'unknown',
    isCsiNodeForeign: false,
    csiNodeNotBefore: 0,
    csiNodeFailures: 0,
    csiNodeError: null,
    nodeUid: null,
    scanAgain: false,
    scanPauses: newRetryPauses(microsPerSecond, 60 * microsPerSecond),
  };
}

/** Why the CSINode keeps the node from being ready, in the words of the condition; null: the CSINode exists, or can't exist. */
export function csiNodeProblem({ csiNode, csiNodeError, isCsiNodeForeign }: View<PluginManager>): string | null {
  if (csiNode === 'there' || isCsiNodeForeign) return null;
  return csiNodeError === null ? 'CSINode is not yet initialized' : `failed to initialize CSINode: ${csiNodeError}`;
}

export const pluginScanAddress = { machine: 'plugin-scan', key: '' } as const;
export const pluginMachine = 'plugin';
export const csiNodeAddress = { machine: 'csi-node', key: '' } as const;
