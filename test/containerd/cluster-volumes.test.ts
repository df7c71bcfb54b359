// Volumes of a cluster's pods on a real containerd, read and written from within the containers: API data and its updates, owners and
// modes, claims, and sub paths that are exchanged.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Pod } from '../../src/ports/model/pod.js';
import type { Volume, VolumeMount } from '../../src/ports/model/volume.js';
import { idOf, manifest, nodeName, scripted } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type ClusterNode, clusterNode, type TestNode } from './test-node.js';

t.setTimeout(400_000);
const skip = skipWithoutContainerd();
const forever = 'trap "exit 0" TERM; while :; do sleep 0.1; done';

interface Cluster extends ClusterNode {
  pod(name: string): Promise<Pod | null>;
  /** A pod of one container that mounts each volume at `/<its name>`, unless mounts are given. */
  make(name: string, script: string, volumes: readonly Volume[], more?: { readonly spec?: object; readonly mounts?: readonly VolumeMount[] }): Promise<void>;
  running(name: string): Promise<Pod>;
  gone(name: string): Promise<void>;
  event(name: string, reason: string): Promise<string>;
}

async function testCluster(t: Test): Promise<Cluster> {
  const node = await clusterNode(t);
  const { kubelet, containerd, admin } = node;
  await kubelet.start();
  await kubelet.until('the node is there', async () => (await admin.get('nodes', null, nodeName)) !== null);
  const pod = async (name: string) => (await admin.get('pods', 'default', name)) as Pod | null;
  return {
    ...node,
    pod,
    async make(name, script, volumes, { spec = {}, mounts = volumes.map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` })) } = {}) {
      const containers = [scripted(containerd, 'main', script, { volumeMounts: mounts })];
      await admin.create('pods', 'default', manifest(name, { nodeName, automountServiceAccountToken: false, containers, volumes, ...spec }) as Pod);
    },
    async running(name) {
      await kubelet.until(`${name} runs`, async () => (await pod(name))?.status?.containerStatuses?.[0]?.state?.running != null);
      return (await pod(name)) as Pod;
    },
    async gone(name) {
      const uid = (await pod(name))?.metadata.uid ?? '';
      await admin.remove('pods', 'default', name);
      await kubelet.until(`${name} is gone`, async () => (await pod(name)) === null && !existsSync(join(kubelet.root, 'pods', uid)));
      t.notMatch(readFileSync('/proc/self/mounts', 'utf8'), new RegExp(uid), `no mount of ${name} is left`);
    },
    async event(name, reason) {
      let found: string | undefined;
      await kubelet.until(`${name} says ${reason}`, () => {
        const event = kubelet.logLines().find((line) => line.msg === 'Event occurred' && line.object === `default/${name}` && line.reason === reason);
        if (event !== undefined) found = String(event.message);
        return found !== undefined;
      });
      return found ?? '';
    },
  };
}

const inside = ({ runtime }: TestNode, pod: Pod, path: string): string => `/proc/${runtime.processes().get(idOf(pod))}/root${path}`;
const meta = (name: string) => ({ metadata: { name, namespace: 'default' } });

async function owners(t: Test, cluster: Cluster): Promise<void> {
  const { admin, make, running, gone } = cluster;
  await admin.create('secrets', 'default', { apiVersion: 'v1', kind: 'Secret', ...meta('s'), stringData: { key: 'hidden' } } as never);
  await admin.create('configmaps', 'default', { apiVersion: 'v1', kind: 'ConfigMap', ...meta('m'), data: { a: '1', b: '2' } } as never);
  const volumes: Volume[] = [
    { name: 'secret', secret: { secretName: 's', defaultMode: 0o400 } },
    { name: 'config', configMap: { name: 'm', defaultMode: 0o644, items: [{ key: 'a', path: 'deep/a', mode: 0o600 }] } },
    { name: 'all', projected: { defaultMode: 0o440, sources: [{ secret: { name: 's' } }, { configMap: { name: 'm' } }] } },
    { name: 'work', emptyDir: {} },
  ];
  const script = `cat /secret/key /all/key /all/b > /work/read 2>/work/err; id -u >> /work/read; echo x > /all/new || echo refused >> /work/read; ${forever}`;
  const rows = [
    ['root', {}, ['400 0', '600 0', '440 0', '777 0'], 'hiddenhidden20\nrefused\n'],
    ['group', { runAsUser: 1000, fsGroup: 2000 }, ['440 2000', '640 2000', '440 2000', '2777 2000'], 'hiddenhidden21000\nrefused\n'],
    ['other', { runAsUser: 1000 }, ['400 0', '600 0', '440 0', '777 0'], 'hidden21000\nrefused\n'],
  ] as const;
  for (const [name, securityContext, wanted, read] of rows) {
    await make(name, script, volumes, { spec: { securityContext } });
    const pod = await running(name);
    const seen = ['/secret/key', '/config/deep/a', '/all/b', '/work'].map((path) => statSync(inside(cluster, pod, path)));
    t.strictSame(
      seen.map(({ mode, gid }) => `${(mode & 0o7777).toString(8)} ${gid}`),
      wanted,
      `modes and groups: ${name}`,
    );
    await cluster.kubelet.until('it has tried', () => readFileSync(inside(cluster, pod, '/work/read'), 'utf8').includes('refused'));
    t.equal(readFileSync(inside(cluster, pod, '/work/read'), 'utf8'), read, `what it may read: ${name}`);
    await gone(name);
  }
}

/** A reader in a loop compares two files of one payload, and never sees one of before and one of after. */
async function updates(t: Test, cluster: Cluster): Promise<void> {
  const { admin, kubelet, make, running, gone } = cluster;
  const times = 200;
  const data = (i: number) => ({ first: `${i}`, second: `${i}` });
  await admin.create('configmaps', 'default', { apiVersion: 'v1', kind: 'ConfigMap', ...meta('turning'), data: data(0) } as never);
  // The data link is read once a turn, so that both files are of one generation as a careful reader opens them.
  // Builtins of the shell read: a turn costs one process, and a busy machine still makes many.
  const reads = '{ a=; b=; read a < /turning/$d/first; read b < /turning/$d/second; [ -n "$a" ] && [ -n "$b" ]; } 2>/dev/null';
  const tells = '[ "$a" = "$b" ] || echo "$a $b" >> /out/torn; echo "$a" > /out/last; n=$((n+1)); echo $n > /out/turns';
  // A reader between the link and the file finds nothing while the generation is removed, as with every kubelet: never twice.
  const looks = '{ l=; read l < /turning/first; [ -n "$l" ]; } 2>/dev/null';
  const turn = `d=$(readlink /turning/..data); ${reads} && { ${tells}; }; ${looks} || ${looks} || echo missing >> /out/torn`;
  const script = `trap "exit 0" TERM; n=0; while :; do ${turn}; done`;
  await make('reader', script, [
    { name: 'turning', configMap: { name: 'turning' } },
    { name: 'out', emptyDir: {} },
  ]);
  const pod = await running('reader');
  const out = (name: string) => inside(cluster, pod, `/out/${name}`);
  const last = () => (existsSync(out('last')) ? readFileSync(out('last'), 'utf8').trim() : '');
  await kubelet.until('it reads', () => last() === '0');
  for (let i = 1; i <= times; i++) {
    await admin.patch('configmaps', 'default', 'turning', { data: data(i) });
    // Not each is waited for: some come while one is being written.
    if (i % 5 === 0) await kubelet.until(`update ${i} is seen`, () => Number(last()) >= i);
  }
  await kubelet.until('the last one is seen', () => last() === String(times));
  t.notOk(existsSync(out('torn')), existsSync(out('torn')) ? readFileSync(out('torn'), 'utf8') : '');
  // Each update that was waited for needs a turn of its own. The file is empty for a moment while a turn writes it.
  await kubelet.until('it read all the while', () => Number(readFileSync(out('turns'), 'utf8')) >= times / 5);
  await gone('reader');
}

async function claims(t: Test, cluster: Cluster): Promise<void> {
  const { admin, containerd, make, running, gone, event } = cluster;
  const disk = join(containerd.directory, 'disk');
  mkdirSync(join(disk, 'sub'), { recursive: true });
  writeFileSync(join(disk, 'old'), 'before', { mode: 0o600 });
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    ...meta('c'),
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeName: 'pv' },
  };
  await make('claims', `echo from-user-$(id -u) > /d/new; cat /d/old > /d/copy; ${forever}`, [{ name: 'd', persistentVolumeClaim: { claimName: 'c' } }], {
    spec: { securityContext: { runAsUser: 1000, fsGroup: 3000 } },
  });
  t.match(await event('claims', 'FailedMount'), /error processing PVC default\/c: failed to fetch PVC from API server: .*not found$/);
  const { metadata } = await admin.create('persistentvolumeclaims', 'default', claim as never);
  const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'Exists' }] }] } };
  const spec = {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    local: { path: disk },
    nodeAffinity,
    claimRef: { namespace: 'default', name: 'c', uid: metadata.uid },
  };
  await admin.create('persistentvolumes', null, { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'pv' }, spec } as never);
  await admin.patch('persistentvolumeclaims', 'default', 'c', { status: { phase: 'Bound' } }, 'status');
  const pod = await running('claims');
  await cluster.kubelet.until('it has written', () => existsSync(join(disk, 'copy')));
  t.equal(readFileSync(join(disk, 'new'), 'utf8'), 'from-user-1000\n');
  await cluster.kubelet.until('it has read what was another’s', () => readFileSync(join(disk, 'copy'), 'utf8') === 'before');
  const { mode, gid } = statSync(inside(cluster, pod, '/d'));
  t.strictSame([(mode & 0o7070).toString(8), gid, statSync(join(disk, 'old')).gid], ['2070', 3000, 3000]);
  await gone('claims');
  t.equal(readFileSync(join(disk, 'new'), 'utf8'), 'from-user-1000\n', 'the data stays');
}

/** KB065: a container that starts again gets the file of now; a key that went is refused. */
async function restarted(t: Test, cluster: Cluster): Promise<void> {
  const { admin, kubelet, make, running, gone, event, pod } = cluster;
  await admin.create('configmaps', 'default', { apiVersion: 'v1', kind: 'ConfigMap', ...meta('part'), data: { a: 'one', b: 'x' } } as never);
  const mounts = [
    { name: 'part', mountPath: '/a', subPath: 'a' },
    { name: 'part', mountPath: '/part' },
  ];
  await make('parts', `cat /a; ${forever}`, [{ name: 'part', configMap: { name: 'part' } }], { mounts });
  const first = await running('parts');
  t.equal(readFileSync(inside(cluster, first, '/a'), 'utf8'), 'one');
  const change = async (data: object, shows: string, path: string) => {
    await admin.patch('configmaps', 'default', 'part', { data });
    await kubelet.until('the volume follows', async () => {
      const file = inside(cluster, (await pod('parts')) as Pod, path);
      return (existsSync(file) ? readFileSync(file, 'utf8') : 'none') === shows;
    });
  };
  await change({ a: 'two' }, 'two', '/part/a');
  t.equal(readFileSync(inside(cluster, first, '/a'), 'utf8'), 'one', 'the mounted file stays as long as its container');
  const kill = async () => process.kill(cluster.runtime.processes().get(idOf((await pod('parts')) as Pod)) as number, 'SIGKILL');
  await kill();
  await kubelet.until('it has started again', async () => (await pod('parts'))?.status?.containerStatuses?.[0]?.restartCount === 1);
  const second = await running('parts');
  t.equal(readFileSync(inside(cluster, second, '/a'), 'utf8'), 'two');
  await change({ a: null, c: 'y' }, 'none', '/part/a');
  await kill();
  // Its status also reports the back-off between the tries; the event is certain.
  t.match(await event('parts', 'Failed'), /failed to (prepare subPath|create subPath directory) for volumeMount "part" of container "main"/);
  await gone('parts');
}

/** Of a pod whose containers come one after the other while one exchanges what they are given. @param prey what links lead to */
async function races(t: Test, cluster: Cluster, prey: string): Promise<void> {
  const { containerd, kubelet, pod, gone } = cluster;
  // One container exchanges a directory and a file for links to the host as fast as it can; others are started with what is there, or is to be made there,
  // as their sub path meanwhile.
  const turns = ['mv -T /work/a /work/t; mv -T /work/b /work/a; mv -T /work/t /work/b', 'mv -T /work/f /work/s; mv -T /work/g /work/f; mv -T /work/s /work/g'].join('; ');
  const plant = `mkdir -p /work/a/deep; ln -s ${prey} /work/b; touch /work/f; ln -s ${prey}/f /work/g; touch /work/ready`;
  const exchange = `${plant}; trap "exit 0" TERM; while :; do ${turns}; done`;
  const steal = 'for p in /part /part/f; do if [ -f $p ] && grep -q own $p; then cat $p >> /work/stolen; echo owned > $p; fi; done; touch /part/touched 2>/dev/null || true';
  const whole = { name: 'work', mountPath: '/work' };
  const wait = scripted(containerd, 'wait', 'while [ ! -e /work/ready ]; do sleep 0.1; done', { volumeMounts: [whole] });
  const aims = (i: number): string => ['a', 'a/deep', 'f', `a/made${i}`][i % 4] ?? 'a';
  const victims = Array.from({ length: 20 }, (_, i) =>
    scripted(containerd, `victim${i}`, steal, { volumeMounts: [whole, { name: 'work', mountPath: '/part', subPath: aims(i) }] }),
  );
  const attacker = scripted(containerd, 'attacker', exchange, { restartPolicy: 'Always', volumeMounts: [whole] });
  const spec = {
    nodeName,
    automountServiceAccountToken: false,
    restartPolicy: 'Never',
    volumes: [{ name: 'work', emptyDir: {} }],
    initContainers: [attacker, wait],
    containers: victims,
  };
  await cluster.admin.create('pods', 'default', manifest('racing', spec) as Pod);
  const states = async () => (await pod('racing'))?.status?.containerStatuses?.map(({ state }) => (state?.terminated == null ? (state?.waiting?.reason ?? 'runs') : 'ran')) ?? [];
  await kubelet.until('each victim has run, or was refused', async () => {
    const all = await states();
    return all.length === victims.length && all.every((state) => ['ran', 'CreateContainerConfigError', 'CreateContainerError'].includes(state));
  });
  t.comment(`of ${victims.length}: ${[...new Set(await states())].join(', ')}`);
  const work = join(kubelet.root, 'pods', (await pod('racing'))?.metadata.uid ?? '', 'volumes/kubernetes.io~empty-dir/work');
  t.notOk(existsSync(join(work, 'stolen')), 'nothing of the host was seen');
  await gone('racing');
}

async function attacks(t: Test, cluster: Cluster): Promise<void> {
  const { containerd, kubelet, pod, gone } = cluster;
  const prey = join(containerd.directory, 'prey');
  mkdirSync(join(prey, 'deep'), { recursive: true });
  for (const name of ['f', 'deep/f']) writeFileSync(join(prey, name), 'the host’s own');
  const before = statSync('/etc/passwd').mtimeMs;
  await races(t, cluster, prey);
  const links = [
    ['absolute', 'ln -sfn /etc /work/x'],
    ['upwards', 'ln -sfn ../../../../../../../etc /work/x'],
  ] as const;
  for (const [name, plant] of links) {
    const containers = [scripted(containerd, 'main', forever, { volumeMounts: [{ name: 'work', mountPath: '/part', subPath: 'x' }] })];
    const initContainers = [scripted(containerd, 'plant', plant, { volumeMounts: [{ name: 'work', mountPath: '/work' }] })];
    await cluster.admin.create(
      'pods',
      'default',
      manifest(name, { nodeName, automountServiceAccountToken: false, volumes: [{ name: 'work', emptyDir: {} }], containers, initContainers }) as Pod,
    );
    await kubelet.until('it is refused', async () => (await pod(name))?.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerConfigError');
    t.match(
      (await pod(name))?.status?.containerStatuses?.[0]?.state?.waiting?.message,
      /^failed to (prepare subPath|create subPath directory) for volumeMount "work" of container "main"$/,
    );
    await gone(name);
  }
  // The API sees variables only; what they hold is the node's to refuse.
  const upwards = [
    ['dots', '../../../../../../etc', "unable to provision SubPath `../../../../../../etc`: must not contain '..'"],
    ['inner-dots', 'x/../../etc', "unable to provision SubPath `x/../../etc`: must not contain '..'"],
    ['from-root', '/etc', 'error SubPath `/etc` must not be an absolute path'],
    ['nothing', '', /missing value for WHERE/],
  ] as const;
  for (const [name, value, message] of upwards) {
    const volumeMounts = [{ name: 'work', mountPath: '/part', subPathExpr: '$(WHERE)' }];
    const containers = [scripted(containerd, 'main', forever, { env: [{ name: 'WHERE', value }], volumeMounts })];
    await cluster.admin.create('pods', 'default', manifest(name, { nodeName, automountServiceAccountToken: false, volumes: [{ name: 'work', emptyDir: {} }], containers }) as Pod);
    await kubelet.until('it is refused', async () => (await pod(name))?.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerConfigError');
    t.match((await pod(name))?.status?.containerStatuses?.[0]?.state?.waiting?.message, message);
    await gone(name);
  }
  t.strictSame(readdirSync(prey, { recursive: true }).sort(), ['deep', 'deep/f', 'f'], 'nothing was made where a link leads');
  for (const name of ['f', 'deep/f']) t.equal(readFileSync(join(prey, name), 'utf8'), 'the host’s own');
  t.equal(statSync('/etc/passwd').mtimeMs, before);
}

const scenarios: readonly (readonly [what: string, scenario: (t: Test, cluster: Cluster) => Promise<void>])[] = [
  ['secrets, config maps and projected volumes: modes and owners, for root, a group and others', owners],
  ['200 updates, and no reader sees half of one', updates],
  ['a claim of a local volume: waited for, written by a group, left behind', claims],
  ['KB065 a sub path of a config map when its container starts again', restarted],
  ['KB065 sub paths that lead out, or are exchanged meanwhile, reach nothing', attacks],
];

t.test('volumes of a cluster', { skip, timeout: 400_000 }, async (t) => {
  const cluster = await testCluster(t);
  for (const [what, scenario] of scenarios) await t.test(what, { timeout: 200_000 }, (t) => scenario(t, cluster));
});
