// SELinux labels of volumes: which volume is mounted with which, what conflicts, what waits, and what the metrics count. The host's SELinux is given
// to the machine, so that all of it is seen by the requests that are sent.
import t from 'tap';
import { csiDriversChanged } from '../../src/domain/volume-manager/csi-volumes.js';
import { wantVolumes } from '../../src/domain/volume-manager/desired-volumes.js';
import { adoptVolume } from '../../src/domain/volume-manager/found-volumes.js';
import { mountedVolumesOf, volumesState } from '../../src/domain/volume-manager/volume-waiting.js';
import { accessModeName, podFileLabel } from '../../src/domain/volumes/selinux-labels.js';
import type { SELinuxOptions } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { CSIDriver } from '../../src/ports/model/storage.js';
import { ok } from './machine-run.js';
import { Manager } from './volume-manager-run.js';

const host = 'system_u:object_r:container_file_t:s0';
const label = (level: string): string => `system_u:object_r:container_file_t:${level}`;

interface Asked {
  readonly pod?: SELinuxOptions;
  readonly containers?: readonly (SELinuxOptions | null)[];
  readonly policy?: string;
}

function podOf(uid: string, { pod, containers = [null], policy }: Asked): Pod {
  const securityContext = { ...(pod === undefined ? {} : { seLinuxOptions: pod }), ...(policy === undefined ? {} : { seLinuxChangePolicy: policy }) };
  return {
    metadata: { name: uid, namespace: 'ns', uid },
    spec: {
      securityContext,
      containers: containers.map((options, i) => ({
        ...{ name: `c${i}`, image: 'i', volumeMounts: [{ name: 'data', mountPath: '/data' }] },
        ...(options === null ? {} : { securityContext: { seLinuxOptions: options } }),
      })),
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    },
  };
}

t.test('the label of a pod’s files', async (t) => {
  const c1 = { level: 's0:c1,c2' };
  const rows: readonly (readonly [sentence: string, asked: Asked, host: string, expected: object])[] = [
    ['nobody says anything: none', {}, host, { label: '' }],
    ['the pod’s level', { pod: c1 }, host, { label: label('s0:c1,c2') }],
    ['a container’s goes before the pod’s', { pod: { level: 's0:c9' }, containers: [c1] }, host, { label: label('s0:c1,c2') }],
    ['one for all', { containers: [c1, c1] }, host, { label: label('s0:c1,c2') }],
    ['a container that says nothing has no say', { containers: [c1, null] }, host, { label: label('s0:c1,c2') }],
    ['containers that disagree', { containers: [{ level: 's0:c2' }, c1] }, host, { message: `multiple SELinux labels found: ${label('s0:c1,c2')},${label('s0:c2')}` }],
    ['the user is taken, role and type are of processes alone', { pod: { user: 'u', role: 'r', type: 'spc_t', level: 's0' } }, host, { label: 'u:object_r:container_file_t:s0' }],
    ['each file is to be labelled', { pod: c1, policy: 'Recursive' }, host, { label: '' }],
    ['the other policy', { pod: c1, policy: 'MountOption' }, host, { label: label('s0:c1,c2') }],
    ['without a level the runtime draws one', { pod: { type: 'container_t' } }, host, { label: '' }],
    ['a policy without levels', { pod: { type: 'container_t' } }, 'u:object_r:t', { label: 'u:object_r:t' }],
    ['a host that has no label for files', { pod: c1 }, '', { label: '' }],
    ['a level may have colons', { pod: { level: 's0-s0:c0.c1023' } }, host, { label: label('s0-s0:c0.c1023') }],
    [
      'a host whose label is none',
      { pod: c1 },
      'nonsense',
      { kind: 'bad', message: 'failed to construct SELinux label from context "&SELinuxOptions{User:,Role:,Type:,Level:s0:c1,c2,}": invalid Label' },
    ],
  ];
  for (const [sentence, asked, hostLabel, expected] of rows) t.match(podFileLabel(podOf('a', asked), 'data', hostLabel), expected, sentence);
  t.match(podFileLabel(podOf('a', { pod: c1 }), 'other', host), { label: '' }, 'of a volume that nobody mounts');
});

t.test('the access mode as metrics have it', async (t) => {
  const rows: readonly (readonly [readonly string[], string])[] = [
    [['ReadWriteOnce', 'ReadWriteMany', 'ReadOnlyMany'], 'RWX'],
    [['ReadWriteOnce', 'ReadOnlyMany'], 'ROX'],
    [['ReadWriteOncePod', 'ReadWriteOnce'], 'RWO'],
    [['ReadWriteOncePod'], 'RWOP'],
    [[], ''],
  ];
  for (const [accessModes, expected] of rows) {
    t.equal(accessModeName({ kind: 'persistent', persistentVolume: { metadata: { name: 'pv' }, spec: { accessModes } }, readOnly: false }), expected, accessModes.join());
  }
  t.equal(accessModeName({ kind: 'inline', volume: { name: 'v', emptyDir: {} } }), 'inline');
});

const volume = 'kubernetes.io/csi/d^handle';
const record = { name: 'd', endpoint: '/d.sock', socket: '/d-reg.sock', version: '1.0.0' };

interface Cluster {
  readonly accessModes?: readonly string[];
  readonly seLinuxMount?: boolean | null;
  readonly enabled?: boolean;
  readonly allModes?: boolean;
}

class Node extends Manager {
  synced = true;

  constructor({ accessModes = ['ReadWriteOncePod'], seLinuxMount = true, enabled = true, allModes = false }: Cluster = {}) {
    super();
    this.facts = { selinuxEnabled: enabled, seLinuxFileLabel: enabled ? host : '', seLinuxMount: allModes };
    this.capabilities = ['STAGE_UNSTAGE_VOLUME'];
    const spec = { attachRequired: false, fsGroupPolicy: 'None', volumeLifecycleModes: ['Persistent'], ...(seLinuxMount === null ? {} : { seLinuxMount }) };
    const object: CSIDriver = { metadata: { name: 'd' }, spec };
    this.csi = { driver: () => record, updateAllocatable: () => false, driverObject: () => ({ synced: this.synced, object }) };
    const lost = { kind: 'failed', message: 'gone' } as const;
    const none = { trustBundles: () => lost, pluginToken: () => lost, serviceAccount: () => lost, podCertificate: () => lost, takeChanged: () => false };
    this.apiData = { token: () => lost, object: () => lost, ...none };
    this.objects.set('persistentvolumeclaims/data', { metadata: { name: 'data', namespace: 'ns', uid: 'c' }, spec: { volumeName: 'pv' }, status: { phase: 'Bound' } });
    const csi = { driver: 'd', volumeHandle: 'handle' };
    this.objects.set('persistentvolumes/pv', { metadata: { name: 'pv' }, spec: { claimRef: { uid: 'c' }, accessModes, mountOptions: ['noatime'], csi } });
  }

  pod(uid: string, asked: Asked): this {
    return this.do((manager, context) => wantVolumes(manager, uid, podOf(uid, asked), context));
  }

  /** What the driver was asked to mount with, by call. */
  flags(): string[] {
    return this.run.commands.flatMap(({ command: { op, request } }) => {
      if (op !== 'csiNode.stage' && op !== 'csiNode.publish') return [];
      const { volumeCapability } = request as { readonly volumeCapability: { readonly mountFlags: readonly string[] } };
      return [`${op.slice('csiNode.'.length)} ${volumeCapability.mountFlags.join(' ')}`];
    });
  }

  /** What the data files say, in the order of their writing. */
  files(): (string | null)[] {
    return this.run.commands.flatMap(({ command: { op, request } }) => {
      const { data } = request as { readonly data?: string };
      return op === 'csiFiles.prepare' ? [(JSON.parse(data ?? '{}') as { seLinuxMountContext?: string }).seLinuxMountContext ?? null] : [];
    });
  }

  counts(): Record<string, number> {
    return Object.fromEntries([...this.state.labelCounts].map(([key, { count }]) => [key, count]));
  }

  view(uid: string): object | undefined {
    return Object.values(mountedVolumesOf(this.state, uid, '/r'))[0];
  }
}

const c1: Asked = { pod: { level: 's0:c1,c2' } };
const c3: Asked = { pod: { level: 's0:c3' } };
const disagreeing: Asked = { containers: [{ level: 's0:c1' }, { level: 's0:c2' }] };
const option = `noatime context="${label('s0:c1,c2')}"`;

t.test('which volumes are mounted with the label: request, data file and what the runtime is told', async (t) => {
  const rows: readonly (readonly [sentence: string, cluster: Cluster, asked: Asked, isLabelled: boolean])[] = [
    ['a volume for one pod, of a driver that can', {}, c1, true],
    ['a driver that can’t', { seLinuxMount: false }, c1, false],
    ['a driver that doesn’t say', { seLinuxMount: null }, c1, false],
    ['a volume for others, too', { accessModes: ['ReadWriteOnce'] }, c1, false],
    ['one that may be for one pod', { accessModes: ['ReadWriteOncePod', 'ReadWriteOnce'] }, c1, false],
    ['with the gate SELinuxMount every one', { accessModes: ['ReadWriteMany'], allModes: true }, c1, true],
    ['a pod that says nothing', {}, {}, false],
    ['a pod that wants each file labelled', {}, { ...c1, policy: 'Recursive' }, false],
    ['a host without SELinux', { enabled: false }, c1, false],
  ];
  for (const [sentence, cluster, asked, isLabelled] of rows) {
    const node = new Node(cluster);
    const base = node.run.answer;
    node.run.answer = (command, now) => (command.op === 'volumeMounts.hasLabels' ? ok(true) : base(command, now));
    node.pod('a', asked);
    t.strictSame(volumesState(node.state, 'a', 0), { kind: 'mounted' }, sentence);
    const flags = isLabelled ? option : 'noatime';
    t.strictSame(node.flags(), [`stage ${flags}`, `publish ${flags}`], sentence);
    const context = isLabelled ? label('s0:c1,c2') : null;
    t.strictSame(node.files(), [context, context], `${sentence}: on disk`);
    t.equal((node.view('a') as { alreadyLabeledByMountOption?: boolean }).alreadyLabeledByMountOption === true, isLabelled, `${sentence}: what containers see`);
    const looked = node.run.asked.includes('volumeMounts.hasLabels');
    t.equal(looked, cluster.enabled !== false && !isLabelled, `${sentence}: whether its files have labels is looked up where somebody may change them`);
  }
});

t.test('files that have no labels of their own are not labelled', async (t) => {
  for (const hasLabels of [true, false]) {
    const node = new Node({ seLinuxMount: false });
    const base = node.run.answer;
    node.run.answer = (command, now) => (command.op === 'volumeMounts.hasLabels' ? ok(hasLabels) : base(command, now));
    t.match(node.pod('a', c1).view('a'), { selinuxRelabel: hasLabels });
  }
  const node = new Node({ seLinuxMount: false });
  node.failing.set('volumeMounts.hasLabels', 'input/output error');
  node.pod('a', c1);
  t.strictSame(node.told, ['a Warning FailedMount MountVolume.SetUp failed for volume "pv" : error checking for SELinux support: input/output error']);
  t.equal(node.state.actual.get(volume)?.pods.get('a')?.state, 'uncertain', 'it is published, and will be taken down');
});

t.test('containers that disagree: an error where the volume may have a label, a warning elsewhere', async (t) => {
  const one = new Node().pod('a', disagreeing);
  const message = `multiple SELinux labels found: ${label('s0:c1')},${label('s0:c2')}`;
  const whole = `unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: ${message}`;
  t.strictSame(volumesState(one.state, 'a', 0), { kind: 'failed', message: whole, hasEvents: true });
  t.strictSame(one.counts(), { 'pod_context_mismatch_errors RWOP ': 1 });
  t.strictSame(one.flags(), []);
  const many = new Node({ accessModes: ['ReadWriteMany'] }).pod('a', disagreeing);
  t.strictSame([volumesState(many.state, 'a', 0), many.flags()], [{ kind: 'mounted' }, ['stage noatime', 'publish noatime']]);
  t.strictSame(many.counts(), { 'pod_context_mismatch_warnings RWX ': 1 });
  const bad = new Node();
  bad.facts = { selinuxEnabled: true, seLinuxFileLabel: 'nonsense' };
  bad.pod('a', c1);
  t.match(volumesState(bad.state, 'a', 0), { kind: 'failed', hasEvents: true });
  t.strictSame(bad.counts(), { 'container_errors RWOP ': 1 });
});

t.test('two pods that want one volume with different labels', async (t) => {
  const one = new Node().pod('a', c1).pod('b', c3);
  const conflict = `conflicting SELinux labels of volume pv: "${label('s0:c1,c2')}" and "${label('s0:c3')}"`;
  t.strictSame(volumesState(one.state, 'b', 0), {
    ...{ kind: 'failed', hasEvents: true },
    message: `unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: ${conflict}`,
  });
  t.strictSame(volumesState(one.state, 'a', 0), { kind: 'mounted' }, 'the one that has it keeps it');
  t.strictSame(one.counts(), { 'volumes_admitted RWOP kubernetes.io/csi/d': 1, 'volume_context_mismatch_errors RWOP kubernetes.io/csi/d': 1 });
  const many = new Node({ accessModes: ['ReadWriteMany'] }).pod('a', c1).pod('b', c3);
  t.strictSame([volumesState(many.state, 'a', 0), volumesState(many.state, 'b', 0)], [{ kind: 'mounted' }, { kind: 'mounted' }]);
  t.strictSame(many.counts(), { 'volumes_admitted RWX kubernetes.io/csi/d': 1, 'volume_context_mismatch_warnings RWX kubernetes.io/csi/d': 1 });
  const gated = new Node({ accessModes: ['ReadWriteMany'], allModes: true }).pod('a', c1).pod('b', c3).pod('c', c1);
  t.match(volumesState(gated.state, 'b', 0), { kind: 'failed' });
  t.strictSame(volumesState(gated.state, 'c', 0), { kind: 'mounted' });
  const without = new Node({ enabled: false }).pod('a', c1).pod('b', disagreeing);
  t.strictSame(without.counts(), {}, 'a host without SELinux counts nothing');
});

t.test('a volume that is mounted with another label waits until it is unmounted, its staging too', async (t) => {
  const node = new Node({ accessModes: ['ReadWriteOncePod'] }).pod('a', c1);
  node.silent.add('csiNode.unpublish');
  node.release('a').pod('b', c3);
  const waiting = `waiting for unmount of volume "${volume}", because it is already mounted to a different pod with a different SELinux label`;
  t.match(volumesState(node.state, 'b', 0), { kind: 'failed', message: new RegExp(`${waiting.replaceAll(/[[\]().*+?^$]/g, '\\$&')}$`), hasEvents: true });
  t.ok(node.changed.includes('b'), 'whoever waits for its volumes looks again');
  node.flags();
  node.silent.clear();
  node.run.reply(ok(null));
  t.strictSame(volumesState(node.state, 'b', 0), { kind: 'mounted' });
  const calls = node.run.asked.filter((op) => ['csiNode.stage', 'csiNode.publish', 'csiNode.unpublish'].includes(op) || op === 'csiFiles.read');
  t.strictSame(calls, ['csiNode.stage', 'csiNode.publish', 'csiNode.unpublish', 'csiFiles.read', 'csiNode.stage', 'csiNode.publish']);
  t.strictSame(node.flags().slice(2), [`stage noatime context="${label('s0:c3')}"`, `publish noatime context="${label('s0:c3')}"`]);
  t.strictSame([...(node.state.pods.get('b')?.errors ?? [])], [], 'nothing is wrong any more');
});

t.test('what an earlier agent mounted keeps its label for its own pod, and is unmounted for others', async (t) => {
  const data = (context: string): string =>
    JSON.stringify({ specVolID: 'pv', volumeHandle: 'handle', driverName: 'd', nodeName: 'n', volumeLifecycleMode: 'Persistent', seLinuxMountContext: context });
  const found = (node: Node): Node => {
    node.do((state) => void adoptVolume(state, { uid: 'a', plugin: 'kubernetes.io/csi', name: 'pv', data: data(label('s0:c1,c2')), isDevice: false }));
    return node;
  };
  const own = found(new Node()).pod('a', c3);
  t.strictSame(own.flags(), [`stage ${option}`, `publish ${option}`], 'its pod may run: it is set up as it is');
  const others = found(new Node()).pod('b', c3);
  t.match(volumesState(others.state, 'b', 0), { kind: 'failed' });
  others.release('a');
  t.strictSame(others.flags(), [`stage noatime context="${label('s0:c3')}"`, `publish noatime context="${label('s0:c3')}"`]);
  const without = found(new Node({ enabled: false })).pod('a', c1);
  t.strictSame(without.flags(), ['stage noatime', 'publish noatime'], 'SELinux is gone from the host');
});

t.test('nothing is mounted before the API has said what the driver can, and what conflicts then is told', async (t) => {
  const node = new Node();
  node.synced = false;
  node.pod('a', c1).pod('b', c3);
  t.strictSame(node.flags(), []);
  t.strictSame([node.state.operations.size, node.counts()], [0, {}]);
  node.synced = true;
  node.do((state, context) => csiDriversChanged(state, context));
  t.strictSame(node.flags(), [`stage ${option}`, `publish ${option}`]);
  t.match(volumesState(node.state, 'b', 0), { kind: 'failed', message: /conflicting SELinux labels of volume pv/ });
});
