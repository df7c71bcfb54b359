// CSI drivers and their volumes on a simulated node of a cluster: registration, API objects, staging and publishing, failures, restarts.
import { createHash } from 'node:crypto';
import t from 'tap';
import type { SimPlugin } from '../../src/sim/host/host-state.js';
import { CsiRun, claimed, driver } from './csi-run.js';
import { minute } from './volume-run.js';

const second = 1_000_000;
const staging = `plugins/kubernetes.io/csi/${driver}/${createHash('sha256').update('h1').digest('hex')}/globalmount`;
const target = (uid: string, name = 'pv') => `pods/${uid}/volumes/kubernetes.io~csi/${name}/mount`;
const attachment = `csi-${createHash('sha256').update(`h1${driver}n1`).digest('hex')}`;
const notRegistered = `kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: driver name ${driver} not found in the list of registered CSI drivers`;
const notEphemeral = `kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode "Ephemeral" not supported by driver ${driver} (no CSIDriver object)`;

t.test('the CSINode is there before any driver, and names the plugins that are drivers’ by now; it is made again where it was lacking', async (t) => {
  const run = new CsiRun();
  run.until('it is there', () => run.admin.get('csinodes', 'n1', null).code === 200);
  const { metadata } = run.admin.get('csinodes', 'n1', null).body as { metadata: { annotations: Readonly<Record<string, string>> } };
  t.match(metadata, { ownerReferences: [{ kind: 'Node', name: 'n1' }] });
  t.match(metadata.annotations['storage.alpha.kubernetes.io/migrated-plugins'], /^kubernetes.io\/aws-ebs,.*vsphere-volume$/);
  t.equal((run.csiNode() as readonly unknown[] | undefined)?.length ?? 0, 0);
  run.admin.remove('csinodes', 'n1', {}, null);
  run.registered();
  t.match(run.csiNode(), [{ name: driver }], 'a driver makes one, too');
});

t.test('an old in-tree disk is mounted by the driver that stands for it', async (t) => {
  const run = new CsiRun();
  const ebs = 'ebs.csi.aws.com';
  run.admin.create('csidrivers', { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: ebs }, spec: { attachRequired: false } }, null);
  run.volume('pv', { awsElasticBlockStore: { volumeID: 'aws://us-east-1a/vol-1', fsType: 'ext4' } }, run.claim('c', 'pv'));
  const uid = run.pod('a', claimed);
  run.until('it says who is missing', () => run.said('a').length > 0);
  t.match(run.said('a')[0], `driver name ${ebs} not found in the list of registered CSI drivers`);
  run.host.csi.put('ebs-reg.sock', { name: ebs });
  run.until('it runs', () => run.phase('a') === 'Running');
  t.ok(run.mounts().some((line) => line === `${target(uid)} csi vol-1 `));
  run.gone('a', uid);
  run.until('nothing is left', () => run.mounts().length === 0);
  t.strictSame(run.cluster.violations, []);
});

t.test('a driver registers, the Node and the CSINode say so; it is made anew, and it goes', async (t) => {
  const run = new CsiRun();
  run.registered({ maxVolumes: 7n, topology: { 'topology.example.com/zone': 'z1' } });
  t.strictSame(run.csiNode(), [{ name: driver, nodeID: 'node-1', topologyKeys: ['topology.example.com/zone'], allocatable: { count: 7 } }]);
  t.equal(run.node().annotations?.['csi.volume.kubernetes.io/nodeid'], `{"${driver}":"node-1"}`);
  t.equal(run.node().labels?.['topology.example.com/zone'], 'z1');
  t.match(run.admin.get('csinodes', 'n1', null).body.metadata, { ownerReferences: [{ kind: 'Node', name: 'n1' }] });
  run.registered({ nodeId: 'node-2', topology: { 'topology.example.com/zone': 'z1' } });
  t.match(run.csiNode(), [{ nodeID: 'node-2' }], 'a socket that was made anew is another driver');
  run.host.csi.remove('example-reg.sock');

  run.until('it is let go', () => ((run.csiNode() as readonly unknown[] | undefined) ?? []).length === 0);
  t.notOk(run.node().annotations?.['csi.volume.kubernetes.io/nodeid']);
  t.equal(run.node().labels?.['topology.example.com/zone'], 'z1', 'labels stay');
});

const refusals: readonly (readonly [sentence: string, plugin: Partial<SimPlugin>, error: RegExp])[] = [
  [
    'no version',
    { supportedVersions: [] },
    /^RegisterPlugin error -- plugin validation failed with err: kubernetes\.io\/csi: .*Plugin returned an empty list for supported versions$/,
  ],
  ['a version of another time', { supportedVersions: ['2.0.0'] }, /None of the versions specified \["2\.0\.0"\] are supported/],
  ['one of before', { supportedVersions: ['0.3.0'] }, /None of the versions specified/],
  ['no node id', { nodeId: '' }, /^RegisterPlugin error -- plugin registration failed with err: .*driverNodeID must not be empty$/],
  ['a device plugin', { type: 'DevicePlugin' }, /^RegisterPlugin error -- no handler registered for plugin type: DevicePlugin at socket .*\/plugins_registry\/example-reg\.sock$/],
  [
    'a failing NodeGetInfo',
    { failures: [{ call: 'info', kind: 'internal', message: 'rpc error: code = Internal desc = no' }] },
    /plugin registration failed with err: .*NodeGetInfo\(\) call: rpc error: code = Internal desc = no$/,
  ],
];
for (const [sentence, plugin, error] of refusals) {
  t.test(`not registered, and told why: ${sentence}`, async (t) => {
    const run = new CsiRun();
    const made = run.plugin(plugin);
    run.until('it is told', () => made.notified !== null);
    t.match(made.notified, { registered: false, error });
    t.equal(run.cluster.node().agent.plugins.drivers.size, 0);
    if (sentence.startsWith('a failing')) run.until('it is tried again', () => made.notified?.registered === true);
  });
}

t.test('a persistent volume without attaching: staged, published, the pod’s group, taken down with the pod', async (t) => {
  const run = new CsiRun();
  run.object({ attachRequired: false, podInfoOnMount: true });
  run.registered();
  run.csiVolume();
  const uid = run.pod('a', claimed, { securityContext: { fsGroup: 2000 } });
  run.until('it runs', () => run.phase('a') === 'Running');
  t.strictSame(run.mounts().sort(), [`${staging} csi h1 `, `${target(uid)} csi h1 `].sort());
  t.equal(run.host.state.volumeMounts.get(`/var/lib/kubelet/${target(uid)}`)?.gid, 2000);
  t.match(JSON.parse(run.host.state.csiFiles.get(`/var/lib/kubelet/${target(uid)}`)?.data ?? ''), {
    driverName: driver,
    volumeHandle: 'h1',
    specVolID: 'pv',
    volumeLifecycleMode: 'Persistent',
  });
  const [container] = run.cluster.node().containers(uid);
  t.equal(container?.config.mounts?.find(({ containerPath }) => containerPath === '/d')?.hostPath, `/var/lib/kubelet/${target(uid)}`);
  run.gone('a', uid);
  run.until('it is unstaged', () => run.mounts().length === 0);
  t.equal(run.host.state.csiFiles.size, 0);
  t.strictSame(run.cluster.violations, []);
});

t.test('a volume that must be attached waits for the Node, then for nothing', async (t) => {
  const run = new CsiRun();
  run.object({});
  run.registered();
  run.csiVolume();
  const uid = run.pod('a', claimed);
  const name = `kubernetes.io/csi/${driver}^h1`;
  run.until('the Node says that it is in use', () => ((run.admin.get('nodes', 'n1', null).body.status as { volumesInUse?: string[] }).volumesInUse ?? []).includes(name));
  t.strictSame(run.mounts(), []);
  t.strictSame(run.said('a'), []);
  const spec = { attacher: driver, nodeName: 'n1', source: { persistentVolumeName: 'pv' } };
  run.admin.create('volumeattachments', { apiVersion: 'storage.k8s.io/v1', kind: 'VolumeAttachment', metadata: { name: attachment }, spec }, null);
  run.admin.patch('nodes', 'n1', { status: { volumesAttached: [{ name, devicePath: '' }] } }, 'status', null);

  run.until('it says what is wrong', () => run.said('a').length > 0);
  t.match(run.said('a')[0], `MountVolume.WaitForAttach failed for volume "pv" : volume h1 is not attached for volume attachment ${attachment}`);
  run.admin.patch('volumeattachments', attachment, { status: { attached: true } }, 'status', null);
  run.until('it runs', () => run.phase('a') === 'Running');
  run.gone('a', uid);
});

t.test('a driver that isn’t there: said, others run, and it goes on at once when it comes', async (t) => {
  const run = new CsiRun();
  run.object({ attachRequired: false });
  run.csiVolume();
  const uid = run.pod('a', claimed);
  run.pod('b', [{ name: 'e', emptyDir: {} }]);
  run.until('others run', () => run.phase('b') === 'Running', 20 * second);
  run.run(2 * minute);
  t.match(run.said('a')[0], `MountVolume.MountDevice failed for volume "pv" : ${notRegistered}`);
  t.equal(run.phase('a'), 'Pending');
  run.registered();
  t.ok(
    run.cluster.runUntil(() => run.mounts().length === 2, 3 * second),
    'without waiting for the back-off',
  );
  run.until('it runs', () => run.phase('a') === 'Running');
  run.host.csi.remove('example-reg.sock');
  run.run(3 * second);
  run.admin.remove('pods', 'a', {});
  run.run(minute);
  t.ok(
    run.mounts().some((line) => line.startsWith(target(uid))),
    'what can’t be unpublished stays',
  );
  run.registered();
  run.until('it is taken down', () => run.mounts().length === 0 && !run.host.state.podDirectories.has(uid));
  t.strictSame(run.cluster.violations, []);
});

t.test('a volume of the pod’s own, for drivers that have such', async (t) => {
  const run = new CsiRun();
  run.registered();
  const inline = [{ name: 'i', csi: { driver, volumeAttributes: { a: 'b' } } }];
  const uid = run.pod('a', inline);
  run.until('it is refused', () => run.said('a').length > 0);
  t.equal(run.said('a')[0], `MountVolume.SetUp failed for volume "i" : ${notEphemeral}`);
  run.object({ volumeLifecycleModes: ['Ephemeral'], podInfoOnMount: true });
  run.until('it runs', () => run.phase('a') === 'Running');
  t.equal(run.mounts().length, 1, 'nothing is staged');
  run.gone('a', uid);
  t.strictSame(run.mounts(), []);
});

t.test('a final error removes what was made, an uncertain one keeps it; both are tried again', async (t) => {
  for (const [kind, keeps] of [
    ['internal', false],
    ['deadline-exceeded', true],
  ] as const) {
    const run = new CsiRun();
    run.object({ attachRequired: false });
    run.registered({ failures: [{ call: 'publish', kind, message: 'rpc error: code = X desc = no' }] });
    run.csiVolume();
    const uid = run.pod('a', claimed);
    run.until('it failed', () => run.said('a').length > 0);
    t.equal(run.said('a')[0], 'MountVolume.SetUp failed for volume "pv" : rpc error: code = X desc = no');
    t.equal(run.host.state.csiFiles.has(`/var/lib/kubelet/${target(uid)}`), keeps, kind);
    run.until('it runs', () => run.phase('a') === 'Running');
    run.gone('a', uid);
    t.strictSame(run.cluster.violations, []);
  }
});

t.test('what was made for a volume and could not be told of goes with the last pod that wanted it', async (t) => {
  for (const operation of ['csiFiles.prepare', 'csiNode.stage', 'csiFiles.remove'] as const) {
    const run = new CsiRun();
    run.object({ attachRequired: false });
    run.registered(operation === 'csiFiles.remove' ? { failures: [{ call: 'stage', kind: 'internal', message: 'no' }] } : {});
    run.csiVolume();
    const moment = operation === 'csiFiles.remove' ? 'before' : 'after';
    run.cluster.node().setFaults([{ operation, trigger: {}, action: { kind: 'error', moment, error: 'unavailable', message: 'planned' } }]);
    const uid = run.pod('a', claimed);
    run.until(`${operation} failed`, () => run.cluster.node().model.struck.size > 0);
    run.admin.remove('pods', 'a', {});
    run.cluster.run(30_000_000);
    run.cluster.node().setFaults([]);
    run.cluster.run(300_000_000);
    t.strictSame([[...run.host.state.csiFiles.keys()], run.mounts(), run.host.state.podDirectories.has(uid)], [[], [], false], operation);
    t.strictSame(run.cluster.violations, []);
  }
});

t.test('an agent that is killed knows the volumes again, and takes down those of pods that are gone', async (t) => {
  const run = new CsiRun();
  run.object({ attachRequired: false });
  run.registered();
  run.csiVolume();
  const uid = run.pod('a', claimed);
  run.until('it runs', () => run.phase('a') === 'Running');
  run.cluster.node().kill();
  run.admin.remove('pods', 'a', { gracePeriodSeconds: 0 });
  run.cluster.node().start();
  run.until('nothing is left', () => run.mounts().length === 0 && !run.host.state.podDirectories.has(uid), 5 * minute);
  t.strictSame(run.cluster.violations, []);
});

t.test('a driver that wants it publishes again from time to time, and a failure of that takes nothing away', async (t) => {
  const run = new CsiRun();
  run.object({ attachRequired: false, requiresRepublish: true });
  const plugin = run.registered();
  run.csiVolume();
  const uid = run.pod('a', claimed);
  run.until('it runs', () => run.phase('a') === 'Running');
  plugin.failures.push({ call: 'publish', kind: 'internal', message: 'rpc error: code = Internal desc = no' });
  run.until('it was called again', () => plugin.failures.length === 0, 3 * minute);
  run.run(second);
  t.ok(run.mounts().some((line) => line.startsWith(target(uid))));
  t.ok(run.host.state.csiFiles.has(`/var/lib/kubelet/${target(uid)}`));
  t.equal(run.phase('a'), 'Running');
});

t.test('an agent that is killed after each step of mounting or taking down leaves nothing behind', async (t) => {
  const run = new CsiRun();
  run.object({ attachRequired: false });
  run.registered();
  run.csiVolume();
  const performed = () => [...run.cluster.node().model.performed].reduce((sum, [op, times]) => (/^(csi|volumeMounts|podVolumes|podDirectories)/.test(op) ? sum + times : sum), 0);
  let cuts = 0;
  for (const goes of [false, true]) {
    for (let step = 1, isCut = true; isCut; step++) {
      const name = `p${goes}${step}`;
      const uid = run.pod(name, claimed);
      if (goes) run.until('it runs', () => run.phase(name) === 'Running');
      const from = performed();
      if (goes) run.admin.remove('pods', name, {});
      const isOver = () => (goes ? !run.host.state.podDirectories.has(uid) && run.mounts().length === 0 : run.phase(name) === 'Running');
      run.cluster.runUntil(() => performed() >= from + step || isOver(), 2 * minute);
      isCut = !isOver();
      if (isCut) {
        cuts++;
        run.cluster.node().start();
      }
      run.until('it runs, or is gone', isOver, 5 * minute);
      if (!goes) run.gone(name, uid);
      run.until('nothing is left', () => run.mounts().length === 0 && run.host.state.csiFiles.size === 0, 5 * minute);
    }
  }
  t.ok(cuts >= 4, `${cuts} cuts`);
  t.strictSame(run.cluster.violations, []);
});

t.test('a volume that is not well is told of to its pod, and of a pod that is gone nothing is said', async (t) => {
  const run = new CsiRun();
  run.object({ attachRequired: false });
  run.registered();
  run.csiVolume();
  const uid = run.pod('a', claimed);
  run.until('it runs', () => run.phase('a') === 'Running');
  for (const whose of [uid, 'nobody']) run.cluster.node().send({ type: 'volumeAbnormal', uid: whose, volumeName: 'd', message: 'the disk fails' });
  run.run(second);
  t.strictSame(run.said('a', 'VolumeConditionAbnormal'), ['Volume d: the disk fails']);
});
