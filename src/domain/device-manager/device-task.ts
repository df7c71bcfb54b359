// One container's devices during allocation, or preparation for its start. Plugins take part by answering calls, so this is a task that
// advances from answer to answer; every decision reads the current state again, since lists and pods may change in between.
// Invariants: devices are marked as taken when they are chosen; a task has one call in flight; a failed Allocate call
// releases its devices.
import type { ContainerAllocateResponse } from '../checkpoints/allocate-response.js';
import type { ActivePods } from '../topology-manager/active-pods.js';
import { byCodeUnits } from '../values/text-order.js';
import { hasTopology } from './device-hints.js';
import { collectStaleDevices, saveCheckpoint } from './device-manager.js';
import {
  containerDevices,
  type Device,
  type DeviceManager,
  type DeviceTask,
  type DeviceTaskStep,
  isDeviceResource,
  noNumaNode,
  type PluginReply,
  rebuildAllocated,
  recordDevices,
  taskKey,
} from './device-state.js';

/** Advances to the next call or to the end; removes an ended task. */
export function advanceTask(manager: DeviceManager, task: DeviceTask, active: ActivePods): DeviceTaskStep {
  const step = nextStep(manager, task, active);
  task.call = step.kind === 'call' ? step.call : null;
  if (step.kind === 'call') return step;
  manager.tasks.delete(taskKey(task.podUid, task.containerName));
  if (step.kind === 'done') {
    if (task.unsaved) saveCheckpoint(manager);
    noteReuse(manager, task);
  }
  return step;
}

/** The plugin has answered the task's call. */
export function answerTask(manager: DeviceManager, task: DeviceTask, reply: PluginReply, active: ActivePods): DeviceTaskStep {
  const { call } = task;
  if (call === null) return failed(manager, task, 'an answer to no call');
  switch (call.rpc) {
    case 'GetPreferredAllocation':
      if (reply.kind !== 'preferred') return failed(manager, task, `device plugin GetPreferredAllocation rpc failed with err: ${errorOf(reply)}`);
      takePreferred(manager, task, reply.devices);
      return advanceTask(manager, task, active);
    case 'Allocate':
      if (reply.kind !== 'allocated') {
        const step = failed(manager, task, errorOf(reply));
        rebuildAllocated(manager);
        return step;
      }
      if (reply.response === null) return failed(manager, task, 'no containers return in allocation response ');
      recordPicked(manager, task, call.resource, reply.response);
      return advanceTask(manager, task, active);
    case 'PreStartContainer':
      if (reply.kind !== 'prepared') return failed(manager, task, `device plugin PreStartContainer rpc failed with err: ${errorOf(reply)}`);
      task.toPrepare.shift();
      noteMissing(manager, task, call.resource, active);
      return advanceTask(manager, task, active);
  }
}

function errorOf(reply: PluginReply): string {
  return reply.kind === 'error' ? reply.message : `unexpected answer: ${reply.kind}`;
}

function failed(manager: DeviceManager, task: DeviceTask, message: string): DeviceTaskStep {
  manager.tasks.delete(taskKey(task.podUid, task.containerName));
  return { kind: 'failed', message };
}

function nextStep(manager: DeviceManager, task: DeviceTask, active: ActivePods): DeviceTaskStep {
  for (let resource = task.toPrepare[0]; resource !== undefined; resource = task.toPrepare[0]) {
    const step = prepare(manager, task, resource);
    if (step !== null) return step;
    task.toPrepare.shift();
    noteMissing(manager, task, resource, active);
  }
  if (task.allocateIfMissing) return { kind: 'done' };
  // What another pod's init containers left is for that pod alone, and only until the next pod comes.
  if (manager.reusable?.podUid !== task.podUid) manager.reusable = null;
  for (let resource = task.toAllocate[0]; resource !== undefined; resource = task.toAllocate[0]) {
    const step = isDeviceResource(manager, resource) ? allocate(manager, task, resource, active) : null;
    if (step !== null) return step;
    task.toAllocate.shift();
    task.resource = null;
    task.picked = [];
    task.preferenceAsked = false;
  }
  return { kind: 'done' };
}

/** null: the resource needs no preparation. */
function prepare(manager: DeviceManager, task: DeviceTask, resource: string): DeviceTaskStep | null {
  const plugin = manager.resources.get(resource)?.plugin ?? null;
  if (plugin === null) return { kind: 'failed', message: noEndpoint(resource) };
  if (plugin.options?.preStartRequired !== true) return null;
  const devices = containerDevices(manager, task.podUid, task.containerName, resource);
  if (devices === null) {
    return { kind: 'failed', message: `no devices found allocated in local cache for pod ${task.podUid}, container ${task.containerName}, resource ${resource}` };
  }
  return { kind: 'call', call: { rpc: 'PreStartContainer', resource, devices: inOrder(devices) } };
}

/** A container that is about to start without a record of its devices has them allocated now, if its pod is still wanted. */
function noteMissing(manager: DeviceManager, task: DeviceTask, resource: string, active: ActivePods): void {
  if (active.hasPod(task.podUid) && containerDevices(manager, task.podUid, task.containerName, resource) === null) task.allocateIfMissing = false;
}

function noEndpoint(resource: string): string {
  return `endpoint not found in cache for a registered resource: ${resource}`;
}

/** null: the resource needs nothing (more). */
function allocate(manager: DeviceManager, task: DeviceTask, name: string, active: ActivePods): DeviceTaskStep | null {
  const required = task.requests.get(name)!;
  if (task.resource === null) {
    collectStaleDevices(manager, active);
    const check = checkRequest(manager, task, name, required, active);
    if (check !== 'pick') return check;
    task.resource = name;
    const healthy = manager.resources.get(name)?.healthy;
    const reusable = manager.reusable?.podUid === task.podUid ? [...(manager.reusable.devices.get(name) ?? [])] : [];
    pick(
      manager,
      task,
      required,
      reusable.filter((id) => healthy?.has(id) === true),
    );
  }
  const free = freeDevices(manager, name);
  const needed = required - task.picked.length;
  if (needed > 0 && free.length < needed)
    return { kind: 'failed', message: `requested number of devices unavailable for ${name}. Requested: ${needed}, Available: ${free.length}` };
  const { aligned, unaligned, anywhere } = byAffinity(manager, task, name, free);
  if (!task.preferenceAsked && needed > 0) {
    // With more than enough close devices the plugin chooses among those; otherwise all of them are needed, and it chooses the rest.
    const closeEnough = needed < aligned.length;
    if (!closeEnough) pick(manager, task, required, aligned);
    if (task.picked.length < required) {
      task.preferenceAsked = true;
      const step = askPreference(manager, task, name, required, closeEnough ? aligned : free);
      if (step !== null) return step;
    }
  }
  for (const choice of [aligned, unaligned, anywhere]) pick(manager, task, required, choice);
  if (task.picked.length < required) {
    return { kind: 'failed', message: `unexpectedly allocated less resources than required. Requested: ${required}, Got: ${task.picked.length}` };
  }
  if ((manager.resources.get(name)?.plugin ?? null) === null) {
    task.picked = [];
    rebuildAllocated(manager);
    return { kind: 'failed', message: `unknown Device Plugin ${name}` };
  }
  return { kind: 'call', call: { rpc: 'Allocate', resource: name, devices: inOrder(task.picked) } };
}

/** The answer before devices are chosen; null: no devices are needed. */
function checkRequest(manager: DeviceManager, task: DeviceTask, name: string, required: number, active: ActivePods): DeviceTaskStep | null | 'pick' {
  const recorded = containerDevices(manager, task.podUid, task.containerName, name);
  const fail = (message: string): DeviceTaskStep => ({ kind: 'failed', message });
  if (recorded !== null && recorded.size !== required) {
    const [pod, container, resource] = [task.podUid, task.containerName, name].map((text) => JSON.stringify(text));
    return fail(`pod ${pod} container ${container} changed request for resource ${resource} from ${recorded.size} to ${required}`);
  }
  // The agent was restarted, not the node: the container has its devices, even if its plugin is not back yet.
  if (!active.sourcesReady && task.hadDevicesAtStart) return null;
  const healthy = manager.resources.get(name)?.healthy ?? null;
  if (healthy === null) return fail(`cannot allocate unregistered device ${name}`);
  if (healthy.size === 0) return fail(`no healthy devices present; cannot allocate unhealthy devices ${name}`);
  if (recorded !== null && [...recorded].some((id) => !healthy.has(id)))
    return fail(`previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${name}`);
  return recorded !== null || required === 0 ? null : 'pick';
}

function askPreference(manager: DeviceManager, task: DeviceTask, name: string, required: number, choice: readonly string[]): DeviceTaskStep | null {
  const plugin = manager.resources.get(name)?.plugin ?? null;
  if (plugin === null) return { kind: 'failed', message: noEndpoint(name) };
  if (plugin.options?.preferredAllocationAvailable !== true) return null;
  const call = { rpc: 'GetPreferredAllocation', resource: name, available: inOrder([...choice, ...task.picked]), mustInclude: inOrder(task.picked), size: required } as const;
  return { kind: 'call', call };
}

function takePreferred(manager: DeviceManager, task: DeviceTask, preferred: readonly string[]): void {
  const name = task.resource!;
  const required = task.requests.get(name)!;
  const free = freeDevices(manager, name);
  const { aligned } = byAffinity(manager, task, name, free);
  const choice = new Set(required - task.picked.length < aligned.length ? aligned : free);
  pick(manager, task, required, inOrder(preferred.filter((id) => choice.has(id))));
}

/** Takes of these, in their order, until the request is served. */
function pick(manager: DeviceManager, task: DeviceTask, required: number, devices: readonly string[]): void {
  const name = task.resource!;
  const taken = manager.allocated.get(name) ?? new Set<string>();
  manager.allocated.set(name, taken);
  for (const id of devices) {
    if (task.picked.length >= required) return;
    if (task.picked.includes(id)) continue;
    task.picked.push(id);
    taken.add(id);
  }
}

/** Healthy and not taken, in order. */
function freeDevices(manager: DeviceManager, name: string): string[] {
  const taken = manager.allocated.get(name);
  return inOrder([...(manager.resources.get(name)?.healthy ?? [])].filter((id) => taken?.has(id) !== true));
}

interface ByAffinity {
  readonly aligned: readonly string[];
  readonly unaligned: readonly string[];
  /** Close to no node in particular; all devices when nothing is known of nodes. */
  readonly anywhere: readonly string[];
}

function byAffinity(manager: DeviceManager, task: DeviceTask, name: string, free: readonly string[]): ByAffinity {
  const devices = manager.resources.get(name)?.devices ?? new Map<string, Device>();
  const { affinity } = task;
  if (affinity === null || !hasTopology(devices)) return { aligned: [], unaligned: [], anywhere: free };
  const nodesOf = (id: string): readonly number[] => devices.get(id)?.numaNodes ?? [];
  const isClose = (id: string): boolean => nodesOf(id).some((node) => affinity.includes(node));
  return {
    aligned: free.filter(isClose),
    unaligned: free.filter((id) => nodesOf(id).length > 0 && !isClose(id)),
    anywhere: free.filter((id) => nodesOf(id).length === 0),
  };
}

function recordPicked(manager: DeviceManager, task: DeviceTask, resource: string, response: ContainerAllocateResponse): void {
  const devices = manager.resources.get(resource)?.devices;
  const byNuma = new Map<number, string[]>();
  for (const id of inOrder(task.picked)) {
    const nodes = devices?.get(id)?.numaNodes ?? [];
    for (const node of nodes.length > 0 ? nodes : [noNumaNode]) byNuma.set(node, [...(byNuma.get(node) ?? []), id]);
  }
  recordDevices(manager, task.podUid, task.containerName, resource, { byNuma, response });
  task.unsaved = true;
  task.toAllocate.shift();
  task.resource = null;
  task.picked = [];
  task.preferenceAsked = false;
}

/** Devices of an init container are reusable by later containers of the pod; those of others aren't. */
function noteReuse(manager: DeviceManager, task: DeviceTask): void {
  if (task.allocateIfMissing) return;
  const before = manager.reusable?.podUid === task.podUid ? manager.reusable.devices : new Map<string, ReadonlySet<string>>();
  const devices = new Map(before);
  for (const resource of manager.podDevices.get(task.podUid)?.get(task.containerName)?.keys() ?? []) {
    const own = containerDevices(manager, task.podUid, task.containerName, resource) ?? new Set<string>();
    const others = [...(before.get(resource) ?? [])].filter((id) => !own.has(id));
    devices.set(resource, new Set(task.leavesDevices ? [...others, ...own] : others));
  }
  manager.reusable = { podUid: task.podUid, devices };
}

function inOrder(ids: Iterable<string>): string[] {
  return [...new Set(ids)].sort(byCodeUnits);
}
