// The complete state of one node's agent, as data. Each slice has one owner, which alone writes it: see ownership.ts.
import type { Micros } from '../../ports/micros.js';
import type { Secret } from '../../ports/model/config-objects.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ApiWatchEvents } from '../../ports/outbound/apiserver.js';
import type { ManifestsChanged } from '../../ports/outbound/manifests.js';
import type { ShutdownSignal, ShutdownSignalsLost } from '../../ports/outbound/node-shutdown.js';
import type { PluginSocketsChanged } from '../../ports/outbound/plugin-sockets.js';
import { type AllocationState, newAllocation } from '../allocation/allocation-state.js';
import { newCrashLoopBackoff } from '../backoff/crash-loop-backoff.js';
import type { KeyedBackoff } from '../backoff/keyed-backoff.js';
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
import { newPodConfig, type PodConfigState, type PodSource } from '../pod-sources/pod-config.js';
import { newUrlSource, type UrlSourceSettings, type UrlSourceState } from '../pod-sources/url-source.js';
import type { SyncRun } from '../pod-sync/sync-run.js';
import { newPodWorkers, type PodWorkers } from '../pod-workers/pod-worker-record.js';
import { newProbeRegistry, type ProbeRegistry } from '../probes/probe-registry.js';
import type { StartFailure } from '../status/container-statuses.js';
import type { StatusRecord } from '../status/status-manager.js';
import { newUserNamespaces, type UserNamespaces } from '../user-namespaces/user-namespaces.js';
import { newVolumeManager, type VolumeManager } from '../volume-manager/volume-manager-state.js';
import { type NodeCgroupsState, newNodeCgroups } from './cgroups/node-cgroups-state.js';
import { newPrepared, type PreparedState } from './cgroups/prepared-state.js';
import { type CollectionState, newCollection } from './container-gc/collection-state.js';
import { type LogRotationState, newLogRotation } from './container-log-manager/log-rotation-state.js';
import { type EvictionState, newEviction } from './eviction-manager/eviction-state.js';
import { type HousekeepingState, newHousekeeping } from './housekeeping/housekeeping-state.js';
import { type ImageCollectionState, newImageCollection } from './image-gc/image-collection-state.js';
import { type NodeShutdownState, newNodeShutdown } from './node-shutdown-manager/node-shutdown-state.js';
import { type NodeStatusState, newNodeStatus } from './node-status/node-status-state.js';
import { newObservedTimes, type ObservedTimesState } from './observed-times/observed-times-state.js';
import { newRelist, type RelistState } from './pleg/relist-state.js';
import { type AdmissionState, newAdmissionState } from './pod-admission/admission-state.js';
import { type AdoptionState, newAdoption } from './pod-config/adoption-state.js';
import { newPodIndex, type PodIndex } from './pod-manager/pod-index.js';
import { type ApiState, newApiState } from './reflectors/api-state.js';
import { type AlignmentSettings, type AlignmentState, startAlignment } from './resource-managers/alignment-state.js';
import { newRuntimeReadiness, type RuntimeReadiness } from './runtime-state/runtime-readiness.js';
import { newSetAside, type SetAsideState } from './set-aside/set-aside-state.js';
import type { AgentSettings } from './settings.js';
import type { ComputedFrom } from './status-manager/computed-from.js';
import type { PodStart } from './status-manager/pod-start-state.js';
import { type LoopBacklog, newBacklog } from './sync-loop/backlog.js';

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
    relist: newRelist(),
    prepared: newPrepared(),
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
    backlog: newBacklog(),
    housekeeping: newHousekeeping(),
    orphans: new Set(),
    volumes: newVolumeManager(),
    plugins: newPluginManager(),
    userNamespaces: newUserNamespaces(settings.userNamespaces),
    collection: newCollection(),
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
