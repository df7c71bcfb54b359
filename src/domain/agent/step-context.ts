// One step of the agent: its state, and the turn that performs its commands. It implements everything that the pod operations need of the
// agent.
import type { Micros } from '../../ports/micros.js';
import type { Secret } from '../../ports/model/config-objects.js';
import type { Node } from '../../ports/model/node.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodStatus } from '../../ports/model/pod-status.js';
import type { RuntimeContainerStatus } from '../../ports/model/runtime-status.js';
import type { PersistentVolumeClaim } from '../../ports/model/storage.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { podCgroupName } from '../cgroups/pod-cgroup-name.js';
import { type ContainerEnvSources, noEnvSources } from '../containers/container-config.js';
import type { NodeFacts } from '../containers/node-facts.js';
import { type RuntimeConfigs, runtimeConfigs } from '../containers/runtime-configs.js';
import { ensureImage, leaveImage, takeImage } from '../images/image-manager.js';
import type { EnsuredImage, ImageRequest } from '../images/image-manager-state.js';
import type { Turn } from '../kernel/machine.js';
import type { CsiView } from '../plugins/csi-view.js';
import { containerMoments } from '../pod-cache/pod-cache.js';
import type { ActuatedResources } from '../pod-sync/container-resize.js';
import type { AllocationOfPods, ClaimsOfPods, PinningOfPods, RangesOfPods, SyncContext, SyncSettings, VolumesOfPods } from '../pod-sync/sync-context.js';
import type { SyncRun } from '../pod-sync/sync-run.js';
import { isPodTerminationRequested } from '../pod-workers/queries.js';
import { podQosClass } from '../qos/qos-class.js';
import { derived } from '../values/derived.js';
import { containerFieldPath } from '../values/pod-references.js';
import type { AgentContext, ApiParts } from './agent-context.js';
import type { AgentState } from './agent-state.js';
import type { AgentView } from './agent-view.js';
import { actuatedOf, allocationOfPods } from './allocation-manager/allocation.js';
import { podCgroupMissing, podCgroupWritten } from './cgroups/node-cgroups.js';
import { podCgroupValues } from './cgroups/pod-cgroup-values.js';
import { setPrepared, setUnprepared } from './cgroups/prepared-pods.js';
import { claimsOfPods } from './dra-manager/claims.js';
import { RecordingTurn } from './event-recorder/event-recording.js';
import { uidOf } from './pod-manager/pod-index.js';
import { recordStartResult } from './pod-workers/start-failures.js';
import { ownNode, servicesOf } from './reflectors/api-state.js';
import { pinningOfPods } from './resource-managers/alignment.js';
import { sandboxConnected } from './status-manager/pod-statuses.js';
import { resumeRuns } from './sync-loop/requests.js';
import { rangesOfPods } from './user-namespace-manager/user-namespace-ranges.js';

/** The context of an agent's steps; one for the life of an agent. */
export class StepContext implements AgentContext {
  /** Pods processed in this step; counted by `takePodTurn`. */
  podsWorkedOn = 0;
  /** Pods whose runs have found that they can't run here; they are ended after this step. */
  readonly refusals = new Map<string, { readonly pod: Pod; readonly reason: string; readonly message: string }>();
  /** Pods whose volumes have changed; handled at the end of the step. */
  readonly podsWithVolumes = new Set<string>();
  readonly settings: SyncSettings;
  readonly probeResults: SyncContext['probeResults'];
  private data: SyncContext['apiData'] = null;
  private podVolumes: VolumesOfPods | null = null;
  private csiDrivers: CsiView | null = null;
  private ranges: RangesOfPods | null = null;
  private granted: AllocationOfPods | null = null;
  private pinned: PinningOfPods | null = null;
  private built: { readonly facts: unknown; readonly configs: RuntimeConfigs } | null = null;
  private current: Turn<AgentOperations> | null = null;
  private readonly recording: RecordingTurn | null;

  readonly state: AgentView;

  constructor(
    private readonly own: AgentState,
    readonly apiParts: ApiParts,
  ) {
    const { own: state } = this;
    this.state = state;
    const { runtimeRequestTimeout, podLogsDirectory, containerLogLinks, cgroupsPerQos } = state.settings;
    this.recording = state.eventRecorder === null ? null : new RecordingTurn(state);
    this.probeResults = state.probes.results;
    this.settings = {
      runtimeRequestTimeout,
      podLogsDirectory,
      containerLogLinks,
      podCgroup: (pod) => (cgroupsPerQos ? podCgroupName(state.nodeFacts.cgroupRoot, podQosClass(pod), uidOf(pod)) : null),
      podCgroupValues: (pod) => podCgroupValues(state, pod),
      isPodCgroupSet: (uid) => state.nodeCgroups.podsWritten.has(uid),
    };
  }

  /** The turn of the step that runs. */
  get turn(): Turn<AgentOperations> {
    return this.current as Turn<AgentOperations>;
  }

  begin(turn: Turn<AgentOperations>): void {
    this.current = this.recording?.around(turn) ?? turn;
    this.podsWorkedOn = 0;
  }

  /** Does something whose outputs go elsewhere. */
  during(turn: Turn<AgentOperations>, work: () => void): void {
    const { current } = this;
    this.current = turn;
    work();
    this.current = current;
  }

  /** Does something for a pod. A programmer error in it leaves the pod's UID in the state: the end of the process is attributed to it. */
  forPod<Result>(uid: string, work: () => Result): Result {
    const { subject } = this.own;
    this.own.subject = uid;
    const result = work();
    this.own.subject = subject;
    return result;
  }

  endedAt(uid: string, container: RuntimeContainerStatus): Micros | null {
    return containerMoments(this.state.cache, uid, container, this.turn).endedAt;
  }

  get configs(): RuntimeConfigs {
    const facts = this.state.nodeFacts;
    if (this.built === null || this.built.facts !== facts) this.built = { facts, configs: runtimeConfigs(facts) };
    return this.built.configs;
  }

  get nodeFacts(): NodeFacts {
    return this.state.nodeFacts;
  }

  get syncFrequency(): Micros {
    return this.state.settings.syncFrequency;
  }

  get apiData(): SyncContext['apiData'] {
    this.data ??= this.apiParts.apiData(this);
    return this.data;
  }

  get volumes(): VolumesOfPods {
    this.podVolumes ??= this.apiParts.volumes(this);
    return this.podVolumes;
  }

  get csi(): CsiView {
    this.csiDrivers ??= this.apiParts.csi(this);
    return this.csiDrivers;
  }

  get userNamespaces(): RangesOfPods {
    this.ranges ??= rangesOfPods(this.state);
    return this.ranges;
  }

  get allocation(): AllocationOfPods {
    this.granted ??= allocationOfPods(this.state);
    return this.granted;
  }

  get pinning(): PinningOfPods {
    this.pinned ??= pinningOfPods(this.state);
    return this.pinned;
  }

  get claims(): ClaimsOfPods | null {
    return claimsOfPods(this);
  }

  get nodeName(): string {
    return this.state.settings.nodeName;
  }

  get node(): Node | null {
    return ownNode(this.state.api);
  }

  get crashLoop(): AgentState['crashLoop'] {
    return this.own.crashLoop;
  }

  get images(): AgentState['images'] {
    return this.own.images;
  }

  get imageSettings(): AgentState['settings']['images'] {
    return this.state.settings.images;
  }

  get runtimeRequestTimeout(): Micros {
    return this.state.settings.runtimeRequestTimeout;
  }

  ensureImage(request: ImageRequest): number {
    return ensureImage(this, request);
  }

  takeImage(id: number): EnsuredImage | null {
    return takeImage(this, id);
  }

  leaveImage(id: number): void {
    leaveImage(this, id);
  }

  imageReady(podUid: string): void {
    resumeRuns(this.state, [podUid]);
  }

  refuse({ uid, pod }: SyncRun, reason: string, message: string): void {
    this.refusals.set(uid, { pod, reason, message });
  }

  pullSecret(namespace: string, name: string): Secret | null {
    const answer = this.apiData?.object('secret', namespace, name, 0) ?? null;
    if (answer?.kind === 'found') return answer.object as unknown as Secret;
    return this.state.pullSecrets.get(`${namespace}/${name}`) ?? null;
  }

  actuatedResources({ uid }: SyncRun): ActuatedResources {
    return actuatedOf(this.state, uid);
  }

  previousStatus(run: SyncRun): PodStatus {
    return this.state.statuses.get(run.uid)?.status ?? run.pod.status ?? {};
  }

  isTerminationRequested(uid: string): boolean {
    return isPodTerminationRequested(this.state.workers, uid);
  }

  podIp(uid: string): string {
    const run = this.state.runs.get(uid);
    return run?.status.ips[0] ?? this.state.statuses.get(uid)?.status.podIP ?? '';
  }

  /** @param annotations of the event; empty ones are none */
  event(pod: Pod, containerName: string | null, type: 'Normal' | 'Warning', reason: string, message: string, annotations: Readonly<Record<string, string>> = {}): void {
    const involvedObject = containerName === null ? podReference(pod) : containerReference(pod, containerName);
    const record = { involvedObject, type, reason, message };
    this.turn.emit('events.record', Object.keys(annotations).length === 0 ? record : { ...record, annotations });
  }

  claimEvent({ metadata }: PersistentVolumeClaim, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { name, namespace = '', uid = '', resourceVersion = '' } = metadata;
    this.turn.emit('events.record', { involvedObject: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid, resourceVersion }, type, reason, message });
  }

  nodeWarning(reason: string, message: string): void {
    this.nodeEvent('Warning', reason, message);
  }

  nodeEvent(type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { nodeName } = this.state.settings;
    this.turn.emit('events.record', { involvedObject: { kind: 'Node', name: nodeName, uid: nodeName }, type, reason, message });
  }

  podCgroupSet({ uid }: SyncRun): void {
    podCgroupWritten(this, uid);
  }

  podCgroupBehind({ uid }: SyncRun): void {
    podCgroupMissing(this, uid);
    setUnprepared(this.state, uid);
  }

  startResult(uid: string, containerName: string, failure: { readonly reason: string; readonly message: string } | null): void {
    recordStartResult(this, uid, containerName, failure);
  }

  envSources(): ContainerEnvSources {
    const { api } = this.state;
    return api === null ? noEnvSources : { ...noEnvSources, ...servicesOf(api) };
  }

  podPrepared(run: SyncRun): void {
    setPrepared(this.state, run.pod, this.turn.now);
  }

  volumesChanged(uid: string): void {
    this.podsWithVolumes.add(uid);
  }

  volumesWorkedOn(uid: string, pod: Pod, outdated: boolean): void {
    this.apiParts.volumesWorkedOn(this, uid, pod, outdated);
  }

  sandboxReady(run: SyncRun): void {
    sandboxConnected(this, run.uid, run.pod);
  }
}

/** How an event names its pod, or one of its containers. */
const podReference = derived((pod: Pod) => {
  const { name, namespace = '', resourceVersion } = pod.metadata;
  return { apiVersion: 'v1', kind: 'Pod', namespace, name, uid: uidOf(pod), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
});

const containerReferences = derived((_pod: Pod) => new Map<string, ReturnType<typeof podReference> & { readonly fieldPath: string }>());

function containerReference(pod: Pod, containerName: string) {
  const known = containerReferences(pod);
  let reference = known.get(containerName);
  if (reference === undefined) {
    reference = { ...podReference(pod), fieldPath: containerFieldPath(pod, containerName) };
    known.set(containerName, reference);
  }
  return reference;
}
