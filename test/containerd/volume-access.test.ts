// Access to a volume on a real containerd: when a tree is given to the pod's group, and when it is left as it is; and read-only mounts and
// claims, whole and in parts, as root and as another user.
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Container } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { Volume } from '../../src/ports/model/volume.js';
import { isRunning, manifest, nodeName, scripted } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { driver, mountsBelow, nodeAffinity, type VolumeStand, volumeStand } from './volume-stand.js';

t.setTimeout(400_000);
const skip = skipWithoutContainerd();
const group = 3000;
const stay = 'trap "exit 0" TERM; while :; do sleep 0.1; done';
const out: Volume = { name: 'out', emptyDir: {} };
const outMount = { name: 'out', mountPath: '/out' };

/** A pod that runs until `work` is done, and is then removed. @returns the content of its volume `out` */
async function lived({ admin, kubelet, pod }: VolumeStand, name: string, spec: object, files: readonly string[]): Promise<Readonly<Record<string, string>>> {
  await admin.create('pods', 'default', manifest(name, { nodeName, automountServiceAccountToken: false, ...spec }) as Pod);
  await kubelet.until(`${name} runs`, async () => isRunning((await pod(name)) as Pod));
  const uid = (await pod(name))?.metadata.uid ?? '';
  const directory = join(kubelet.root, 'pods', uid);
  const outPath = (file: string): string => join(directory, 'volumes/kubernetes.io~empty-dir/out', file);
  await kubelet.until(`${name} has done its work`, () => files.every((file) => existsSync(outPath(`${file}.done`))));
  const texts = Object.fromEntries(files.map((file) => [file, readFileSync(outPath(file), 'utf8')]));
  await admin.remove('pods', 'default', name);
  await kubelet.until(`${name} is gone`, async () => (await pod(name)) === null && !existsSync(directory));
  return texts;
}

async function groupOf(t: Test, stand: VolumeStand, kind: 'local' | 'csi'): Promise<void> {
  const { claim, directory, data, containerd } = stand;
  const claimName = `${kind}-tree`;
  const tree = directory(claimName);
  const [file, prey] = [join(tree, 'deep/inner/file'), join(data, `${kind}-prey`)];
  mkdirSync(join(tree, 'deep/inner'), { recursive: true });
  writeFileSync(file, 'from-outside\n', { mode: 0o600 });
  writeFileSync(prey, 'the host’s own', { mode: 0o600 });
  symlinkSync(prey, join(tree, 'deep/link'));
  await claim(claimName, kind === 'local' ? { local: { path: tree }, nodeAffinity } : { csi: { driver, volumeHandle: claimName } });
  const work = `{ cat /v/deep/inner/file > /out/read && echo from-inside >> /v/deep/inner/file; } 2>/dev/null || echo refused > /out/read; touch /out/read.done; ${stay}`;
  const life = async (name: string, fsGroupChangePolicy: string): Promise<string> => {
    const volumes = [{ name: 'v', persistentVolumeClaim: { claimName } }, out];
    const containers = [scripted(containerd, 'main', work, { volumeMounts: [{ name: 'v', mountPath: '/v' }, outMount] })];
    const securityContext = { runAsUser: 1000, runAsGroup: 1000, fsGroup: group, fsGroupChangePolicy };
    return (await lived(stand, `${kind}-${name}`, { volumes, containers, securityContext }, ['read']))['read'] ?? '';
  };
  const gids = () => ['', 'before', 'deep', 'deep/inner', 'deep/inner/file'].map((path) => statSync(join(tree, path)).gid);
  const all = [group, group, group, group, group];

  t.equal(await life('first', 'OnRootMismatch'), 'from-outside\n', 'a tree of another group is given to the pod’s');
  t.strictSame(gids(), all);
  t.strictSame(
    [statSync(tree).mode & 0o2070, statSync(file).mode & 0o7777, statSync(join(tree, 'deep')).mode & 0o2070],
    [0o2070, 0o660, 0o2070],
    'with modes that let the group work',
  );
  t.match(readFileSync(file, 'utf8'), /from-inside/, 'which writes');
  t.strictSame([statSync(prey).gid, statSync(prey).mode & 0o777], [0, 0o600], 'and links lead nowhere');

  chownSync(file, 0, 0);
  t.equal(await life('matching', 'OnRootMismatch'), 'refused\n', 'a tree whose root is the group’s is left as it is');
  t.equal(statSync(file).gid, 0);
  t.equal(await life('always', 'Always'), 'from-outside\nfrom-inside\n', 'unless it is always looked through');
  t.strictSame(gids(), all);
  chownSync(file, 0, 0);
  chmodSync(tree, 0o775);
  t.match(await life('without-setgid', 'OnRootMismatch'), /^from-outside\n/, 'a root that doesn’t hand its group on is no match');
  t.strictSame(gids(), all);
}

/** Reads and tries to write at each path, and records the results. */
function tries(name: string, places: readonly string[]): string {
  const one = (file: string): string =>
    `r=$(cat ${file} 2>/dev/null) || r=unread; { echo ${name} >> ${file}; } 2>/dev/null && w=written || w=refused; echo "${file} $r $w" >> /out/${name}`;
  return `${places.map(one).join('; ')}; touch /out/${name}.done; ${stay}`;
}

async function readOnly(t: Test, stand: VolumeStand): Promise<void> {
  const { claim, directory, containerd } = stand;
  await claim('ro-local', { local: { path: directory('ro-local') }, nodeAffinity });
  await claim('ro-csi', { csi: { driver, volumeHandle: 'ro-csi' } });
  chmodSync(directory('ro-csi'), 0o777);
  for (const name of ['ro-local', 'ro-csi']) chmodSync(join(stand.data, name, 'before'), 0o666);
  const volumes: Volume[] = [
    { name: 'w', emptyDir: {} },
    out,
    ...['ro-local', 'ro-csi'].map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName, readOnly: true } })),
  ];
  const mounts = (name: string): Container['volumeMounts'] => [
    outMount,
    { name: 'w', mountPath: '/rw' },
    { name: 'w', mountPath: '/ro', readOnly: true },
    { name: 'w', mountPath: '/part', subPath: 'a' },
    { name: 'w', mountPath: '/ro-part', subPath: 'a', readOnly: true },
    { name: 'w', mountPath: '/file', subPath: `a/${name}` },
    { name: 'w', mountPath: '/ro-file', subPath: 'a/f', readOnly: true },
    { name: 'w', mountPath: '/mine', subPathExpr: 'of/$(WHO)' },
    { name: 'w', mountPath: '/ro-mine', subPathExpr: 'of/$(WHO)', readOnly: true },
    { name: 'ro-local', mountPath: '/ro-local' },
    { name: 'ro-csi', mountPath: '/ro-csi', subPath: 'before' },
  ];
  const places = ['/rw/a/f', '/ro/a/f', '/part/f', '/ro-part/f', '/ro-file', '/file', '/mine/f', '/ro-mine/f', '/ro-local/before', '/ro-csi'];
  const container = (name: string, runAsUser: number) =>
    scripted(containerd, name, tries(name, places), { env: [{ name: 'WHO', value: name }], volumeMounts: mounts(name), securityContext: { runAsUser } });
  const names = ['root', 'other'];
  const seed = `mkdir -p /rw/a; for f in f ${names.join(' ')}; do echo -n text > /rw/a/$f; done; chmod 666 /rw/a/*`;
  const initContainers = [scripted(containerd, 'seed', seed, { volumeMounts: [{ name: 'w', mountPath: '/rw' }] })];
  const securityContext = { fsGroup: group };
  const said = await lived(stand, 'read-only', { volumes, initContainers, containers: [container('root', 0), container('other', 1000)], securityContext }, names);
  for (const name of names) {
    const found = new Map((said[name] ?? '').split('\n').flatMap((line) => (/^\/\S+ /.test(line) ? [[line.split(' ')[0] ?? '', line]] : [])));
    const ends = places.map((place) => (said[name] ?? '').includes(`${place} `) && found.has(place));
    t.strictSame(
      ends,
      places.map(() => true),
      `${name} has tried each place`,
    );
    // What a place says may take several lines; the last one has the verdict.
    const verdicts = verdictsOf(said[name] ?? '', places);
    const written = ['/rw/a/f', '/part/f', '/file', '/mine/f'];
    t.strictSame(verdicts, Object.fromEntries(places.map((place) => [place, written.includes(place) ? 'written' : 'refused'])), `what ${name} may write`);
    t.match(found.get('/ro/a/f'), /^\/ro\/a\/f text/, `${name} reads what is read-only`);
    t.match(found.get('/ro-part/f'), /^\/ro-part\/f text/);
    t.match(found.get('/file'), /^\/file text/);
    t.match(found.get('/ro-local/before'), /^\/ro-local\/before from-outside/);
    t.match(found.get('/ro-csi'), /^\/ro-csi from-outside/);
  }
  t.match(said['root'], /\/ro-mine\/f root refused/, 'a part that is named by a variable is the same in both mounts');
  t.strictSame(
    ['ro-local', 'ro-csi'].map((name) => readFileSync(join(stand.data, name, 'before'), 'utf8')),
    ['from-outside\n', 'from-outside\n'],
  );
}

/** The last word about each place, up to the next one's line. */
function verdictsOf(text: string, places: readonly string[]): Record<string, string> {
  const verdicts: Record<string, string> = {};
  let place = '';
  for (const line of text.split('\n')) {
    place = places.find((one) => line.startsWith(`${one} `)) ?? place;
    const verdict = /(written|refused)$/.exec(line)?.[1];
    if (verdict !== undefined) verdicts[place] = verdict;
  }
  return verdicts;
}

t.test('who may do what in a volume', { skip, timeout: 400_000 }, async (t) => {
  const stand = await volumeStand(t);
  await t.test('fsGroupChangePolicy on a local volume', { timeout: 240_000 }, (t) => groupOf(t, stand, 'local'));
  await t.test('fsGroupChangePolicy on a CSI volume', { timeout: 240_000 }, (t) => groupOf(t, stand, 'csi'));
  await t.test('what is read-only, as root and as another user', { timeout: 240_000 }, (t) => readOnly(t, stand));
  t.strictSame(mountsBelow(join(stand.kubelet.root, 'pods')), []);
});
