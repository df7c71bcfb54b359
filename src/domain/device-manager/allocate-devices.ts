// The device manager's interface to admission and container starts: allocation, which may wait for a plugin, and a
// container's devices for the runtime.
// Invariant: resources are merged in order of their names, and the first value wins.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { DeviceMount, DeviceNode } from '../checkpoints/allocate-response.js';
import { assert } from '../kernel/assert.js';
import { parsedList } from '../qos/pod-resources.js';
import { isRestartableInit } from '../status/restart-rules.js';
import type { ActivePods } from '../topology-manager/active-pods.js';
import type { Allocation, HintProvider } from '../topology-manager/pod-admission.js';
import type { TopologyHint } from '../topology-manager/topology-hint.js';
import { quantityValue } from '../values/quantity.js';
import { byCodeUnits } from '../values/text-order.js';
import { deviceContainerHints, devicePodHints } from './device-hints.js';
import { collectStaleDevices } from './device-manager.js';
import { type DeviceManager, type DeviceTask, type DeviceTaskStep, isDeviceResource, type PluginReply, taskKey } from './device-state.js';
import { advanceTask, answerTask } from './device-task.js';

/** Begins to allocate a container's devices. */
export function beginAllocation(manager: DeviceManager, pod: Pod, container: Container, hint: TopologyHint, active: ActivePods): DeviceTaskStep {
  return begin(manager, newTask(manager, pod, container, hint, false), active);
}

/** Begins to make a container's devices ready for its start; one that has no record of them gets them now. */
export function beginPreparation(manager: DeviceManager, pod: Pod, container: Container, hint: TopologyHint, active: ActivePods): DeviceTaskStep {
  return begin(manager, newTask(manager, pod, container, hint, true), active);
}

function begin(manager: DeviceManager, task: DeviceTask, active: ActivePods): DeviceTaskStep {
  const key = taskKey(task.podUid, task.containerName);
  assert(!manager.tasks.has(key), `a device task of ${key} is under way already`);
  manager.tasks.set(key, task);
  return advanceTask(manager, task, active);
}

/** Gives the plugin's answer to the container's task. Nothing waits any more: the answer is dropped. */
export function answerPluginCall(manager: DeviceManager, podUid: string, containerName: string, reply: PluginReply, active: ActivePods): DeviceTaskStep | null {
  const task = manager.tasks.get(taskKey(podUid, containerName));
  return task === undefined ? null : answerTask(manager, task, reply, active);
}

function newTask(manager: DeviceManager, pod: Pod, container: Container, hint: TopologyHint, prepare: boolean): DeviceTask {
  const limits = parsedList(container.resources?.limits);
  const names = [...limits.keys()].sort(byCodeUnits);
  const requests = new Map(names.map((name) => [name, Number(quantityValue(limits.get(name)!))]));
  return {
    podUid: pod.metadata.uid ?? '',
    containerName: container.name,
    leavesDevices: (pod.spec.initContainers ?? []).some((init) => init.name === container.name && !isRestartableInit(init)),
    hadDevicesAtStart: hadDevicesAtStart(manager, pod, container),
    affinity: hint.numaNodes,
    requests,
    toPrepare: prepare ? names.filter((name) => isDeviceResource(manager, name) && requests.get(name) !== 0) : [],
    toAllocate: names,
    allocateIfMissing: prepare,
    resource: null,
    picked: [],
    preferenceAsked: false,
    unsaved: false,
    call: null,
  };
}

/**
 * Whether the container ran when the agent started, or is a plain init container that was done by then, since the pod had got past it.
 * A report that can't be (an init container beside app containers, or two at once) proves nothing.
 */
function hadDevicesAtStart(manager: DeviceManager, pod: Pod, container: Container): boolean {
  const podUid = pod.metadata.uid ?? '';
  const ran = ({ name }: { readonly name: string }): boolean => manager.runningAtStart.has(taskKey(podUid, name));
  if (ran(container)) return true;
  const steps = (pod.spec.initContainers ?? []).filter((init) => !isRestartableInit(init));
  const own = steps.findIndex(({ name }) => name === container.name);
  const current = steps.filter(ran);
  const started = pod.spec.containers.some(ran);
  if (own < 0 || current.length + (started ? 1 : 0) !== 1) return false;
  return started || steps.indexOf(current[0]!) > own;
}

/** `outcomes` keeps, by `<pod uid>/<container>`, how tasks ended that had to wait; the caller puts them there. */
export function deviceHintProvider(manager: DeviceManager, active: ActivePods, outcomes: Map<string, DeviceTaskStep>): HintProvider {
  return {
    name: 'devices',
    containerHints: (pod, container) => {
      collectStaleDevices(manager, active);
      return deviceContainerHints(manager, pod, container);
    },
    podHints: (pod) => {
      collectStaleDevices(manager, active);
      return devicePodHints(manager, pod);
    },
    allocate: (pod, container, hint) => {
      const key = taskKey(pod.metadata.uid ?? '', container.name);
      const outcome = outcomes.get(key);
      outcomes.delete(key);
      if (outcome === undefined && manager.tasks.has(key)) return { kind: 'waiting' };
      return allocationOf(outcome ?? beginAllocation(manager, pod, container, hint, active));
    },
  };
}

function allocationOf(step: DeviceTaskStep): Allocation {
  switch (step.kind) {
    case 'done':
      return { kind: 'allocated' };
    case 'call':
      return { kind: 'waiting' };
    case 'failed':
      return { kind: 'failed', message: step.message, reason: null };
  }
}

export interface DeviceRunOptions {
  readonly envs: ReadonlyMap<string, string>;
  readonly mounts: readonly DeviceMount[];
  readonly devices: readonly DeviceNode[];
  readonly annotations: ReadonlyMap<string, string>;
  readonly cdiDevices: readonly string[];
}

/** The container's devices for the runtime; null: none recorded. */
export function deviceRunOptions(manager: DeviceManager, podUid: string, containerName: string): DeviceRunOptions | null {
  const recorded = manager.podDevices.get(podUid)?.get(containerName);
  if (recorded === undefined) return null;
  const envs = new Map<string, string>();
  const annotations = new Map<string, string>();
  const mounts = new Map<string, DeviceMount>();
  const devices = new Map<string, DeviceNode>();
  const cdiDevices = new Set<string>();
  const first = <T>(into: Map<string, T>, key: string, value: T): unknown => into.has(key) || into.set(key, value);
  for (const resource of [...recorded.keys()].sort(byCodeUnits)) {
    const { response } = recorded.get(resource)!;
    for (const [name, value] of response.envs) first(envs, name, value);
    for (const [name, value] of response.annotations) first(annotations, name, value);
    for (const mount of response.mounts) first(mounts, mount.containerPath, mount);
    for (const device of response.devices) first(devices, device.containerPath, device);
    for (const name of response.cdiDevices) cdiDevices.add(name);
  }
  return { envs, mounts: [...mounts.values()], devices: [...devices.values()], annotations, cdiDevices: [...cdiDevices] };
}
