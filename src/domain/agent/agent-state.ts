// The complete state of one node's agent, as data. Each slice has one owner, which alone writes it: see ownership.ts.
import type { Micros } from '../../ports/micros.js';
import type { Secret } from '../../ports/model/config-objects.js';
import type { Pod } from '../../ports/model/pod.js';
import type { RuntimeListing } from '../../ports/model/runtime-listing.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import type { ApiWatchEvents } from '../../ports/outbound/apiserver.js';
import type { ManifestsChanged } from '../../ports/outbound/manifests.js';
import type { ShutdownSignal, ShutdownSignalsLost } from '../../ports/outbound/node-shutdown.js';
import type { PluginSocketsChanged } from '../../ports/outbound/plugin-sockets.js';
import { type AllocationState, newAllocation } from '../allocation/allocation-state.js';
import type { ResizeConditions } from '../allocation/resize-conditions.js';
import { newCrashLoopBackoff } from '../backoff/crash-loop-backoff.js';
import type { KeyedBackoff } from '../backoff/keyed-backoff.js';
import { newRetryPauses, type RetryPauses } from '../backoff/retry-pauses.js';
import type { NodeFacts } from '../containers/node-facts.js';
import { type DraManager, startDraManager } from '../dra-manager/dra-state.js';
import { type EventRecorder, newEventRecorder } from '../events/event-recorder.js';
import { type ImageManagerState, newImageManagerState } from '../images/image-manager-state.js';
import { assert } from '../kernel/assert.js';
import { type LeaseKeeper, newLeaseKeeper } from '../lease/lease-keeper.js';
import type { NodeSettings } from '../node-status/node-settings.js';
import type { OomKill } from '../oom/oom-parser.js';
import { eventedHealthThreshold, healthThreshold, newPleg, type Pleg, plegEventQueueCapacity } from '../pleg/pleg.js';
import { newPluginManager, type PluginManager } from '../plugins/plugin-manager-state.js';
import { newPodCache, type PodCache } from '../pod-cache/pod-cache.js';
import { type FileSourceSettings, type FileSourceState, newFileSource } from '../pod-sources/file-source.js';
import { newPodConfig, type PodConfigState, type PodDelivery, type PodSource } from '../pod-sources/pod-config.js';
import { newUrlSource, type UrlSourceSettings, type UrlSourceState } from '../pod-sources/url-source.js';
import type { ActuatedResources } from '../pod-sync/container-resize.js';
import type { SyncRun } from '../pod-sync/sync-run.js';
import { newPodWorkers, type PodWorkers } from '../pod-workers/pod-worker-record.js';
import { newProbeRegistry, type ProbeRegistry } from '../probes/probe-registry.js';
import type { StartFailure } from '../status/container-statuses.js';
import type { StatusRecord } from '../status/status-manager.js';
import { newUserNamespaces, type UserNamespaces } from '../user-namespaces/user-namespaces.js';
import { newVolumeManager, type VolumeManager } from '../volume-manager/volume-manager-state.js';
import { type NodeCgroupsState, newNodeCgroups } from './cgroups/node-cgroups-state.js';
import { type LogRotationState, newLogRotation } from './container-log-manager/log-rotation-state.js';
import { type EvictionState, newEviction } from './eviction-manager/eviction-state.js';
import { type ImageCollectionState, newImageCollection, type PressedRound } from './image-gc/image-collection-state.js';
import { type NodeShutdownState, newNodeShutdown } from './node-shutdown-manager/node-shutdown-state.js';
import { type NodeStatusState, newNodeStatus } from './node-status/node-status-state.js';
import { newObservedTimes, type ObservedTimesState } from './observed-times/observed-times-state.js';
import { type AdmissionState, newAdmissionState } from './pod-admission/admission-state.js';
import { type AdoptionState, newAdoption } from './pod-config/adoption-state.js';
import { newPodIndex, type PodIndex } from './pod-manager/pod-index.js';
import { type ApiState, newApiState } from './reflectors/api-state.js';
import { type AlignmentSettings, type AlignmentState, startAlignment } from './resource-managers/alignment-state.js';
import { newRuntimeReadiness, type RuntimeReadiness } from './runtime-state/runtime-readiness.js';
import { newSetAside, type SetAsideState } from './set-aside/set-aside-state.js';
import type { AgentSettings } from './settings.js';
import type { PodStart } from './status-manager/pod-start-state.js';

/** What waits while the runtime can't be worked with, or for its turn. Deliveries keep their order; the others are sets. */
export interface LoopBacklog {
  readonly deliveries: WaitingDelivery[];
  readonly syncs: Set<string>;
  /** Pods whose runs and volumes may resume, since something that they wait for has arrived. */
  readonly woken: Set<string>;
  /** Some workers that wait for a status may resume. */
  statusesCame: boolean;
}

export interface WaitingDelivery extends PodDelivery {
  /** Its pods are in the order in which they are handled. */
  readonly inOrder: boolean;
}

/** The result of inspecting one pod; null: the runtime doesn't have it. */
export interface PodRelist {
  readonly uid: string;
  readonly askedAt: Micros;
  readonly found: PodRuntimeStatus | null;
}

export interface RelistState {
  /** A listing of everything is in progress. */
  listing: boolean;
  /** Another listing follows at once, since this one may be older than the latest change. */
  again: boolean;
  /** Inspections of single pods in progress, by uid: when the runtime was asked. */
  readonly looks: Map<string, Micros>;
  /** On-demand requests, by uid: when each was made. */
  readonly requests: Map<string, Micros>;
  /** Failed inspections, by uid, until one succeeds: the number in a row, and the time of the next automatic retry. */
  readonly failures: Map<string, { readonly count: number; readonly nextAt: Micros }>;
  /** By uid: sandboxes and containers that the listings have and an inspection did not find, until a listing omits them. */
  readonly denied: Map<string, ReadonlySet<string>>;
  /** How often in a row everything could not be listed. */
  failedLists: number;
  /** The newest listing of everything. */
  newest: RuntimeListing | null;
}

export interface HousekeepingState {
  phase: 'idle' | 'snapshots' | 'running';
  cgroups: readonly { readonly uid: string; readonly name: readonly string[] }[] | null;
  directories: readonly string[] | null;
  /** Something changed that may leave something to clean up. */
  dirty: boolean;
  /** The time of a safety-net pass, even without known remains; null: nothing was removed since the last one. */
  passAt: Micros | null;
  /** Failed operations to retry: a pass (`pass`), or a removal of a pass (`cgroup/<uid>`, `directory/<uid>`). */
  readonly retries: RetryPauses;
  /** Pods whose workers are done and that their source has no more. */
  readonly ended: Set<string>;
  /** Orphaned pods whose volumes and directories the last pass was to remove. */
  orphansSeen: number;
  lastAt: Micros;
}

export type CollectedItem =
  | { readonly kind: 'container'; readonly id: string; readonly podUid: string; readonly stopFirst: boolean }
  | { readonly kind: 'sandbox'; readonly id: string };

export interface CollectionState {
  /** The state of a round that the eviction loop requested, which also removes containers of terminated pods. */
  pressed: PressedRound;
  phase: 'idle' | 'listContainers' | 'removeContainers' | 'listSandboxes' | 'removeSandboxes' | 'logs';
  outstanding: number;
  /** Containers and sandboxes that are to go and wait for their turn. */
  readonly waiting: CollectedItem[];
  /** A round has its time. */
  planned: boolean;
  dirty: boolean;
}

/** What this agent has made for pods outside of the runtime; see prepared-pods. */
export interface PreparedState {
  /** By uid: the pod for which it was made, and when. */
  readonly pods: Map<string, { readonly pod: Pod; readonly at: Micros }>;
  lookPlanned: boolean;
  /** null: no check in progress. */
  lookAskedAt: Micros | null;
}

export interface ComputedFrom {
  readonly record: StatusRecord;
  readonly pod: Pod;
  readonly runtime: PodRuntimeStatus;
  readonly failures: ReadonlyMap<string, StartFailure>;
  readonly nodeFacts: NodeFacts;
  readonly runtimeName: string;
  readonly probes: number;
  readonly resize: ResizeConditions;
  readonly actuated: ActuatedResources;
}

/** What an agent has only with a cluster or with sources of static pods. */
export interface AgentSurroundings {
  /** null: the node is not one of a cluster. */
  readonly node: NodeSettings | null;
  /** null: no manifest path. */
  readonly fileSource: FileSourceSettings | null;
  /** null: no manifest URL. */
  readonly urlSource: UrlSourceSettings | null;
}

const noSurroundings: AgentSurroundings = { node: null, fileSource: null, urlSource: null };

export interface AgentState {
  readonly settings: AgentSettings;
  nodeFacts: NodeFacts;
  readonly config: PodConfigState;
  readonly pods: PodIndex;
  readonly workers: PodWorkers;
  readonly runs: Map<string, SyncRun>;
  /** Workers that wait for a runtime status newer than this. */
  readonly awaitingStatus: Map<string, Micros>;
  readonly pleg: Pleg;
  readonly cache: PodCache;
  readonly relist: RelistState;
  readonly prepared: PreparedState;
  readonly nodeCgroups: NodeCgroupsState;
  /** Pods that were alive at the first listing of the runtime, until they are found dead: UID -> full name. */
  readonly inherited: Map<string, string>;
  readonly adoption: AdoptionState;
  readonly readiness: RuntimeReadiness;
  readonly statuses: Map<string, StatusRecord>;
  /** By pod uid: the moments of the start times in `statuses`. */
  readonly podStarts: Map<string, PodStart>;
  readonly observed: ObservedTimesState;
  /** The inputs of the computed status, compared by identity to detect that it is current. */
  readonly computed: Map<string, ComputedFrom>;
  /** Why the last start of a container failed, by pod and container; replaced, never changed in place. */
  readonly startFailures: Map<string, ReadonlyMap<string, StartFailure>>;
  readonly probes: ProbeRegistry;
  /** null: standalone. */
  readonly api: ApiState | null;
  readonly admission: AdmissionState;
  readonly allocation: AllocationState;
  readonly crashLoop: KeyedBackoff;
  readonly images: ImageManagerState;
  /** Pull secrets as last reported, by `<namespace>/<name>`; empty without an apiserver. */
  pullSecrets: ReadonlyMap<string, Secret>;
  readonly backlog: LoopBacklog;
  readonly housekeeping: HousekeepingState;
  /** Unknown pods whose directories are being removed, by uid. */
  readonly orphans: Set<string>;
  readonly volumes: VolumeManager;
  readonly plugins: PluginManager;
  readonly userNamespaces: UserNamespaces;
  readonly collection: CollectionState;
  readonly imageCollection: ImageCollectionState;
  readonly eviction: EvictionState;
  readonly shutdown: NodeShutdownState;
  readonly logRotation: LogRotationState;
  /** null: containers get nothing exclusively, and no state is kept. */
  readonly alignment: AlignmentState | null;
  /** null: this node has no claims for devices. */
  readonly dra: DraManager | null;
  /** Containers that the deletor is removing. */
  readonly deleting: Set<string>;
  /** Messages already recorded for pods that lack a node feature; one event per message. */
  readonly reportedMissingFeatures: Map<string, string>;
  /** The UID of the pod that the step works for; null: none, or several. See `step-subject`. */
  subject: string | null;
  readonly setAside: SetAsideState;
  /** null: the node is not one of a cluster. */
  readonly nodeStatus: NodeStatusState | null;
  readonly nodeLease: LeaseKeeper | null;
  readonly eventRecorder: EventRecorder | null;
  readonly fileSource: FileSourceState | null;
  readonly urlSource: UrlSourceState | null;
  /** Every pod must end: the sources no longer count. */
  withdrawn: boolean;
  startedAt: Micros;
  /** The last known offset of the wall clock from the monotonic clock; null: not read yet. */
  wallOffset: Micros | null;
  /** When the loop last dispatched something or found that it could: what liveness is judged by. */
  loopEnteredAt: Micros;
}

export function newAgentState(settings: AgentSettings, nodeFacts: NodeFacts, { node, fileSource, urlSource }: AgentSurroundings = noSurroundings): AgentState {
  return {
    settings,
    nodeFacts,
    config: newPodConfig(settings.sources),
    pods: newPodIndex(),
    workers: newPodWorkers(),
    runs: new Map(),
    awaitingStatus: new Map(),
    pleg: newPleg(plegEventQueueCapacity, settings.runtimeSendsEvents ? eventedHealthThreshold : healthThreshold),
    cache: newPodCache(),
    relist: { listing: false, again: false, looks: new Map(), requests: new Map(), failures: new Map(), denied: new Map(), failedLists: 0, newest: null },
    prepared: { pods: new Map(), lookPlanned: false, lookAskedAt: null },
    nodeCgroups: newNodeCgroups(),
    inherited: new Map(),
    adoption: newAdoption(),
    readiness: newRuntimeReadiness(),
    statuses: new Map(),
    podStarts: new Map(),
    observed: newObservedTimes(),
    computed: new Map(),
    startFailures: new Map(),
    probes: newProbeRegistry(),
    api: settings.apiserver ? newApiState(settings.nodeName, settings.objectChangeDetection, settings.syncFrequency) : null,
    admission: newAdmissionState(),
    allocation: newAllocation(settings.resizeGates),
    crashLoop: newCrashLoopBackoff(settings.maxContainerRestartPeriod),
    images: newImageManagerState(settings.images),
    pullSecrets: new Map(),
    backlog: { deliveries: [], syncs: new Set(), woken: new Set(), statusesCame: false },
    housekeeping: {
      phase: 'idle',
      cgroups: null,
      directories: null,
      dirty: true,
      passAt: null,
      retries: newRetryPauses(2_000_000, 120_000_000),
      ended: new Set(),
      orphansSeen: 0,
      lastAt: 0,
    },
    orphans: new Set(),
    volumes: newVolumeManager(),
    plugins: newPluginManager(),
    userNamespaces: newUserNamespaces(settings.userNamespaces),
    collection: { pressed: 'none', phase: 'idle', outstanding: 0, waiting: [], planned: false, dirty: false },
    imageCollection: newImageCollection(),
    eviction: newEviction(),
    shutdown: newNodeShutdown(),
    logRotation: newLogRotation(),
    alignment: settings.alignment === null ? null : alignmentOf(settings.alignment),
    dra: settings.dra === null ? null : draOf(settings.dra.checkpoint),
    deleting: new Set(),
    reportedMissingFeatures: new Map(),
    subject: null,
    setAside: newSetAside(settings.setAside),
    nodeStatus: node === null ? null : newNodeStatus(node),
    nodeLease: node === null ? null : newLeaseKeeper(node.nodeName, node.leaseDurationSeconds, node.updateFrequency),
    eventRecorder: node === null ? null : newEventRecorder(node.nodeName),
    fileSource: fileSource === null ? null : newFileSource(fileSource),
    urlSource: urlSource === null ? null : newUrlSource(urlSource),
    withdrawn: false,
    startedAt: 0,
    wallOffset: null,
    loopEnteredAt: 0,
  };
}

/** The caller has checked that the settings are consistent. */
function alignmentOf(settings: AlignmentSettings): AlignmentState {
  const started = startAlignment(settings);
  assert(started.ok, started.ok ? '' : started.error);
  return started.state;
}

function draOf(checkpoint: string | null): DraManager {
  const started = startDraManager(checkpoint);
  assert(started.ok, started.ok ? '' : started.error);
  return started.manager;
}

/** The agent's inputs besides answers. */
export type AgentEvent =
  | { readonly type: 'start' }
  /** A source's complete current set of pods. */
  | { readonly type: 'podSet'; readonly source: PodSource; readonly pods: readonly Pod[] }
  /** The runtime reports a change of these pods. */
  | { readonly type: 'runtimeChanged'; readonly uids: readonly string[] }
  /** Some of the runtime's messages were lost: everything may have changed. */
  | { readonly type: 'runtimeChangesLost' }
  /** A watch of the API saw something. */
  | ApiWatchEvents
  | PluginSocketsChanged
  | ManifestsChanged
  /** All pods must end, whatever the sources report from now on. */
  | { readonly type: 'withdraw-pods' }
  | { readonly type: 'nodeFacts'; readonly facts: NodeFacts }
  | ShutdownSignal
  | ShutdownSignalsLost
  /** The kernel has killed a process for lack of memory. */
  | { readonly type: 'oomKill'; readonly kill: OomKill }
  /** The driver of a pod's volume reports it as abnormal. `volumeName` is its name in the pod. */
  | { readonly type: 'volumeAbnormal'; readonly uid: string; readonly volumeName: string; readonly message: string }
  /** The available Secret objects; replaces the previous set. */
  | { readonly type: 'pullSecrets'; readonly secrets: readonly Secret[] };
