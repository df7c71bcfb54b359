// Raw devices of CSI drivers and of the host, and what a driver has published when a later step fails: every step is taken back in its order.
import t from 'tap';
import { CsiRun, claimed, driver } from './csi-run.js';
import { minute } from './volume-run.js';

const devices = { name: 'main', image: 'app:1', volumeDevices: [{ name: 'd', devicePath: '/dev/data' }] };
const mapped = (uid: string) => `plugins/kubernetes.io/csi/volumeDevices/pv/dev/${uid}`;
const blockPlaces = ['publish', 'staging'].map((kind) => `plugins/kubernetes.io/csi/volumeDevices/${kind}/pv`);

t.test('a raw block volume: staged, published, mapped and given to containers; taken down with the last pod', async (t) => {
  const run = new CsiRun();
  run.object({ attachRequired: false, podInfoOnMount: true });
  run.registered();
  run.csiVolume({}, { volumeMode: 'Block' });
  const [a, b] = ['a', 'b'].map((name) => run.pod(name, claimed, { containers: [devices] })) as [string, string];
  run.until('both run', () => run.phase('a') === 'Running' && run.phase('b') === 'Running');
  t.strictSame(run.mounts().sort(), [blockPlaces[1], ...[a, b].sort().map((uid) => `${blockPlaces[0]}/${uid}`)].map((path) => `${path} csi h1 `).sort());
  t.strictSame([...run.host.state.blockMaps.keys()].sort(), [a, b].map((uid) => `/var/lib/kubelet/${mapped(uid)}`).sort());
  t.match(JSON.parse(run.host.state.csiFiles.get('/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/pv/data')?.data ?? ''), {
    specVolID: 'pv',
    volumeHandle: 'h1',
    driverName: driver,
    nodeName: 'n1',
  });
  const [container] = run.cluster.node().containers(a);
  t.strictSame(container?.config.devices, [{ hostPath: `/var/lib/kubelet/pods/${a}/volumeDevices/kubernetes.io~csi/pv`, containerPath: '/dev/data', permissions: 'mrw' }]);
  t.strictSame(run.said('a', 'SuccessfulMountVolume'), [
    'MapVolume.MapPodDevice succeeded for volume "pv" globalMapPath "/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/pv/dev"',
    `MapVolume.MapPodDevice succeeded for volume "pv" volumeMapPath "/var/lib/kubelet/pods/${a}/volumeDevices/kubernetes.io~csi"`,
  ]);
  run.gone('a', a);
  t.strictSame([...run.host.state.blockMaps.keys()], [`/var/lib/kubelet/${mapped(b)}`]);
  t.ok(
    run.mounts().some((line) => line.startsWith(blockPlaces[1] as string)),
    'it is staged for the other',
  );
  run.gone('b', b);
  run.until('nothing is left', () => run.mounts().length === 0 && run.host.state.csiFiles.size === 0 && run.host.state.blockMaps.size === 0);
  t.strictSame(run.cluster.violations, []);
});

t.test('a raw block volume that can’t be published, or mounted as what it isn’t, is told as the reference words it', async (t) => {
  const run = new CsiRun();
  run.object({ attachRequired: false });
  run.registered({ failures: [{ call: 'publish', kind: 'internal', message: 'rpc error: code = Internal desc = no' }] });
  run.csiVolume({}, { volumeMode: 'Block' });
  run.pod('m', claimed);
  run.until('it is told', () => run.said('m').length > 0);
  t.match(run.said('m')[0], /volume d has volumeMode Block, but is specified in volumeMounts$/);
  const uid = run.pod('a', claimed, { containers: [devices] });
  run.until('it failed', () => run.said('a', 'FailedMapVolume').length > 0);
  t.equal(run.said('a', 'FailedMapVolume')[0], 'MapVolume.MapPodDevice failed for volume "pv" : rpc error: code = Internal desc = no');
  run.until('it runs', () => run.phase('a') === 'Running');
  run.gone('a', uid);
  t.strictSame(run.cluster.violations, []);
});

t.test('raw block volumes are found again, and an agent that is killed after each step leaves nothing of them', async (t) => {
  const run = new CsiRun();
  run.object({ attachRequired: false });
  run.registered();
  run.csiVolume({}, { volumeMode: 'Block' });
  const performed = () => [...run.cluster.node().model.performed].reduce((sum, [op, times]) => (/^(csi|blockDevices|podDirectories)/.test(op) ? sum + times : sum), 0);
  let cuts = 0;
  for (const goes of [false, true]) {
    for (let step = 1, isCut = true; isCut; step++) {
      const name = `p${goes}${step}`;
      const uid = run.pod(name, claimed, { containers: [devices] });
      if (goes) run.until('it runs', () => run.phase(name) === 'Running');
      const from = performed();
      if (goes) run.admin.remove('pods', name, {});
      const isClean = () => run.mounts().length === 0 && run.host.state.csiFiles.size === 0 && run.host.state.blockMaps.size === 0;
      const isOver = () => (goes ? !run.host.state.podDirectories.has(uid) && isClean() : run.phase(name) === 'Running');
      run.cluster.runUntil(() => performed() >= from + step || isOver(), 2 * minute);
      isCut = !isOver();
      if (isCut) {
        cuts++;
        run.cluster.node().start();
      }
      run.until('it runs, or is gone', isOver, 5 * minute);
      if (!goes) run.gone(name, uid);
      run.until('nothing is left', isClean, 5 * minute);
    }
  }
  t.ok(cuts >= 8, `${cuts} cuts`);
  t.strictSame(run.cluster.violations, []);
});

t.test('a local volume that is a device of the host is given to containers as it is', async (t) => {
  const run = new CsiRun();
  const nodeAffinity = { required: { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }] } };
  run.volume('disk', { local: { path: '/dev/sdz' } }, run.claim('c', 'disk'), { volumeMode: 'Block', nodeAffinity });
  const uid = run.pod('a', claimed, { containers: [devices] });
  run.until('it is told', () => run.said('a', 'FailedMapVolume').length > 0);
  t.equal(run.said('a', 'FailedMapVolume')[0], 'MapVolume.MapPodDevice failed for volume "disk" : path "/dev/sdz" does not exist');
  run.host.state.hostPaths.set('/dev/sdz', 'block-device');
  run.until('it runs', () => run.phase('a') === 'Running');
  t.strictSame([...run.host.state.blockMaps], [[`/var/lib/kubelet/plugins/kubernetes.io~local-volume/volumeDevices/disk/${uid}`, '/dev/sdz']]);
  run.gone('a', uid);
  t.equal(run.host.state.blockMaps.size, 0);
});

const failing = (operation: string, trigger: object = {}) => ({ operation, trigger, action: { kind: 'error', moment: 'before', error: 'internal', message: 'planned' } }) as const;
for (const [what, later, then, volume, pod] of [
  ['a file system', 'volumeMounts.setOwnership', 'csiFiles.prepare', {}, { securityContext: { fsGroup: 2000 } }],
  ['a raw device', 'blockDevices.map', 'csiFiles.prepareDevice', { volumeMode: 'Block' }, { containers: [devices] }],
  ['a raw device that was marked', 'blockDevices.map', 'blockDevices.mark', { volumeMode: 'Block' }, { containers: [devices] }],
] as const) {
  t.test(`${what}: published, failed afterwards, failed sooner at the next try: it is unpublished before it is unstaged`, async (t) => {
    const run = new CsiRun();
    run.object({ attachRequired: false });
    run.registered();
    run.csiVolume({}, volume);
    const node = run.cluster.node();
    const times = (operation: string) => node.model.performed.get(operation) ?? 0;
    node.setFaults([failing(later, { nth: 1 })]);
    const uid = run.pod('a', claimed, pod);
    run.until('it failed after the driver had published it', () => times(later) === 1 && times('csiNode.publish') === 1);
    const before = times(then);
    node.setFaults([failing(then)]);
    run.until('it failed before the driver was asked', () => times(then) === before + 1);
    run.cluster.run(1000);
    run.gone('a', uid);
    run.until('nothing is left', () => run.mounts().length === 0 && run.host.state.csiFiles.size === 0);
    t.strictSame(run.cluster.violations, []);
  });
}
