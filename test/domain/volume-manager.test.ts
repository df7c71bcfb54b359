// The volume manager alone: its commands, their order, retries, and the effect of each end of an operation.
import t from 'tap';
import type { ObjectAnswer } from '../../src/domain/api-data/object-manager.js';
import type { TokenAnswer } from '../../src/domain/api-data/token-cache.js';
import { csiDriversChanged } from '../../src/domain/volume-manager/csi-volumes.js';
import { refreshVolumes, wantVolumes } from '../../src/domain/volume-manager/desired-volumes.js';
import { adoptVolume, beginSurvey, nodeSeen } from '../../src/domain/volume-manager/found-volumes.js';
import { forgetRelease } from '../../src/domain/volume-manager/release-volumes.js';
import { noLabel } from '../../src/domain/volume-manager/volume-labels.js';
import { volumeDataArrived } from '../../src/domain/volume-manager/volume-operations.js';
import { mountedVolumesOf, releaseState, volumesInUse, volumesState } from '../../src/domain/volume-manager/volume-waiting.js';
import type { Node } from '../../src/ports/model/node.js';
import type { Volume } from '../../src/ports/model/volume.js';
import { failure, ok } from './machine-run.js';
import { type Doing, Manager, podOf, second } from './volume-manager-run.js';

const work: Volume = { name: 'work', emptyDir: {} };
const share: Volume = { name: 'share', nfs: { server: 's', path: '/p' } };
const info: Volume = { name: 'info', downwardAPI: { defaultMode: 0o644, items: [{ path: 'n', fieldRef: { fieldPath: 'metadata.name' } }] } };

t.test('a pod’s volumes side by side, each once; containers see them when they are mounted', async (t) => {
  const manager = new Manager();
  manager.silent.add('volumeMounts.mount');
  manager.want('a', work, share);
  t.strictSame(manager.run.asked, ['podVolumes.setUp', 'volumeMounts.mount']);
  t.strictSame(volumesState(manager.state, 'a', 0), { kind: 'waiting' });
  t.strictSame(Object.keys(mountedVolumesOf(manager.state, 'a', '/r')), ['work']);
  manager.run.reply(ok('mounted'));
  t.strictSame(volumesState(manager.state, 'a', 0), { kind: 'mounted' });
  t.match(mountedVolumesOf(manager.state, 'a', '/r'), { share: { hostPath: '/r/pods/a/volumes/kubernetes.io~nfs/share', readOnly: false } });
  manager.want('a', work, share);
  t.equal(manager.run.asked.length, 2, 'nothing is mounted twice');
  t.strictSame(volumesState(manager.state, 'nobody', 0), { kind: 'waiting' });
});

t.test('what fails is told, and tried after 0.5 s, 1 s, ... up to 122 s; then no more is heard of it', async (t) => {
  const manager = new Manager();
  manager.failing.set('volumeMounts.mount', 'no route to host');
  manager.want('a', share);
  t.strictSame(manager.told, ['a Warning FailedMount MountVolume.SetUp failed for volume "share" : no route to host']);
  t.equal(manager.run.log[0], 'error MountVolume.SetUp failed for volume "share"');
  t.match(
    manager.run.logFields[0]?.err,
    /^Operation for "kubernetes\.io\/nfs\/a-share" failed\. No retries permitted until \S+Z \(durationBeforeRetry 500ms\)\. Error: no route to host$/,
  );
  manager.run.pass(600 * second);
  t.strictSame(manager.times('volumeMounts.mount'), [0.5, 1, 2, 4, 8, 16, 32, 64, 122, 122, 122]);
  t.strictSame(volumesState(manager.state, 'a', 122 * second), { kind: 'waiting' });
  const message = 'unmounted volumes=[share], unattached volumes=[], failed to process volumes=[]: context deadline exceeded';
  t.strictSame(volumesState(manager.state, 'a', 123 * second), { kind: 'failed', message, hasEvents: false });
  manager.failing.clear();
  manager.run.pass(122 * second);
  t.strictSame(volumesState(manager.state, 'a', 0), { kind: 'mounted' });
  t.equal(manager.state.backoffs.size, 0);
});

t.test('a mount that may have happened is taken down, at once, whatever failed before', async (t) => {
  const manager = new Manager();
  manager.failing.set('volumeMounts.mount', 'deadline exceeded');
  manager.want('a', share);
  t.equal(manager.state.actual.get('kubernetes.io/nfs/a-share')?.pods.get('a')?.state, 'uncertain');
  t.strictSame(Object.keys(mountedVolumesOf(manager.state, 'a', '/r')), [], 'containers don’t get it');
  manager.release('a');
  t.strictSame(manager.run.asked.slice(1), ['podVolumes.list', 'volumeMounts.unmount']);
  t.strictSame(releaseState(manager.state, 'a', 0), { kind: 'mounted' }, 'nothing is left');
  t.equal(manager.state.actual.size + manager.state.held.size, 0);
});

const token: Volume = { name: 'token', projected: { defaultMode: 0o644, sources: [{ serviceAccountToken: { path: 'token' } }] } };
const settings: Volume = { name: 'settings', configMap: { name: 'settings', defaultMode: 0o644 } };
const driven: Volume = { name: 'driven', csi: { driver: 'd' } };
const record = { name: 'd', endpoint: '/d.sock', socket: '/d-reg.sock', version: '1.0.0' };
const lost = { kind: 'failed', message: 'gone' } as const;
const others = { trustBundles: () => lost, pluginToken: () => lost, serviceAccount: () => lost, podCertificate: () => lost, takeChanged: () => false };

/** What a volume may wait for without a time at which it would look again; and how that comes. */
const awaited: readonly (readonly [what: string, volume: Volume, comes: (manager: Manager) => Doing])[] = [
  [
    'a token',
    token,
    (manager) => {
      const data = { token: (): TokenAnswer => ({ kind: 'pending' }), object: () => lost, ...others };
      manager.apiData = data;
      return (state, context) => {
        data.token = () => ({ kind: 'found', token: 't', expirationTimestamp: '2027-01-01T00:00:00Z' });
        volumeDataArrived(state, 'a', context);
      };
    },
  ],
  [
    'an object that is asked for',
    settings,
    (manager) => {
      const data = { object: (): ObjectAnswer => ({ kind: 'pending', until: null }), token: () => lost, ...others };
      manager.apiData = data;
      return (state, context) => {
        data.object = () => ({ kind: 'failed', message: 'no such thing' });
        volumeDataArrived(state, 'a', context);
      };
    },
  ],
  [
    'what the API says of the driver',
    driven,
    (manager) => {
      let synced = false;
      manager.csi = { driver: () => record, updateAllocatable: () => false, driverObject: () => ({ synced, object: null }) };
      return (state, context) => {
        synced = true;
        csiDriversChanged(state, context);
      };
    },
  ],
];
for (const [what, volume, comes] of awaited) {
  t.test(`a mount that waits for ${what} comes to its end, though its pod has ended meanwhile`, async (t) => {
    const manager = new Manager();
    const come = comes(manager);
    manager.want('a', volume);
    t.equal(manager.state.operations.size, 1, manager.told.join());
    manager.release('a');
    t.strictSame(releaseState(manager.state, 'a', 0), { kind: 'waiting' });
    manager.do(come);
    t.equal(manager.state.operations.size, 0);
    t.strictSame(releaseState(manager.state, 'a', 0), { kind: 'mounted' }, 'nothing is left');
  });
}

t.test('what is being mounted when its pod ends is taken down when it has come', async (t) => {
  const manager = new Manager();
  manager.silent.add('volumeMounts.mount');
  manager.want('a', share).release('a');
  t.strictSame(manager.run.asked, ['volumeMounts.mount', 'podVolumes.list']);
  t.strictSame(releaseState(manager.state, 'a', 0), { kind: 'waiting' });
  t.strictSame(releaseState(manager.state, 'a', 123 * second), { kind: 'failed', message: 'mounted volumes=[share]: context deadline exceeded', hasEvents: false });
  manager.run.reply(ok('mounted'));
  t.equal(manager.run.asked.at(-1), 'volumeMounts.unmount');
  t.strictSame(releaseState(manager.state, 'a', 0), { kind: 'mounted' });
});

t.test('taking down never gives up, says nothing to users, and fails each for itself', async (t) => {
  const manager = new Manager();
  manager.want('a', share, work);
  manager.failing.set('volumeMounts.unmount', 'busy');
  manager.release('a');
  manager.run.pass(10 * second);
  t.strictSame(manager.told, []);
  t.strictSame(manager.times('volumeMounts.unmount'), [0.5, 1, 2, 4]);
  t.strictSame(releaseState(manager.state, 'a', 0), { kind: 'waiting' });
  t.strictSame([...(manager.state.held.get('a') ?? [])], ['kubernetes.io/nfs/a-share'], 'the other one is gone');
  manager.failing.clear();
  manager.run.pass(10 * second);
  t.strictSame(releaseState(manager.state, 'a', 0), { kind: 'mounted' });
  manager.do((state, context) => forgetRelease(state, 'a', context));
  t.equal(manager.state.releases.size, 0);
});

t.test('volumes that can’t be had, each in the words of the reference', async (t) => {
  const disabled = 'git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`';
  const git = new Manager().want('a', { name: 'code', gitRepo: { repository: 'https://example.com/r' } });
  t.strictSame(git.told, [`a Warning FailedMount MountVolume.SetUp failed for volume "code" : ${disabled}`]);
  t.strictSame(volumesState(git.state, 'a', 0), { kind: 'waiting' });
  git.release('a');
  t.strictSame(releaseState(git.state, 'a', 0), { kind: 'mounted' });
  const rows: readonly (readonly [Volume, string])[] = [
    [{ name: 'v', emptyDir: {}, hostPath: { path: '/' } }, 'err=multiple volume plugins matched: kubernetes.io/empty-dir,kubernetes.io/host-path'],
    [{ name: 'v', rbd: {} }, 'err=no volume plugin matched (rbd)'],
  ];
  for (const [volume, cause] of rows) {
    const manager = new Manager().want('a', volume);
    const message = `unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: failed to get Plugin from volumeSpec for volume "v" ${cause}`;
    t.strictSame(volumesState(manager.state, 'a', 0), { kind: 'failed', message, hasEvents: true });
  }
});

t.test('of many errors of one pod eleven are told, in order', async (t) => {
  const manager = new Manager();
  const names = Array.from({ length: 20 }, (_, i) => `v${String(i).padStart(2, '0')}`);
  manager.want('a', ...names.toReversed().map((name): Volume => ({ name, rbd: {} })));
  const state = volumesState(manager.state, 'a', 0);
  const told = state.kind === 'failed' ? [...state.message.matchAll(/for volume "(v\d\d)"/g)].map(([, name]) => name) : [];
  t.strictSame(told, names.slice(9));
});

t.test('a mount above the container’s root is refused before anything is made', async (t) => {
  const manager = new Manager();
  const pod = podOf('a', [info]);
  const container = { name: 'c', image: 'i', volumeMounts: [{ name: 'info', mountPath: '../etc' }] };
  manager.do((state, context) => wantVolumes(state, 'a', { ...pod, spec: { ...pod.spec, containers: [container] } }, context));
  t.strictSame([manager.run.asked, manager.told], [[], ['a Warning FailedMount MountVolume.SetUp failed for volume "info" : invalid container mount point ../etc']]);
});

t.test('a pod that comes back while it is taken down has its volumes again', async (t) => {
  const manager = new Manager();
  manager.want('a', share, work);
  manager.failing.set('podVolumes.tearDown', 'busy');
  manager.silent.add('volumeMounts.unmount');
  manager.release('a').want('a', share, work);
  t.strictSame(volumesState(manager.state, 'a', 0), { kind: 'waiting' }, 'the one is on its way out, the other may be half gone');
  manager.run.reply(ok(null));
  t.strictSame(volumesState(manager.state, 'a', 0), { kind: 'mounted' });
  manager.run.pass(600 * second);
  t.equal(manager.run.asked.filter((op) => op === 'volumeMounts.unmount').length, 1);
  t.strictSame(
    manager.run.asked.filter((op) => op === 'podVolumes.tearDown' || op === 'podVolumes.setUp'),
    ['podVolumes.setUp', 'podVolumes.tearDown', 'podVolumes.setUp'],
  );
});

t.test('only a pod that was released loses its volumes, and only its own', async (t) => {
  const manager = new Manager();
  manager.want('a', work).want('b', work).release('a');
  t.strictSame([...manager.state.actual.keys()], ['kubernetes.io/empty-dir/b-work']);
  manager.do((state) => adoptVolume(state, { uid: 'c', plugin: 'kubernetes.io/nfs', name: 'old', data: null, isDevice: false }));
  manager.run.pass(1000 * second);
  t.ok(manager.state.actual.has('kubernetes.io/nfs/c-old'), 'what was found of a pod that may come is left');
  t.strictSame(
    manager.run.asked.filter((op) => op === 'volumeMounts.unmount'),
    [],
  );
});

t.test('what is found on disk when a pod has ended is taken down, and what no kind knows is told', async (t) => {
  const manager = new Manager();
  manager.left.push(
    { plugin: 'kubernetes.io~nfs', volume: 'old', data: null },
    { plugin: 'kubernetes.io~secret', volume: 's', data: null },
    { plugin: 'vendor~x', volume: 'v', data: null },
  );
  manager.release('a');
  t.strictSame(manager.run.asked.toSorted(), ['podVolumes.list', 'podVolumes.tearDown', 'volumeMounts.unmount']);
  t.strictSame(releaseState(manager.state, 'a', 0), { kind: 'failed', message: 'mounted volumes are left: no plugin of this kubelet takes down vendor~x/v', hasEvents: false });
  manager.failing.set('podVolumes.list', 'input/output error');
  manager.release('b');
  t.match(releaseState(manager.state, 'b', 0), { kind: 'failed', message: 'mounted volumes are left: input/output error' });
});

t.test('data that is to be shown anew: at once, once more when it changes meanwhile, and told when all is done', async (t) => {
  const manager = new Manager();
  manager.silent.add('podVolumes.setUp');
  manager.want('a', info);
  manager.do((state, context) => refreshVolumes(state, 'a', context));
  t.strictSame(manager.worked, []);
  const content = { entries: [], generationPaths: null, readings: [['n', { kind: 'absent' }]] };
  manager.run.answer = ({ op }) => ok(op === 'podVolumes.read' ? content : null);
  manager.run.reply(ok(null));
  const once = ['podVolumes.setUp', 'podVolumes.read', 'podVolumes.write'];
  t.strictSame(manager.run.asked, [...once, ...once]);
  t.strictSame(manager.worked, ['a true', 'a false']);
  t.strictSame(volumesState(manager.state, 'a', 0), { kind: 'mounted' });
});

t.test('a volume that has to be attached: not before the Node says that it is in use, and then that it is there', async (t) => {
  const manager = new Manager();
  const name = 'kubernetes.io/nfs/a-share';
  manager.want('a').do((state) => {
    const spec = { kind: 'inline', volume: share } as const;
    state.pods.get('a')?.names.set('share', name);
    state.desired.set(name, { name, plugin: 'kubernetes.io/nfs', attachable: true, label: noLabel, pods: new Map([['a', { uid: 'a', spec, claim: null }]]) });
    state.dirty.add(name);
    Object.assign(state.pods.get('a') ?? {}, { pod: podOf('a', [share]) });
  });
  const seen = (status: Node['status']) => {
    manager.node = { metadata: { name: 'n' }, status } as Node;
    manager.do((state, context) => nodeSeen(state, context));
  };
  t.equal(volumesInUse(manager.state), null, 'before it is known what is there nothing is said');
  const survey = (answer: unknown) => {
    manager.run.answer = ({ op }) =>
      op === 'csiFiles.staged' ? ok([]) : op !== 'volumeMounts.survey' ? ok('mounted') : answer === null ? failure('unavailable', 'not now') : ok(answer);
    manager.do((state, context) => beginSurvey(state, context));
  };
  survey(null);
  t.equal(volumesInUse(manager.state), null, 'nor when it can’t be told');
  survey([]);
  t.strictSame(volumesInUse(manager.state), [name]);
  seen({});
  seen({ volumesAttached: [{ name, devicePath: '/dev/x' }] });
  t.notOk(manager.run.asked.includes('volumeMounts.mount'));
  t.match(volumesState(manager.state, 'a', 123 * second), {
    kind: 'failed',
    message: 'unmounted volumes=[share], unattached volumes=[share], failed to process volumes=[]: context deadline exceeded',
  });
  seen({ volumesInUse: [name] });
  t.notOk(manager.run.asked.includes('volumeMounts.mount'));
  seen({ volumesInUse: [name], volumesAttached: [{ name, devicePath: '/dev/x' }] });
  t.ok(manager.run.asked.includes('volumeMounts.mount'));
  t.match(manager.state.actual.get(name), { attached: 'yes', devicePath: '/dev/x', attachable: true });
  t.strictSame(volumesState(manager.state, 'a', 0), { kind: 'mounted' });
});

t.test('a release that is forgotten and asked for again while its list is in flight is looked at again when that ends', async (t) => {
  const manager = new Manager();
  manager.silent.add('podVolumes.list');
  manager.release('a');
  manager.do((state, context) => forgetRelease(state, 'a', context)).release('a');
  manager.do((state, context) => forgetRelease(state, 'a', context));
  manager.changed.length = 0;
  manager.run.reply(ok({ volumes: [], subPaths: [] }));
  t.strictSame(manager.changed, ['a'], 'who waits for it looks again');
  t.strictSame(releaseState(manager.state, 'a', 0), { kind: 'forgotten' });
});
