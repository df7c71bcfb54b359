// Volumes with data of the API: configMap, secret, downwardAPI, projected. They collect all data before any change on disk; then one step replaces the files.
//
//   (wait for data) -> podVolumes.setUp -> .read -> .write -> done; also done if nothing differs
//
// Invariant: a failure leaves the visible files unchanged.
import type { Instant } from '../../../ports/instant.js';
import type { Micros } from '../../../ports/micros.js';
import type { Pod } from '../../../ports/model/pod.js';
import type { Volume } from '../../../ports/model/volume.js';
import type { PayloadStep, VolumeContent } from '../../../ports/outbound/pod-volumes.js';
import { assert } from '../../kernel/assert.js';
import { podVolumeDirectory } from '../../values/pod-directories.js';
import { type AtomicWriteStep, comparedPaths, generationName, planAtomicWrite } from '../../volumes/atomic-writer.js';
import { mountPointAbove, nestedMountPoints, payloadSetUp, volumeAddress } from '../../volumes/node-volumes.js';
import { fsGroupMode } from '../../volumes/volume-ownership.js';
import type { VolumePayload } from '../../volumes/volume-payload.js';
import { payloadOf } from '../api-payload.js';
import { done, failed, procedure, type VolumeKind, type VolumeReplies, type VolumeScene, type VolumeStep } from '../volume-kind.js';
import { tearDownOf, viewOf } from './own-directory.js';

const mountPointMode = 0o755;
const generationDigits = 1_000_000_000;

interface PayloadWork {
  phase: 'setUp' | 'read' | 'write' | 'over';
  readonly since: Micros;
  /** null: it is still being collected. */
  payload: VolumePayload | null;
  content: VolumeContent | null;
}

function decide(work: PayloadWork, scene: VolumeScene): VolumeStep {
  const { pod, spec, context } = scene;
  assert(pod !== null && spec.kind === 'inline', 'a volume of the API’s data is one of the pod’s own');
  const { volume } = spec;
  if (work.payload === null) {
    const collected = payloadOf(pod, volume, work.since, context);
    if ('pending' in collected) return { kind: 'waiting', until: collected.until };
    if (!collected.ok) return failed(collected.message);
    work.payload = collected.payload;
  }
  const escaping = mountPointAbove(pod);
  if (escaping !== null) return failed(`invalid container mount point ${escaping}`);
  const { payload } = work;
  switch (work.phase) {
    case 'setUp':
      return scene.ask('podVolumes.setUp', payloadSetUp(pod, volume, context.nodeFacts.allocatable));
    case 'read':
      return scene.ask('podVolumes.read', { ...volumeAddress(pod, volume), paths: comparedPaths(payload) });
    case 'write':
      return write(payload, work.content, scene, pod, volume);
    case 'over':
      return done;
  }
}

const replies: VolumeReplies<PayloadWork> = {
  'podVolumes.setUp': (work, outcome, { uid }) => {
    assert(work.phase === 'setUp', 'the directory of a volume was made twice', uid);
    if (!outcome.ok) return problem(work, outcome.error.message);
    work.phase = 'read';
    return null;
  },
  'podVolumes.read': (work, outcome, { uid }) => {
    assert(work.phase === 'read', 'a volume was read before its directory was made', uid);
    if (!outcome.ok) return problem(work, outcome.error.message);
    work.content = outcome.value;
    work.phase = 'write';
    return null;
  },
  'podVolumes.write': (work, outcome, { uid }) => {
    assert(work.phase === 'write', 'a volume was written before it was read', uid);
    if (!outcome.ok) return problem(work, outcome.error.message);
    work.phase = 'over';
    return null;
  },
};

function problem(work: PayloadWork, message: string): VolumeStep {
  return failed(message, showsPayload(work) ? 'usable' : 'final');
}

/** A container that runs, or may start, sees a whole payload of before. */
function showsPayload({ content }: PayloadWork): boolean {
  return content !== null && content.generationPaths !== null;
}

function write(payload: VolumePayload, content: VolumeContent | null, scene: VolumeScene, pod: Pod, volume: Volume): VolumeStep {
  const { uid, context } = scene;
  assert(content !== null, 'a volume is read before it is written');
  const address = volumeAddress(pod, volume);
  const entries = new Map(content.entries);
  const before = mountPointSteps(pod, volume, entries);
  for (const { path } of before) if (!path.includes('/')) entries.set(path, { kind: 'directory' });
  const directory = {
    path: podVolumeDirectory(context.nodeFacts.rootDirectory, uid, address.plugin, volume.name),
    entries,
    generationPaths: content.generationPaths,
    readings: new Map(content.readings),
  };
  const digits = String(Math.floor(generationDigits * context.turn.random('volume-generation', uid)));
  const plan = planAtomicWrite(payload, directory, freeGeneration(context.turn.wall, digits, directory.entries), pod.spec.securityContext?.fsGroup ?? null);
  if (plan.kind === 'refused') return failed(plan.message, content.generationPaths !== null ? 'usable' : 'final');
  const steps = [...before, ...plan.steps.map(portStep)];
  if (steps.length === 0) return done;
  const switchAt = plan.switchAt < 0 ? -1 : before.length + plan.switchAt;
  return scene.ask('podVolumes.write', { ...address, steps, switchAt, undo: plan.undo.map(portStep) });
}

/** Directories for mounts inside the volume, with all their parents. Existing top-level entries stay. */
function mountPointSteps(pod: Pod, volume: Volume, entries: ReadonlyMap<string, unknown>): Extract<PayloadStep, { operation: 'make-directory' }>[] {
  const paths = new Set<string>();
  for (const path of nestedMountPoints(pod, volume.name)) {
    const elements = path.split('/');
    if (!entries.has(elements[0] ?? '')) for (let i = 1; i <= elements.length; i++) paths.add(elements.slice(0, i).join('/'));
  }
  return [...paths].map((path) => ({ operation: 'make-directory', path, mode: mountPointMode }));
}

/** A name that no earlier generation has. */
function freeGeneration(wall: Instant, digits: string, taken: ReadonlyMap<string, unknown>): string {
  let name = generationName(wall, digits);
  while (taken.has(name)) name += '0';
  return name;
}

/** The data of the API is shown read-only, so its group gets no right to write. */
function portStep(step: AtomicWriteStep): PayloadStep {
  if (step.operation !== 'apply-fs-group') return step;
  return { ...step, fileBits: fsGroupMode(0, 'file', true), directoryBits: fsGroupMode(0, 'directory', true) };
}

function payloadKind(plugin: string, source: (name: string) => Omit<Volume, 'name'>): VolumeKind {
  return {
    plugin,
    mountDevice: null,
    setUp: procedure<PayloadWork>({ begin: ({ context }) => ({ phase: 'setUp', since: context.turn.now, payload: null, content: null }), decide, replies }),
    tearDown: tearDownOf(plugin),
    unmountDevice: null,
    view: viewOf,
    reconstruct: ({ name }) => ({ kind: 'inline', volume: { name, ...source(name) } }),
  };
}

export const apiDataKinds: readonly VolumeKind[] = [
  payloadKind('kubernetes.io/configmap', (name) => ({ configMap: { name } })),
  payloadKind('kubernetes.io/secret', (secretName) => ({ secret: { secretName } })),
  payloadKind('kubernetes.io/downward-api', () => ({ downwardAPI: {} })),
  payloadKind('kubernetes.io/projected', () => ({ projected: {} })),
];
