// Claims and their volumes, volumes of servers, and of other pods: look-ups, mounts, refusals, events, and teardown.
import t from 'tap';
import { measuredVolumes } from '../../src/domain/volume-manager/measured-volumes.js';
import type { FaultRule } from '../../src/sim/index.js';
import { minute, VolumeRun } from './volume-run.js';

const claimed = (readOnly = false) => [{ name: 'd', persistentVolumeClaim: { claimName: 'c', ...(readOnly ? { readOnly } : {}) } }];
const local = { local: { path: '/mnt/disk' }, nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'Exists' }] }] } } };

t.test('a local volume: bound for the pod, its group’s, seen by the container, taken down with the pod; the data stays', async (t) => {
  const run = new VolumeRun();
  run.host.models.podVolumes.putHostPath('/mnt/disk', 'directory');
  run.volume('pv', local, run.claim('c', 'pv'));
  const uid = run.pod('a', claimed(), { securityContext: { fsGroup: 2000 } });
  run.until('it runs', () => run.phase('a') === 'Running');
  const place = `pods/${uid}/volumes/kubernetes.io~local-volume/pv`;
  t.strictSame(run.mounts(), [`${place} /mnt/disk `]);
  t.equal(run.host.state.volumeMounts.get(`/var/lib/kubelet/${place}`)?.gid, 2000);
  const [container] = run.cluster.node().containers(uid);
  t.match(
    container?.config.mounts?.find(({ containerPath }) => containerPath === '/d'),
    { hostPath: `/var/lib/kubelet/${place}`, readonly: false },
  );
  const path = `/var/lib/kubelet/${place}`;
  t.strictSame(measuredVolumes(run.cluster.node().agent.volumes, uid, { rootDirectory: '/var/lib/kubelet', projectQuotas: false }), [
    { name: 'd', path, how: 'file-system', driver: null, isEphemeral: false, quota: null, claimName: 'c' },
  ]);
  run.gone('a', uid);
  t.strictSame(run.mounts(), []);
  t.equal(run.host.state.hostPaths.get('/mnt/disk'), 'directory');
  t.strictSame(run.cluster.violations, []);
});

t.test('a walk through a large volume is told of once it has taken half a minute, and every minute after that how far it is', async (t) => {
  const begins = 'Setting volume ownership for';
  const advice =
    'consider using OnRootMismatch - https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods';
  // The figures are what the host says then; null: it knows of no such walk.
  for (const [minutes, long, figures] of [
    [0.4, false, []],
    [1.4, true, []],
    [2, true, [1000]],
    [3, true, [1000, 2500]],
    [4, true, [null, 2500, 4000]],
  ] as const) {
    const delay: FaultRule = { operation: 'volumeMounts.setOwnership', trigger: { nth: 1 }, action: { kind: 'delay', moment: 'before', micros: minutes * minute } };
    const run = new VolumeRun({ faults: [delay] });
    run.host.models.podVolumes.putHostPath('/mnt/disk', 'directory');
    run.volume('pv', local, run.claim('c', 'pv'));
    const uid = run.pod('a', claimed(), { securityContext: { fsGroup: 2000 } });
    const directory = `${uid}/volumes/kubernetes.io~local-volume/pv`;
    run.run(minute);
    for (const figure of figures) {
      const place = `${run.host.settings.rootDirectory}/pods/${directory}`;
      if (figure === null) run.host.state.ownershipWalks.delete(place);
      else run.host.state.ownershipWalks.set(place, figure);
      run.run(minute);
    }
    run.until('it runs', () => run.phase('a') === 'Running', 5 * minute);
    const told = figures.flatMap((figure) => (figure === null ? [] : [`${begins} ${directory}, processed ${figure} files.`]));
    const texts = [...(long ? [`${begins} ${directory} is taking longer than expected, ${advice}`] : []), ...told];
    t.strictSame(run.said('a', 'VolumePermissionChangeInProgress'), texts, `${minutes} min`);
    run.run(2 * minute);
    run.gone('a', uid);
    t.strictSame(run.cluster.violations, []);
  }
});

t.test('one claim in two volumes of a pod is one mount; a second pod has its own, and is told of another group', async (t) => {
  const run = new VolumeRun();
  run.host.models.podVolumes.putHostPath('/mnt/disk', 'directory');
  run.volume('pv', local, run.claim('c', 'pv'));
  const uid = run.pod('a', [...claimed(), { name: 'e', persistentVolumeClaim: { claimName: 'c' } }], { securityContext: { fsGroup: 2000 } });
  run.until('it runs', () => run.phase('a') === 'Running');
  t.equal(run.mounts().length, 1);
  t.strictSame(
    run.cluster
      .node()
      .containers(uid)[0]
      ?.config.mounts?.map(({ containerPath }) => containerPath)
      .filter((path) => path.length === 2),
    ['/d', '/e'],
  );
  run.host.state.volumeMounts.set('/elsewhere', { shown: '/mnt/disk', options: [], gid: 2000 });
  const second = run.pod('b', claimed(true), { securityContext: { fsGroup: 3000 } });
  run.until('it runs too', () => run.phase('b') === 'Running');
  t.match(
    run.mounts().find((line) => line.includes(second)),
    / ro$/,
    'and only reads, as it asked',
  );
  t.strictSame(run.said('b', 'AlreadyMountedVolume'), [], 'who only reads changes nothing, and is told of nothing');
  const third = run.pod('x', claimed(), { securityContext: { fsGroup: 3000 } });
  run.until('a third runs', () => run.phase('x') === 'Running');
  t.strictSame(run.said('x', 'AlreadyMountedVolume'), ['The requested fsGroup is 3000, but the volume pv has GID 0. The volume may not be shareable.']);
  for (const [name, of] of [
    ['a', uid],
    ['b', second],
    ['x', third],
  ] as const)
    run.gone(name, of);
  t.equal(run.mounts().length, 1, 'what the scenario put there is left');
});

const bound = (run: VolumeRun) => run.claim('c', 'pv');
const rows: readonly (readonly [sentence: string, prepare: (run: VolumeRun) => void, message: string])[] = [
  ['a claim that isn’t there', () => {}, 'error processing PVC default/c: failed to fetch PVC from API server: persistentvolumeclaims "c" not found'],
  ['a claim that is pending', (run) => run.claim('c', '', 'Pending'), 'error processing PVC default/c: PVC is not bound'],
  ['a bound claim without a volume', (run) => run.claim('c', ''), 'error processing PVC default/c: PVC has empty pvc.Spec.VolumeName'],
  ['a claim of a volume that isn’t there', (run) => bound(run), 'error processing PVC default/c: failed to fetch PV pv from API server: persistentvolumes "pv" not found'],
  [
    'a volume that is another claim’s',
    (run) => run.volume('pv', local, `not-${bound(run)}`),
    'error processing PVC default/c: found PV object pv but its pv.Spec.ClaimRef.UID not-UID does not point to claim.UID UID',
  ],
  [
    'a raw device where a file system is mounted',
    (run) => run.volume('pv', local, bound(run), { volumeMode: 'Block' }),
    'volume d has volumeMode Block, but is specified in volumeMounts',
  ],
  [
    'a plugin that this kubelet doesn’t have',
    (run) => run.volume('pv', { fc: { targetWWNs: ['50060e801049cfd1'], lun: 0 } }, bound(run)),
    'failed to get Plugin from volumeSpec for volume "pv" err=this kubelet does not have the plugin kubernetes.io/fc (fc)',
  ],
];
for (const [sentence, prepare, message] of rows) {
  t.test(`refused at once: ${sentence}`, async (t) => {
    const run = new VolumeRun();
    prepare(run);
    const uid = run.pod('a', claimed());
    run.until('it says so', () => run.said('a').length > 0);
    const [text = ''] = run.said('a');
    t.equal(
      text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'UID'),
      `Unable to attach or mount volumes: unmounted volumes=[d], unattached volumes=[], failed to process volumes=[d]: ${message}`,
    );
    t.equal(run.phase('a'), 'Pending');
    run.run(minute);
    t.strictSame(run.mounts(), []);
    run.gone('a', uid);
  });
}

const failures: readonly (readonly [sentence: string, source: object, more: object, annotations: object, message: string])[] = [
  [
    'the node is not one that the volume is on',
    { local: { path: '/mnt/disk' } },
    { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['z'] }] }] } } },
    {},
    'MountVolume.NodeAffinity check failed for volume "pv" : no matching NodeSelectorTerms',
  ],
  [
    'mount options of a plugin that takes none',
    { hostPath: { path: '/srv' } },
    {},
    { 'volume.beta.kubernetes.io/mount-options': 'ro,noatime' },
    'MountVolume.MountOptionSupport check failed for volume "pv" : mount options are not supported for this volume type',
  ],
  ['a path that isn’t there', { ...local, local: { path: '/mnt/none' } }, {}, {}, 'MountVolume.SetUp failed for volume "pv" : path "/mnt/none" does not exist'],
  ['a path that is a file', { ...local, local: { path: '/mnt/file' } }, {}, {}, 'MountVolume.SetUp failed for volume "pv" : only directory and block device are supported'],
  [
    'a block device with a file system to be mounted: nothing is ever formatted',
    { ...local, local: { path: '/mnt/block' } },
    {},
    {},
    'MountVolume.SetUp failed for volume "pv" : this kubelet mounts local volumes of directories only, and /mnt/block is a block device',
  ],
];
for (const [sentence, source, more, annotations, message] of failures) {
  t.test(`told, and tried again: ${sentence}`, async (t) => {
    const run = new VolumeRun();
    run.host.models.podVolumes.putHostPath('/mnt/disk', 'directory');
    run.host.models.podVolumes.putHostPath('/mnt/file', 'file');
    run.host.models.podVolumes.putHostPath('/mnt/block', 'block-device');
    run.volume('pv', source, bound(run), more, annotations);
    const uid = run.pod('a', claimed());
    run.until('it says so', () => run.said('a').length > 0);
    run.run(3 * minute);
    t.strictSame(run.said('a'), [message], 'and a wait that is over says nothing more');
    t.equal(run.phase('a'), 'Pending');
    run.gone('a', uid);
  });
}

t.test('the pod’s wait for a claim ends by itself: bound later, it runs', async (t) => {
  const run = new VolumeRun();
  run.host.models.podVolumes.putHostPath('/mnt/disk', 'directory');
  const uid = run.claim('c', 'pv', 'Pending');
  run.pod('a', claimed());
  run.until('it says so', () => run.said('a').length > 0);
  run.volume('pv', local, uid);
  run.admin.patch('persistentvolumeclaims', 'c', { status: { phase: 'Bound' } }, 'status');
  t.ok(run.until('it runs', () => run.phase('a') === 'Running'));
});

t.test('the group that a volume is annotated with is the pod’s processes’, unless the pod has it anyway, or it is no number', async (t) => {
  const rows: readonly (readonly [gid: string, own: number[], wanted: number[]])[] = [
    ['5000', [7], [7, 5000]],
    ['7', [7], [7]],
    ['users', [], []],
  ];
  for (const [gid, supplementalGroups, wanted] of rows) {
    const run = new VolumeRun();
    run.host.models.podVolumes.putHostPath('/mnt/disk', 'directory');
    run.volume('pv', local, bound(run), {}, { 'pv.beta.kubernetes.io/gid': gid });
    const uid = run.pod('a', claimed(), { securityContext: { supplementalGroups } });
    run.until('it runs', () => run.phase('a') === 'Running');
    const [container] = run.cluster.node().containers(uid);
    const [sandbox] = run.cluster.node().sandboxes(uid);
    const sorted = (groups: readonly (number | bigint)[] | undefined) => [...(groups ?? [])].map(Number).sort((a, b) => a - b);
    t.strictSame(sorted(container?.config.linux?.securityContext?.supplementalGroups), wanted, gid);
    t.strictSame(sorted(sandbox?.config.linux?.securityContext?.supplementalGroups), wanted, gid);
  }
});

t.test('an ephemeral claim is its pod’s, or refused', async (t) => {
  const run = new VolumeRun();
  run.host.models.podVolumes.putHostPath('/mnt/disk', 'directory');
  run.claim('a-d', 'pv');
  const template = { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } };
  run.pod('a', [{ name: 'd', ephemeral: { volumeClaimTemplate: template } }]);
  run.until('it says so', () => run.said('a').length > 0);
  t.match(run.said('a')[0], /: PVC default\/a-d was not created for pod default\/a \(pod is not owner\)$/);
  const owner = run.pod('b', [{ name: 'd', ephemeral: { volumeClaimTemplate: template } }]);
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'b', uid: owner, controller: true }];
  run.volume('pv2', local, run.claim('b-d', 'pv2', 'Bound', { ownerReferences }));
  t.ok(run.until('the owner runs', () => run.phase('b') === 'Running'));
});

t.test('ReadWriteOncePod: the second pod waits until the first is gone', async (t) => {
  const run = new VolumeRun();
  run.host.models.podVolumes.putHostPath('/mnt/disk', 'directory');
  run.volume('pv', local, bound(run), { accessModes: ['ReadWriteOncePod'] });
  const uid = run.pod('a', claimed());
  run.until('it runs', () => run.phase('a') === 'Running');
  run.pod('b', claimed());
  run.until('the other says why not', () => run.said('b').length > 0);
  t.strictSame(run.said('b'), ['MountVolume.SetUp failed for volume "pv" : volume uses the ReadWriteOncePod access mode and is already in use by another pod']);
  run.gone('a', uid);
  t.ok(run.until('it runs then', () => run.phase('b') === 'Running', 5 * minute));
});

t.test('NFS: by its own mount program, an IPv6 server in brackets, and options; what a dead server holds up is that pod alone', async (t) => {
  const run = new VolumeRun();
  const uid = run.pod('a', [{ name: 'n', nfs: { server: 'fd00::1', path: '/share', readOnly: true } }]);
  run.until('it runs', () => run.phase('a') === 'Running');
  t.strictSame(run.mounts(), [`pods/${uid}/volumes/kubernetes.io~nfs/n nfs [fd00::1]:/share ro`]);
  run.gone('a', uid);
  t.strictSame(run.mounts(), []);
});

t.test('a restart finds what is mounted again; of a pod that went meanwhile it is taken down', async (t) => {
  const run = new VolumeRun();
  run.host.models.podVolumes.putHostPath('/mnt/disk', 'directory');
  run.volume('pv', local, bound(run));
  const stays = run.pod('a', claimed());
  const goes = run.pod('b', [
    { name: 'n', nfs: { server: 's', path: '/p' } },
    { name: 'e', emptyDir: {} },
  ]);
  run.until('both run', () => run.phase('a') === 'Running' && run.phase('b') === 'Running');
  const before = run.mounts();
  t.equal(before.length, 2);
  run.cluster.node().kill();
  run.admin.remove('pods', 'b', { gracePeriodSeconds: 0 });
  run.run(10_000_000);
  run.cluster.node().start();
  run.until('what the gone pod had is gone', () => !run.host.state.podDirectories.has(goes), 5 * minute);
  t.strictSame(
    run.mounts(),
    before.filter((line) => line.includes(stays)),
    'what the other has stays, and was mounted once',
  );
  t.equal(run.cluster.node().containers(stays).length, 1, 'its container never stopped');
  run.gone('a', stays);
  t.strictSame(run.mounts(), []);
  t.strictSame(run.cluster.violations, []);
});
