// Stages a CSI volume on the node once for all pods, if the driver supports staging.
//
//   mountDevice:   collect -> (attached?) -> prepare -> NodeStageVolume -> over; after a final error: first removes the directory
//   unmountDevice: read -> references -> capabilities -> NodeUnstageVolume -> remove -> over
import type { AgentOperations } from '../../../ports/outbound/outbound-ports.js';
import type { VolumePlace } from '../../../ports/outbound/volume-mounts.js';
import { assert } from '../../kernel/assert.js';
import type { Reply } from '../../kernel/machine.js';
import { goQuote } from '../../values/go-text.js';
import { type CsiMountFacts, csiCallFailed, planCsiStage } from '../../volumes/csi-mount.js';
import { csiDeviceMountPath } from '../../volumes/csi-volume.js';
import { csiDataText } from '../../volumes/csi-volume-data.js';
import { isBlockVolume } from '../../volumes/volume-spec.js';
import { done, failed, procedure, type VolumeProcedure, type VolumeScene, type VolumeStep } from '../volume-kind.js';
import { csiDeviceData, csiDeviceName } from './csi-block.js';
import { attachmentNameOf, type CsiCollected, collect, collected, csiTimeout, driverOf, needsAttachment, newCollected } from './csi-facts.js';

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

function repliedStage(work: StageWork, reply: Reply<AgentOperations>): VolumeStep | null {
  const taken = collected(work, reply);
  if (taken !== false) return taken === true ? null : taken;
  const { op, outcome } = reply;
  // A possible leftover requires an unmount.
  if (op === 'csiFiles.remove' || op === 'csiFiles.removeDevice') return failed(work.failure, outcome.ok && outcome.value !== 'mounted' ? 'final' : 'uncertain');
  if (op === 'csiFiles.prepare' || op === 'csiFiles.prepareDevice') {
    // It may have been made all the same.
    if (!outcome.ok) return failed(`kubernetes.io/csi: attacher.MountDevice failed to create dir: ${outcome.error.message}`, 'uncertain');
    work.phase = work.facts?.capabilities.includes('STAGE_UNSTAGE_VOLUME') === true ? 'stage' : 'over';
    return null;
  }
  if (outcome.ok) return done;
  const failure = csiCallFailed(outcome.error.kind, outcome.error.message);
  if (failure.certainty !== 'final') return failed(failure.message, failure.certainty);
  work.failure = failure.message;
  work.phase = 'clean';
  return null;
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

function repliedUnstage(work: UnstageWork, { op, outcome }: Reply<AgentOperations>, scene: VolumeScene): VolumeStep | null {
  if (!outcome.ok) {
    if (op !== 'volumeMounts.references' || outcome.error.kind !== 'not-found') return failed(outcome.error.message, 'uncertain');
    work.phase = 'remove';
    return null;
  }
  switch (op) {
    case 'csiFiles.read':
      // Without the file nothing was staged; removes the empty directory.
      work.phase = outcome.value === null ? 'remove' : 'references';
      return null;
    case 'volumeMounts.references':
      return referenced(work, outcome.value as AgentOperations['volumeMounts.references']['reply'], scene);
    case 'csiNode.capabilities':
      work.phase = (outcome.value as readonly string[]).includes('STAGE_UNSTAGE_VOLUME') ? 'unstage' : 'remove';
      return null;
    case 'csiNode.unstage':
      work.phase = 'remove';
      return null;
    default:
      work.phase = 'over';
      return outcome.value === 'mounted' ? failed(stillMounted(scene), 'uncertain') : null;
  }
}

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
  replied: repliedStage,
});

export const csiUnmountDevice: VolumeProcedure<never> = procedure<UnstageWork>({ begin: () => ({ phase: 'read' }), decide: decideUnstage, replied: repliedUnstage });
