// Local persistent volumes on a block device of the host, given to containers as a device.
//
//   setUp: inspect -> map -> over; tearDown: unmap
import { assert } from '../../kernel/assert.js';
import { goQuote } from '../../values/go-text.js';
import { escapeName, specName, type VolumeSpec } from '../../volumes/volume-spec.js';
import { done, failed, procedure, singleCommand, type VolumeReplies, type VolumeScene, type VolumeStep } from '../volume-kind.js';
import { blockMapOf, recordMapped } from './block-mapping.js';

const plugin = 'kubernetes.io/local-volume';

interface LocalDeviceWork {
  phase: 'inspect' | 'map' | 'over';
}

function pathOf(spec: VolumeSpec): string {
  return spec.kind === 'persistent' ? (spec.persistentVolume.spec.local?.path ?? '') : '';
}

/** The plugin's name is escaped here, for compatibility. */
function directoryOf(spec: VolumeSpec): readonly string[] {
  return [escapeName(plugin), 'volumeDevices', specName(spec)];
}

function decide(work: LocalDeviceWork, scene: VolumeScene): VolumeStep {
  const { spec, uid } = scene;
  if (work.phase === 'over') return done;
  if (work.phase === 'inspect') return scene.ask('hostPaths.inspect', { path: pathOf(spec) });
  return scene.ask('blockDevices.map', { ...blockMapOf(plugin, directoryOf(spec), uid, spec), device: pathOf(spec) });
}

const replies: VolumeReplies<LocalDeviceWork> = {
  'hostPaths.inspect': (work, outcome, { spec }) => {
    assert(work.phase === 'inspect', 'a device was inspected twice', pathOf(spec));
    // An earlier try may have bound it.
    if (!outcome.ok) return failed(outcome.error.message, 'transient');
    if (outcome.value === 'absent') return failed(`path ${goQuote(pathOf(spec))} does not exist`, 'transient');
    if (outcome.value !== 'block-device') return failed(`path ${goQuote(pathOf(spec))} is not a block device`, 'transient');
    work.phase = 'map';
    return null;
  },
  'blockDevices.map': (work, outcome, scene) => {
    assert(work.phase === 'map', 'a device was mapped before it was inspected', pathOf(scene.spec));
    if (!outcome.ok) return failed(outcome.error.message, 'uncertain', 'MapVolume.MapBlockVolume failed');
    work.phase = 'over';
    recordMapped(scene, plugin, directoryOf(scene.spec));
    return null;
  },
};

export const localDevice = {
  setUp: procedure<LocalDeviceWork>({ begin: () => ({ phase: 'inspect' }), decide, replies }),
  tearDown: singleCommand('blockDevices.unmap', ({ spec, uid, ask }) => ask('blockDevices.unmap', { ...blockMapOf(plugin, directoryOf(spec), uid, spec), keepsLink: false })),
};
