// One simulated node of a world: its agent with its surroundings, and the actions and queries of a scenario.
// Invariant: a fresh agent knows only the disk and the runtime; all state that outlives an agent is in the models.
import type { AgentState } from '../domain/agent/agent-state.js';
import { type KubeletEvent, type KubeletOperations, type KubeletState, kubeletMachine, newKubeletState } from '../domain/agent/kubelet.js';
import { type AlignmentSettings, noAlignmentPolicies } from '../domain/agent/resource-managers/alignment-state.js';
import { endedPodOf } from '../domain/agent/set-aside/set-aside.js';
import { setAsideFileName } from '../domain/agent/set-aside/set-aside-state.js';
import { defaultSettings } from '../domain/agent/settings.js';
import { cpuCheckpointName } from '../domain/checkpoints/cpu-checkpoint.js';
import { draCheckpointName } from '../domain/checkpoints/dra-checkpoint.js';
import { memoryCheckpointName } from '../domain/checkpoints/memory-checkpoint.js';
import { observedTimesFileName } from '../domain/checkpoints/observed-times.js';
import { nodeFacts } from '../domain/containers/default-node-facts.js';
import { outputText, type RecordedStep } from '../domain/kernel/flight-recorder.js';
import { Kernel, type KernelData, type Output } from '../domain/kernel/kernel.js';
import { clonePlain } from '../domain/kernel/plain-clone.js';
import { streamOf } from '../domain/kernel/random.js';
import { nodeSettings } from '../domain/node-status/node-settings.js';
import type { Clocks } from '../domain/values/instant.js';
import type { Micros } from '../ports/micros.js';
import type { Pod } from '../ports/model/pod.js';
import type { PodStatus } from '../ports/model/pod-status.js';
import type { ManifestContent, ManifestsChanged } from '../ports/outbound/manifests.js';
import { emptyApiClientState, nodeUser, SimApiClient, type SimApiClientState } from './apiserver/sim-api-client.js';
import type { SimApiserver } from './apiserver/sim-apiserver.js';
import type { Observation } from './checkers/checker.js';
import { FaultPlan, type FaultPlanData, type FaultRule } from './faults/fault-plan.js';
import { worldFaults } from './faults/world-faults.js';
import type { SimEvent, SimHostState } from './host/host-state.js';
import { emptyHostState } from './host/host-state.js';
import { simLogLineBytes } from './host/sim-container-logs.js';
import { SimHost } from './host/sim-host.js';
import { type SimMachineShape, simTopology, topologyOf } from './host/sim-machine.js';
import { emptyManifestsState, SimManifests, type SimManifestsState } from './manifests/sim-manifests.js';
import { emptyRuntimeState, runningPods, type SimContainer, type SimRuntimeEvent, type SimRuntimeState, type SimSandbox } from './runtime/runtime-state.js';
import { SimContainerRuntime } from './runtime/sim-container-runtime.js';
import { defaultFileCheckPeriod, manifestDirectory, type SimClusterOptions } from './sim-cluster-options.js';
import { SimNode } from './sim-node.js';
import type { World } from './world.js';

/** Everything of a node but its kernel, as data. */
export interface SimNodeData {
  readonly name: string;
  /** The number of its agents so far. */
  readonly lives: number;
  readonly agent: KubeletState;
  readonly runtime: SimRuntimeState;
  readonly host: SimHostState;
  readonly manifests: SimManifestsState;
  readonly faults: FaultPlanData;
  readonly downUntil: Micros | null;
  readonly api: SimApiClientState;
}

type SimWorld = World<KubeletState, KubeletEvent, KubeletOperations>;
type SimKernel = Kernel<KubeletState, KubeletEvent, KubeletOperations>;

export function newNodeData(name: string, options: SimClusterOptions, now: Micros): SimNodeData {
  const manifests = emptyManifestsState();
  manifests.directories.add(manifestDirectory);
  const faults = new FaultPlan(options.faults ?? [], streamOf(options.seed, 'faults', name), now).data();
  const host = emptyHostState();
  if (options.machine !== undefined) setShape(host, options.machine);
  return { name, lives: 1, agent: freshAgent(name, options, host), runtime: emptyRuntimeState(), host, manifests, faults, downUntil: null, api: emptyApiClientState() };
}

function setShape({ machine }: SimHostState, shape: SimMachineShape): void {
  const topology = simTopology(shape);
  machine.topology = topology;
  const cpus = topology.cores.reduce((sum, { threads }) => sum + threads.length, 0);
  const memoryBytes = topology.numaNodes.reduce((sum, node) => sum + node.memoryBytes, 0);
  const hugePages = (shape.hugePages ?? []).map(({ pageSizeKiB, numPages }) => ({ pageSizeKiB, count: numPages * topology.numaNodes.length }));
  machine.reading = { ...machine.reading, cpus, memoryBytes, hugePages };
}

/** As at a daemon's start: reads the machine and the state files, from which the managers resume. */
function alignmentOf(options: SimClusterOptions, { machine, stateFiles }: SimHostState): AlignmentSettings | null {
  if (options.alignment === undefined) return null;
  const files = { cpu: stateFiles.get(cpuCheckpointName) ?? null, memory: stateFiles.get(memoryCheckpointName) ?? null };
  const given = { machine: topologyOf(machine), stateDirectory: '/var/lib/kubelet', stateFiles: files, containers: new Map() };
  return { ...noAlignmentPolicies, ...options.alignment, ...given };
}

function freshAgent(name: string, options: SimClusterOptions, host: SimHostState): KubeletState {
  const inCluster = options.node !== undefined;
  const alignment = alignmentOf(options, host);
  const dra = options.claims === true ? { checkpoint: host.stateFiles.get(draCheckpointName) ?? null } : null;
  const setAside = { ends: host.endedSteps, forgiven: host.stateFiles.get(setAsideFileName) ?? null };
  const observedTimes = { text: host.stateFiles.get(observedTimesFileName) ?? null, bootId: host.machine.reading.bootId, bootedAt: 0 };
  const agent = {
    ...defaultSettings,
    apiserver: inCluster,
    alignment,
    dra,
    setAside,
    observedTimes,
    ...options.settings,
    nodeName: name,
    runtimeSendsEvents: options.runtimeSendsEvents === true,
  };
  const source = { nodeName: name, preventApiReferences: true, checkPeriod: options.fileCheckPeriod ?? defaultFileCheckPeriod };
  const fileSource = { ...source, path: manifestDirectory };
  const urlSource = options.manifestUrl === undefined ? null : { ...source, url: options.manifestUrl, headers: {} };
  const node = options.node === undefined ? null : nodeSettings(name, options.node);
  return newKubeletState({ agent, node, fileSource, urlSource }, nodeFacts(options.facts));
}

export class SimClusterNode {
  readonly name: string;
  readonly runtime: SimContainerRuntime;
  readonly host: SimHost;
  readonly manifests: SimManifests;
  readonly model: SimNode;
  /** null: the world has no apiserver. */
  readonly api: SimApiClient | null;
  state: KubeletState;
  lives: number;
  private faultPlan: FaultPlan;
  private steps: RecordedStep<KubeletEvent, KubeletOperations>[] = [];
  /** The state before the recorded steps; null: nothing is recorded. */
  private beginning: KubeletState | null;

  constructor(
    data: SimNodeData,
    private readonly options: SimClusterOptions,
    private readonly world: () => SimWorld,
    private readonly observe: (what: Observation) => void,
    apiserver: SimApiserver | null,
  ) {
    this.name = data.name;
    this.lives = data.lives;
    this.state = data.agent;
    this.beginning = options.record === true ? clonePlain(data.agent) : null;
    const seed = (purpose: string) => streamOf(options.seed, purpose, data.name);
    this.host = new SimHost({ seed: seed('host') }, data.host);
    this.runtime = new SimContainerRuntime({ registry: 'any', ...options.runtime, seed: seed('runtime') }, data.runtime, (event) => this.runtimeChanged(event));
    this.host.imageBytes = () => this.runtime.images.bytes();
    this.host.runningPods = () => runningPods(this.runtime.state);
    this.manifests = new SimManifests(data.manifests);
    const { rules, start } = data.faults;
    this.faultPlan = new FaultPlan(rules, data.faults.seed, start, data.faults);
    const user = nodeUser(data.name);
    this.api = apiserver === null ? null : new SimApiClient(apiserver, { name: data.name, user }, () => world().refresh(data.name), data.api);
    const ports = { host: this.host, manifests: this.manifests, ...(this.api === null ? {} : { apiserver: this.api }) };
    const parts = { ...ports, runtime: this.runtime, runtimeSendsEvents: options.runtimeSendsEvents === true };
    this.model = new SimNode({ ...parts, faults: worldFaults(this.faultPlan), watch: (command) => observe({ kind: 'command', command }) }, data.downUntil);
  }

  data(): SimNodeData {
    const { name, lives, state, runtime, host, manifests, model } = this;
    const api = this.api?.state ?? emptyApiClientState();
    return { name, lives, agent: state, runtime: runtime.state, host: host.state, manifests: manifests.state, faults: this.faultPlan.data(), downUntil: model.downUntil, api };
  }

  // What happens to it.

  /** Writes a manifest, new or in place of the old one. */
  put(file: string, pod: Pod): void {
    const value = clonePlain({ apiVersion: 'v1', kind: 'Pod', ...pod });
    this.putContent(file, { kind: 'document', value, notes: [] });
  }

  /** Writes a file with any content. */
  putContent(file: string, content: ManifestContent): void {
    this.notify(this.manifests.put(`${manifestDirectory}/${file}`, content));
  }

  remove(file: string): void {
    this.notify(this.manifests.remove(`${manifestDirectory}/${file}`));
  }

  /** kill -9 of the agent. */
  kill(): void {
    this.world().stop(this.name);
    this.manifests.state.watched.clear();
    this.api?.reset();
  }

  /** A fresh agent, in place of the old one if that still runs. */
  start(): void {
    this.kill();
    this.lives++;
    this.state = freshAgent(this.name, this.options, this.host.state);
    this.steps = [];
    this.beginning = this.options.record === true ? clonePlain(this.state) : null;
    this.world().restart(this.name, this.newKernel());
    this.observe({ kind: 'started' });
    this.world().send(this.name, { type: 'start' });
  }

  /** A programmer error has ended the agent: records the subject, as a daemon does, and starts a fresh agent. */
  endedByError(): void {
    const { agent } = this;
    const { endedSteps } = this.host.state;
    const pod = endedPodOf(agent, this.world().now);
    if (pod !== null) endedSteps.push({ ...pod, at: this.world().wallOf(this.name), file: `ended-steps/${endedSteps.length}.json` });
    this.start();
  }

  /** Something happens to the agent: an event of its vocabulary, e.g. pods of another source. */
  send(event: KubeletEvent): void {
    this.world().send(this.name, event);
  }

  /** The runtime refuses everything for this long; containers keep running. */
  runtimeDown(micros: Micros): void {
    this.model.downUntil = this.world().now + micros;
    this.world().refresh(this.name);
  }

  /** Init announces that the node will shut down, or cancels it; the scenario decides what follows. */
  announceShutdown(active: boolean): void {
    const { shutdown } = this.host.state;
    if (!shutdown.isPresent || shutdown.shuttingDown === active) return;
    shutdown.shuttingDown = active;
    // Only an agent that listens gets the signal; the next agent asks init.
    if (this.agent.shutdown.manager.phase !== 'off' && this.agent.shutdown.manager.phase !== 'failed') this.world().send(this.name, { type: 'shutdown-signal', active });
  }

  /** The node's wall clock is set: forward by that, or back where it is negative. A host that sleeps has its wall clock ahead by that, too. */
  stepWall(by: Micros): void {
    this.world().stepWall(this.name, by);
  }

  setNetworkReady(ready: boolean): void {
    this.runtime.state.networkReady = ready ? { status: true, reason: '', message: '' } : { status: false, reason: 'NetworkPluginNotReady', message: 'cni plugin not initialized' };
  }

  /** Replaces the faults from now on. */
  setFaults(rules: readonly FaultRule[]): void {
    this.faultPlan = new FaultPlan(rules, streamOf(this.options.seed, 'faults', `${this.name}/${this.world().now}`), this.world().now);
    this.model.faults = worldFaults(this.faultPlan);
  }

  // Queries of the node's state.

  get agent(): AgentState {
    return this.state.agent;
  }

  /** The pods of the manifests that the agent knows, by the name that the manifest gives. */
  pod(name: string): Pod | null {
    for (const pod of this.agent.pods.pods.values()) if (pod.metadata.name === `${name}-${this.name}` || pod.metadata.name === name) return pod;
    return null;
  }

  /** The status that the agent reports for the pod; null before the first report. */
  status(name: string): PodStatus | null {
    return this.agent.statuses.get(this.pod(name)?.metadata.uid ?? '')?.status ?? null;
  }

  statusOf(uid: string): PodStatus | null {
    return this.agent.statuses.get(uid)?.status ?? null;
  }

  /** Events of a pod, oldest first; all without a name. */
  events(name?: string): readonly SimEvent[] {
    return this.host.state.events.filter(({ record }) => name === undefined || record.involvedObject.name === name || record.involvedObject.name === `${name}-${this.name}`);
  }

  /** The runtime's containers, oldest first; those of one pod if its uid is given. */
  containers(uid?: string): SimContainer[] {
    return [...this.runtime.state.containers.values()].filter(({ podUid }) => uid === undefined || podUid === uid);
  }

  sandboxes(uid?: string): SimSandbox[] {
    return [...this.runtime.state.sandboxes.values()].filter(({ config }) => uid === undefined || config.metadata.uid === uid);
  }

  /** The inputs and commands of the present agent; empty unless enabled in the options. */
  get recorded(): { readonly seed: number; readonly steps: readonly RecordedStep<KubeletEvent, KubeletOperations>[] } {
    return { seed: this.kernelSeed(), steps: this.steps };
  }

  /** The state that the recorded steps begin with; without a record, the one of an agent that would be started now. */
  freshState(): KubeletState {
    return this.beginning !== null ? clonePlain(this.beginning) : freshAgent(this.name, this.options, this.host.state);
  }

  // The interface for its world.

  newKernel(): SimKernel {
    return new Kernel(this.machine(), this.state, this.kernelSeed());
  }

  revivedKernel(data: KernelData<KubeletOperations>): SimKernel {
    return new Kernel(this.machine(), this.state, data);
  }

  stepped({ now, wall }: Clocks, input: unknown, output: Output<unknown>): void {
    if (this.options.record === true) {
      const step = { now, wall, input, output: outputText(output) } as RecordedStep<KubeletEvent, KubeletOperations>;
      this.steps.push(clonePlain(step));
    }
    this.observe({ kind: 'step' });
    this.options.observe?.(this.name, input, this.state);
  }

  private machine() {
    return (this.options.agent ?? kubeletMachine)(this.state);
  }

  private kernelSeed(): number {
    return streamOf(this.options.seed, 'agent', `${this.name}/${this.lives}`);
  }

  private notify(event: ManifestsChanged | null): void {
    if (event !== null) this.world().send(this.name, event);
  }

  private runtimeChanged(event: SimRuntimeEvent): void {
    this.writeLog(event);
    this.observe({ kind: 'runtime', event });
  }

  /** A container's log file exists from its start, and grows while it runs. */
  private writeLog({ kind, containerId, sandboxId, at }: SimRuntimeEvent): void {
    const container = this.runtime.state.containers.get(containerId);
    const directory = this.runtime.state.sandboxes.get(sandboxId)?.config.logDirectory ?? '';
    if (container === undefined || directory === '' || container.config.logPath === '') return;
    const path = `${directory}/${container.config.logPath}`;
    const bytesPerSecond = container.script.logLinesPerSecond * simLogLineBytes;
    const logs = this.host.models.containerLogs;
    if (kind === 'started') logs.opened(containerId, path, bytesPerSecond, at);
    else if (kind === 'logReopened') logs.reopened(containerId, path, bytesPerSecond, at);
    else if (kind === 'stopped') logs.closed(containerId, at);
  }
}
