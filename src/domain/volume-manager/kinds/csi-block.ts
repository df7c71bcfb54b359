// Raw block volumes of CSI drivers.
//
//   mountDevice:   collect -> (attached?) -> prepareDevice -> NodeStageVolume -> done (csi-staging.ts)
//   setUp:         collect -> prepareDevice -> mark -> NodePublishVolume -> map -> done; after the publishing each failure is uncertain
//   tearDown:      unmap -> NodeUnpublishVolume -> unmark -> done
//   unmountDevice: users -> capabilities -> NodeUnstageVolume -> removeDevice -> done
//
// Invariants: the link that marks the pod's possible use of the volume exists before the driver is called for the pod, and until the driver has unpublished
// it (the Go kubelet's exists only in between, and a killed one loses published volumes). The data file is on disk before the driver is
// called, and is removed only once no pod has the device and its paths are empty.
import { assert } from '../../kernel/assert.js';
import { goList, goQuote } from '../../values/go-text.js';
import { type CsiMountFacts, csiCallFailed, planCsiPublish } from '../../volumes/csi-mount.js';
import { csiAttachmentName, csiBlockPaths, csiPlugin, csiVolumeHandle } from '../../volumes/csi-volume.js';
import { csiDataText } from '../../volumes/csi-volume-data.js';
import { escapeName, specName, type VolumeSpec } from '../../volumes/volume-spec.js';
import { done, failed, procedure, type VolumeReplies, type VolumeScene, type VolumeStep } from '../volume-kind.js';
import { blockMapOf, recordMapped } from './block-mapping.js';
import { asItWas, type CsiCollected, collect, collectReplies, csiTimeout, driverOf, isOfUnknownDriver, newCollected } from './csi-facts.js';

/** The name of the volume's directory below `volumeDevices`. */
export function csiDeviceName(spec: VolumeSpec): string {
  return escapeName(specName(spec));
}

/** The content of a raw block volume's data file; written before the driver is called. */
export function csiDeviceData({ spec, context }: VolumeScene): string {
  const csi = spec.kind === 'persistent' ? spec.persistentVolume.spec.csi : undefined;
  assert(csi !== undefined, 'a raw block volume is a persistent one');
  const { volumeHandle, driver: driverName } = csi;
  const { nodeName } = context;
  return csiDataText({ specVolID: specName(spec), volumeHandle, driverName, nodeName, attachmentID: csiAttachmentName(volumeHandle, driverName, nodeName) });
}

function directoryOf(spec: VolumeSpec): readonly string[] {
  return [...csiPlugin.split('/'), 'volumeDevices', csiDeviceName(spec), 'dev'];
}

interface PublishWork extends CsiCollected {
  phase: 'collect' | 'mark' | 'publish' | 'map' | 'over';
  facts: CsiMountFacts | null;
}

function decidePublish(work: PublishWork, scene: VolumeScene): VolumeStep {
  const { spec, uid, context } = scene;
  if (work.phase === 'over') return done;
  const { publishPath } = csiBlockPaths(context.nodeFacts.rootDirectory, uid, spec);
  const request = { ...blockMapOf(csiPlugin, directoryOf(spec), uid, spec), device: publishPath };
  if (work.phase === 'map') return scene.ask('blockDevices.map', request);
  if (work.phase === 'mark') return scene.ask('blockDevices.mark', request);
  const found = driverOf(scene, 'blockMapper.MapPodDevice failed to get CSI client');
  if ('step' in found) return found.step;
  if (work.facts === null) {
    const got = collect(work, scene, found.driver, 'publish');
    if ('step' in got) return got.step;
    work.facts = got.facts;
  }
  // Others of the node may have removed it with the device of their last pod.
  if (work.phase === 'collect') return scene.ask('csiFiles.prepareDevice', { volume: csiDeviceName(spec), data: csiDeviceData(scene) });
  const plan = planCsiPublish(work.facts);
  if (plan.kind === 'failed') return failed(plan.message, asItWas(plan.certainty));
  return scene.ask('csiNode.publish', { endpoint: found.driver.endpoint, ...plan.request }, csiTimeout);
}

const publishReplies: VolumeReplies<PublishWork> = {
  ...collectReplies,
  'csiFiles.prepareDevice': (work, outcome, { uid }) => {
    assert(work.phase === 'collect', 'the data file of a device was written twice', uid);
    work.phase = 'mark';
    return outcome.ok ? null : directoryFailed(outcome.error.message);
  },
  'blockDevices.mark': (work, outcome, { uid }) => {
    assert(work.phase === 'mark', 'a device was marked that has no data file', uid);
    work.phase = 'publish';
    return outcome.ok ? null : directoryFailed(outcome.error.message);
  },
  'csiNode.publish': (work, outcome, { uid }) => {
    assert(work.phase === 'publish', 'a device was published that is not marked', uid);
    work.phase = 'map';
    if (outcome.ok) return null;
    const failure = csiCallFailed(outcome.error.kind, outcome.error.message);
    // An earlier try may have published it, and failed later.
    return failed(failure.message, asItWas(failure.certainty));
  },
  'blockDevices.map': (work, outcome, scene) => {
    assert(work.phase === 'map', 'a device was mapped that is not published', scene.uid);
    work.phase = 'over';
    if (!outcome.ok) return failed(outcome.error.message, 'uncertain', 'MapVolume.MapBlockVolume failed');
    recordMapped(scene, csiPlugin, directoryOf(scene.spec));
    return null;
  },
};

function directoryFailed(message: string): VolumeStep {
  return failed(`kubernetes.io/csi: blockMapper.publishVolumeForBlock failed to create dir: ${message}`, 'transient');
}

interface UnpublishWork {
  phase: 'unmap' | 'unpublish' | 'unmark' | 'over';
}

function decideUnpublish(work: UnpublishWork, scene: VolumeScene): VolumeStep {
  const { spec, uid, context } = scene;
  if (work.phase === 'over') return done;
  if (work.phase !== 'unpublish') return scene.ask('blockDevices.unmap', { ...blockMapOf(csiPlugin, directoryOf(spec), uid, spec), keepsLink: work.phase === 'unmap' });
  const found = driverOf(scene, 'blockMapper.UnmapPodDevice failed to get CSI client');
  if ('step' in found) return found.step;
  const { publishPath } = csiBlockPaths(context.nodeFacts.rootDirectory, uid, spec);
  return scene.ask('csiNode.unpublish', { endpoint: found.driver.endpoint, volumeId: csiVolumeHandle(spec, uid) ?? '', targetPath: publishPath }, csiTimeout);
}

const unpublishReplies: VolumeReplies<UnpublishWork> = {
  'blockDevices.unmap': (work, outcome, { spec, uid }) => {
    assert(work.phase === 'unmap' || work.phase === 'unmark', 'a device was unmapped that is being unpublished', uid);
    if (!outcome.ok) return failed(outcome.error.message, 'uncertain', 'UnmapVolume.UnmapBlockVolume failed');
    const afterUnmap = isOfUnknownDriver(spec) ? 'unmark' : 'unpublish';
    work.phase = work.phase === 'unmap' ? afterUnmap : 'over';
    return null;
  },
  'csiNode.unpublish': (work, outcome, { uid }) => {
    assert(work.phase === 'unpublish', 'a device was unpublished that is not unmapped', uid);
    if (!outcome.ok) return failed(outcome.error.message, 'uncertain');
    work.phase = 'unmark';
    return null;
  },
};

interface UnstageWork {
  phase: 'users' | 'capabilities' | 'unstage' | 'remove' | 'over';
}

function decideUnstage(work: UnstageWork, scene: VolumeScene): VolumeStep {
  const { spec, context } = scene;
  if (work.phase === 'over') return done;
  if (work.phase === 'users') return scene.ask('blockDevices.users', { directory: directoryOf(spec) });
  if (work.phase === 'remove') return scene.ask('csiFiles.removeDevice', { volume: csiDeviceName(spec) });
  const found = driverOf(scene, 'blockMapper.TearDownDevice failed to get CSI client');
  if ('step' in found) return found.step;
  const { endpoint } = found.driver;
  if (work.phase === 'capabilities') return scene.ask('csiNode.capabilities', { endpoint }, csiTimeout);
  const { stagingPath } = csiBlockPaths(context.nodeFacts.rootDirectory, '', spec);
  return scene.ask('csiNode.unstage', { endpoint, volumeId: csiVolumeHandle(spec, '') ?? '', stagingTargetPath: stagingPath }, csiTimeout);
}

const unstageReplies: VolumeReplies<UnstageWork> = {
  'blockDevices.users': (work, outcome, { spec, context }) => {
    assert(work.phase === 'users', 'the users of a device were read twice');
    if (!outcome.ok) return failed(outcome.error.message, 'uncertain');
    work.phase = isOfUnknownDriver(spec) ? 'remove' : 'capabilities';
    if (outcome.value.length === 0) return null;
    const { globalMapPath } = csiBlockPaths(context.nodeFacts.rootDirectory, '', spec);
    const problem = `the device ${goQuote(globalMapPath)} is still referenced from other Pods ${goList(outcome.value)}`;
    return failed(problem, 'uncertain', 'UnmapDevice.GetDeviceSymlinkRefsFromGlobalMap failed');
  },
  'csiNode.capabilities': (work, outcome) => {
    assert(work.phase === 'capabilities', 'the capabilities of a driver were read twice');
    if (!outcome.ok) return failed(outcome.error.message, 'uncertain');
    work.phase = outcome.value.includes('STAGE_UNSTAGE_VOLUME') ? 'unstage' : 'remove';
    return null;
  },
  'csiNode.unstage': (work, outcome) => {
    assert(work.phase === 'unstage', 'a device was unstaged that is not to be unstaged');
    if (!outcome.ok) return failed(outcome.error.message, 'uncertain');
    work.phase = 'remove';
    return null;
  },
  'csiFiles.removeDevice': (work, outcome, { spec, context }) => {
    assert(work.phase === 'remove', 'a device was removed that is still staged');
    if (!outcome.ok) return failed(outcome.error.message, 'uncertain');
    work.phase = 'over';
    const { globalMapPath } = csiBlockPaths(context.nodeFacts.rootDirectory, '', spec);
    return outcome.value === 'mounted'
      ? failed(`kubernetes.io/csi: the driver has unstaged the volume, and something is still mounted for ${goQuote(globalMapPath)}`, 'uncertain')
      : null;
  },
};

export const csiBlock = {
  setUp: procedure<PublishWork>({ begin: ({ context }) => ({ ...newCollected(context.turn.now), phase: 'collect', facts: null }), decide: decidePublish, replies: publishReplies }),
  tearDown: procedure<UnpublishWork>({ begin: () => ({ phase: 'unmap' }), decide: decideUnpublish, replies: unpublishReplies }),
  unmountDevice: procedure<UnstageWork>({ begin: () => ({ phase: 'users' }), decide: decideUnstage, replies: unstageReplies }),
};
