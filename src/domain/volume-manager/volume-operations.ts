// One operation on a volume: its stages, one after the other, each a procedure of the volume's kind; and the effect of its end.
//
//   begin -> [stage, stage, ...] -> succeeded: the actual state changes; failed: back-off, and the Go kubelet's event
//
// | failure   | of a mount that was                  | leaves the mount                                     |
// |-----------|--------------------------------------|------------------------------------------------------|
// | final     | uncertain, made by this agent        | not mounted                                          |
// | final     | uncertain, found                     | uncertain: it must still be torn down                |
// | uncertain | not mounted                          | uncertain                                            |
// | usable    | not mounted, or uncertain            | mounted, remount required                            |
// | any other |                                      | as it was                                            |
import type { Pod } from '../../ports/model/pod.js';
import type { PersistentVolumeClaim } from '../../ports/model/storage.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { assert } from '../kernel/assert.js';
import type { Reply } from '../kernel/machine.js';
import { goQuote } from '../values/go-text.js';
import { claimBytes, expansionOf, volumeBytes } from '../volumes/volume-expansion.js';
import { volumePluginFor } from '../volumes/volume-plugins.js';
import { isBlockVolume, specName, type VolumeSpec } from '../volumes/volume-spec.js';
import { isRemounted } from './desired-volumes.js';
import { mountRefusal } from './mount-checks.js';
import { backoffKey, backoffText, operationFailed } from './volume-backoff.js';
import { type FailureSeverity, singleCommand, type VolumeContext, type VolumeFailure, type VolumeProcedure, type VolumeScene, type VolumeStep } from './volume-kind.js';
import { kindOf } from './volume-kinds.js';
import {
  type ActualVolume,
  type DesiredMount,
  holdVolume,
  releaseVolume,
  type VolumeManager,
  type VolumeOperation,
  type VolumeOperationKind,
  type VolumeStage,
  volumeAddressOf,
} from './volume-manager-state.js';

const slot = 'step';
const lookSlot = 'look';

const prefixes: Readonly<Record<VolumeStage, string>> = {
  mountDevice: 'MountVolume.MountDevice failed',
  setUp: 'MountVolume.SetUp failed',
  expand: 'MountVolume.Setup failed while expanding volume',
  subPaths: 'error cleaning subPath mounts',
  tearDown: 'UnmountVolume.TearDown failed',
  unmountDevice: 'UnmountDevice failed',
};

const blockPrefixes: Readonly<Record<VolumeStage, string>> = {
  mountDevice: 'MapVolume.SetUpDevice failed',
  setUp: 'MapVolume.MapPodDevice failed',
  expand: 'MapVolume.MarkVolumeAsMounted failed while expanding volume',
  subPaths: prefixes.subPaths,
  tearDown: 'UnmapVolume.UnmapPodDevice failed',
  unmountDevice: 'UnmapDevice.TearDownDevice failed',
};

const stagesOf: Readonly<Record<VolumeOperationKind, readonly VolumeStage[]>> = {
  mount: ['mountDevice', 'setUp'],
  expand: ['expand'],
  unmount: ['subPaths', 'tearDown'],
  unmountDevice: ['unmountDevice'],
};

/** Whether the volume has grown since its file system was last known to fill it. */
function growsWithMount(desired: DesiredMount | null, { size, plugin }: ActualVolume): boolean {
  if (desired === null || desired.claim === null || size !== null || kindOf(plugin)?.expand === undefined) return false;
  const [wanted, has] = [volumeBytes(desired.spec), claimBytes(desired.claim)];
  return wanted !== null && has !== null && has < wanted && expansionOf(desired.spec, desired.claim) !== null;
}

export function beginOperation(manager: VolumeManager, volumeName: string, kind: VolumeOperationKind, uid: string, context: VolumeContext): void {
  assert(!manager.operations.has(volumeName), 'a volume has an operation already', volumeName);
  const actual = manager.actual.get(volumeName);
  assert(actual !== undefined, 'an operation is on a volume that is there', volumeName);
  const mount = actual.pods.get(uid);
  const desired = manager.desired.get(volumeName)?.pods.get(uid) ?? null;
  const isUp = kind === 'mount' || kind === 'expand';
  const spec = isUp ? (desired?.spec ?? actual.spec) : (mount?.spec ?? actual.spec);
  const stages: VolumeStage[] = [...stagesOf[kind]];
  const isRemount = kind === 'mount' && mount?.state === 'mounted';
  if (kind === 'mount' && actual.device === 'mounted') stages.shift();
  if (kind === 'mount' && !isRemount && growsWithMount(desired, actual)) stages.push('expand');
  // Later changes require another remount.
  if (mount !== undefined && kind === 'mount') mount.remountRequired = false;
  // A pod that returns sets it up again, since it may be partly torn down.
  if (mount !== undefined && kind === 'unmount') mount.state = 'uncertain';
  if (kind === 'mount') actual.label ??= manager.desired.get(volumeName)?.label?.mounted ?? '';
  const pod = isUp ? (manager.pods.get(uid)?.pod ?? null) : null;
  const operation: VolumeOperation = { kind, volumeName, uid, pod, spec, isRemount, stages, work: null, waiting: false, again: false, hasLabels: null, isLooking: false };
  manager.operations.set(volumeName, operation);
  if (kind === 'mount') holdVolume(manager, uid, volumeName);
  const refusal = kind === 'mount' ? mountRefusal(actual, operation, context) : null;
  if (refusal === null) advance(manager, operation, context);
  else end(manager, operation, refusal, context);
}

/** Takes an answer for `volume/<name>`. */
export function volumeReplied(manager: VolumeManager, volumeName: string, reply: Reply<AgentOperations>, context: VolumeContext): void {
  const operation = manager.operations.get(volumeName);
  if (reply.slot === lookSlot) {
    if (operation !== undefined) looked(manager, operation, reply, context);
    return;
  }
  const stage = operation?.stages[0];
  assert(operation !== undefined && stage !== undefined && operation.work !== null, 'a volume got an answer that it does not wait for', volumeName);
  const procedure = procedureOf(manager, operation, stage) as VolumeProcedure<object> | null;
  assert(procedure !== null, 'a stage that asked has a procedure', volumeName);
  const step = procedure.replied(operation.work, reply, sceneOf(manager, operation, context));
  if (step === null) advance(manager, operation, context);
  else take(manager, operation, step, context);
}

/** A wake-up: ends a wait, or retries. */
export function volumeWoken(manager: VolumeManager, volumeName: string, context: VolumeContext): void {
  const operation = manager.operations.get(volumeName);
  if (operation === undefined) manager.dirty.add(volumeName);
  else if (operation.waiting) advance(manager, operation, context);
  else remind(manager, operation, context);
}

/** A command takes long. */
function remind(manager: VolumeManager, operation: VolumeOperation, context: VolumeContext): void {
  const [stage] = operation.stages;
  const procedure = stage === undefined ? null : (procedureOf(manager, operation, stage) as VolumeProcedure<object> | null);
  if (operation.work !== null) procedure?.late?.(operation.work, sceneOf(manager, operation, context));
}

/** Skips the answers of earlier inspections. */
function looked(manager: VolumeManager, operation: VolumeOperation, reply: Reply<AgentOperations>, context: VolumeContext): void {
  const [stage] = operation.stages;
  const procedure = stage === undefined ? null : (procedureOf(manager, operation, stage) as VolumeProcedure<object> | null);
  const { isLooking } = operation;
  operation.isLooking = false;
  if (isLooking && operation.work !== null) procedure?.seen?.(operation.work, reply, sceneOf(manager, operation, context));
}

/** Data for waiting volumes of the pod is available. Also for a pod that has ended: a volume whose mount is in progress is unmounted after its data has come. */
export function volumeDataArrived(manager: VolumeManager, uid: string, context: VolumeContext): void {
  for (const name of [...(manager.held.get(uid) ?? [])]) {
    const operation = manager.operations.get(name);
    if (operation?.waiting === true && operation.uid === uid) advance(manager, operation, context);
  }
}

function advance(manager: VolumeManager, operation: VolumeOperation, context: VolumeContext): void {
  for (;;) {
    const stage = operation.stages[0];
    if (stage === undefined) {
      end(manager, operation, null, context);
      return;
    }
    const procedure = procedureOf(manager, operation, stage) as VolumeProcedure<object> | null;
    if (procedure === null) {
      passed(manager, operation, stage);
      continue;
    }
    const scene = sceneOf(manager, operation, context);
    operation.work ??= procedure.begin(scene);
    const step = procedure.decide(operation.work, scene);
    if (step.kind === 'done') passed(manager, operation, stage);
    else {
      take(manager, operation, step, context);
      return;
    }
  }
}

function take(manager: VolumeManager, operation: VolumeOperation, step: VolumeStep, context: VolumeContext): void {
  operation.waiting = step.kind === 'waiting';
  switch (step.kind) {
    case 'asked':
      return;
    case 'waiting':
      context.turn.wakeAt(volumeAddressOf(operation.volumeName), step.until);
      return;
    case 'done':
      passed(manager, operation, operation.stages[0] as VolumeStage);
      advance(manager, operation, context);
      return;
    case 'failed':
      end(manager, operation, { message: step.message, severity: step.severity, prefix: step.prefix ?? prefixOf(operation) }, context);
  }
}

/** The stage has succeeded. */
function passed(manager: VolumeManager, operation: VolumeOperation, stage: VolumeStage): void {
  operation.stages.shift();
  operation.work = null;
  operation.waiting = false;
  const actual = manager.actual.get(operation.volumeName);
  if (stage === 'mountDevice' && actual !== undefined && kindOf(actual.plugin)?.mountDevice !== null) actual.device = 'mounted';
  if (stage === 'subPaths') manager.releases.get(operation.uid)?.subPaths.delete(specName(operation.spec));
}

function procedureOf(manager: VolumeManager, { uid, spec, work }: VolumeOperation, stage: VolumeStage): VolumeProcedure<never> | null {
  if (stage === 'subPaths') {
    const steps = manager.releases.get(uid)?.subPaths.get(specName(spec)) ?? null;
    // The request is answered, even if the pod is released again meanwhile, which looks them up again.
    if (steps === null && work === null) return null;
    return singleCommand('subPaths.carryOut', (scene) => scene.ask('subPaths.carryOut', { uid, steps: steps ?? [] }));
  }
  const plugin = volumePluginFor(spec);
  return (plugin === null ? null : (kindOf(plugin.name)?.[stage] ?? null)) as VolumeProcedure<never> | null;
}

function sceneOf(manager: VolumeManager, operation: VolumeOperation, context: VolumeContext): VolumeScene {
  const { volumeName, uid, spec, isRemount, kind } = operation;
  const actual = manager.actual.get(volumeName);
  return {
    volumeName,
    spec,
    uid,
    pod: kind === 'mount' || kind === 'expand' ? podOf(manager, operation) : null,
    claim: manager.desired.get(volumeName)?.pods.get(uid)?.claim ?? null,
    claimSeen: (claim) => {
      const pods = manager.desired.get(volumeName)?.pods;
      for (const mount of [...(pods?.values() ?? [])]) pods?.set(mount.uid, { ...mount, claim });
    },
    resized: (size) => {
      if (actual !== undefined) actual.size = size;
    },
    isRemount,
    seLinuxLabel: context.nodeFacts.selinuxEnabled ? (actual?.label ?? '') : '',
    labelled: (hasLabels) => {
      operation.hasLabels = hasLabels;
    },
    reconstructed: actual?.pods.get(uid)?.reconstructed === true,
    devicePath: actual?.devicePath ?? '',
    otherPods: [...(actual?.pods.keys() ?? [])].filter((other) => other !== uid),
    context,
    remindAt: (at) => context.turn.wakeAt(volumeAddressOf(volumeName), at),
    look: (op, request) => {
      if (context.turn.inFlight(volumeAddressOf(volumeName), lookSlot)) return;
      operation.isLooking = true;
      context.turn.ask(op, volumeAddressOf(volumeName), lookSlot, request);
    },
    ask: (op, request, timeout = null) => {
      context.turn.ask(op, volumeAddressOf(volumeName), slot, request, timeout);
      return { kind: 'asked' };
    },
  };
}

/** The current object; for a pod that has ended meanwhile, the last one. */
function podOf(manager: VolumeManager, { uid, pod }: VolumeOperation): Pod | null {
  return manager.pods.get(uid)?.pod ?? pod;
}

function end(manager: VolumeManager, operation: VolumeOperation, failure: VolumeFailure | null, context: VolumeContext): void {
  const { volumeName, kind, uid } = operation;
  assert(manager.operations.get(volumeName) === operation, 'an operation on a volume ends during another', volumeName);
  manager.operations.delete(volumeName);
  manager.dirty.add(volumeName);
  const key = backoffKey(volumeName, kind, uid);
  const actual = manager.actual.get(volumeName);
  assert(actual !== undefined, 'a volume is there until its last operation has ended', volumeName);
  if (failure === null) {
    manager.backoffs.delete(key);
    succeeded(actual, operation, manager.desired.get(volumeName)?.pods.get(uid)?.claim ?? null);
  } else {
    const backoff = operationFailed(manager, key, kind, failure.message, context.turn.now);
    report(manager, operation, failure, backoffText(volumeName, backoff, failure.message, context.turn.wall), context);
    spoiled(actual, operation, failure.severity);
  }
  // What changed while it ran is worked on at once.
  if (operation.again) {
    const mount = actual.pods.get(uid);
    if (mount !== undefined) mount.remountRequired = true;
    manager.backoffs.delete(key);
  }
  if (uid !== '' && !actual.pods.has(uid)) releaseVolume(manager, uid, volumeName);
  if (kind === 'mount') workedOn(manager, uid, context);
  if (uid !== '') context.volumesChanged(uid);
}

function succeeded(actual: ActualVolume, { kind, uid, spec, hasLabels }: VolumeOperation, claim: PersistentVolumeClaim | null): void {
  switch (kind) {
    case 'expand':
      return;
    case 'mount':
      if (claim !== null) actual.size ??= claimBytes(claim);
      actual.pods.set(uid, { uid, spec, state: 'mounted', remountRequired: false, reconstructed: false, hasLabels });
      return;
    case 'unmount':
      actual.pods.delete(uid);
      return;
    case 'unmountDevice':
      actual.device = 'none';
      actual.label = null;
      actual.devicePath = '';
  }
}

function spoiled(actual: ActualVolume, { kind, uid, spec, stages, isRemount, hasLabels }: VolumeOperation, severity: FailureSeverity): void {
  const mount = actual.pods.get(uid);
  if (kind === 'unmountDevice') {
    actual.device = 'uncertain';
    return;
  }
  if (kind === 'unmount' || kind === 'expand') return;
  // What could not be grown is mounted all the same, and is to be set up once more.
  const left = stages[0] === 'expand' ? 'uncertain' : severity;
  if (mount !== undefined && isRemount) mount.remountRequired = true;
  if (stages[0] === 'mountDevice') {
    if (severity === 'uncertain' && actual.device === 'none') actual.device = 'uncertain';
    return;
  }
  const isMounted = mount?.state === 'mounted';
  if (left === 'usable' && !isMounted) actual.pods.set(uid, { uid, spec, state: 'mounted', remountRequired: true, reconstructed: false, hasLabels });
  else if (left === 'uncertain' && mount === undefined) actual.pods.set(uid, { uid, spec, state: 'uncertain', remountRequired: false, reconstructed: false, hasLabels });
  else if (left === 'final' && mount?.state === 'uncertain' && !mount.reconstructed) actual.pods.delete(uid);
}

/** Failures that keep a pod from running are events of the pod; all failures are logged. */
function report(manager: VolumeManager, operation: VolumeOperation, { message, prefix }: VolumeFailure, text: string, context: VolumeContext): void {
  const pod = operation.kind === 'mount' || operation.kind === 'expand' ? (manager.pods.get(operation.uid)?.pod ?? null) : null;
  const what = `${prefix} for volume ${goQuote(specName(operation.spec))}`;
  if (pod !== null) context.event(pod, null, 'Warning', reasonOf(operation), `${what} : ${message}`);
  context.turn.log('error', what, { podUID: operation.uid, err: text });
}

function reasonOf({ kind, spec }: VolumeOperation): string {
  if (kind === 'expand') return 'VolumeResizeFailed';
  return isBlockVolume(spec) ? 'FailedMapVolume' : 'FailedMount';
}

function prefixOf({ kind, spec, stages }: VolumeOperation): string {
  if (kind === 'expand') return 'NodeExpandVolume.NodeExpandVolume failed';
  return (isBlockVolume(spec) ? blockPrefixes : prefixes)[stages[0] as VolumeStage];
}

/** Reports the end of work on the pod's data volumes once none is in progress. */
function workedOn(manager: VolumeManager, uid: string, context: VolumeContext): void {
  const wanted = manager.pods.get(uid);
  if (wanted === undefined) return;
  let outdated = false;
  for (const name of wanted.names.values()) {
    const spec = manager.desired.get(name)?.pods.get(uid)?.spec;
    if (spec === undefined || !isRemounted(spec, context)) continue;
    if (manager.operations.has(name)) return;
    const mount = manager.actual.get(name)?.pods.get(uid);
    // One that a driver wants to be published again is never up to date for long.
    if (mount?.state !== 'mounted' || mount.remountRequired || !showsData(spec)) outdated = true;
  }
  context.volumesWorkedOn(uid, wanted.pod, outdated);
}

function showsData(spec: VolumeSpec): boolean {
  return volumePluginFor(spec)?.requiresRemount === true;
}
