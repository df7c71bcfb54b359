// Volumes that need only the node, in virtual time: they exist before containers, and are removed before the pod's cgroup.
import { orphanReadings } from '../../src/domain/kubelet-metrics/kubelet-readings.js';
import { joinPath } from '../../src/domain/values/slash-paths.js';
import { utf8Decode } from '../../src/domain/values/utf8.js';
import type { Container } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { Volume, VolumeMount } from '../../src/ports/model/volume.js';
import { type Stage, scenario } from './scenario.js';
import { minute, type PodShape, podOf, second } from './sim-pods.js';

const emptyDirs = 'kubernetes.io~empty-dir';
const downward = 'kubernetes.io~downward-api';

/** A pod whose containers all mount the volumes, each at `/<its name>`. */
function podWith(volumes: readonly Volume[], shape: PodShape = {}, mount: Partial<VolumeMount> = {}): Pod {
  const pod = podOf('v', { uid: 'v', ...shape });
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}`, ...mount }));
  const mounting = (container: Container): Container => ({ ...container, volumeMounts });
  return { ...pod, spec: { ...pod.spec, volumes, containers: pod.spec.containers.map(mounting) } };
}

const volumesOf = ({ node }: Stage, uid = 'v') => node.host.state.podDirectories.get(uid)?.volumes ?? new Map();
const messages = ({ node }: Stage, reason: string) => [...new Set(node.events('v').flatMap(({ record }) => (record.reason === reason ? [record.message] : [])))];

/** What a container sees under a path of a payload volume. */
function shown(stage: Stage, volume: string, path: string): string | null {
  const nodes = volumesOf(stage).get(volume)?.nodes;
  const link = nodes?.get(path.split('/')[0] ?? '');
  const data = nodes?.get('..data');
  if (link?.kind !== 'symlink' || data?.kind !== 'symlink') return null;
  const file = nodes?.get(joinPath(data.target, path));
  return file?.kind === 'file' ? utf8Decode(file.bytes) : null;
}

scenario('emptyDir: shared by the containers, made before they are, gone before the cgroup', {}, (stage) => {
  const { t, node } = stage;
  node.put('v.yaml', podWith([{ name: 'work', emptyDir: {} }], { containers: { a: 'run=forever', b: 'run=forever' } }));
  stage.untilPhase('v', 'Running', 10 * second);
  const path = `${node.host.settings.rootDirectory}/pods/v/volumes/${emptyDirs}/work`;
  for (const { config } of node.containers('v'))
    t.match(
      (config.mounts ?? []).filter(({ containerPath }) => containerPath === '/work'),
      [{ hostPath: path, readonly: false }],
    );
  t.equal(node.containers('v').length, 2);
  t.strictSame(volumesOf(stage).get(`${emptyDirs}/work`), { mode: 0o777, gid: null, tmpfsBytes: null, nodes: new Map() });
  stage.run(10 * minute);
  node.host.models.podDirectories.leaveVolumeData('v', `volumes/${emptyDirs}/work/file`, true);
  node.remove('v.yaml');
  stage.untilGone('v', 5 * minute);
  t.equal(node.host.state.podDirectories.size, 0);
});

scenario('emptyDir of a pod that has ended: its data goes, its directory stays with the pod', {}, (stage) => {
  const { t, node } = stage;
  node.put('v.yaml', podWith([{ name: 'work', emptyDir: { medium: 'Memory' } }], { policy: 'Never', containers: { c: 'run=5s' } }));
  stage.untilPhase('v', 'Succeeded', minute);
  stage.until('its volumes are gone', () => volumesOf(stage).size === 0, minute);
  t.ok(node.host.state.podDirectories.has('v'));
});

scenario('emptyDir in memory: as large as the least of limits, and of the pod’s group', {}, (stage) => {
  const { t, node } = stage;
  const spec = { securityContext: { fsGroup: 2000 } };
  node.put(
    'v.yaml',
    podWith(
      [
        { name: 'small', emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } },
        { name: 'disk', emptyDir: { sizeLimit: '1Gi' } },
      ],
      { spec },
    ),
  );
  stage.untilPhase('v', 'Running', 10 * second);
  t.match(volumesOf(stage).get(`${emptyDirs}/small`), { mode: 0o3777, gid: 2000, tmpfsBytes: 64 * 1024 * 1024 });
  t.match(volumesOf(stage).get(`${emptyDirs}/disk`), { mode: 0o2777, gid: 2000, tmpfsBytes: null });
});

scenario('hostPath: made where its type says so; no container starts before a file is there', {}, (stage) => {
  const { t, node } = stage;
  const volumes = [
    { name: 'made', hostPath: { path: '/srv/made', type: 'DirectoryOrCreate' } },
    { name: 'any', hostPath: { path: '/nowhere' } },
    { name: 'token', hostPath: { path: '/srv/token', type: 'File' } },
  ];
  node.put('v.yaml', podWith(volumes));
  stage.until('it says what is missing', () => messages(stage, 'FailedMount').length > 0, minute);
  t.strictSame(messages(stage, 'FailedMount'), ['MountVolume.SetUp failed for volume "token" : hostPath type check failed: /srv/token is not a file']);
  t.equal(node.host.state.hostPaths.get('/srv/made'), 'directory');
  stage.run(20 * second);
  t.strictSame(node.containers('v'), [], 'nothing runs');
  stage.run(100 * second);
  const tries = node
    .events('v')
    .filter(({ record }) => record.reason === 'FailedMount')
    .map(({ at }) => at);
  const waits = tries.slice(1).map((at, i) => Math.round((2 * (at - (tries[i] ?? 0))) / second) / 2);
  t.strictSame(waits.slice(0, 7), [0.5, 1, 2, 4, 8, 16, 32], 'tried again at growing distances');
  stage.run(2 * minute);
  node.host.models.podVolumes.putHostPath('/srv/token', 'file');
  stage.untilPhase('v', 'Running', 5 * minute);
  t.match(
    node.containers('v')[0]?.config.mounts?.find(({ containerPath }) => containerPath === '/any'),
    { hostPath: '/nowhere', readonly: false },
  );
});

scenario('hostPath: a pod that goes while it waits is gone at once', {}, (stage) => {
  const { node } = stage;
  node.put('v.yaml', podWith([{ name: 'token', hostPath: { path: '/srv/token', type: 'Socket' } }]));
  stage.until('it says what is wrong', () => messages(stage, 'FailedMount').length > 0, minute);
  stage.t.match(messages(stage, 'FailedMount'), [/hostPath type check failed: \/srv\/token is not a socket file$/]);
  node.remove('v.yaml');
  stage.untilGone('v', 30 * second);
});

scenario('downwardAPI: files follow the labels while the containers run on', {}, (stage) => {
  const { t, node } = stage;
  const items = [
    { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
    { path: 'deep/name', fieldRef: { fieldPath: 'metadata.name' } },
  ];
  const pod = (track: string, mode?: object): Pod => {
    const made = podWith([{ name: 'info', downwardAPI: { defaultMode: 0o644, items } }], { spec: { securityContext: { fsGroup: 7 } }, ...mode });
    return { ...made, metadata: { ...made.metadata, labels: { track } } };
  };
  node.put('v.yaml', pod('stable'));
  stage.untilPhase('v', 'Running', 10 * second);
  t.equal(shown(stage, `${downward}/info`, 'labels'), 'track="stable"');
  t.match(shown(stage, `${downward}/info`, 'deep/name'), /^v/);
  t.match(
    node.containers('v')[0]?.config.mounts?.find(({ containerPath }) => containerPath === '/info'),
    { readonly: true },
  );
  const before = stage.running('v');
  node.put('v.yaml', pod('canary'));
  stage.until('the file follows', () => shown(stage, `${downward}/info`, 'labels') === 'track="canary"', 30 * second);
  t.strictSame(stage.running('v'), before);
  const generations = [...(volumesOf(stage).get(`${downward}/info`)?.nodes.keys() ?? [])].filter((path) => /^\.\.\d[^/]*$/.test(path));
  t.equal(generations.length, 1, 'no former payload is left');
  node.remove('v.yaml');
  stage.untilGone('v', 5 * minute);
  stage.until('nothing is left', () => node.host.state.podDirectories.size === 0, minute);
});

scenario('an agent that is killed leaves nothing: with the pod, and with the pod gone meanwhile', {}, (stage) => {
  const { t, node } = stage;
  const volumes = [
    { name: 'work', emptyDir: { medium: 'Memory' } },
    { name: 'info', projected: { defaultMode: 0o400, sources: [{ downwardAPI: { items: [{ path: 'uid', fieldRef: { fieldPath: 'metadata.uid' } }] } }] } },
  ];
  for (let step = 1; step <= 40; step++) {
    node.put('v.yaml', podWith(volumes, { uid: `v${step}` }));
    stage.run(step * 25_000);
    node.kill();
    if (step % 2 === 0) node.remove('v.yaml');
    node.start();
    if (step % 2 === 1) {
      stage.until('it runs', () => stage.running(`v${step}`).length === 1, 5 * minute);
      t.equal(volumesOf(stage, `v${step}`).size, 2);
      node.remove('v.yaml');
    }
    stage.until('nothing is left', () => node.host.state.podDirectories.size === 0, 5 * minute);
  }
});

scenario('sub paths: made with the volume’s mode, bound below the pod, named by variables, gone with the pod', {}, (stage) => {
  const { t, node } = stage;
  const volumes: Volume[] = [
    { name: 'work', emptyDir: {} },
    { name: 'host', hostPath: { path: '/srv' } },
  ];
  node.host.models.podVolumes.putHostPath('/srv/file', 'file');
  const made = podWith(volumes, { containers: { c: 'run=3s' } });
  const volumeMounts = [
    { name: 'work', mountPath: '/a', subPath: 'deep/er' },
    { name: 'host', mountPath: '/b', subPath: 'file' },
    { name: 'work', mountPath: '/c', subPathExpr: '$(NAME)' },
  ];
  const env = [{ name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } }];
  node.put('v.yaml', { ...made, spec: { ...made.spec, containers: made.spec.containers.map((container) => ({ ...container, env, volumeMounts })) } });
  stage.until('it has run twice', () => node.containers('v').length > 0 && node.status('v')?.containerStatuses?.[0]?.restartCount === 1, minute);
  const below = `${node.host.settings.rootDirectory}/pods/v/volume-subpaths`;
  const mounts = node.containers('v').at(-1)?.config.mounts ?? [];
  t.strictSame(
    ['/a', '/b', '/c'].map((path) => mounts.find(({ containerPath }) => containerPath === path)?.hostPath),
    [`${below}/work/c/0`, `${below}/host/c/1`, `${below}/work/c/2`],
  );
  t.match(
    [...(volumesOf(stage).get(`${emptyDirs}/work`)?.nodes ?? [])],
    [
      ['deep', { kind: 'directory', mode: 0o777 }],
      ['deep/er', { kind: 'directory', mode: 0o777 }],
      ['default', { kind: 'directory' }],
    ],
  );
  const bound = [...(node.host.state.podDirectories.get('v')?.subPaths ?? [])].filter(([, { source }]) => source !== null);
  t.strictSame(bound.map(([path]) => path).sort(), ['host/c/1', 'work/c/0', 'work/c/2']);
  node.remove('v.yaml');
  stage.untilGone('v', 5 * minute);
  stage.until('nothing is left', () => node.host.state.podDirectories.size === 0, minute);
  t.equal(node.host.state.hostPaths.get('/srv/file'), 'file');
});

scenario('sub paths that can’t be bound: the container waits, and says no more than it may', {}, (stage) => {
  const { t, node } = stage;
  node.host.models.podVolumes.putHostPath('/srv/file', 'file');
  node.put('v.yaml', podWith([{ name: 'host', hostPath: { path: '/srv' } }], {}, { subPath: 'file/below' }));
  stage.until('it says so', () => messages(stage, 'Failed').length > 0, minute);
  stage.run(second);
  t.strictSame(messages(stage, 'Failed'), ['Error: failed to create subPath directory for volumeMount "host" of container "c"']);
  t.match(node.status('v')?.containerStatuses, [
    { state: { waiting: { reason: 'CreateContainerConfigError', message: 'failed to create subPath directory for volumeMount "host" of container "c"' } } },
  ]);
  node.remove('v.yaml');
  stage.untilGone('v', 5 * minute);
});

scenario('what this kubelet can’t mount is refused by name, unless nobody mounts it', {}, (stage) => {
  const { t, node } = stage;
  node.put(
    'v.yaml',
    podWith([
      { name: 'work', emptyDir: {} },
      { name: 'data', fc: { targetWWNs: ['50060e801049cfd1'], lun: 0 } },
    ]),
  );
  stage.until('it says so', () => messages(stage, 'FailedMount').length > 0, minute);
  t.strictSame(messages(stage, 'FailedMount'), [
    'Unable to attach or mount volumes: unmounted volumes=[data work], unattached volumes=[], failed to process volumes=[data]: ' +
      'failed to get Plugin from volumeSpec for volume "data" err=this kubelet does not have the plugin kubernetes.io/fc (fc)',
  ]);
  t.strictSame(node.containers('v'), []);
  node.remove('v.yaml');
  stage.untilGone('v', 5 * minute);
  const unused = podWith([]);
  node.put('v.yaml', { ...unused, spec: { ...unused.spec, volumes: [{ name: 'data', fc: { targetWWNs: ['50060e801049cfd1'], lun: 0 } }] } });
  stage.untilPhase('v', 'Running', minute);
});

/** Cleanup steps for a removed pod, of which each may take nearly as long as its time limit while a pod with its UID is created and removed again. */
for (const slow of ['podVolumes.list', 'podVolumes.tearDown', 'podDirectories.remove'] as const) {
  for (const stays of [5, 90, 200]) {
    scenario(`a pod comes back for ${stays} s while what an earlier one of its UID left is still cleaned up, with ${slow} slow`, {}, (stage) => {
      const { t, node } = stage;
      const pod = podWith([{ name: 'work', emptyDir: {} }]);
      node.put('v.yaml', pod);
      stage.untilPhase('v', 'Running', 10 * second);
      node.kill();
      node.remove('v.yaml');
      node.setFaults([{ operation: slow, trigger: {}, action: { kind: 'delay', moment: 'before', micros: 100 * second } }]);
      node.start();
      stage.until('it is being cleaned up', () => node.agent.orphans.has('v'), minute);
      node.put('v.yaml', pod);
      stage.run(stays * second);
      node.remove('v.yaml');
      stage.until('all of it is gone', () => !node.agent.workers.records.has('v') && node.agent.orphans.size === 0 && node.host.state.podDirectories.size === 0, 30 * minute);
      t.equal(node.agent.volumes.releases.size, 0);
    });
  }
}

scenario('a part of a volume that can’t be unbound for longer than anybody waits', {}, (stage) => {
  const { t, node } = stage;
  node.put('v.yaml', podWith([{ name: 'work', emptyDir: {} }], {}, { subPath: 'a/part' }));
  stage.untilPhase('v', 'Running', 10 * second);
  node.setFaults([{ operation: 'subPaths.carryOut', trigger: { nth: 1 }, action: { kind: 'delay', moment: 'before', micros: 180 * second } }]);
  node.remove('v.yaml');
  stage.until('all of it is gone', () => !node.agent.workers.records.has('v') && node.agent.orphans.size === 0 && node.host.state.podDirectories.size === 0, 30 * minute);
  t.equal(node.agent.volumes.releases.size, 0);
});

scenario('what an earlier agent left is looked up slowly, and taken down before that is known', {}, (stage) => {
  const { t, node } = stage;
  node.put('v.yaml', podWith([{ name: 'work', emptyDir: {} }]));
  stage.untilPhase('v', 'Running', 10 * second);
  node.kill();
  node.remove('v.yaml');
  node.setFaults([{ operation: 'volumeMounts.survey', trigger: {}, action: { kind: 'delay', moment: 'after', micros: 5 * minute } }]);
  node.start();
  stage.until('its directory is gone', () => node.host.state.podDirectories.size === 0, 4 * minute);
  stage.run(10 * minute);
  const { actual, held, releases } = node.agent.volumes;
  t.strictSame([actual.size, held.size, releases.size, node.agent.orphans.size], [0, 0, 0, 0], 'nothing is kept of what is not there');
});

scenario('a directory of an orphaned pod that can’t be removed is counted as long as that fails', {}, (stage) => {
  const { t, node } = stage;
  const shown = () => Object.fromEntries(orphanReadings(node.agent).map(([name, , value]) => [name.replace('kubelet_orphan_pod_cleaned_volumes', ''), value]));
  node.put('v.yaml', podWith([{ name: 'work', emptyDir: {} }]));
  stage.untilPhase('v', 'Running', 10 * second);
  t.strictSame(shown(), { '': 0, _errors: 0 });
  node.kill();
  node.remove('v.yaml');
  node.setFaults([{ operation: 'podDirectories.remove', trigger: {}, action: { kind: 'error', moment: 'before', error: 'unknown', message: 'device or resource busy' } }]);
  node.start();
  stage.until('it has failed', () => shown()._errors === 1, 5 * minute);
  stage.run(5 * minute);
  t.strictSame(shown(), { '': 1, _errors: 1 });
  node.setFaults([]);
  stage.until('it is gone', () => node.host.state.podDirectories.size === 0, 10 * minute);
  stage.until('and no longer counted', () => shown()._errors === 0, 10 * minute);
});
