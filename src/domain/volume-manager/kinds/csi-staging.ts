// Stages a CSI volume on the node once for all pods, if the driver supports staging.
//
//   mountDevice:   collect -> (attached?) -> prepare -> NodeStageVolume -> over; after a final error: first removes the directory
//   unmountDevice: read -> references -> capabilities -> NodeUnstageVolume -> remove -> over
import type { AgentOperations } from '../../../ports/outbound/outbound-ports.js';
import type { VolumePlace } from '../../../ports/outbound/volume-mounts.js';
import type { Outcome } from '../../../ports/port-error.js';
import { assert } from '../../kernel/assert.js';
import { goQuote } from '../../values/go-text.js';
import { type CsiMountFacts, csiCallFailed, planCsiStage } from '../../volumes/csi-mount.js';
import { csiDeviceMountPath } from '../../volumes/csi-volume.js';
import { csiDataText } from '../../volumes/csi-volume-data.js';
import { isBlockVolume } from '../../volumes/volume-spec.js';
import { done, failed, procedure, type VolumeProcedure, type VolumeReplies, type VolumeScene, type VolumeStep } from '../volume-kind.js';
import { csiDeviceData, csiDeviceName } from './csi-block.js';
import { attachmentNameOf, type CsiCollected, collect, collectReplies, csiTimeout, driverOf, needsAttachment, newCollected } from './csi-facts.js';

interface StageWork extends CsiCollected {
  phase: 'collect' | 'stage' | 'clean' | 'over';
  facts: CsiMountFacts | null;
  failure: string;
}

function decideStage(work: StageWork, scene: VolumeScene): VolumeStep {
  if (scene.spec.kind === 'inline' || work.phase === 'over') return done;
  const isBlock = isBlockVolume(scene.spec);
  const found = driverOf(scene, isBlock ? 'blockMapper.SetUpDevice failed to get CSI client' : 'attacher.MountDevice failed to create newCsiDriverClient');
  if ('step' in found) return found.step;
  const { driver } = found;
  const place = stagingPlaceOf(scene);
  if (place === null) return failed(stagingProblem(scene), 'final', 'MountVolume.GetDeviceMountPath failed');
  const volume = csiDeviceName(scene.spec);
  if (work.phase === 'clean') return isBlock ? scene.ask('csiFiles.removeDevice', { volume }) : scene.ask('csiFiles.remove', { place });
  if (work.facts === null) {
    const got = collect(work, scene, driver, 'stage');
    if ('step' in got) return got.step;
    work.facts = got.facts;
  }
  const problem = attachmentProblem(scene, work.facts);
  if (problem !== null) return failed(problem, 'transient', isBlock ? 'MapVolume.WaitForAttach failed' : 'MountVolume.WaitForAttach failed');
  const plan = planCsiStage(work.facts);
  if (plan?.kind === 'failed') return failed(plan.message, plan.certainty);
  if (work.phase === 'collect' && isBlock) return scene.ask('csiFiles.prepareDevice', { volume, data: csiDeviceData(scene) });
  if (work.phase === 'collect') return scene.ask('csiFiles.prepare', { place, makesPlace: true, data: plan === null ? null : csiDataText(plan.data) });
  assert(plan !== null, 'only what a driver stages is staged');
  return scene.ask('csiNode.stage', { endpoint: driver.endpoint, ...plan.request }, csiTimeout);
}

const stageReplies: VolumeReplies<StageWork> = {
  ...collectReplies,
  'csiFiles.prepare': prepared,
  'csiFiles.prepareDevice': prepared,
  'csiNode.stage': (work, outcome) => {
    assert(work.phase === 'stage', 'a volume was staged that is not prepared');
    if (outcome.ok) return done;
    const failure = csiCallFailed(outcome.error.kind, outcome.error.message);
    if (failure.certainty !== 'final') return failed(failure.message, failure.certainty);
    work.failure = failure.message;
    work.phase = 'clean';
    return null;
  },
  'csiFiles.remove': cleaned,
  'csiFiles.removeDevice': cleaned,
};

function prepared(work: StageWork, outcome: Outcome<unknown>): VolumeStep | null {
  assert(work.phase === 'collect' && work.facts !== null, 'a volume was prepared before its facts were collected');
  // It may have been made all the same.
  if (!outcome.ok) return failed(`kubernetes.io/csi: attacher.MountDevice failed to create dir: ${outcome.error.message}`, 'uncertain');
  work.phase = work.facts.capabilities.includes('STAGE_UNSTAGE_VOLUME') ? 'stage' : 'over';
  return null;
}

/** A possible leftover requires an unmount. */
function cleaned({ phase, failure }: StageWork, outcome: Outcome<'removed' | 'mounted'>): VolumeStep {
  assert(phase === 'clean', 'a volume was removed whose staging has not failed');
  return failed(failure, outcome.ok && outcome.value !== 'mounted' ? 'final' : 'uncertain');
}

function attachmentProblem(scene: VolumeScene, { attachment, driver }: CsiMountFacts): string | null {
  if (!needsAttachment(scene, driver) || scene.spec.kind === 'inline') return null;
  const name = attachmentNameOf(scene);
  const handle = scene.spec.persistentVolume.spec.csi?.volumeHandle ?? '';
  const got = (cause: string) => `volume ${handle} has GET error for volume attachment ${name}: ${cause}`;
  if (attachment.kind === 'absent') return got(`volumeattachments.storage.k8s.io ${goQuote(name)} not found`);
  if (attachment.kind === 'failed') return got(attachment.message);
  const { metadata, status } = attachment.object;
  if (metadata.deletionTimestamp !== undefined) return 'volume attachment is being deleted';
  if (status?.attached === true) return null;
  return status?.attachError?.message ?? `volume ${handle} is not attached for volume attachment ${name}`;
}

interface UnstageWork {
  phase: 'read' | 'references' | 'capabilities' | 'unstage' | 'remove' | 'over';
}

function decideUnstage(work: UnstageWork, scene: VolumeScene): VolumeStep {
  const place = stagingPlaceOf(scene);
  const csi = scene.spec.kind === 'persistent' ? scene.spec.persistentVolume.spec.csi : undefined;
  if (place === null || csi === undefined || work.phase === 'over') return done;
  if (work.phase === 'read') return scene.ask('csiFiles.read', { place });
  if (work.phase === 'references') return scene.ask('volumeMounts.references', { place });
  if (work.phase === 'remove') return scene.ask('csiFiles.remove', { place });
  const found = driverOf(scene, 'attacher.UnmountDevice failed to create newCsiDriverClient');
  if ('step' in found) return found.step;
  const { endpoint } = found.driver;
  if (work.phase === 'capabilities') return scene.ask('csiNode.capabilities', { endpoint }, csiTimeout);
  const path = csiDeviceMountPath(scene.context.nodeFacts.rootDirectory, scene.spec);
  return scene.ask('csiNode.unstage', { endpoint, volumeId: csi.volumeHandle, stagingTargetPath: path.ok ? path.value : '' }, csiTimeout);
}

const unstageReplies: VolumeReplies<UnstageWork> = {
  'csiFiles.read': (work, outcome) => {
    assert(work.phase === 'read', 'the data file of a staged volume was read twice');
    if (!outcome.ok) return failed(outcome.error.message, 'uncertain');
    // Without the file nothing was staged; removes the empty directory.
    work.phase = outcome.value === null ? 'remove' : 'references';
    return null;
  },
  'volumeMounts.references': (work, outcome, scene) => {
    assert(work.phase === 'references', 'references of a staged volume were read before its data file');
    if (outcome.ok) return referenced(work, outcome.value, scene);
    if (outcome.error.kind !== 'not-found') return failed(outcome.error.message, 'uncertain');
    work.phase = 'remove';
    return null;
  },
  'csiNode.capabilities': (work, outcome) => {
    assert(work.phase === 'capabilities', 'the capabilities of a driver were read twice');
    if (!outcome.ok) return failed(outcome.error.message, 'uncertain');
    work.phase = outcome.value.includes('STAGE_UNSTAGE_VOLUME') ? 'unstage' : 'remove';
    return null;
  },
  'csiNode.unstage': (work, outcome) => {
    assert(work.phase === 'unstage', 'a volume was unstaged that is not to be unstaged');
    if (!outcome.ok) return failed(outcome.error.message, 'uncertain');
    work.phase = 'remove';
    return null;
  },
  'csiFiles.remove': (work, outcome, scene) => {
    assert(work.phase === 'remove', 'a volume was removed that is still staged');
    if (!outcome.ok) return failed(outcome.error.message, 'uncertain');
    work.phase = 'over';
    return outcome.value === 'mounted' ? failed(stillMounted(scene), 'uncertain') : null;
  },
};

function referenced(work: UnstageWork, { mountPoints }: AgentOperations['volumeMounts.references']['reply'], { spec, context }: VolumeScene): VolumeStep | null {
  work.phase = 'capabilities';
  if (mountPoints.length === 0) return null;
  const path = csiDeviceMountPath(context.nodeFacts.rootDirectory, spec);
  const what = `the device mount path ${goQuote(path.ok ? path.value : '')} is still mounted by other references [${mountPoints.join(' ')}]`;
  return failed(what, 'uncertain', 'GetDeviceMountRefs check failed');
}

function stillMounted({ spec, context }: VolumeScene): string {
  const path = csiDeviceMountPath(context.nodeFacts.rootDirectory, spec);
  return `kubernetes.io/csi: the driver has unstaged the volume, and ${path.ok ? path.value : ''} is still mounted`;
}

function stagingPlaceOf({ spec, context }: VolumeScene): VolumePlace | null {
  const root = context.nodeFacts.rootDirectory;
  const path = csiDeviceMountPath(root, spec);
  if (!path.ok) return null;
  const below = path.value
    .slice(root.length)
    .split('/')
    .filter((element) => element !== '');
  return { kind: 'node', elements: below.slice(1) };
}

function stagingProblem({ spec, context }: VolumeScene): string {
  const path = csiDeviceMountPath(context.nodeFacts.rootDirectory, spec);
  return path.ok ? '' : `kubernetes.io/csi: attacher.GetDeviceMountPath failed to make device mount path: ${path.message}`;
}

export const csiMountDevice: VolumeProcedure<never> = procedure<StageWork>({
  begin: ({ context }) => ({ ...newCollected(context.turn.now), phase: 'collect', facts: null, failure: '' }),
  decide: decideStage,
  replies: stageReplies,
});

export const csiUnmountDevice: VolumeProcedure<never> = procedure<UnstageWork>({ begin: () => ({ phase: 'read' }), decide: decideUnstage, replies: unstageReplies });
