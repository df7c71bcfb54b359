// Volumes that can't be as they are asked for: the event and the waiting reason that say so, and other pods that have nothing to do with it.
import t from 'tap';
import type { Volume } from '../../src/ports/model/volume.js';
import type { FaultRule } from '../../src/sim/index.js';
import { minute, VolumeRun } from './volume-run.js';

const setUp = (message: string) => `MountVolume.SetUp failed for volume "v" : ${message}`;
const config = (more: object): Volume => ({ name: 'v', configMap: { name: 'there', defaultMode: 0o644, ...more } });
const projected = (...sources: object[]): Volume => ({ name: 'v', projected: { defaultMode: 0o644, sources } });
const full: FaultRule = {
  operation: 'podVolumes.write',
  trigger: { nth: 1 },
  action: { kind: 'error', moment: 'before', error: 'resource-exhausted', message: 'ENOSPC: no space left on device' },
};

const rows: readonly (readonly [sentence: string, volume: Volume, message: string | RegExp | null, faults?: readonly FaultRule[]])[] = [
  ['a config map that isn’t there', config({ name: 'none' }), setUp('configmap "none" not found')],
  ['a secret that isn’t there', { name: 'v', secret: { secretName: 'none', defaultMode: 0o644 } }, setUp('secret "none" not found')],
  ['an optional one that isn’t there', config({ name: 'none', optional: true }), null],
  ['an optional secret that isn’t there', { name: 'v', secret: { secretName: 'none', optional: true, defaultMode: 0o644 } }, null],
  [
    'a key that isn’t in a secret',
    { name: 'v', secret: { secretName: 'kept', defaultMode: 0o644, items: [{ key: 'none', path: 'x' }] } },
    setUp('references non-existent secret key: none'),
  ],
  ['an optional key that isn’t in a secret', { name: 'v', secret: { secretName: 'kept', optional: true, defaultMode: 0o644, items: [{ key: 'none', path: 'x' }] } }, null],
  [
    'a driver that isn’t registered',
    { name: 'v', csi: { driver: 'd.example.com' } },
    setUp('kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: driver name d.example.com not found in the list of registered CSI drivers'),
  ],
  ['a name of a file that is too long', config({ items: [{ key: 'a', path: 'x'.repeat(256) }] }), setUp('invalid path: filenames must be less than or equal to 255 characters')],
  [
    'a file and a directory of one name',
    projected({ configMap: { name: 'there', items: [{ key: 'a', path: 'x' }] } }, { configMap: { name: 'there', items: [{ key: 'b', path: 'x/y' }] } }),
    /^MountVolume\.SetUp failed for volume "v" : .*x/,
  ],
  ['a key that isn’t there', config({ items: [{ key: 'none', path: 'x' }] }), setUp('configmap references non-existent config key: none')],
  ['an optional key that isn’t there', config({ optional: true, items: [{ key: 'none', path: 'x' }] }), null],
  ['two sources of one path: the later counts', projected({ configMap: { name: 'there' } }, { configMap: { name: 'there', items: [{ key: 'b', path: 'a' }] } }), null],
  [
    'several things wrong in one projected volume',
    projected({ configMap: { name: 'none' } }, { secret: { name: 'none' } }),
    setUp('[configmap "none" not found, secret "none" not found]'),
  ],
  ['a disk that is full once', config({}), setUp('ENOSPC: no space left on device'), [full]],
  ['a medium that doesn’t exist', { name: 'v', emptyDir: { medium: 'Tape' } }, setUp('unknown storage medium "Tape"')],
  [
    'huge pages that nobody asks for',
    { name: 'v', emptyDir: { medium: 'HugePages' } },
    setUp('medium HugePages: hugePages storage requested, but there is no resource request for huge pages'),
  ],
  ...(['iscsi', 'fc'] as const).map((source) => {
    const volume = { name: 'v', iscsi: { targetPortal: '10.0.0.1:3260', iqn: 'iqn.2001-04.com.example:x', lun: 0 }, fc: { targetWWNs: ['50060e801049cfd1'], lun: 0 } };
    const cause = `failed to get Plugin from volumeSpec for volume "v" err=this kubelet does not have the plugin kubernetes.io/${source} (${source})`;
    const message = `Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: ${cause}`;
    return [`${source}, which this kubelet doesn’t have`, { name: 'v', [source]: volume[source] } as Volume, message] as const;
  }),
  [
    'a repository of git',
    { name: 'v', gitRepo: { repository: 'https://example.com/r' } },
    setUp('git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`'),
  ],
  [
    'a path of the host that isn’t what its type says',
    { name: 'v', hostPath: { path: '/srv/none', type: 'Directory' } },
    setUp('hostPath type check failed: /srv/none is not a directory'),
  ],
];

for (const [sentence, volume, message, faults = []] of rows) {
  t.test(sentence, async (t) => {
    const run = new VolumeRun({ faults });
    run.admin.create('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'there', namespace: 'default' }, data: { a: '1', b: '2' } });
    run.admin.create('secrets', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'kept', namespace: 'default' }, data: { a: 'MQ==' } });
    const uid = run.pod('bad', [volume]);
    if (message === null || faults.length > 0) {
      run.until('it runs', () => run.phase('bad') === 'Running');
      t.strictSame(run.said('bad'), message === null ? [] : [message]);
    } else {
      run.until('it says so', () => run.said('bad').length > 0);
      t.match(run.said('bad')[0], message);
      const status = run.admin.get('pods', 'bad').body.status as { containerStatuses?: { state: { waiting?: object } }[] };
      t.match(status.containerStatuses?.[0]?.state.waiting, { reason: 'ContainerCreating' });
    }
    const other = run.pod('good', [{ name: 'work', emptyDir: {} }]);
    run.until('others run', () => run.phase('good') === 'Running', 10_000_000);
    run.gone('bad', uid);
    t.equal(run.phase('good'), 'Running');
    run.gone('good', other);
    t.strictSame(run.cluster.violations, []);
  });
}

/** Every source that the API knows, and that this kubelet neither has nor leaves to a CSI driver, but for that of git. */
const sourcesOfOthers: Readonly<Record<string, object>> = {
  cephfs: { monitors: ['m'] },
  flexVolume: { driver: 'example.com/x' },
  flocker: { datasetName: 'd' },
  glusterfs: { endpoints: 'e', path: 'p' },
  photonPersistentDisk: { pdID: 'p' },
  quobyte: { registry: 'r', volume: 'v' },
  rbd: { monitors: ['m'], image: 'i' },
  scaleIO: { gateway: 'g', system: 's', volumeName: 'v', secretRef: { name: 'x' } },
  storageos: { volumeName: 'v' },
};
const sourcesOfDrivers: Readonly<Record<string, readonly [source: object, driver: string]>> = {
  awsElasticBlockStore: [{ volumeID: 'v' }, 'ebs.csi.aws.com'],
  azureDisk: [{ diskName: 'd', diskURI: '/u', kind: 'Managed' }, 'disk.csi.azure.com'],
  azureFile: [{ secretName: 's', shareName: 'h' }, 'file.csi.azure.com'],
  cinder: [{ volumeID: 'v' }, 'cinder.csi.openstack.org'],
  gcePersistentDisk: [{ pdName: 'p' }, 'pd.csi.storage.gke.io'],
  portworxVolume: [{ volumeID: 'v' }, 'pxd.portworx.com'],
  vsphereVolume: [{ volumePath: '[ds] v' }, 'csi.vsphere.vmware.com'],
};
t.test('volumes of the old in-tree plugins: an event says that there is none, or a CSI driver has them', async (t) => {
  for (const [source, fields] of Object.entries(sourcesOfOthers)) {
    const run = new VolumeRun();
    run.pod('bad', [{ name: 'v', [source]: fields } as Volume]);
    run.pod('good', [{ name: 'work', emptyDir: {} }]);
    run.until('it says so', () => run.said('bad').length > 0);
    const cause = `(no volume plugin matched|this kubelet does not have the plugin kubernetes\\.io/[a-z-]+) \\(${source}\\)$`;
    t.match(run.said('bad')[0], new RegExp(`^Unable to attach or mount volumes: unmounted volumes=\\[v\\].*${cause}`), source);
    t.equal(run.phase('bad'), 'Pending', source);
    run.until('others run', () => run.phase('good') === 'Running', 10_000_000);
  }
  for (const [source, [fields, driver]] of Object.entries(sourcesOfDrivers)) {
    const run = new VolumeRun();
    run.pod('bad', [{ name: 'v', [source]: fields } as Volume]);
    const inUse = () => String((run.admin.get('nodes', 'n1', null).body.status as { readonly volumesInUse?: readonly string[] }).volumesInUse);
    t.ok(
      run.until('it waits for its driver’s volume to be attached', () => inUse().startsWith(`kubernetes.io/csi/${driver}^`)),
      `${source}: ${inUse()}`,
    );
    t.equal(run.phase('bad'), 'Pending', source);
  }
});

const escapes = ['../out', 'a/../../out', '/etc/passwd', '..data'];
t.test('paths that lead out of their volume are refused by the API, or by the node', async (t) => {
  for (const path of escapes) {
    const run = new VolumeRun();
    run.admin.create('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'there', namespace: 'default' }, data: { a: '1' } });
    let refused = '';
    try {
      run.pod('bad', [config({ items: [{ key: 'a', path }] })]);
      run.run(minute);
      [refused = ''] = run.said('bad');
    } catch (error) {
      refused = String(error);
    }
    t.match(refused, /must not contain|must be (a )?relative|must not start with/, path);
    t.not(run.phase('bad'), 'Running');
  }
});

t.test('modes that are none are refused by the API, or by the node', async (t) => {
  for (const mode of [-1, 0o1000, 0o777 + 0.5]) {
    for (const more of [{ defaultMode: mode }, { items: [{ key: 'a', path: 'a', mode }] }]) {
      const run = new VolumeRun();
      run.admin.create('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'there', namespace: 'default' }, data: { a: '1' } });
      let refused = '';
      try {
        run.pod('bad', [config(more)]);
        run.run(minute);
        [refused = ''] = run.said('bad');
      } catch (error) {
        refused = String(error);
      }
      t.match(refused, /must be a number between 0 and 0777|cannot unmarshal|json|int32/i, JSON.stringify(more));
      t.not(run.phase('bad'), 'Running');
    }
  }
});

t.test('a disk that stays full: told again and again, nothing starts, and what needs no room runs; with room it starts', async (t) => {
  const full: FaultRule = {
    operation: 'podVolumes.write',
    trigger: { probability: 1, untilMicros: 5 * minute },
    action: { kind: 'error', moment: 'before', error: 'resource-exhausted', message: 'write /x: no space left on device' },
  };
  const run = new VolumeRun({ faults: [full] });
  run.admin.create('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'there', namespace: 'default' }, data: { a: '1' } });
  const waits = (name: string) => {
    const { initContainerStatuses = [], containerStatuses = [] } = (run.admin.get('pods', name).body.status ?? {}) as Readonly<
      Record<string, { state: { waiting?: { reason: string } } }[]>
    >;
    return [...initContainerStatuses, ...containerStatuses].map(({ state }) => state.waiting?.reason);
  };
  const volumeMounts = [{ name: 'v', mountPath: '/v' }];
  run.pod('bad', [config({})]);
  run.pod('begun', [config({})], { initContainers: [{ name: 'init', image: 'app:1', volumeMounts }] });
  run.pod('good', [{ name: 'work', emptyDir: {} }]);
  run.run(2 * minute);
  t.strictSame([...new Set(run.said('bad'))], [setUp('write /x: no space left on device')]);
  t.strictSame([waits('bad'), waits('begun'), run.phase('good')], [['ContainerCreating'], ['PodInitializing', 'PodInitializing'], 'Running']);
  t.strictSame([run.phase('bad'), run.phase('begun')], ['Pending', 'Pending']);
  run.until('it starts', () => run.phase('bad') === 'Running', 6 * minute);
  t.strictSame(run.cluster.violations, []);
});
