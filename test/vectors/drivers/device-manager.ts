// The device manager's life: plugins come, list devices and leave; pods are admitted and removed; the agent restarts.
import type { ContainerAllocateResponse } from '../../../src/domain/checkpoints/allocate-response.js';
import { readDeviceCheckpoint } from '../../../src/domain/checkpoints/device-checkpoint.js';
import { answerPluginCall, beginPreparation, deviceHintProvider, deviceRunOptions } from '../../../src/domain/device-manager/allocate-devices.js';
import { deviceContainerHints, devicePodHints } from '../../../src/domain/device-manager/device-hints.js';
import {
  allocatedDeviceHealth,
  collectStaleDevices,
  deviceCapacity,
  deviceListReceived,
  pluginConnected,
  pluginDisconnected,
  raisedAllocatable,
  startDeviceManager,
} from '../../../src/domain/device-manager/device-manager.js';
import type { Device, DeviceManager, DeviceTaskStep, PluginCall, PluginReply } from '../../../src/domain/device-manager/device-state.js';
import type { ProviderHints } from '../../../src/domain/topology-manager/topology-hint.js';
import { storedHint } from '../../../src/domain/topology-manager/topology-manager.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import { AlignmentWorld, type TopologyInput } from '../alignment-world.js';
import { type Difference, differences, isObject, type Json } from '../compare.js';
import type { VectorDriver } from '../driver.js';

interface DeviceInput {
  readonly id: string;
  readonly health: string;
  readonly numaNodes?: readonly number[];
}
interface Plugin {
  readonly resource: string;
  readonly devices?: readonly DeviceInput[] | null;
  readonly preferredAllocation?: 'lowest' | 'highest' | 'list' | 'empty' | 'error';
  readonly preferredIDs?: readonly string[];
  readonly allocateResponse?: {
    readonly envs?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly mounts?: readonly { readonly hostPath: string; readonly containerPath: string; readonly readOnly?: boolean }[];
    readonly devices?: readonly { readonly hostPath: string; readonly containerPath: string; readonly permissions: string }[];
    readonly cdiDevices?: readonly string[];
    readonly noContainerResponses?: boolean;
  };
  readonly allocateError?: string;
  readonly preStartRequired?: boolean;
  readonly preStartError?: string;
}
interface Step {
  readonly op: string;
  readonly plugin?: Plugin;
  readonly resource?: string;
  readonly devices?: readonly DeviceInput[] | null;
  readonly seconds?: number;
  readonly pod?: Pod;
  readonly uid?: string;
  readonly container?: string;
  readonly nodeAllocatable?: Readonly<Record<string, number>>;
  readonly runningContainers?: readonly string[];
  readonly checkpointFile?: string;
}
interface Input extends TopologyInput {
  readonly numaNodes: readonly number[];
  readonly steps: readonly Step[];
}

const devicesOf = (list: readonly DeviceInput[] | null | undefined): Device[] =>
  (list ?? []).map(({ id, health, numaNodes = [] }) => ({ id, health, numaNodes: [...numaNodes].sort((a, b) => a - b) }));
const objectOf = <T, U>(map: ReadonlyMap<string, T>, item: (value: T) => U) => Object.fromEntries([...map].map(([key, value]) => [key, item(value)]));
const hintObject = (hints: ProviderHints) => objectOf(hints, (list) => list);

/** What the plugin answers, from its templates. */
function replyOf(plugin: Plugin, call: PluginCall): PluginReply {
  switch (call.rpc) {
    case 'GetPreferredAllocation': {
      const { preferredAllocation: mode, preferredIDs = [] } = plugin;
      if (mode === 'error') return { kind: 'error', message: 'no opinion' };
      if (mode === 'empty') return { kind: 'preferred', devices: [] };
      const others = call.available.filter((id) => !call.mustInclude.includes(id));
      const ordered =
        mode === 'highest'
          ? others.reverse()
          : mode === 'list'
            ? [...preferredIDs.filter((id) => others.includes(id)), ...others.filter((id) => !preferredIDs.includes(id))]
            : others;
      return { kind: 'preferred', devices: [...call.mustInclude, ...ordered].slice(0, call.size) };
    }
    case 'Allocate': {
      if (plugin.allocateError !== undefined) return { kind: 'error', message: plugin.allocateError };
      return { kind: 'allocated', response: plugin.allocateResponse?.noContainerResponses === true ? null : responseFor(plugin, call.devices) };
    }
    case 'PreStartContainer':
      return plugin.preStartError === undefined ? { kind: 'prepared' } : { kind: 'error', message: plugin.preStartError };
  }
}

function responseFor({ allocateResponse = {} }: Plugin, ids: readonly string[]): ContainerAllocateResponse {
  const texts = (table: Readonly<Record<string, string>> = {}) => new Map(Object.entries(table).map(([key, value]) => [key, value.replaceAll('$IDS', ids.join(','))]));
  const perId = <T>(item: T, filled: (id: string) => T): T[] => (JSON.stringify(item).includes('$ID') ? ids.map(filled) : [item]);
  const fill = (text: string, id: string): string => text.replaceAll('$ID', id);
  return {
    envs: texts(allocateResponse.envs),
    annotations: texts(allocateResponse.annotations),
    mounts: (allocateResponse.mounts ?? []).map((mount) => ({ ...mount, readOnly: mount.readOnly === true })),
    devices: (allocateResponse.devices ?? []).flatMap((device) =>
      perId(device, (id) => ({ ...device, hostPath: fill(device.hostPath, id), containerPath: fill(device.containerPath, id) })),
    ),
    cdiDevices: (allocateResponse.cdiDevices ?? []).flatMap((name) => perId(name, (id) => fill(name, id))),
  };
}

class Node {
  readonly #world: AlignmentWorld;
  readonly #numaNodes: readonly number[];
  readonly #plugins = new Map<string, Plugin>();
  #calls: PluginCall[] = [];
  #now = 1_000_000_000_000;
  manager: DeviceManager;

  constructor(input: Input) {
    this.#world = new AlignmentWorld(input, input.numaNodes);
    this.#numaNodes = input.numaNodes;
    this.manager = this.#start(null, []).manager;
  }

  #start(checkpointFile: string | null, runningContainers: readonly string[]) {
    return startDeviceManager({ numaNodes: this.#numaNodes, checkpointFile, runningContainers: new Set(runningContainers), now: this.#now });
  }

  /** Plays the plugins until the container's task has ended. */
  #finish(podUid: string, containerName: string, first: DeviceTaskStep, pending: Pod): DeviceTaskStep {
    let step = first;
    while (step.kind === 'call') {
      this.#calls.push(step.call);
      step = answerPluginCall(this.manager, podUid, containerName, replyOf(this.#plugins.get(step.call.resource)!, step.call), this.#world.active(pending))!;
    }
    return step;
  }

  #admit(pod: Pod) {
    const outcomes = new Map<string, DeviceTaskStep>();
    const unblock = (): void => {
      for (const [key, task] of this.manager.tasks) {
        const first: DeviceTaskStep = { kind: 'call', call: task.call! };
        outcomes.set(key, this.#finish(task.podUid, task.containerName, first, pod));
      }
    };
    return this.#world.decide(pod, [deviceHintProvider(this.manager, this.#world.active(pod), outcomes)], unblock);
  }

  #runOptions(pod: Pod, containerName: string) {
    const podUid = pod.metadata.uid!;
    const container = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find(({ name }) => name === containerName)!;
    const hint = storedHint(this.#world.topology, podUid, containerName);
    const step = this.#finish(podUid, containerName, beginPreparation(this.manager, pod, container, hint, this.#world.active()), pod);
    if (step.kind === 'failed') return { error: step.message };
    const options = deviceRunOptions(this.manager, podUid, containerName);
    if (options === null) return { options: null };
    const mounts = options.mounts.map((mount) => ({ ...mount, name: mount.containerPath }));
    return { options: { ...options, envs: Object.fromEntries(options.envs), annotations: Object.fromEntries(options.annotations), mounts } };
  }

  #listed(resource: string, devices: readonly DeviceInput[] | null | undefined): object {
    const podsToSync = deviceListReceived(this.manager, resource, devicesOf(devices));
    return podsToSync.length === 0 ? {} : { podsToSync };
  }

  run(step: Step): object {
    this.#calls = [];
    const result = this.#perform(step);
    const assignments = objectOf(this.manager.podDevices, (containers) =>
      objectOf(containers, (resources) => objectOf(resources, ({ byNuma }) => Object.fromEntries([...byNuma].map(([node, ids]) => [String(node), ids])))),
    );
    const calls = [...this.#calls].sort((a, b) => (a.resource < b.resource ? -1 : a.resource > b.resource ? 1 : 0));
    return { ...result, ...(calls.length === 0 ? {} : { calls }), assignments };
  }

  #perform(step: Step): object {
    const world = this.#world;
    const pod = step.pod ?? world.pods.get(step.uid ?? '');
    switch (step.op) {
      case 'register': {
        const { resource, devices, preStartRequired = false, preferredAllocation } = step.plugin!;
        this.#plugins.set(resource, step.plugin!);
        pluginConnected(this.manager, resource, { preStartRequired, preferredAllocationAvailable: preferredAllocation !== undefined });
        return this.#listed(resource, devices);
      }
      case 'deviceList':
        return this.#listed(step.resource!, step.devices);
      case 'disconnect':
        pluginDisconnected(this.manager, step.resource!, this.#now);
        return {};
      case 'advance':
        this.#now += step.seconds! * 1_000_000;
        return {};
      case 'capacity': {
        const { capacity, allocatable, removed } = deviceCapacity(this.manager, this.#now);
        return { capacity: objectOf(capacity, String), allocatable: objectOf(allocatable, String), removed };
      }
      case 'hints': {
        collectStaleDevices(this.manager, world.active(pod));
        const containers = [...(pod!.spec.initContainers ?? []), ...pod!.spec.containers];
        const containerHints = Object.fromEntries(containers.map((container) => [container.name, hintObject(deviceContainerHints(this.manager, pod!, container))]));
        return { containerHints, podHints: hintObject(devicePodHints(this.manager, pod!)) };
      }
      case 'admitPod': {
        const result = this.#admit(pod!);
        if (result.admit) world.pods.set(pod!.metadata.uid!, pod!);
        return result;
      }
      case 'readmitPod':
        return pod === undefined ? {} : this.#admit(pod);
      case 'removePod':
        world.pods.delete(step.uid!);
        return {};
      case 'collectStale':
        collectStaleDevices(this.manager, world.active());
        return {};
      case 'sourcesReady':
        world.sourcesReady = true;
        return {};
      case 'runOptions':
        return this.#runOptions(pod!, step.container!);
      case 'resourceStatus':
        return { allocatedResourcesStatus: objectOf(allocatedDeviceHealth(this.manager, pod!), (resources) => objectOf(resources, (health) => Object.fromEntries(health))) };
      case 'nodeAllocatable':
        return { nodeAllocatable: Object.fromEntries(raisedAllocatable(this.manager, pod!.metadata.uid!, new Map(Object.entries(step.nodeAllocatable ?? {})))) };
      case 'restart': {
        const { manager, error } = this.#start(step.checkpointFile ?? this.manager.fileText, step.runningContainers ?? []);
        this.manager = manager;
        world.restart();
        return error === null ? {} : { checkpointError: error };
      }
      default:
        throw new Error(`unknown step ${step.op}`);
    }
  }
}

/** The file's data, without the plugins' answers. */
function checkpointData(fileText: string | null): unknown {
  if (fileText === null) return null;
  const read = readDeviceCheckpoint(fileText);
  if (!read.ok) throw new Error(`the file can't be read back: ${read.error}`);
  const entries = (read.value.podDeviceEntries ?? []).map(({ podUid, containerName, resourceName, deviceIds }) => {
    return { PodUID: podUid, ContainerName: containerName, ResourceName: resourceName, DeviceIDs: objectOf(deviceIds ?? new Map(), (ids) => ids) };
  });
  return { PodDeviceEntries: entries, RegisteredDevices: objectOf(read.value.registeredDevices ?? new Map(), (ids) => ids) };
}

/** Lists of devices, hints, mounts and the like compare as sets; calls don't. */
function sortedSets(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item) => sortedSets(item));
    return key === 'calls' || key === 'steps' ? items : items.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
  if (!isObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((name) => [name, sortedSets(value[name], name)]));
}

export const driver: VectorDriver = {
  run(input: Input) {
    const node = new Node(input);
    const steps = input.steps.map((step) => node.run(step));
    return { steps, checkpointData: checkpointData(node.manager.fileText) };
  },
  compare: (got: unknown, want: Json): Difference[] => differences(sortedSets(got), sortedSets(want)),
};
