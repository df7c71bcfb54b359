// Volumes: ownership, sub paths that can't leave their volume, CSI names and calls, and the translation of in-tree sources.
import fc from 'fast-check';
import t from 'tap';
import { type ApiDataFacts, apiDataPayload, objectsOfVolume, podFsUser, tokenRequests } from '../../src/domain/volumes/api-data-volume.js';
import { migrateToCsi } from '../../src/domain/volumes/csi-migration.js';
import { appliesFsGroup, type CsiMountFacts, csiCallFailed, planCsiPublish, planCsiStage } from '../../src/domain/volumes/csi-mount.js';
import { csiUniqueVolumeName } from '../../src/domain/volumes/csi-volume.js';
import { csiDataText, reconstructCsiVolume } from '../../src/domain/volumes/csi-volume-data.js';
import { checkHostPath } from '../../src/domain/volumes/host-path-type.js';
import type { Question } from '../../src/domain/volumes/path-resolution.js';
import { planSubPathCleanup, planSubPathDirectory, planSubPathMount, subPathPresence } from '../../src/domain/volumes/sub-path.js';
import { fsGroupMode, maySkipFsGroupWalk } from '../../src/domain/volumes/volume-ownership.js';
import { uniqueVolumeName, volumePluginFor, volumePlugins, volumeView } from '../../src/domain/volumes/volume-plugins.js';
import type { VolumeSpec } from '../../src/domain/volumes/volume-spec.js';
import type { Container } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { CSIDriver, PersistentVolumeSpec } from '../../src/ports/model/storage.js';
import type { Volume } from '../../src/ports/model/volume.js';
import type { PathEntry } from '../../src/ports/outbound/pod-volumes.js';
import type { PortErrorKind } from '../../src/ports/port-error.js';
import { ModelFileSystem } from '../vectors/model-file-system.js';

const root = '/var/lib/kubelet';
const pod: Pod = { metadata: { name: 'p', namespace: 'ns', uid: 'u1' }, spec: { serviceAccountName: 'sa', containers: [{ name: 'c', image: 'i' }] } };
const place = { rootDirectory: root, podUid: 'u1', localPathType: null };

function persistent(spec: PersistentVolumeSpec, readOnly = false): VolumeSpec {
  return { kind: 'persistent', persistentVolume: { metadata: { name: 'pv' }, spec }, readOnly };
}
function inline(volume: Omit<Volume, 'name'>): VolumeSpec {
  return { kind: 'inline', volume: { name: 'v', ...volume } };
}

t.test('who owns what', async (t) => {
  const modes: readonly (readonly [number, 'file' | 'directory', boolean, number])[] = [
    [0o600, 'file', false, 0o660],
    [0o400, 'file', true, 0o440],
    [0o755, 'directory', false, 0o2775],
    [0o777, 'directory', true, 0o2777],
    [0o1777, 'directory', false, 0o3777],
  ];
  for (const [mode, type, readOnly, want] of modes) t.equal(fsGroupMode(mode, type, readOnly), want);
  const roots: readonly (readonly [string, string | null, number | null, number, boolean])[] = [
    ['all fits', 'OnRootMismatch', 2000, 0o2775, true],
    ['no set-gid', 'OnRootMismatch', 2000, 0o775, false],
    ['another group', 'OnRootMismatch', 1, 0o2775, false],
    ['not for the group to write', 'OnRootMismatch', 2000, 0o2755, false],
    ['unknown root', 'OnRootMismatch', null, 0, false],
    ['policy Always', 'Always', 2000, 0o2775, false],
    ['no policy', null, 2000, 0o2775, false],
  ];
  for (const [sentence, policy, gid, mode, want] of roots) {
    t.equal(maySkipFsGroupWalk(policy, gid === null ? null : { gid, mode, isDirectory: true }, 2000, false), want, sentence);
  }
  const container = (runAsUser?: number): Container => ({ name: 'c', image: 'i', ...(runAsUser === undefined ? {} : { securityContext: { runAsUser } }) });
  const users: readonly (readonly [readonly (number | undefined)[], number | undefined, number | null])[] = [
    [[1000, 1000], undefined, 1000],
    [[1000, 1001], undefined, null],
    [[1000, undefined], undefined, null],
    [[1000, undefined], 1000, 1000],
    [[undefined], 0, 0],
    [[undefined], undefined, null],
  ];
  for (const [containers, runAsUser, want] of users) {
    const securityContext = runAsUser === undefined ? {} : { securityContext: { runAsUser } };
    t.equal(podFsUser({ ...pod, spec: { ...securityContext, initContainers: [container(containers[0])], containers: containers.map(container) } }), want);
  }
});

t.test('data of the API', async (t) => {
  const facts: ApiDataFacts = {
    secrets: new Map([['s', { kind: 'failed', message: 'forbidden' }]]),
    configMaps: new Map(),
    tokens: [],
    nodeAllocatable: {},
    fsGroup: null,
    fsUser: null,
  };
  const optional = { name: 'v', secret: { secretName: 's', defaultMode: 420, optional: true } };
  t.strictSame(apiDataPayload(optional, pod, facts), { ok: false, message: 'forbidden' }, 'only absence is forgiven to an optional object');
  const sources = [{ secret: { name: 'a' } }, { configMap: { name: 'b' } }, { serviceAccountToken: { path: 't' } }, { secret: { name: 'a' } }];
  const volume: Volume = { name: 'v', projected: { defaultMode: 420, sources } };
  t.strictSame(objectsOfVolume(volume), { secrets: ['a'], configMaps: ['b'] });
  t.strictSame(tokenRequests(volume, pod), [{ namespace: 'ns', serviceAccountName: 'sa', audiences: null, expirationSeconds: null, podName: 'p', podUid: 'u1' }]);
  const result = apiDataPayload(volume, pod, { ...facts, tokens: [{ ok: false, message: 'no token' }] });
  t.strictSame(result, { ok: false, message: '[secrets "a" not found, configmaps "b" not found, no token]' }, 'each error once');
  const data = Object.fromEntries([['__proto__', 'MQ==']]);
  const own = apiDataPayload({ name: 'v', secret: { secretName: 's', defaultMode: 420, items: [{ key: 'toString', path: 'x' }] } }, pod, {
    ...facts,
    secrets: new Map([['s', { kind: 'found', object: { metadata: { name: 's' }, data } }]]),
  });
  t.strictSame(own, { ok: false, message: 'references non-existent secret key: toString' }, 'only what the object itself has');
});

const names = ['a', 'b', 'l', 'vol', 'out'];
const layoutArb = fc.array(
  fc.record({
    path: fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 }).map((elements) => elements.join('/')),
    type: fc.constantFrom('dir' as const, 'file' as const, 'symlink' as const),
    target: fc.constantFrom('..', '../out', '/r/out', '/r/vol/a', 'a', 'l', '../..', 'missing', '.'),
  }),
  { maxLength: 12 },
);

/** A tree in which parents are directories: later entries that don't fit are left out. */
function fileSystem(layout: readonly { readonly path: string; readonly type: 'dir' | 'file' | 'symlink'; readonly target: string }[]): ModelFileSystem {
  const taken = new Map<string, string>([
    ['vol', 'dir'],
    ['out', 'dir'],
  ]);
  const kept = layout.filter(({ path, type }) => {
    const parents = path
      .split('/')
      .map((_, i, elements) => elements.slice(0, i).join('/'))
      .slice(1);
    if (taken.has(path) || parents.some((parent) => (taken.get(parent) ?? 'dir') !== 'dir')) return false;
    for (const parent of parents) taken.set(parent, 'dir');
    taken.set(path, type);
    return true;
  });
  return ModelFileSystem.of('/r', [{ path: 'vol', type: 'dir' }, { path: 'out', type: 'dir' }, ...kept]);
}

function ask<T extends { readonly kind: string } | string>(files: ModelFileSystem, decision: (known: ReadonlyMap<string, PathEntry>) => T): Exclude<T, Question> {
  const known = new Map<string, PathEntry>();
  for (;;) {
    const answer = decision(known) as { readonly kind: string; readonly path: string } | string;
    if (typeof answer === 'string' || answer.kind !== 'look') return answer as Exclude<T, Question>;
    if (known.has(answer.path)) throw new Error(`${answer.path} is asked for twice`);
    const entry = files.entries.get(answer.path);
    const kind = entry === undefined ? 'absent' : entry.type === 'dir' ? 'directory' : entry.type === 'file' ? 'file' : 'other';
    known.set(answer.path, entry?.type === 'symlink' ? { kind: 'symlink', target: entry.target } : { kind });
  }
}

t.test('nothing outside the volume is made or bound, whatever links there are', async (t) => {
  const subPath = fc.array(fc.constantFrom(...names, '..', '.'), { maxLength: 4 }).map((elements) => elements.join('/'));
  let bound = 0;
  let made = 0;
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(layoutArb, subPath, (layout, path) => {
        const files = fileSystem(layout);
        const directory = ask(files, (known) => planSubPathDirectory('/r/vol', path, 0o2770, known));
        if (directory.kind === 'planned') {
          for (const step of directory.steps) {
            if (step.operation !== 'make-directory' || !step.path.startsWith('/r/vol/')) return false;
            files.makeDirectory(step.path, step.mode);
            made++;
          }
        }
        const mount = ask(files, (known) => planSubPathMount({ volumePath: '/r/vol', subPath: path, target: '/pod/t' }, known, 'none'));
        if (mount.kind !== 'planned') return directory.kind === 'refused' || directory.steps.length === 0;
        const bind = mount.steps.find(({ operation }) => operation === 'bind');
        if (bind?.operation !== 'bind') return false;
        bound++;
        const entry = files.entries.get(bind.source);
        const isDirect = (at: string): boolean => at === '/' || (files.entries.get(at)?.type !== 'symlink' && isDirect(at.slice(0, at.lastIndexOf('/')) || '/'));
        return (bind.source === '/r/vol' || bind.source.startsWith('/r/vol/')) && entry !== undefined && isDirect(bind.source);
      }),
      { numRuns: 2000 },
    ),
  );
  t.ok(bound > 200 && made > 50, `${bound} bound, ${made} made`);
});

t.test('sub paths', async (t) => {
  const files = ModelFileSystem.of('/r', [
    { path: 'vol/file', type: 'file' },
    { path: 'vol/loop', type: 'symlink', target: 'loop' },
  ]);
  const presence = (path: string): unknown => ask(files, (known) => subPathPresence('/r/vol', path, known) as string);
  t.equal(presence('file'), 'present');
  t.equal(presence('none/x'), 'absent');
  t.equal(presence('file/x'), 'unknown', 'below a file nothing can be made');
  t.equal(presence('loop'), 'unknown');
  const mount = { volumePath: '/r/vol', subPath: 'file', target: '/pod/volume-subpaths/v/c/0' };
  t.strictSame(
    ask(files, (known) => planSubPathMount(mount, known, null)),
    { kind: 'compare', source: '/r/vol/file', target: mount.target },
  );
  t.strictSame(
    ask(files, (known) => planSubPathMount(mount, known, 'same-file')),
    { kind: 'planned', steps: [] },
  );
  const other = ask(files, (known) => planSubPathMount(mount, known, 'other-file'));
  t.strictSame(other.kind === 'planned' && other.steps.map(({ operation }) => operation), ['unmount', 'ensure-directory', 'ensure-file', 'bind']);
  t.strictSame(planSubPathCleanup('/pod', 'v', null), []);
});

t.test('what CSI drivers answer', async (t) => {
  const kinds: readonly (readonly [PortErrorKind, string])[] = [
    ['cancelled', 'uncertain'],
    ['deadline-exceeded', 'uncertain'],
    ['unavailable', 'uncertain'],
    ['resource-exhausted', 'uncertain'],
    ['aborted', 'uncertain'],
    ['internal', 'final'],
    ['unknown', 'final'],
    ['invalid-argument', 'final'],
    ['unimplemented', 'final'],
  ];
  for (const [kind, certainty] of kinds) t.equal(csiCallFailed(kind, 'x').certainty, certainty, kind);
});

t.test('CSI volumes', async (t) => {
  const driver: CSIDriver = {
    metadata: { name: 'd' },
    spec: { attachRequired: false, fsGroupPolicy: 'ReadWriteOnceWithFSType', volumeLifecycleModes: ['Persistent', 'Ephemeral'] },
  };
  const spec = persistent({ accessModes: ['ReadWriteOnce'], csi: { driver: 'd', volumeHandle: 'h', fsType: 'ext4' } });
  const facts: CsiMountFacts = {
    rootDirectory: root,
    nodeName: 'n',
    spec,
    pod,
    driver,
    capabilities: [],
    attachment: { kind: 'absent' },
    secrets: new Map(),
    tokens: [],
    fsGroup: 2000,
    seLinuxLabel: '',
  };
  const fsGroups: readonly (readonly [string, Partial<CsiMountFacts>, boolean])[] = [
    ['as it is', {}, true],
    ['no group', { fsGroup: null }, false],
    ['the driver does it', { capabilities: ['VOLUME_MOUNT_GROUP'] }, false],
    ['read-only', { spec: { ...spec, readOnly: true } }, false],
    ['no driver object', { driver: null }, true],
    ['no file system named', { spec: persistent({ accessModes: ['ReadWriteOnce'], csi: { driver: 'd', volumeHandle: 'h' } }) }, false],
    ['no access modes', { spec: persistent({ csi: { driver: 'd', volumeHandle: 'h', fsType: 'ext4' } }) }, false],
    ['shared', { spec: persistent({ accessModes: ['ReadWriteMany'], csi: { driver: 'd', volumeHandle: 'h', fsType: 'ext4' } }) }, false],
    ['one of its modes is enough', { spec: persistent({ accessModes: ['ReadWriteMany', 'ReadWriteOncePod'], csi: { driver: 'd', volumeHandle: 'h', fsType: 'ext4' } }) }, true],
    ['inline', { spec: inline({ csi: { driver: 'd', fsType: 'ext4' } }) }, true],
    ['policy File', { driver: { ...driver, spec: { fsGroupPolicy: 'File' } }, spec: persistent({ csi: { driver: 'd', volumeHandle: 'h' } }) }, true],
    ['policy None', { driver: { ...driver, spec: { fsGroupPolicy: 'None' } } }, false],
  ];
  for (const [sentence, change, want] of fsGroups) t.equal(appliesFsGroup({ ...facts, ...change }), want, sentence);
  t.equal(planCsiStage(facts), null, 'a driver that stages nothing isn’t asked to');
  const call = planCsiPublish(facts);
  const written = call.kind === 'call' ? csiDataText(call.data) : '';
  const read = reconstructCsiVolume(written, '/d');
  t.strictSame(read.ok && csiUniqueVolumeName(read.volume.spec, 'u1'), csiUniqueVolumeName(spec, 'u1'), 'a restarted kubelet finds the same volume');
  for (const text of ['[]', '{"driverName":1}', '{"a"', '1']) t.equal(reconstructCsiVolume(text, '/d').ok, false, text);
  t.equal(reconstructCsiVolume('null', '/d').ok, true);
  const tokens: CSIDriver = { ...driver, spec: { ...driver.spec, tokenRequests: [{ audience: 'a' }] } };
  const refused = planCsiPublish({ ...facts, driver: tokens, tokens: [{ ok: false, message: 'no' }] });
  t.equal(refused.kind === 'failed' && refused.certainty, 'transient');
  const failed = planCsiPublish({ ...facts, driver: null, attachment: { kind: 'failed', message: 'forbidden' } });
  t.strictSame(failed, { kind: 'failed', certainty: 'transient', message: 'forbidden' });
});

t.test('plugins', async (t) => {
  t.equal(new Set(volumePlugins.map(({ name }) => name)).size, volumePlugins.length);
  const rows: readonly (readonly [VolumeSpec, string | null, string | null])[] = [
    [inline({ emptyDir: {} }), 'kubernetes.io/empty-dir', 'kubernetes.io/empty-dir/u1-v'],
    [inline({ csi: { driver: 'd' } }), 'kubernetes.io/csi', 'kubernetes.io/csi/u1-v'],
    [persistent({ csi: { driver: 'd', volumeHandle: 'h' } }), 'kubernetes.io/csi', 'kubernetes.io/csi/d^h'],
    [persistent({ local: { path: '/x' } }), 'kubernetes.io/local-volume', 'kubernetes.io/local-volume/pv'],
    [inline({ local: { path: '/x' } }), null, null],
    [inline({ persistentVolumeClaim: { claimName: 'c' } }), null, null],
    [persistent({ emptyDir: {} }), null, null],
  ];
  for (const [spec, name, unique] of rows) {
    const plugin = volumePluginFor(spec);
    t.equal(plugin?.name ?? null, name);
    if (plugin !== null) t.strictSame(uniqueVolumeName(plugin, spec, 'u1'), { ok: true, value: unique });
  }
  const spec = inline({ csi: { driver: 'd', readOnly: true } });
  const view = volumeView(volumePluginFor(spec)!, spec, place);
  t.strictSame(view, { ok: true, view: { path: `${root}/pods/u1/volumes/kubernetes.io~csi/v/mount`, readOnly: true, managed: false, seLinuxRelabel: true } });
});

t.test('old disks', async (t) => {
  const gce = (labels: Readonly<Record<string, string>>) =>
    migrateToCsi({ kind: 'persistent', persistentVolume: { metadata: { name: 'pv', labels }, spec: { gcePersistentDisk: { pdName: 'd' } } }, readOnly: false }, 'ns');
  const handle = (result: ReturnType<typeof migrateToCsi>): unknown => (result.kind === 'migrated' ? result.spec.persistentVolume.spec.csi?.volumeHandle : result);
  t.equal(handle(gce({ 'topology.kubernetes.io/zone': 'us-b1-a' })), 'projects/UNSPECIFIED/zones/us-b1-a/disks/d');
  t.equal(handle(gce({ 'topology.kubernetes.io/zone': 'us-b1-a__us-b1-b' })), 'projects/UNSPECIFIED/regions/us-b1/disks/d');
  t.equal(gce({ 'topology.kubernetes.io/zone': 'us-b1-a__us-c1-b' }).kind, 'failed');
  const kept = migrateToCsi(persistent({ cinder: { volumeID: 'x' }, storageClassName: 'fast', volumeMode: 'Block' }), 'ns');
  t.strictSame(kept.kind === 'migrated' && kept.spec.persistentVolume.spec, {
    storageClassName: 'fast',
    volumeMode: 'Block',
    csi: { driver: 'cinder.csi.openstack.org', volumeHandle: 'x' },
  });
  t.equal(migrateToCsi(inline({ nfs: { server: 's', path: '/' } }), 'ns').kind, 'not-migrated');
});

t.test('hostPath', async (t) => {
  t.strictSame(checkHostPath('/a/..b', 'Directory', 'directory'), { kind: 'good' }, 'only a whole element is refused');
  t.strictSame(checkHostPath('/a', 'toString', 'file'), { kind: 'refused', message: 'toString is an invalid volume type' });
});
