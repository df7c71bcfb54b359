// emptyDir: a directory on the root's file system, or one in memory. With the gate LocalStorageCapacityIsolationFSQuotaMonitoring the directory of a pod in a user
// namespace gets a project quota, which measures it. A volume without a quota works too: walks measure it.
import type { AgentOperations } from '../../../ports/outbound/outbound-ports.js';
import type { QuotaPlace } from '../../../ports/outbound/project-quotas.js';
import { assert } from '../../kernel/assert.js';
import type { ReplyFor } from '../../kernel/machine.js';
import { hostCallLimit } from '../../values/host-call-limit.js';
import { emptyDirSetUp } from '../../volumes/node-volumes.js';
import { hasProjectQuota, isOnDisk } from '../../volumes/project-quota.js';
import { specName } from '../../volumes/volume-spec.js';
import { done, failed, procedure, type VolumeKind, type VolumeScene, type VolumeStep } from '../volume-kind.js';
import { addressOf, viewOf } from './own-directory.js';

const plugin = 'kubernetes.io/empty-dir';

interface EmptyDirWork {
  directory: 'unknown' | 'made';
  quota: 'unknown' | 'settled';
}

function askSetUp(scene: VolumeScene): VolumeStep {
  const { pod, spec, context } = scene;
  assert(pod !== null && spec.kind === 'inline', 'an emptyDir is one of the pod’s own');
  const wanted = emptyDirSetUp(pod, spec.volume, context.nodeFacts.allocatable);
  return wanted.ok ? scene.ask('podVolumes.setUp', wanted.setUp) : failed(wanted.message);
}

function placeOf({ uid, spec }: VolumeScene): QuotaPlace {
  const { plugin: directory, volume } = addressOf(plugin, uid, spec);
  return { uid, plugin: directory, volume };
}

/** The volume works without a quota, too. */
function quotaAssigned(work: EmptyDirWork, outcome: ReplyFor<AgentOperations, 'projectQuotas.assign'>['outcome'], { uid, spec, context }: VolumeScene): null {
  assert(work.directory === 'made' && work.quota === 'unknown', 'a quota was assigned that no volume waits for', uid);
  work.quota = 'settled';
  const about = { podUID: uid, volumeName: specName(spec) };
  if (!outcome.ok) context.turn.log('warn', 'Set quota failed, the volume is measured by walks', { err: outcome.error.message, ...about });
  else if (outcome.value.kind === 'unsupported') context.turn.log('info', 'No quota for the volume, it is measured by walks', { reason: outcome.value.reason, ...about });
  return null;
}

export const emptyDir: VolumeKind = {
  plugin,
  mountDevice: null,
  setUp: procedure<EmptyDirWork>({
    begin: () => ({ directory: 'unknown', quota: 'unknown' }),
    decide: (work, scene) => {
      if (work.directory === 'unknown') return askSetUp(scene);
      const wantsQuota = scene.pod !== null && hasProjectQuota(scene.pod, scene.spec, scene.context.nodeFacts);
      return work.quota === 'unknown' && wantsQuota ? scene.ask('projectQuotas.assign', placeOf(scene)) : done;
    },
    replies: {
      'podVolumes.setUp': (work, outcome, { uid }) => {
        assert(work.directory === 'unknown', 'the directory of an emptyDir was made twice', uid);
        if (!outcome.ok) return failed(outcome.error.message);
        work.directory = 'made';
        return null;
      },
      'projectQuotas.assign': quotaAssigned,
    },
  }),
  tearDown: procedure<EmptyDirWork>({
    begin: () => ({ directory: 'made', quota: 'unknown' }),
    decide: (work, scene) => {
      const mayHaveQuota = work.quota === 'unknown' && scene.context.nodeFacts.projectQuotas && isOnDisk(scene.spec);
      return mayHaveQuota ? scene.ask('projectQuotas.clear', placeOf(scene)) : scene.ask('podVolumes.tearDown', addressOf(plugin, scene.uid, scene.spec), hostCallLimit);
    },
    replies: {
      'podVolumes.tearDown': (_work, outcome) => (outcome.ok ? done : failed(outcome.error.message)),
      'projectQuotas.clear': (work, outcome, { uid, spec, context }) => {
        assert(work.quota === 'unknown', 'the quota of an emptyDir was cleared twice', uid);
        work.quota = 'settled';
        if (!outcome.ok) context.turn.log('warn', 'Failed to clear quota', { err: outcome.error.message, podUID: uid, volumeName: specName(spec) });
        return null;
      },
    },
  }),
  unmountDevice: null,
  view: viewOf,
  reconstruct: ({ name }) => ({ kind: 'inline', volume: { name, emptyDir: {} } }),
};
