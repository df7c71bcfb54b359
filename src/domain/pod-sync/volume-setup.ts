// Makes the volumes that a pod's containers mount ready, one after the other. One that fails is told of and tried again, at growing
// distances, until the pod's sync has waited long enough; a volume that shows an older payload already holds nobody up.
//
// | kind                   | asks                                                        |
// |------------------------|-------------------------------------------------------------|
// | emptyDir               | podVolumes.setUp                                            |
// | image                  | (nothing: the runtime mounts it)                            |
// | hostPath with a type   | hostPaths.inspect, then hostPaths.make when it is to be made|
// | data of the API        | (its collection,) podVolumes.setUp, .read, .write           |
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { Volume } from '../../ports/model/volume.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { PayloadStep } from '../../ports/outbound/pod-volumes.js';
import { assert } from '../kernel/assert.js';
import type { Reply } from '../kernel/machine.js';
import { goQuote } from '../values/go-text.js';
import { podVolumeDirectory } from '../values/pod-directories.js';
import { byCodeUnits } from '../values/text-order.js';
import { apiDataSource } from '../volumes/api-data-volume.js';
import { type AtomicWriteStep, comparedPaths, generationName, planAtomicWrite } from '../volumes/atomic-writer.js';
import { checkHostPath, type HostPathCheck } from '../volumes/host-path-type.js';
import { emptyDirSetUp, nestedMountPoints, payloadSetUp, usedVolumes, volumeAddress } from '../volumes/node-volumes.js';
import { fsGroupMode } from '../volumes/volume-ownership.js';
import type { VolumePayload } from '../volumes/volume-payload.js';
import { payloadOf } from './api-payload.js';
import { podAddress, type SyncContext } from './sync-context.js';
import type { StepOutcome, SyncRun } from './sync-run.js';
import type { VolumeSetup } from './volume-setup-state.js';

const second: Micros = 1_000_000;
const longestRetry: Micros = 122 * second;
/** As long as the reference waits for volumes before the sync fails. */
const patience: Micros = 123 * second;
const mountPointMode = 0o755;
const generationDigits = 1_000_000_000;

export function decideVolumeSetup(setup: VolumeSetup, run: SyncRun, context: SyncContext): StepOutcome {
  const { turn } = context;
  if (setup.pending === null) {
    setup.pending = wanted(setup, run);
    setup.startedAt = turn.now;
  }
  if (setup.retryAt !== null && turn.now < setup.retryAt) {
    if (context.apiData?.takeChanged(run.uid) !== true) return 'waiting';
    // What has changed may be what was missing.
    setup.pending = wanted(setup, run);
  }
  setup.retryAt = null;
  for (let volume = setup.pending[0]; volume !== undefined; volume = setup.pending[0]) {
    const progress = ask(setup, volume, run, context);
    if (progress === 'asked') run.outstanding++;
    if (progress !== 'settled') return 'waiting';
  }
  if (setup.failed.length === 0) return 'done';
  if (turn.now - setup.startedAt >= patience) {
    const names = setup.failed.map(({ name }) => name).sort(byCodeUnits);
    run.failure = `unmounted volumes=[${names.join(' ')}], unattached volumes=[], failed to process volumes=[]: context deadline exceeded`;
    return 'ended';
  }
  setup.pending = setup.failed;
  setup.failed = [];
  setup.retryAt = Math.min(turn.now + setup.retryAfter, setup.startedAt + patience);
  setup.retryAfter = Math.min(2 * setup.retryAfter, longestRetry);
  turn.wakeAt(podAddress(run.uid), setup.retryAt);
  return 'waiting';
}

function wanted({ isRefresh }: VolumeSetup, { pod }: SyncRun): Volume[] {
  return usedVolumes(pod).filter((volume) => !isRefresh || apiDataSource(volume) !== null);
}

/** `settled`: the volume is ready or has failed; `waiting`: the API's data is still on its way, and whoever brings it wakes the run. */
type Progress = 'asked' | 'settled' | 'waiting';

function ask(setup: VolumeSetup, volume: Volume, run: SyncRun, context: SyncContext): Progress {
  const { turn, nodeFacts } = context;
  const address = podAddress(run.uid);
  if (volume.hostPath !== undefined) return askHostPath(setup, volume.hostPath, run, context);
  if (volume.image !== undefined) {
    ready(setup);
    return 'settled';
  }
  if (volume.emptyDir !== undefined) {
    turn.ask('podVolumes.setUp', address, 'volume', emptyDirSetUp(run.pod, volume, nodeFacts.allocatable));
    return 'asked';
  }
  const payload = setup.payload ?? collect(setup, volume, run, context);
  if (typeof payload === 'string') return payload;
  if (setup.phase === 'setUp') turn.ask('podVolumes.setUp', address, 'volume', payloadSetUp(run.pod, volume, nodeFacts.allocatable));
  else if (setup.phase === 'read') turn.ask('podVolumes.read', address, 'volume', { ...volumeAddress(run.pod, volume), paths: comparedPaths(payload) });
  else return askWrite(setup, volume, payload, run, context);
  return 'asked';
}

/** What the volume is to show, or how far that has come. */
function collect(setup: VolumeSetup, volume: Volume, run: SyncRun, context: SyncContext): VolumePayload | Exclude<Progress, 'asked'> {
  const { turn } = context;
  setup.since ??= turn.now;
  const collected = payloadOf(run.pod, volume, setup.since, context);
  if ('pending' in collected) {
    turn.wakeAt(podAddress(run.uid), collected.until);
    return 'waiting';
  }
  if (!collected.ok) {
    failed(setup, collected.message, run, context);
    return 'settled';
  }
  setup.payload = collected.payload;
  return collected.payload;
}

function askHostPath(setup: VolumeSetup, { path, type }: NonNullable<Volume['hostPath']>, run: SyncRun, context: SyncContext): Progress {
  const { turn } = context;
  const address = podAddress(run.uid);
  if (setup.phase === 'make' && setup.make !== null) {
    turn.ask('hostPaths.make', address, 'volume', { path, kind: setup.make.kind === 'make-directory' ? 'directory' : 'file', mode: setup.make.mode });
    return 'asked';
  }
  if (type !== undefined && type !== '') {
    turn.ask('hostPaths.inspect', address, 'volume', { path });
    return 'asked';
  }
  // What is no path to begin with is refused, whatever is there.
  const check = checkHostPath(path, null, 'absent');
  if (check.kind === 'refused') failed(setup, check.message, run, context);
  else ready(setup);
  return 'settled';
}

function askWrite(setup: VolumeSetup, volume: Volume, payload: VolumePayload, run: SyncRun, context: SyncContext): Progress {
  const { turn, nodeFacts } = context;
  const content = setup.content;
  assert(content !== null, 'a volume is read before it is written');
  const address = volumeAddress(run.pod, volume);
  const entries = new Map(content.entries);
  const before = mountPointSteps(run.pod, volume, entries);
  for (const { path } of before) if (!path.includes('/')) entries.set(path, { kind: 'directory' });
  const directory = {
    path: podVolumeDirectory(nodeFacts.rootDirectory, run.uid, address.plugin, volume.name),
    entries,
    generationPaths: content.generationPaths,
    readings: new Map(content.readings),
  };
  const digits = String(Math.floor(generationDigits * turn.random('volume-generation', run.uid)));
  const plan = planAtomicWrite(payload, directory, freeGeneration(turn.now, digits, directory.entries), run.pod.spec.securityContext?.fsGroup ?? null);
  if (plan.kind === 'refused') {
    failed(setup, plan.message, run, context);
    return 'settled';
  }
  const steps = [...before, ...plan.steps.map(portStep)];
  if (steps.length === 0) {
    ready(setup);
    return 'settled';
  }
  const switchAt = plan.switchAt < 0 ? -1 : before.length + plan.switchAt;
  turn.ask('podVolumes.write', podAddress(run.uid), 'volume', { ...address, steps, switchAt, undo: plan.undo.map(portStep) });
  return 'asked';
}

/** Directories for mounts inside the volume, with all above them. What has such a name at the top already stays. */
function mountPointSteps(pod: Pod, volume: Volume, entries: ReadonlyMap<string, unknown>): Extract<PayloadStep, { operation: 'make-directory' }>[] {
  const paths = new Set<string>();
  for (const path of nestedMountPoints(pod, volume.name)) {
    const elements = path.split('/');
    if (!entries.has(elements[0] ?? '')) for (let i = 1; i <= elements.length; i++) paths.add(elements.slice(0, i).join('/'));
  }
  return [...paths].map((path) => ({ operation: 'make-directory', path, mode: mountPointMode }));
}

/** A name that no earlier generation has. */
function freeGeneration(now: Micros, digits: string, taken: ReadonlyMap<string, unknown>): string {
  let name = generationName(now, digits);
  while (taken.has(name)) name += '0';
  return name;
}

/** The data of the API is shown read-only, so its group gets no right to write. */
function portStep(step: AtomicWriteStep): PayloadStep {
  if (step.operation !== 'apply-fs-group') return step;
  return { ...step, fileBits: fsGroupMode(0, 'file', true), directoryBits: fsGroupMode(0, 'directory', true) };
}

export function applyVolumeSetupReply(setup: VolumeSetup, run: SyncRun, reply: Reply<AgentOperations>, context: SyncContext): void {
  const volume = setup.pending?.[0];
  assert(volume !== undefined, 'an answer about a volume is about the one that is worked on');
  if (!reply.outcome.ok) {
    if (!run.cancelled) failed(setup, reply.outcome.error.message, run, context);
    return;
  }
  switch (reply.op) {
    case 'podVolumes.setUp':
      if (volume.emptyDir === undefined) setup.phase = 'read';
      else ready(setup);
      return;
    case 'podVolumes.read':
      setup.content = reply.outcome.value;
      setup.phase = 'write';
      return;
    case 'hostPaths.inspect':
      inspected(setup, checkHostPath(volume.hostPath?.path ?? '', volume.hostPath?.type ?? null, reply.outcome.value), run, context);
      return;
    default:
      ready(setup);
  }
}

function inspected(setup: VolumeSetup, check: HostPathCheck, run: SyncRun, context: SyncContext): void {
  if (check.kind === 'refused') failed(setup, check.message, run, context);
  else if (check.kind === 'good') ready(setup);
  else {
    setup.make = check;
    setup.phase = 'make';
  }
}

/** The next one is worked on. */
function ready(setup: VolumeSetup): void {
  setup.pending?.shift();
  setup.phase = 'setUp';
  setup.make = null;
  setup.content = null;
  setup.since = null;
  setup.payload = null;
}

function failed(setup: VolumeSetup, message: string, run: SyncRun, context: SyncContext): void {
  const volume = setup.pending?.[0];
  assert(volume !== undefined, 'only a volume that is worked on fails');
  context.event(run.pod, null, 'Warning', 'FailedMount', `MountVolume.SetUp failed for volume ${goQuote(volume.name)} : ${message}`);
  // What is shown stays as it is; a container that runs, or may start, sees a whole payload of before.
  const showsPayload = setup.isRefresh || (setup.content !== null && setup.content.generationPaths !== null);
  if (showsPayload) setup.outdated = true;
  else setup.failed.push(volume);
  ready(setup);
}
