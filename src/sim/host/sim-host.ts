// A host as a model: the agent's directories, logs, cgroups and events, answered synchronously from plain data.
//
// Invariants: a request takes effect at once, its answer comes after a latency; names and paths that the real adapters refuse are
// refused with the same kinds; the same seed and requests give the same answers.

import { unreachable } from '../../domain/kernel/assert.js';
import { instantOf } from '../../domain/values/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { EventSinkOperations } from '../../ports/outbound/event-sink.js';
import type { FilesystemUsageOperations } from '../../ports/outbound/filesystem-usage.js';
import type { NodeStatsOperations } from '../../ports/outbound/node-stats.js';
import { type Answer, answered, refused } from '../runtime/answers.js';
import { hostSettings, type SimHostOptions, type SimHostSettings } from './host-options.js';
import type { HostOperationName, HostOperations } from './host-ports.js';
import { emptyHostState, type SimHostState } from './host-state.js';
import { HostRefusal } from './refusal.js';
import { isBlockDeviceRequest, SimBlockDevices } from './sim-block-devices.js';
import { SimContainerLogs } from './sim-container-logs.js';
import { SimCsi } from './sim-csi.js';
import { isDraRequest, SimDra } from './sim-dra.js';
import { SimImageFiles } from './sim-image-files.js';
import { SimMachine } from './sim-machine.js';
import { isNodeShutdownRequest, SimNodeShutdown } from './sim-node-shutdown.js';
import { podsDiskBytes, type SimRunningPod, simNodeStats } from './sim-node-stats.js';
import { simPodCertificateKey } from './sim-pod-certificate-keys.js';
import { SimPodCgroups } from './sim-pod-cgroups.js';
import { SimPodDirectories } from './sim-pod-directories.js';
import { SimPodLogs } from './sim-pod-logs.js';
import { SimPodVolumes } from './sim-pod-volumes.js';
import { isProjectQuotaRequest, SimProjectQuotas } from './sim-project-quotas.js';
import { SimSubPaths } from './sim-sub-paths.js';
import { SimVolumeMounts } from './sim-volume-mounts.js';

type AnyRequest = { [Name in HostOperationName]: { readonly op: Name; readonly request: HostOperations[Name]['request'] } }[HostOperationName];
/** Of ports that have nothing to do with pods' files. */
type OtherRequest = Extract<
  AnyRequest,
  {
    readonly op:
      | `podCgroups.${string}`
      | `machine.${string}`
      | `stateFiles.${string}`
      | `events.${string}`
      | `filesystemUsage.${string}`
      | `nodeStats.${string}`
      | `volumeMounts.${string}`
      | `pluginSockets.${string}`
      | `csiNode.${string}`
      | `csiFiles.${string}`
      | `podCertificateKeys.${string}`
      | `pullRecords.${string}`
      | `registryCredentials.${string}`;
  }
>;

type MeasuredRequest = Extract<AnyRequest, { readonly op: `machine.${string}` | `stateFiles.${string}` | `filesystemUsage.${string}` | `nodeStats.${string}` }>;
type PluginRequest = Extract<AnyRequest, { readonly op: `pluginSockets.${string}` | `csiNode.${string}` | `csiFiles.${string}` }>;

const hostPorts: ReadonlySet<string> = new Set([
  ...['podDirectories', 'podVolumes', 'volumeMounts', 'hostPaths', 'subPaths', 'podLogs', 'containerLogs', 'podCgroups'],
  ...[
    'pluginSockets',
    'csiNode',
    'csiFiles',
    'draPlugin',
    'blockDevices',
    'projectQuotas',
    'podCertificateKeys',
    'pullRecords',
    'registryCredentials',
    'machine',
    'stateFiles',
    'events',
    'filesystemUsage',
    'nodeStats',
    'nodeShutdown',
  ],
]);

export class SimHost {
  readonly settings: SimHostSettings;
  readonly directories: SimPodDirectories;
  readonly volumes: SimPodVolumes;
  readonly subPaths: SimSubPaths;
  readonly volumeMounts: SimVolumeMounts;
  readonly csi: SimCsi;
  readonly dra: SimDra;
  readonly blockDevices: SimBlockDevices;
  readonly projectQuotas: SimProjectQuotas;
  readonly logs: SimPodLogs;
  readonly containerLogs: SimContainerLogs;
  readonly cgroups: SimPodCgroups;
  readonly machine: SimMachine;
  readonly nodeShutdown: SimNodeShutdown;
  readonly imageFiles: SimImageFiles;
  /** The disk usage of the runtime's images. */
  imageBytes: () => number = () => 0;
  /** Pods of which containers run. */
  runningPods: () => readonly SimRunningPod[] = () => [];

  /** Continues from `state` if one is given. */
  constructor(
    options: SimHostOptions,
    readonly state: SimHostState = emptyHostState(),
  ) {
    this.settings = hostSettings(options);
    this.directories = new SimPodDirectories(state, this.settings);
    this.subPaths = new SimSubPaths(state, this.settings);
    this.volumes = new SimPodVolumes(state, this.settings, this.subPaths);
    this.volumeMounts = new SimVolumeMounts(state, this.settings);
    this.csi = new SimCsi(state, this.settings);
    this.dra = new SimDra(state, this.csi);
    this.blockDevices = new SimBlockDevices(state, this.settings);
    this.projectQuotas = new SimProjectQuotas(state);
    this.logs = new SimPodLogs(state, this.settings);
    this.containerLogs = new SimContainerLogs(state, this.settings);
    this.cgroups = new SimPodCgroups(state, this.settings);
    this.machine = new SimMachine(state);
    this.nodeShutdown = new SimNodeShutdown(state);
    this.imageFiles = new SimImageFiles(state);
  }

  /** Whether an operation is of one of the host's ports. */
  knows(op: string): op is HostOperationName {
    return hostPorts.has(op.slice(0, op.indexOf('.')));
  }

  handle<Name extends HostOperationName>(op: Name, request: HostOperations[Name]['request'], now: Micros): Answer<HostOperations[Name]['reply']> {
    const after = this.latencyOf(op, request);
    try {
      return answered(this.answer({ op, request } as AnyRequest, now) as HostOperations[Name]['reply'], after);
    } catch (error) {
      if (!(error instanceof HostRefusal)) throw error;
      return refused(error.kind, error.message, op, subjectOf(request), after);
    }
  }

  private latencyOf(op: HostOperationName, request: HostOperations[HostOperationName]['request']): Micros {
    if (op === 'registryCredentials.runPlugin') return this.imageFiles.pluginTakes(request as HostOperations['registryCredentials.runPlugin']['request']);
    return op.startsWith('podCgroups.') ? this.settings.latencies.cgroups : this.settings.latencies.files;
  }

  private answer(asked: AnyRequest, now: Micros): unknown {
    if (isBlockDeviceRequest(asked)) return this.blockDevices.answer(asked);
    if (isDraRequest(asked)) return this.dra.answer(asked);
    if (isProjectQuotaRequest(asked)) return this.projectQuotas.answer(asked);
    if (isNodeShutdownRequest(asked)) return this.nodeShutdown.answer(asked);
    switch (asked.op) {
      case 'podDirectories.prepare':
        return this.directories.prepare(asked.request);
      case 'podDirectories.prepareContainer':
        return this.directories.prepareContainer(asked.request);
      case 'podDirectories.list':
        return this.directories.list();
      case 'podDirectories.remove':
        return this.directories.remove(asked.request);
      case 'podDirectories.writeHosts':
        return this.directories.writeHosts(asked.request);
      case 'podDirectories.writeUserNamespace':
        return this.directories.writeUserNamespace(asked.request);
      case 'podDirectories.readUserNamespaces':
        return this.directories.readUserNamespaces();
      case 'podVolumes.setUp':
        return this.volumes.setUp(asked.request);
      case 'podVolumes.read':
        return this.volumes.read(asked.request);
      case 'podVolumes.readFiles':
        return this.volumes.readFiles(asked.request);
      case 'podVolumes.write':
        return this.volumes.write(asked.request);
      case 'podVolumes.tearDown':
        return this.volumes.tearDown(asked.request);
      case 'podVolumes.list':
        return this.volumes.list(asked.request);
      case 'hostPaths.inspect':
        return this.volumes.inspectHostPath(asked.request);
      case 'hostPaths.make':
        return this.volumes.makeHostPath(asked.request);
      case 'subPaths.look':
        return this.subPaths.look(asked.request);
      case 'subPaths.compare':
        return this.subPaths.compare(asked.request);
      case 'subPaths.carryOut':
        return this.subPaths.carryOut(asked.request);
      case 'podLogs.nextRestartCount':
        return this.logs.nextRestartCount(asked.request);
      case 'podLogs.link':
        return this.logs.link(asked.request);
      case 'podLogs.removeContainerLogs':
        return this.logs.removeContainerLogs(asked.request);
      case 'podLogs.listDirectories':
        return this.logs.listDirectories();
      case 'podLogs.removeDirectory':
        return this.logs.removeDirectory(asked.request);
      case 'podLogs.removeDeadLinks':
        return this.logs.removeDeadLinks();
      case 'containerLogs.measure':
        return this.containerLogs.measure(asked.request, now);
      case 'containerLogs.listRotated':
        return this.containerLogs.listRotated(asked.request);
      case 'containerLogs.discard':
        return this.containerLogs.discard(asked.request);
      case 'containerLogs.compress':
        return this.containerLogs.compress(asked.request, now);
      case 'containerLogs.rename':
        return this.containerLogs.rename(asked.request, now);
      case 'containerLogs.removeUnfinished':
        return this.containerLogs.removeUnfinished();
      default:
        return this.answerOther(asked, now);
    }
  }

  private answerOther(asked: OtherRequest, now: Micros): unknown {
    if (isMeasured(asked)) return this.answerMeasured(asked, now);
    switch (asked.op) {
      case 'volumeMounts.mount':
        return this.volumeMounts.mount(asked.request);
      case 'volumeMounts.unmount':
        return this.volumeMounts.unmount(asked.request);
      case 'volumeMounts.setOwnership':
        return this.volumeMounts.setOwnership(asked.request);
      case 'volumeMounts.ownershipProgress':
        return this.volumeMounts.ownershipProgress(asked.request);
      case 'volumeMounts.references':
        return this.volumeMounts.references(asked.request);
      case 'volumeMounts.hasLabels':
        return this.volumeMounts.hasLabels(asked.request);
      case 'volumeMounts.survey':
        return this.volumeMounts.survey();
      case 'podCgroups.ensure':
        return this.cgroups.ensure(asked.request);
      case 'podCgroups.set':
        return this.cgroups.set(asked.request);
      case 'podCgroups.destroy':
        return this.cgroups.destroy(asked.request);
      case 'podCgroups.exists':
        return this.cgroups.exists(asked.request);
      case 'podCgroups.countProcesses':
        return this.cgroups.countProcesses(asked.request);
      case 'podCgroups.list':
        return this.cgroups.list();
      case 'pluginSockets.scan':
      case 'pluginSockets.info':
      case 'pluginSockets.notify':
      case 'csiNode.info':
      case 'csiNode.capabilities':
      case 'csiNode.stage':
      case 'csiNode.publish':
      case 'csiNode.unpublish':
      case 'csiNode.unstage':
      case 'csiNode.expand':
      case 'csiNode.stats':
      case 'csiFiles.prepare':
      case 'csiFiles.read':
      case 'csiFiles.staged':
      case 'csiFiles.remove':
      case 'csiFiles.prepareDevice':
      case 'csiFiles.removeDevice':
        return this.answerPlugin(asked);
      case 'pullRecords.list':
        return this.imageFiles.list(asked.request);
      case 'pullRecords.read':
        return this.imageFiles.read(asked.request);
      case 'pullRecords.write':
        return this.imageFiles.write(asked.request);
      case 'pullRecords.remove':
        return this.imageFiles.remove(asked.request);
      case 'registryCredentials.readNodeConfig':
        return this.state.dockerConfig;
      case 'registryCredentials.runPlugin':
        return this.imageFiles.runPlugin(asked.request);
      case 'podCertificateKeys.generate':
        return simPodCertificateKey(asked.request, ++this.state.podCertificateKeys);
      case 'events.record':
        return this.record(asked.request, now);
      default:
        return unreachable(asked);
    }
  }

  private answerMeasured(asked: MeasuredRequest, now: Micros): unknown {
    switch (asked.op) {
      case 'stateFiles.read':
        return this.state.stateFiles.get(checkedStateFile(asked.request.name)) ?? null;
      case 'stateFiles.write':
        this.state.stateFiles.set(checkedStateFile(asked.request.name), asked.request.text);
        return null;
      case 'machine.read':
        return this.machine.read();
      case 'machine.topology':
        return this.machine.topology();
      case 'machine.addresses':
        return this.machine.addresses(asked.request);
      case 'filesystemUsage.usage':
        return this.usage();
      case 'nodeStats.summary':
        return this.nodeStats(now);
      default:
        return unreachable(asked);
    }
  }

  private answerPlugin(asked: PluginRequest): unknown {
    switch (asked.op) {
      case 'pluginSockets.scan':
        return this.csi.scan();
      case 'pluginSockets.info':
        return this.csi.pluginInfo(asked.request);
      case 'pluginSockets.notify':
        return this.csi.notify(asked.request);
      case 'csiNode.info':
        return this.csi.nodeInfo(asked.request);
      case 'csiNode.capabilities':
        return this.csi.capabilities(asked.request);
      case 'csiNode.stage':
        return this.csi.stage(asked.request);
      case 'csiNode.publish':
        return this.csi.publish(asked.request);
      case 'csiNode.unpublish':
        return this.csi.unpublish(asked.request);
      case 'csiNode.unstage':
        return this.csi.unstage(asked.request);
      case 'csiNode.expand':
        return this.csi.expand(asked.request);
      case 'csiNode.stats':
        return this.csi.stats(asked.request);
      case 'csiFiles.prepare':
        return this.csi.prepare(asked.request);
      case 'csiFiles.read':
        return this.csi.read(asked.request);
      case 'csiFiles.staged':
        return this.csi.staged();
      case 'csiFiles.remove':
        return this.csi.removeFiles(asked.request);
      case 'csiFiles.prepareDevice':
        return this.csi.prepareDevice(asked.request);
      case 'csiFiles.removeDevice':
        return this.csi.removeDevice(asked.request);
      default:
        return unreachable(asked);
    }
  }

  /** One file system for everything. */
  private usage(): FilesystemUsageOperations['usage']['reply'] {
    const { capacityBytes } = this.state.disk;
    const freeBytes = BigInt(this.freeBytes());
    return { type: 0xef53n, capacityBytes: BigInt(capacityBytes), freeBytes, availableBytes: freeBytes, inodes: 0n, inodesFree: 0n, mountOptions: null };
  }

  private freeBytes(): number {
    const { capacityBytes, otherBytes } = this.state.disk;
    return Math.max(0, capacityBytes - otherBytes - this.imageBytes() - podsDiskBytes(this.state.usage, this.runningPods()));
  }

  /** How far the node's wall clock is ahead of the time that the model is given. */
  wallOffset: Micros = 0;

  private nodeStats(now: Micros): NodeStatsOperations['summary']['reply'] {
    const { usage, disk, machine } = this.state;
    const { memoryBytes, maxPids } = machine.reading;
    return simNodeStats(
      { usage, memoryBytes, maxPids, running: this.runningPods(), disk: { capacityBytes: disk.capacityBytes, availableBytes: this.freeBytes() } },
      instantOf(now + this.wallOffset),
    );
  }

  private record(record: EventSinkOperations['record']['request'], at: Micros): null {
    this.state.events.push({ at, record });
    if (this.state.events.length > this.settings.eventsMax) {
      this.state.events.shift();
      this.state.eventsLost++;
    }
    return null;
  }
}

function isMeasured(asked: AnyRequest): asked is MeasuredRequest {
  return /^(machine|stateFiles|filesystemUsage|nodeStats)\./.test(asked.op);
}

/** A plain name, as the real directory takes. */
function checkedStateFile(name: string): string {
  if (!/^[a-z][a-z0-9_]*$/.test(name)) throw new HostRefusal('invalid-argument', `${JSON.stringify(name)} is no name of a state file`);
  return name;
}

/** What the request is about: a uid, a path or a name. */
function subjectOf(request: HostOperations[HostOperationName]['request']): string {
  const fields = (request ?? {}) as { readonly [Name in 'uid' | 'path' | 'link' | 'podLogDirectory']?: string } & { readonly name?: string | readonly string[] };
  const name = fields.uid ?? fields.path ?? fields.link ?? fields.podLogDirectory ?? fields.name ?? '';
  return typeof name === 'string' ? name : `/${name.join('/')}`;
}
