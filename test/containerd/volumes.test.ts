// Volumes that need only the node, on a real containerd: seen from within the containers and in the kernel's tables of mounts, while pods
// run, when they go, and when the agent is killed in between.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Pod } from '../../src/ports/model/pod.js';
import { idOf, isRunning, scripted } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type TestNode, testNode } from './test-node.js';

// For the whole file; a machine that does other things needs several times what it takes.
t.setTimeout(240_000);
const skip = skipWithoutContainerd();

const forever = 'trap "exit 0" TERM; while :; do sleep 0.1; done';
const uidOf = (pod: Pod): string => pod.metadata.uid ?? '';

/** A path as a container sees it. */
const inside = ({ runtime }: TestNode, pod: Pod, container: string, path: string): string => `/proc/${runtime.processes().get(idOf(pod, container))}/root${path}`;

/** The line of a mount point in the mounts that a container sees. */
function mountIn({ runtime }: TestNode, pod: Pod, container: string, path: string): string | undefined {
  const mounts = readFileSync(`/proc/${runtime.processes().get(idOf(pod, container))}/mounts`, 'utf8').split('\n');
  return mounts.findLast((line) => line.split(' ')[1] === path);
}

const mountsBelow = (path: string): string[] =>
  readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .flatMap((line) => (line.split(' ')[1]?.startsWith(`${path}/`) === true ? [line] : []));

const podDirectory = ({ kubelet }: TestNode, pod: Pod): string => join(kubelet.root, 'pods', uidOf(pod));

async function gone(node: TestNode, pod: Pod, name: string): Promise<void> {
  node.kubelet.withdraw(`${name}.json`);
  await node.kubelet.until(`nothing is left of ${name}`, () => !existsSync(podDirectory(node, pod)));
}

async function emptyDirs(t: Test, node: TestNode): Promise<void> {
  const { apply, containerd, kubelet } = node;
  const volumeMounts = [
    { name: 'disk', mountPath: '/disk' },
    { name: 'memory', mountPath: '/memory' },
  ];
  apply('empty', {
    securityContext: { fsGroup: 4711 },
    volumes: [
      { name: 'disk', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
    ],
    containers: [scripted(containerd, 'writer', `echo shared > /disk/f; ${forever}`, { volumeMounts }), scripted(containerd, 'reader', forever, { volumeMounts })],
  });
  const pod = await kubelet.untilRunning('empty');
  await kubelet.until('the other container sees the file', () => existsSync(inside(node, pod, 'reader', '/disk/f')));
  t.equal(readFileSync(inside(node, pod, 'reader', '/disk/f'), 'utf8'), 'shared\n');
  t.match(mountIn(node, pod, 'reader', '/memory'), /^tmpfs \/memory tmpfs rw\S*\bsize=1024k\b/);
  for (const path of ['/disk', '/memory']) {
    const { mode, gid } = statSync(inside(node, pod, 'reader', path));
    t.strictSame([path, mode & 0o7777, gid], [path, path === '/memory' ? 0o3777 : 0o2777, 4711]);
  }
  await gone(node, pod, 'empty');
  t.strictSame(mountsBelow(podDirectory(node, pod)), []);
}

async function hostPaths(t: Test, node: TestNode): Promise<void> {
  const { apply, containerd, kubelet } = node;
  const host = join(containerd.directory, 'host');
  mkdirSync(host);
  apply('host', {
    volumes: [
      { name: 'made', hostPath: { path: join(host, 'made/deep'), type: 'DirectoryOrCreate' } },
      { name: 'input', hostPath: { path: join(host, 'input'), type: 'File' } },
    ],
    containers: [
      scripted(containerd, 'main', `cat /input > /made/copy; ${forever}`, {
        volumeMounts: [
          { name: 'made', mountPath: '/made' },
          { name: 'input', mountPath: '/input', readOnly: true },
        ],
      }),
    ],
  });
  const said = () => kubelet.events('host').find(({ reason }) => reason === 'FailedMount');
  await kubelet.until('it says what is missing', () => said() !== undefined);
  t.equal(said()?.message, `MountVolume.SetUp failed for volume "input" : hostPath type check failed: ${join(host, 'input')} is not a file`);
  writeFileSync(join(host, 'input'), 'secret\n');
  const pod = await kubelet.untilRunning('host');
  const copy = join(host, 'made/deep/copy');
  await kubelet.until('the container has written all of it', () => existsSync(copy) && readFileSync(copy, 'utf8') === 'secret\n');
  t.match(mountIn(node, pod, 'main', '/input'), / ro,/);
  await gone(node, pod, 'host');
  t.equal(readFileSync(join(host, 'made/deep/copy'), 'utf8'), 'secret\n', 'what is the host’s stays');
}

async function downward(t: Test, node: TestNode): Promise<void> {
  const { apply, containerd, kubelet } = node;
  const spec = {
    volumes: [
      {
        name: 'info',
        downwardAPI: {
          items: [
            { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
            { path: 'memory', resourceFieldRef: { containerName: 'main', resource: 'limits.memory' } },
          ],
        },
      },
    ],
    containers: [scripted(containerd, 'main', forever, { resources: { limits: { memory: '64Mi' } }, volumeMounts: [{ name: 'info', mountPath: '/info' }] })],
  };
  const uid = '6f1d0a52-3c5e-4b6e-8a57-0000000000d0';
  apply('downward', spec, { uid, labels: { track: 'stable' } });
  const pod = await kubelet.untilRunning('downward');
  const labels = (): string => readFileSync(inside(node, pod, 'main', '/info/labels'), 'utf8');
  t.equal(labels(), 'track="stable"');
  t.equal(readFileSync(inside(node, pod, 'main', '/info/memory'), 'utf8'), String(64 * 1024 * 1024));
  t.match(mountIn(node, pod, 'main', '/info'), /^tmpfs \/info tmpfs ro,/);
  apply('downward', spec, { uid, labels: { track: 'canary' } });
  await kubelet.until('the file follows the labels', () => labels() === 'track="canary"');
  t.equal(idOf((await kubelet.pod('downward')) as Pod), idOf(pod), 'in the same container');
  await gone(node, pod, 'downward');
  t.strictSame(mountsBelow(podDirectory(node, pod)), []);
}

async function subPaths(t: Test, node: TestNode): Promise<void> {
  const { apply, containerd, kubelet } = node;
  apply('parts', {
    volumes: [{ name: 'work', emptyDir: {} }],
    containers: [
      scripted(containerd, 'whole', forever, { volumeMounts: [{ name: 'work', mountPath: '/work' }] }),
      scripted(containerd, 'part', `echo part > /part/f; ${forever}`, {
        env: [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } }],
        volumeMounts: [
          { name: 'work', mountPath: '/part', subPath: 'a/b' },
          { name: 'work', mountPath: '/named', subPathExpr: '$(POD)' },
        ],
      }),
    ],
  });
  const pod = await kubelet.untilRunning('parts');
  await kubelet.until('the part is written', () => existsSync(inside(node, pod, 'whole', '/work/a/b/f')));
  t.equal(readFileSync(inside(node, pod, 'whole', '/work/a/b/f'), 'utf8'), 'part\n');
  t.strictSame([readdirSync(inside(node, pod, 'part', '/part')), readdirSync(inside(node, pod, 'part', '/named'))], [['f'], []]);
  t.strictSame(readdirSync(inside(node, pod, 'whole', '/work')).sort(), ['a', 'default']);
  t.equal(statSync(inside(node, pod, 'whole', '/work/a/b')).mode & 0o7777, 0o777);
  t.equal(mountsBelow(join(podDirectory(node, pod), 'volume-subpaths')).length, 2);
  await gone(node, pod, 'parts');
  t.strictSame(mountsBelow(podDirectory(node, pod)), []);
}

/** The agent is killed while it sets volumes up and takes them down, a little later each time. */
async function killed(t: Test, node: TestNode): Promise<void> {
  const { apply, containerd, kubelet } = node;
  const volumes = [
    { name: 'memory', emptyDir: { medium: 'Memory' } },
    { name: 'info', downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
  ];
  const volumeMounts = [...volumes.map(({ name }) => ({ name, mountPath: `/${name}` })), { name: 'memory', mountPath: '/part', subPath: 'part' }];
  const spec = { volumes, containers: [scripted(containerd, 'main', forever, { volumeMounts })] };
  const pods = join(kubelet.root, 'pods');
  for (const volume of ['emptied', 'orphaned']) {
    apply('killed', spec);
    await kubelet.until('volumes are being made', () => mountsBelow(pods).length > 0);
    await kubelet.kill();
    if (volume === 'orphaned') kubelet.withdraw('killed.json');
    await kubelet.start();
    if (volume === 'emptied') {
      await kubelet.untilPod('killed', isRunning);
      t.equal(mountsBelow(pods).length, 3, 'nothing is mounted twice');
      kubelet.withdraw('killed.json');
      await kubelet.until('volumes are being taken down', () => mountsBelow(pods).length < 3);
      await kubelet.kill();
      await kubelet.start();
    }
    await kubelet.until('nothing is left', () => mountsBelow(pods).length === 0 && readdirSync(pods).length === 0);
  }
}

const scenarios: readonly (readonly [what: string, scenario: (t: Test, node: TestNode) => Promise<void>])[] = [
  ['emptyDir on disk and in memory, shared and gone with the pod', emptyDirs],
  ['hostPath: made, waited for, left behind', hostPaths],
  ['downwardAPI: files that follow the pod', downward],
  ['sub paths: bound, named by variables, gone with the pod', subPaths],
  ['nothing is left by an agent that was killed', killed],
];

t.test('volumes that need only the node', { skip, timeout: 240_000 }, async (t) => {
  const node = await testNode(t);
  for (const [what, scenario] of scenarios) await t.test(what, (t) => scenario(t, node));
});
