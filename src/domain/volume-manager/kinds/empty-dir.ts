// emptyDir: a directory on the root's file system, or one in memory.
import { assert } from '../../kernel/assert.js';
import { emptyDirSetUp } from '../../volumes/node-volumes.js';
import { failed, procedure, type VolumeKind, type VolumeScene, type VolumeStep } from '../volume-kind.js';
import { tearDownOf, viewOf } from './own-directory.js';

const plugin = 'kubernetes.io/empty-dir';

function askSetUp(scene: VolumeScene): VolumeStep {
  const { pod, spec, context } = scene;
  assert(pod !== null && spec.kind === 'inline', 'an emptyDir is one of the pod’s own');
  const wanted = emptyDirSetUp(pod, spec.volume, context.nodeFacts.allocatable);
  return wanted.ok ? scene.ask('podVolumes.setUp', wanted.setUp) : failed(wanted.message);
}

export const emptyDir: VolumeKind = {
  plugin,
  mountDevice: null,
  setUp: procedure<object>({
    begin: () => ({}),
    decide: (_work, scene) => askSetUp(scene),
    replied: (_work, { outcome }) => (outcome.ok ? { kind: 'done' } : failed(outcome.error.message)),
  }),
  tearDown: tearDownOf(plugin),
  unmountDevice: null,
  view: viewOf,
  reconstruct: ({ name }) => ({ kind: 'inline', volume: { name, emptyDir: {} } }),
};
