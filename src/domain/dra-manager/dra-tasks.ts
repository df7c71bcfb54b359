// Prepares the claims of a pod before its sandbox is created, and unprepares them after its containers are dead.
//
// | phase   | waits for                                      | then                                                                  |
// |---------|------------------------------------------------|-----------------------------------------------------------------------|
// | read    | the claims from the API (prepare only)         | lock, or done with an error of one                                    |
// | lock    | tasks that work on one of its claims           | its pod is added to them, or removed from those that others have too  |
// | save    | the state file (prepare only)                  | call; done when all are prepared already                              |
// | call    | the drivers, each asked once for all its claims | saveEnd; done with the first error                                   |
// | saveEnd | the state file                                 | done                                                                  |
//
// A pod without pending work has no task. A failed task is restarted by the next caller that needs it: it repeats completed calls, which
// drivers accept. Invariant: however a task ends, it holds no claim afterwards.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ResourceClaim } from '../../ports/model/resource-claim.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { typedObject } from '../api-data/typed-object.js';
import { assert } from '../kernel/assert.js';
import type { ReplyFor } from '../kernel/machine.js';
import { microsPerSecond } from '../values/time.js';
import { type ClaimRecord, claimKey, claimsKeptFor, type DraContext, type DraManager, type DraTask, draTaskMachine } from './dra-state.js';
import { takePrepared, takeUnprepared } from './driver-answers.js';
import { claimProblem, driversOf, usedClaims } from './pod-claims.js';

const callTimeout: Micros = 45 * microsPerSecond;
const readTimeout: Micros = 30 * microsPerSecond;
const resource = { group: 'resource.k8s.io', version: 'v1', plural: 'resourceclaims' } as const;

/** The pod may have no task that isn't over. */
export function beginPrepare(manager: DraManager, pod: Pod, context: DraContext): void {
  const used = usedClaims(pod);
  const wanted = used.ok ? used.value : [];
  const task = newTask(manager, 'prepare', pod.metadata.uid ?? '', pod.metadata.namespace ?? '', pod, wanted);
  if (!used.ok) end(manager, task, used.message, context);
  else if (wanted.length === 0) end(manager, task, null, context);
  else if (!context.hasApi) end(manager, task, `fetch ResourceClaim ${wanted[0]?.name}: this kubelet has no apiserver`, context);
  else {
    for (const [at, { name }] of wanted.entries()) {
      const request = { client: 'main', resource, namespace: task.namespace, name, resourceVersion: null } as const;
      context.turn.ask('apiReader.get', { machine: draTaskMachine, key: task.podUid }, `read/${at}`, request, readTimeout);
    }
  }
}

/** The pod may have no task that isn't over. */
export function beginUnprepare(manager: DraManager, podUid: string, context: DraContext): void {
  const task = newTask(manager, 'unprepare', podUid, '', null, []);
  task.phase = 'lock';
  advance(manager, task, context);
}

function newTask(manager: DraManager, kind: DraTask['kind'], podUid: string, namespace: string, pod: Pod | null, wanted: DraTask['wanted']): DraTask {
  assert((manager.tasks.get(podUid)?.phase ?? 'done') === 'done', 'a pod has work on its claims already', podUid);
  const found = wanted.map(() => null);
  const task: DraTask = { kind, podUid, namespace, pod, phase: 'read', wanted, found, locked: [], calls: new Map(), revision: 0, error: null };
  // The newest is the last to get a claim.
  manager.tasks.delete(podUid);
  manager.tasks.set(podUid, task);
  return task;
}

export function claimRead(manager: DraManager, podUid: string, { slot, outcome }: ReplyFor<AgentOperations, 'apiReader.get'>, context: DraContext): void {
  const task = taskOf(manager, podUid, 'read');
  const at = Number(slot.slice('read/'.length));
  const wanted = task.wanted[at];
  assert(wanted !== undefined && task.found[at] === null, 'a claim was read that no pod waits for', podUid);
  task.found[at] = outcome.ok ? typedObject('resourceclaims', outcome.value) : { problem: `fetch ResourceClaim ${wanted.name}: ${outcome.error.message}` };
  advance(manager, task, context);
}

export function claimsPrepared(manager: DraManager, podUid: string, { slot, outcome }: ReplyFor<AgentOperations, 'draPlugin.prepare'>, context: DraContext): void {
  driverAnswered(manager, podUid, slot, (driver, claims) => takePrepared(driver, claims, outcome), context);
}

export function claimsUnprepared(manager: DraManager, podUid: string, { slot, outcome }: ReplyFor<AgentOperations, 'draPlugin.unprepare'>, context: DraContext): void {
  driverAnswered(manager, podUid, slot, (_driver, claims) => takeUnprepared(claims, outcome), context);
}

/** @param take takes over the answer; returns its error */
function driverAnswered(manager: DraManager, podUid: string, slot: string, take: (driver: string, claims: readonly ClaimRecord[]) => string | null, context: DraContext): void {
  const task = taskOf(manager, podUid, 'call');
  const driver = slot.slice('call/'.length);
  const call = task.calls.get(driver);
  assert(call !== undefined && !call.answered, 'a driver has answered that was not called', driver);
  call.answered = true;
  call.error = take(driver, call.claims);
  advance(manager, task, context);
}

function taskOf({ tasks }: DraManager, podUid: string, phase: DraTask['phase']): DraTask {
  const task = tasks.get(podUid);
  assert(task?.phase === phase, 'an answer came for a pod whose work on claims does not wait for it', podUid);
  return task;
}

/** The file has the awaited revision, or a newer one. */
export function fileSaved(manager: DraManager, context: DraContext): void {
  for (const task of [...manager.tasks.values()]) if (task.phase === 'save' || task.phase === 'saveEnd') advance(manager, task, context);
}

function isOnDisk({ file }: DraManager, { revision }: DraTask): boolean {
  return file.onDisk !== null && file.onDisk >= revision;
}

/** Whether a task waits for the file to be on disk. */
export function isFileAwaited({ tasks }: DraManager): boolean {
  return [...tasks.values()].some(({ phase }) => phase === 'save' || phase === 'saveEnd');
}

/** The write failed: tasks that waited for it fail. @param revision of the text that could not be written */
export function fileFailed(manager: DraManager, revision: number, message: string, context: DraContext): void {
  for (const task of [...manager.tasks.values()]) {
    if ((task.phase !== 'save' && task.phase !== 'saveEnd') || task.revision > revision) continue;
    end(manager, task, `checkpoint ResourceClaim ${task.phase === 'save' ? 'cache' : 'state'}: ${message}`, context);
  }
}

function advance(manager: DraManager, task: DraTask, context: DraContext): void {
  switch (task.phase) {
    case 'read':
      if (!task.found.includes(null)) takeFound(manager, task, context);
      return;
    case 'lock':
      lock(manager, task, context);
      return;
    case 'save':
      if (isOnDisk(manager, task)) callDrivers(manager, task, 'draPlugin.prepare', context);
      return;
    case 'call':
      if ([...task.calls.values()].every(({ answered }) => answered)) called(manager, task, context);
      return;
    case 'saveEnd':
      if (isOnDisk(manager, task)) end(manager, task, null, context);
      return;
    case 'done':
      return;
  }
}

/** Nothing is changed before all are known to be in order. */
function takeFound(manager: DraManager, task: DraTask, context: DraContext): void {
  for (const [at, found] of task.found.entries()) {
    const used = task.wanted[at];
    assert(found !== null && used !== undefined && task.pod !== null, 'claims were looked at before they were read', task.podUid);
    const missing = 'problem' in found ? found.problem : (claimProblem(task.pod, used, found) ?? unregistered(driversOf(found), context));
    if (missing === null) continue;
    end(manager, task, missing, context);
    return;
  }
  task.phase = 'lock';
  advance(manager, task, context);
}

function unregistered(drivers: Iterable<string>, context: DraContext): string | null {
  for (const driver of drivers) if (context.driverEndpoint(driver) === null) return `DRA driver ${driver} is not registered`;
  return null;
}

function lock(manager: DraManager, task: DraTask, context: DraContext): void {
  assert(task.phase === 'lock' && task.locked.length === 0, 'claims are locked twice', task.podUid);
  const keys = task.kind === 'unprepare' ? claimsKeptFor(manager, task.podUid) : [...new Set(task.wanted.map(({ name }) => claimKey(task.namespace, name)))];
  if (keys.some((key) => isHeld(manager, key, task))) return;
  if (task.kind === 'prepare') {
    const old = task.found.find((found): found is ResourceClaim => found !== null && !('problem' in found) && isOtherOne(manager, task, found));
    if (old !== undefined) {
      const { name, uid } = manager.claims.get(claimKey(task.namespace, old.metadata.name)) as ClaimRecord;
      end(manager, task, `old ResourceClaim with same name ${name} and different UID ${uid} still exists (previous pod force-deleted?!)`, context);
      return;
    }
    note(manager, task);
  }
  task.locked = keys;
  for (const claim of lockedClaims(manager, task)) {
    assert(claim.lockedBy === null || claim.lockedBy === task.podUid, 'a claim is locked by two pods', claim.name);
    claim.lockedBy = task.podUid;
  }
  if (task.kind === 'prepare') task.phase = 'save';
  else release(manager, task, context);
  advance(manager, task, context);
}

/** Held by a task that works on it. Of two pods with the same new claim the first one has recorded it. */
function isHeld(manager: DraManager, key: string, task: DraTask): boolean {
  const holder = manager.claims.get(key)?.lockedBy ?? null;
  return holder !== null && holder !== task.podUid;
}

function isOtherOne(manager: DraManager, task: DraTask, { metadata }: ResourceClaim): boolean {
  const known = manager.claims.get(claimKey(task.namespace, metadata.name));
  return known !== undefined && known.uid !== metadata.uid;
}

/** Adds the pod to the claims' pods, which must be on disk before a driver is called. */
function note(manager: DraManager, task: DraTask): void {
  for (const found of task.found) {
    if (found === null || 'problem' in found) continue;
    const { name, uid = '' } = found.metadata;
    const key = claimKey(task.namespace, name);
    let claim = manager.claims.get(key);
    if (claim === undefined) {
      const drivers = new Map(driversOf(found).map((driver) => [driver, []]));
      claim = { uid, name, namespace: task.namespace, podUids: new Set(), drivers, prepared: false, lockedBy: null };
      manager.claims.set(key, claim);
    }
    if (claim.podUids.has(task.podUid)) continue;
    claim.podUids.add(task.podUid);
    manager.revision++;
  }
  task.revision = manager.revision;
}

function lockedClaims({ claims }: DraManager, { locked }: DraTask): readonly ClaimRecord[] {
  return locked.flatMap((key) => claims.get(key) ?? []);
}

/** Claims that other pods have too only lose the pod. */
function release(manager: DraManager, task: DraTask, context: DraContext): void {
  for (const claim of lockedClaims(manager, task)) {
    if (claim.podUids.size === 1) continue;
    claim.podUids.delete(task.podUid);
    manager.revision++;
  }
  callDrivers(manager, task, 'draPlugin.unprepare', context);
}

function callDrivers(manager: DraManager, task: DraTask, op: 'draPlugin.prepare' | 'draPlugin.unprepare', context: DraContext): void {
  const isMeant = (claim: ClaimRecord): boolean => (op === 'draPlugin.prepare' ? !claim.prepared : claim.podUids.has(task.podUid));
  const meant = lockedClaims(manager, task).filter(isMeant);
  const batches = new Map<string, ClaimRecord[]>();
  for (const claim of meant) for (const driver of claim.drivers.keys()) batches.set(driver, [...(batches.get(driver) ?? []), claim]);
  const missing = unregistered(batches.keys(), context);
  if (missing !== null) {
    end(manager, task, missing, context);
    return;
  }
  task.phase = 'call';
  for (const [driver, claims] of batches) {
    // A claim counts as unprepared from here on, with any result.
    for (const claim of claims) claim.prepared = false;
    task.calls.set(driver, { claims, answered: false, error: null });
    const request = { endpoint: context.driverEndpoint(driver) ?? '', claims: claims.map(({ namespace, name, uid }) => ({ namespace, name, uid })) };
    context.turn.ask(op, { machine: draTaskMachine, key: task.podUid }, `call/${driver}`, request, callTimeout);
  }
  advance(manager, task, context);
}

function called(manager: DraManager, task: DraTask, context: DraContext): void {
  assert(task.phase === 'call', 'drivers have answered a task that does not call them', task.podUid);
  for (const { error } of task.calls.values()) {
    if (error === null) continue;
    end(manager, task, error, context);
    return;
  }
  for (const claim of lockedClaims(manager, task)) {
    if (task.kind === 'prepare') {
      if (!claim.prepared && claim.drivers.size > 0) manager.revision++;
      claim.prepared = true;
    } else if (claim.podUids.has(task.podUid)) {
      manager.claims.delete(claimKey(claim.namespace, claim.name));
      manager.revision++;
    }
  }
  task.revision = manager.revision;
  task.phase = 'saveEnd';
  advance(manager, task, context);
}

function end(manager: DraManager, task: DraTask, error: string | null, context: DraContext): void {
  assert(task.phase !== 'done', 'work on claims ends twice', task.podUid);
  for (const claim of lockedClaims(manager, task)) claim.lockedBy = null;
  task.locked = [];
  task.phase = 'done';
  task.error = error === null ? null : `${task.kind} dynamic resources: ${error}`;
  context.taskEnded(task);
  for (const other of [...manager.tasks.values()]) if (other.phase === 'lock') advance(manager, other, context);
}
