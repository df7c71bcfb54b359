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
import type { AgentOperations } from '../../../ports/outbound/outbound-ports.js';
import { assert } from '../../kernel/assert.js';
import type { Reply } from '../../kernel/machine.js';
import { goList, goQuote } from '../../values/go-text.js';
import { type CsiMountFacts, csiCallFailed, planCsiPublish } from '../../volumes/csi-mount.js';
import { csiAttachmentName, csiBlockPaths, csiPlugin, csiVolumeHandle } from '../../volumes/csi-volume.js';
import { csiDataText } from '../../volumes/csi-volume-data.js';
import { escapeName, specName, type VolumeSpec } from '../../volumes/volume-spec.js';
import { done, failed, procedure, type VolumeScene, type VolumeStep } from '../volume-kind.js';
import { blockMapOf, recordMapped } from './block-mapping.js';
import { asItWas, type CsiCollected, collect, collected, csiTimeout, driverOf, isOfUnknownDriver, newCollected } from './csi-facts.js';

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

function repliedPublish(work: PublishWork, reply: Reply<AgentOperations>, scene: VolumeScene): VolumeStep | null {
  const taken = collected(work, reply);
  if (taken !== false) return taken === true ? null : taken;
  const { op, outcome } = reply;
  switch (op) {
    case 'csiFiles.prepareDevice':
    case 'blockDevices.mark':
      work.phase = op === 'blockDevices.mark' ? 'publish' : 'mark';
      return outcome.ok ? null : failed(`kubernetes.io/csi: blockMapper.publishVolumeForBlock failed to create dir: ${outcome.error.message}`, 'transient');
    case 'csiNode.publish': {
      work.phase = 'map';
      if (outcome.ok) return null;
      const failure = csiCallFailed(outcome.error.kind, outcome.error.message);
      // An earlier try may have published it, and failed later.
      return failed(failure.message, asItWas(failure.certainty));
    }
    default:
      work.phase = 'over';
      if (!outcome.ok) return failed(outcome.error.message, 'uncertain', 'MapVolume.MapBlockVolume failed');
      recordMapped(scene, csiPlugin, directoryOf(scene.spec));
      return null;
  }
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

function repliedUnpublish(work: UnpublishWork, { op, outcome }: Reply<AgentOperations>, { spec }: VolumeScene): VolumeStep | null {
  if (!outcome.ok) return failed(outcome.error.message, 'uncertain', op === 'blockDevices.unmap' ? 'UnmapVolume.UnmapBlockVolume failed' : null);
  const afterUnmap = isOfUnknownDriver(spec) ? 'unmark' : 'unpublish';
  work.phase = op === 'csiNode.unpublish' ? 'unmark' : work.phase === 'unmap' ? afterUnmap : 'over';
  return null;
}

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

function repliedUnstage(work: UnstageWork, { op, outcome }: Reply<AgentOperations>, { spec, context }: VolumeScene): VolumeStep | null {
  if (!outcome.ok) return failed(outcome.error.message, 'uncertain');
  const { globalMapPath } = csiBlockPaths(context.nodeFacts.rootDirectory, '', spec);
  switch (op) {
    case 'blockDevices.users': {
      const users = outcome.value as readonly string[];
      work.phase = isOfUnknownDriver(spec) ? 'remove' : 'capabilities';
      if (users.length === 0) return null;
      return failed(
        `the device ${goQuote(globalMapPath)} is still referenced from other Pods ${goList(users)}`,
        'uncertain',
        'UnmapDevice.GetDeviceSymlinkRefsFromGlobalMap failed',
      );
    }
    case 'csiNode.capabilities':
      work.phase = (outcome.value as readonly string[]).includes('STAGE_UNSTAGE_VOLUME') ? 'unstage' : 'remove';
      return null;
    case 'csiNode.unstage':
      work.phase = 'remove';
      return null;
    default:
      work.phase = 'over';
      return outcome.value === 'mounted'
        ? failed(`kubernetes.io/csi: the driver has unstaged the volume, and something is still mounted for ${goQuote(globalMapPath)}`, 'uncertain')
        : null;
  }
}

export const csiBlock = {
  setUp: procedure<PublishWork>({ begin: ({ context }) => ({ ...newCollected(context.turn.now), phase: 'collect', facts: null }), decide: decidePublish, replied: repliedPublish }),
  tearDown: procedure<UnpublishWork>({ begin: () => ({ phase: 'unmap' }), decide: decideUnpublish, replied: repliedUnpublish }),
  unmountDevice: procedure<UnstageWork>({ begin: () => ({ phase: 'users' }), decide: decideUnstage, replied: repliedUnstage }),
};
