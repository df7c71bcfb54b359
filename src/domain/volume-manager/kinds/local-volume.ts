// Local persistent volumes: a directory of the host, bound for each pod that claims it.
//
//   inspect -> mount -> (with an fsGroup) references -> no other user: setOwnership; one with another group: event -> done
//
// A block device to be mounted with a file system is refused: formatting and checking aren't implemented. For raw devices see local-device.ts.
import type { AgentOperations } from '../../../ports/outbound/outbound-ports.js';
import type { HostPathKind } from '../../../ports/outbound/pod-volumes.js';
import { assert } from '../../kernel/assert.js';
import { goQuote } from '../../values/go-text.js';
import type { VolumeSpec } from '../../volumes/volume-spec.js';
import { byVolumeMode, done, failed, procedure, type VolumeKind, type VolumeReplies, type VolumeScene, type VolumeStep } from '../volume-kind.js';
import { blockDeviceOf } from './block-mapping.js';
import { applyFsGroup, type GroupWalk, reportProgress, reportSlowWalk } from './group-walk.js';
import { localDevice } from './local-device.js';
import { optionsOf, placeOf, unmountOf } from './mounted-directory.js';
import { viewOf } from './own-directory.js';

const plugin = 'kubernetes.io/local-volume';

interface LocalWork extends GroupWalk {
  phase: 'inspect' | 'mount' | 'references' | 'own' | 'over';
}

function decide(work: LocalWork, scene: VolumeScene): VolumeStep {
  const { spec, uid } = scene;
  const place = placeOf(plugin, uid, spec);
  switch (work.phase) {
    case 'inspect':
      return scene.ask('hostPaths.inspect', { path: pathOf(spec) });
    case 'mount':
      return scene.ask('volumeMounts.mount', { place, source: { kind: 'bind', path: pathOf(spec), options: optionsOf(spec, readOnlyOf(spec)) } });
    case 'references':
      return scene.ask('volumeMounts.references', { place });
    case 'own':
      return applyFsGroup(scene, place);
    case 'over':
      return done;
  }
}

function late(work: LocalWork, scene: VolumeScene): void {
  if (work.phase === 'own') reportSlowWalk(work, scene, placeOf(plugin, scene.uid, scene.spec));
}

const looks: VolumeReplies<LocalWork, void> = {
  'volumeMounts.ownershipProgress': ({ phase }, outcome, scene) => {
    if (phase === 'own') reportProgress(outcome, scene, placeOf(plugin, scene.uid, scene.spec));
  },
};

const replies: VolumeReplies<LocalWork> = {
  'hostPaths.inspect': (work, outcome, { spec }) => {
    assert(work.phase === 'inspect', 'a local volume was inspected twice', pathOf(spec));
    return outcome.ok ? inspected(work, outcome.value, spec) : failed(outcome.error.message, 'final');
  },
  'volumeMounts.mount': (work, outcome, { pod, spec }) => {
    assert(work.phase === 'mount', 'a local volume was mounted before it was inspected', pathOf(spec));
    if (!outcome.ok) return failed(outcome.error.message, 'final');
    work.phase = pod?.spec.securityContext?.fsGroup === undefined || readOnlyOf(spec) ? 'over' : 'references';
    return null;
  },
  'volumeMounts.references': (work, outcome, scene) => {
    assert(work.phase === 'references', 'references of a local volume were read before it was mounted', pathOf(scene.spec));
    if (!outcome.ok) return failed(outcome.error.message, 'uncertain');
    referenced(work, outcome.value, scene);
    return null;
  },
  'volumeMounts.setOwnership': (work, outcome) => {
    assert(work.phase === 'own', 'a local volume got a group that it does not wait for');
    if (!outcome.ok) return failed(outcome.error.message, 'uncertain');
    work.phase = 'over';
    return null;
  },
};

function inspected(work: LocalWork, found: HostPathKind, spec: VolumeSpec): VolumeStep | null {
  if (found === 'absent') return failed(`path ${goQuote(pathOf(spec))} does not exist`);
  if (found === 'block-device') return failed(`this kubelet mounts local volumes of directories only, and ${pathOf(spec)} is a block device`);
  if (found !== 'directory') return failed('only directory and block device are supported');
  work.phase = 'mount';
  return null;
}

/** Files that pods share belong to the group of the first. */
function referenced(work: LocalWork, { mountPoints, gid }: AgentOperations['volumeMounts.references']['reply'], { pod, spec, context }: VolumeScene): void {
  const wanted = pod?.spec.securityContext?.fsGroup;
  if (mountPoints.length === 0) {
    work.phase = 'own';
    return;
  }
  work.phase = 'over';
  if (pod === null || wanted === undefined || gid === null || gid === wanted || spec.kind === 'inline') return;
  const name = spec.persistentVolume.metadata.name;
  const message = `The requested fsGroup is ${wanted}, but the volume ${name} has GID ${gid}. The volume may not be shareable.`;
  context.event(pod, null, 'Warning', 'AlreadyMountedVolume', message);
}

function pathOf(spec: VolumeSpec): string {
  return spec.kind === 'persistent' ? (spec.persistentVolume.spec.local?.path ?? '') : '';
}

function readOnlyOf(spec: VolumeSpec): boolean {
  return spec.kind === 'persistent' && spec.readOnly;
}

export const localVolume: VolumeKind = {
  plugin,
  mountDevice: null,
  setUp: byVolumeMode(procedure<LocalWork>({ begin: () => ({ phase: 'inspect', isProgressReported: false }), decide, late, looks, replies }), localDevice.setUp),
  tearDown: byVolumeMode(unmountOf(plugin, null), localDevice.tearDown),
  unmountDevice: null,
  view: viewOf,
  device: (spec, uid, rootDirectory) => blockDeviceOf(plugin, spec, uid, rootDirectory),
  reconstruct: ({ name }) => ({ kind: 'persistent', persistentVolume: { metadata: { name }, spec: { local: { path: '' } } }, readOnly: false }),
  reconstructDevice: ({ name }) => ({ kind: 'persistent', persistentVolume: { metadata: { name }, spec: { local: { path: '' }, volumeMode: 'Block' } }, readOnly: false }),
};
