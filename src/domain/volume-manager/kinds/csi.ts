// Volumes of CSI drivers, persistent and inline.
//
//   setUp:    collect -> prepare -> NodePublishVolume -> (SELinux) labels -> (fsGroup) own -> done; a final error of the first time: removes created entries first
//   tearDown: NodeUnpublishVolume -> remove -> done
//
// Invariant: the data file is on disk before the driver is called, and is removed only after the unmount. Raw block volumes: csi-block.ts.
import type { CSIDriver } from '../../../ports/model/storage.js';
import type { VolumePlace } from '../../../ports/outbound/volume-mounts.js';
import type { Outcome } from '../../../ports/port-error.js';
import { assert } from '../../kernel/assert.js';
import { appliesFsGroup, type CsiMountFacts, csiCallFailed, planCsiPublish } from '../../volumes/csi-mount.js';
import { csiDriverName, csiPlugin, csiTargetPath, csiVolumeHandle } from '../../volumes/csi-volume.js';
import { type CsiReconstruction, csiDataText, reconstructCsiVolume } from '../../volumes/csi-volume-data.js';
import { escapeName, specName, type VolumeSpec } from '../../volumes/volume-spec.js';
import { byVolumeMode, done, failed, procedure, type VolumeContext, type VolumeKind, type VolumeReplies, type VolumeScene, type VolumeStep } from '../volume-kind.js';
import { blockDeviceOf } from './block-mapping.js';
import { csiBlock } from './csi-block.js';
import { csiExpand } from './csi-expansion.js';
import { asItWas, type CsiCollected, collect, collectReplies, csiTimeout, driverOf, isOfUnknownDriver, newCollected } from './csi-facts.js';
import { csiMountDevice, csiUnmountDevice } from './csi-staging.js';
import { applyFsGroup, type GroupWalk, reportProgress, reportSlowWalk } from './group-walk.js';
import { viewOf } from './own-directory.js';

interface PublishWork extends CsiCollected, GroupWalk {
  phase: 'collect' | 'publish' | 'labels' | 'own' | 'clean' | 'over';
  facts: CsiMountFacts | null;
  failure: string;
}

function decidePublish(work: PublishWork, scene: VolumeScene): VolumeStep {
  const place = targetPlaceOf(scene.uid, scene.spec);
  if (work.phase === 'over') return done;
  if (work.phase === 'clean') return scene.ask('csiFiles.remove', { place });
  const found = driverOf(scene, 'mounter.SetUpAt failed to get CSI client');
  if ('step' in found) return found.step;
  const { driver } = found;
  if (work.facts === null) {
    const got = collect(work, scene, driver, 'publish');
    if ('step' in got) return got.step;
    work.facts = got.facts;
  }
  if (work.phase === 'labels') return scene.ask('volumeMounts.hasLabels', { place });
  if (work.phase === 'own') return applyFsGroup(scene, place);
  const plan = planCsiPublish(work.facts);
  if (plan.kind === 'failed') return failed(plan.message, asItWas(plan.certainty));
  if (work.phase === 'collect') return scene.ask('csiFiles.prepare', { place, makesPlace: false, data: csiDataText(plan.data) });
  return scene.ask('csiNode.publish', { endpoint: driver.endpoint, ...plan.request }, csiTimeout);
}

const publishReplies: VolumeReplies<PublishWork> = {
  ...collectReplies,
  'csiFiles.prepare': (work, outcome, { uid }) => {
    assert(work.phase === 'collect' && work.facts !== null, 'a volume was prepared before its facts were collected', uid);
    work.phase = 'publish';
    return outcome.ok ? null : failed(`kubernetes.io/csi: failed to save volume info data: ${outcome.error.message}`, 'transient');
  },
  'csiNode.publish': (work, outcome, scene) => {
    assert(work.phase === 'publish', 'a volume was published that is not prepared', scene.uid);
    if (outcome.ok) {
      work.phase = looksForLabels(scene) ? 'labels' : afterPublish(work);
      return null;
    }
    const failure = csiCallFailed(outcome.error.kind, outcome.error.message);
    if (failure.certainty !== 'final') return failed(failure.message, failure.certainty);
    // Containers must not lose a volume because a remount failed.
    if (scene.isRemount || scene.reconstructed) return failed(failure.message, 'transient');
    work.failure = failure.message;
    work.phase = 'clean';
    return null;
  },
  'volumeMounts.hasLabels': knowsLabels,
  'volumeMounts.setOwnership': (work, outcome, { spec, uid }) => {
    assert(work.phase === 'own', 'a volume got a group that it does not wait for', uid);
    work.phase = 'over';
    return outcome.ok ? null : failed(`applyFSGroup failed for vol ${csiVolumeHandle(spec, uid) ?? ''}: ${outcome.error.message}`, 'uncertain');
  },
  // A remaining mount is from an earlier attempt.
  'csiFiles.remove': ({ phase, failure }, outcome, { uid }) => {
    assert(phase === 'clean', 'a volume was removed whose publishing has not failed', uid);
    return failed(failure, outcome.ok && outcome.value === 'removed' ? 'final' : 'uncertain');
  },
};

/** A volume labelled by a mount option needs no check. */
function looksForLabels({ seLinuxLabel, context }: VolumeScene): boolean {
  return context.nodeFacts.selinuxEnabled && seLinuxLabel === '';
}

function knowsLabels(work: PublishWork, outcome: Outcome<boolean>, scene: VolumeScene): VolumeStep | null {
  assert(work.phase === 'labels', 'labels were looked for in a volume that is not published', scene.uid);
  if (!outcome.ok) return failed(`error checking for SELinux support: ${outcome.error.message}`, 'uncertain');
  scene.labelled(outcome.value);
  work.phase = afterPublish(work);
  return null;
}

function afterPublish({ facts }: PublishWork): 'own' | 'over' {
  return facts !== null && appliesFsGroup(facts) ? 'own' : 'over';
}

interface UnpublishWork {
  phase: 'unpublish' | 'remove' | 'over';
}

function decideUnpublish(work: UnpublishWork, scene: VolumeScene): VolumeStep {
  const { spec, uid, context } = scene;
  if (work.phase === 'over') return done;
  if (work.phase === 'remove') return scene.ask('csiFiles.remove', { place: targetPlaceOf(uid, spec) });
  const found = driverOf(scene, 'Unmounter.TearDownAt failed to get CSI client');
  if ('step' in found) return found.step;
  const targetPath = csiTargetPath(context.nodeFacts.rootDirectory, uid, spec);
  return scene.ask('csiNode.unpublish', { endpoint: found.driver.endpoint, volumeId: csiVolumeHandle(spec, uid) ?? '', targetPath }, csiTimeout);
}

const unpublishReplies: VolumeReplies<UnpublishWork> = {
  'csiNode.unpublish': (work, outcome, { uid }) => {
    assert(work.phase === 'unpublish', 'a volume was unpublished twice', uid);
    if (!outcome.ok) return failed(outcome.error.message, 'uncertain');
    work.phase = 'remove';
    return null;
  },
  'csiFiles.remove': (work, outcome, { spec, uid, context }) => {
    assert(work.phase === 'remove', 'a volume was removed that is still published', uid);
    if (!outcome.ok) return failed(outcome.error.message, 'uncertain');
    work.phase = 'over';
    if (outcome.value !== 'mounted') return null;
    const path = csiTargetPath(context.nodeFacts.rootDirectory, uid, spec);
    const what = isOfUnknownDriver(spec) ? 'no data file names the driver of the volume' : 'the driver has unpublished the volume';
    return failed(`kubernetes.io/csi: ${what}, and ${path} is still mounted`, 'uncertain');
  },
};

function targetPlaceOf(uid: string, spec: VolumeSpec): VolumePlace {
  return { kind: 'pod', uid, plugin: escapeName(csiPlugin), volume: escapeName(specName(spec)), inner: 'mount' };
}

function objectOf(spec: VolumeSpec, { csi }: VolumeContext): CSIDriver | null {
  const name = csiDriverName(spec);
  return name.ok ? csi.driverObject(name.value).object : null;
}

export const csi: VolumeKind = {
  plugin: csiPlugin,
  isAttachable: (spec, context) => spec.kind === 'persistent' && context.apiData !== null && objectOf(spec, context)?.spec.attachRequired !== false,
  requiresRemount: (spec, context) => objectOf(spec, context)?.spec.requiresRepublish === true,
  mountDevice: csiMountDevice,
  setUp: byVolumeMode(
    procedure<PublishWork>({
      begin: ({ context }) => ({ ...newCollected(context.turn.now), phase: 'collect', facts: null, failure: '', isProgressReported: false }),
      decide: decidePublish,
      late: (work, scene) => (work.phase === 'own' ? reportSlowWalk(work, scene, targetPlaceOf(scene.uid, scene.spec)) : undefined),
      looks: {
        'volumeMounts.ownershipProgress': ({ phase }, outcome, scene) => (phase === 'own' ? reportProgress(outcome, scene, targetPlaceOf(scene.uid, scene.spec)) : undefined),
      },
      replies: publishReplies,
    }),
    csiBlock.setUp,
  ),
  // A directory without a data file was never published: the driver is called only after the file was written.
  expand: csiExpand,
  tearDown: byVolumeMode(
    procedure<UnpublishWork>({
      begin: ({ spec }) => ({ phase: isOfUnknownDriver(spec) ? 'remove' : 'unpublish' }),
      decide: decideUnpublish,
      replies: unpublishReplies,
    }),
    csiBlock.tearDown,
  ),
  unmountDevice: byVolumeMode(csiUnmountDevice, csiBlock.unmountDevice),
  view: viewOf,
  device: (spec, uid, rootDirectory) => blockDeviceOf(csiPlugin, spec, uid, rootDirectory),
  // Data that says nothing is as good as none: without the driver's name only what is left on disk can be removed.
  reconstruct: ({ name, data }) => (data === null ? null : reconstructed(reconstructCsiVolume(data, name))) ?? { kind: 'inline', volume: { name, csi: { driver: '' } } },
  reconstructLabel: ({ name, data }) => {
    const known = data === null ? null : reconstructCsiVolume(data, name);
    return known?.ok === true ? known.volume.seLinuxMountContext : '';
  },
  // A link without a data file is foreign: the file is created before it, and removed after it.
  reconstructDevice: ({ name, data }) => (data === null ? null : (reconstructed(reconstructCsiVolume(data, name, 'Block')) ?? deviceOfUnknownDriver(name))),
};

function deviceOfUnknownDriver(name: string): VolumeSpec {
  return { kind: 'persistent', persistentVolume: { metadata: { name }, spec: { csi: { driver: '', volumeHandle: name }, volumeMode: 'Block' } }, readOnly: false };
}

function reconstructed(known: CsiReconstruction): VolumeSpec | null {
  return known.ok && driverNameOf(known.volume.spec) !== '' && specName(known.volume.spec) !== '' ? known.volume.spec : null;
}

function driverNameOf(spec: VolumeSpec): string {
  const name = csiDriverName(spec);
  return name.ok ? name.value : '';
}
