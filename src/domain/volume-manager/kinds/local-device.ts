// Local persistent volumes on a block device of the host, given to containers as a device.
//
//   setUp: inspect -> map -> over; tearDown: unmap
import type { AgentOperations } from '../../../ports/outbound/outbound-ports.js';
import type { HostPathKind } from '../../../ports/outbound/pod-volumes.js';
import type { Reply } from '../../kernel/machine.js';
import { goQuote } from '../../values/go-text.js';
import { escapeName, specName, type VolumeSpec } from '../../volumes/volume-spec.js';
import { done, failed, procedure, singleCommand, type VolumeScene, type VolumeStep } from '../volume-kind.js';
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

function replied(work: LocalDeviceWork, { op, outcome }: Reply<AgentOperations>, scene: VolumeScene): VolumeStep | null {
  if (op === 'hostPaths.inspect') {
    // An earlier try may have bound it.
    if (!outcome.ok) return failed(outcome.error.message, 'transient');
    const found = outcome.value as HostPathKind;
    if (found === 'absent') return failed(`path ${goQuote(pathOf(scene.spec))} does not exist`, 'transient');
    if (found !== 'block-device') return failed(`path ${goQuote(pathOf(scene.spec))} is not a block device`, 'transient');
    work.phase = 'map';
    return null;
  }
  if (!outcome.ok) return failed(outcome.error.message, 'uncertain', 'MapVolume.MapBlockVolume failed');
  work.phase = 'over';
  recordMapped(scene, plugin, directoryOf(scene.spec));
  return null;
}

export const localDevice = {
  setUp: procedure<LocalDeviceWork>({ begin: () => ({ phase: 'inspect' }), decide, replied }),
  tearDown: singleCommand(({ spec, uid, ask }) => ask('blockDevices.unmap', { ...blockMapOf(plugin, directoryOf(spec), uid, spec), keepsLink: false })),
};
