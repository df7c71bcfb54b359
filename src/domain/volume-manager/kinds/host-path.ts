// hostPath, of a pod or of a persistent volume: a path of the host that is used as it is, after a check of its type. It is
// never torn down.
//
//   no type -> done        a type -> inspect -> valid; or created, if the type allows; or refused

import { assert } from '../../kernel/assert.js';
import { checkHostPath, type HostPathCheck } from '../../volumes/host-path-type.js';
import { done, failed, procedure, type VolumeKind, type VolumeReplies, type VolumeScene, type VolumeStep } from '../volume-kind.js';
import { viewOf } from './own-directory.js';

interface HostPathWork {
  make: Extract<HostPathCheck, { kind: 'make-directory' | 'create-file' }> | null;
  made: boolean;
}

function sourceOf({ spec }: VolumeScene): { readonly path: string; readonly type: string | null } {
  const source = spec.kind === 'inline' ? spec.volume.hostPath : spec.persistentVolume.spec.hostPath;
  return { path: source?.path ?? '', type: source?.type ?? null };
}

function decide(work: HostPathWork, scene: VolumeScene): VolumeStep {
  const { path, type } = sourceOf(scene);
  if (work.made) return done;
  if (work.make !== null) return scene.ask('hostPaths.make', { path, kind: work.make.kind === 'make-directory' ? 'directory' : 'file', mode: work.make.mode });
  // An invalid path is refused without a check of the host.
  const check = checkHostPath(path, null, 'absent');
  if (check.kind === 'refused') return failed(check.message);
  return type === null || type === '' ? done : scene.ask('hostPaths.inspect', { path });
}

const replies: VolumeReplies<HostPathWork> = {
  'hostPaths.inspect': (work, outcome, scene) => {
    const { path, type } = sourceOf(scene);
    assert(work.make === null && !work.made, 'a path of the host was inspected after it was made', path);
    if (!outcome.ok) return failed(outcome.error.message);
    const check = checkHostPath(path, type, outcome.value);
    if (check.kind === 'refused') return failed(check.message);
    if (check.kind === 'good') work.made = true;
    else work.make = check;
    return null;
  },
  'hostPaths.make': (work, outcome) => {
    assert(work.make !== null && !work.made, 'a path of the host was made that was not to be made');
    if (!outcome.ok) return failed(outcome.error.message);
    work.made = true;
    return null;
  },
};

export const hostPath: VolumeKind = {
  plugin: 'kubernetes.io/host-path',
  mountDevice: null,
  setUp: procedure<HostPathWork>({ begin: () => ({ make: null, made: false }), decide, replies }),
  tearDown: null,
  unmountDevice: null,
  view: viewOf,
  reconstruct: ({ name }) => ({ kind: 'inline', volume: { name, hostPath: { path: '' } } }),
};
