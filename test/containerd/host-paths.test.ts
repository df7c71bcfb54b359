// hostPath volumes of every type on a real containerd: a path of the right type is read and written from inside, by root and by another user; one of another
// type is refused in the Go kubelet's words, and nothing is created.
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Pod } from '../../src/ports/model/pod.js';
import type { Volume } from '../../src/ports/model/volume.js';
import { idOf, isRunning, scripted } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type TestNode, testNode } from './test-node.js';

t.setTimeout(300_000);
const skip = skipWithoutContainerd() || (existsSync('/dev/loop-control') ? false : 'the host has no loop devices');

/** Things of the host, of every kind. */
interface Host {
  readonly directory: string;
  readonly blockDevice: string;
  readonly path: (name: string) => string;
}

async function hostOf(t: Test, { containerd, kubelet }: TestNode): Promise<Host> {
  const directory = join(containerd.directory, 'host');
  mkdirSync(directory);
  const path = (name: string): string => join(directory, name);
  mkdirSync(path('directory'));
  writeFileSync(path('directory/before'), 'from-outside\n');
  writeFileSync(path('file'), 'from-outside\n', { mode: 0o644 });
  symlinkSync(path('directory'), path('link'));
  const server: Server = createServer((socket) => socket.end('from-outside\n'));
  await new Promise<void>((resolve) => server.listen(path('socket'), resolve));
  writeFileSync(path('image'), 'from-outside\n');
  truncateSync(path('image'), 2 ** 20);
  const blockDevice = execFileSync('losetup', ['--find', '--show', path('image')], { encoding: 'utf8' }).trim();
  t.teardown(async () => {
    await kubelet.kill();
    server.close();
    execFileSync('losetup', ['--detach', blockDevice]);
  });
  return { directory, blockDevice, path };
}

const hostPath = (name: string, path: string, type: string): Volume => ({ name, hostPath: { path, type } });

async function used(t: Test, node: TestNode, host: Host): Promise<void> {
  const { apply, containerd, kubelet, runtime } = node;
  const { path, blockDevice } = host;
  const volumes = [
    hostPath('directory', path('directory'), 'Directory'),
    hostPath('link', path('link'), 'Directory'),
    hostPath('made', path('made/deep'), 'DirectoryOrCreate'),
    hostPath('file', path('file'), 'File'),
    hostPath('made-file', path('made-file'), 'FileOrCreate'),
    hostPath('socket', path('socket'), 'Socket'),
    hostPath('char', '/dev/zero', 'CharDevice'),
    hostPath('block', blockDevice, 'BlockDevice'),
    hostPath('untyped', path('directory'), ''),
    { name: 'out', emptyDir: {} },
  ];
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/v/${name}` }));
  const works = [
    'cat /v/directory/before /v/link/before /v/untyped/before /v/file > /v/out/read',
    'echo from-inside > /v/directory/new; echo from-inside > /v/made/new; echo from-inside >> /v/file; echo from-inside > /v/made-file',
    '[ -S /v/socket ] && echo socket >> /v/out/read',
    'head -c 3 /v/char | wc -c >> /v/out/read; echo gone > /v/char && echo taken >> /v/out/read',
    'read line < /v/block; echo "$line" >> /v/out/read; echo from-inside > /v/block; sync',
    'touch /v/out/done',
  ];
  const stay = 'trap "exit 0" TERM; while :; do sleep 0.1; done';
  // What is root's is read by others, and not written.
  const others = `cat /v/directory/before /v/file > /dev/null && echo reads > /v/out/other; { echo x > /v/directory/other; } 2>/dev/null || echo refused >> /v/out/other; ${stay}`;
  apply('used', {
    volumes,
    securityContext: { fsGroup: 4711 },
    containers: [
      scripted(containerd, 'root', `${works.join('; ')}; ${stay}`, { volumeMounts, securityContext: { privileged: true } }),
      scripted(containerd, 'other', others, { volumeMounts, securityContext: { runAsUser: 1000, runAsGroup: 1000 } }),
    ],
  });
  const pod = await kubelet.untilPod('used', isRunning, 'runs');
  const root = (container: string): string => `/proc/${runtime.processes().get(idOf(pod, container))}/root`;
  await kubelet.until('both have done their work', () => existsSync(join(root('root'), 'v/out/done')) && existsSync(join(root('other'), 'v/out/other')));
  const outside = 'from-outside\n';
  t.equal(readFileSync(join(root('root'), 'v/out/read'), 'utf8'), `${outside.repeat(4)}socket\n3\ntaken\n${outside}`, 'what root reads');
  await kubelet.until('the other one has tried', () => readFileSync(join(root('other'), 'v/out/other'), 'utf8') === 'reads\nrefused\n');
  const texts = ['directory/new', 'made/deep/new', 'made-file'].map((name) => readFileSync(path(name), 'utf8'));
  t.strictSame(texts, ['from-inside\n', 'from-inside\n', 'from-inside\n'], 'what root writes');
  t.equal(readFileSync(path('file'), 'utf8'), `${outside}from-inside\n`);
  t.equal(readFileSync(blockDevice).subarray(0, 12).toString('utf8'), 'from-inside\n');
  t.equal(await answerOf(join(root('root'), 'v/socket')), outside, 'the socket is the host’s');
  const made = ['made/deep', 'made-file', 'directory'].map((name) => `${(statSync(path(name)).mode & 0o7777).toString(8)} ${statSync(path(name)).gid}`);
  t.strictSame(made, ['755 0', '644 0', '755 0'], 'modes of what was made, and no group for any');
  kubelet.withdraw('used.json');
  await kubelet.untilAbsent('used');
  await kubelet.until('its directory is gone', () => !existsSync(join(kubelet.root, 'pods', pod.metadata.uid ?? '')));
  t.equal(readFileSync(path('made/deep/new'), 'utf8'), 'from-inside\n', 'what is the host’s stays');
}

/** What a server at the socket says. */
function answerOf(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(path);
    socket.on('data', (bytes) => (text += bytes.toString('utf8')));
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
  });
}

async function refused(t: Test, node: TestNode, { path, blockDevice }: Host): Promise<void> {
  const { apply, containerd, kubelet } = node;
  const rows: readonly (readonly [name: string, path: string, type: string, words: string | RegExp])[] = [
    ['directory-file', path('file'), 'Directory', 'is not a directory'],
    ['directory-absent', path('absent'), 'Directory', 'is not a directory'],
    ['made-over-file', path('file'), 'DirectoryOrCreate', 'is not a directory'],
    ['file-directory', path('directory'), 'File', 'is not a file'],
    ['file-absent', path('absent'), 'File', 'is not a file'],
    ['file-socket', path('socket'), 'File', 'is not a file'],
    ['made-over-directory', path('directory'), 'FileOrCreate', 'is not a file'],
    ['file-without-parent', path('absent/file'), 'FileOrCreate', /no such file or directory/i],
    ['socket-file', path('file'), 'Socket', 'is not a socket file'],
    ['char-block', blockDevice, 'CharDevice', 'is not a character device'],
    ['block-char', '/dev/zero', 'BlockDevice', 'is not a block device'],
    ['block-file', path('image'), 'BlockDevice', 'is not a block device'],
  ];
  for (const [name, at, type] of rows) {
    const volumeMounts = [{ name: 'v', mountPath: '/v' }];
    apply(name, { volumes: [hostPath('v', at, type)], containers: [scripted(containerd, 'main', 'exit 1', { volumeMounts })] });
  }
  for (const [name, at, type, words] of rows) {
    const said = () => kubelet.events(name).find(({ reason }) => reason === 'FailedMount')?.message;
    await kubelet.until(`${name} says what is wrong`, () => said() !== undefined);
    if (typeof words === 'string') t.equal(said(), `MountVolume.SetUp failed for volume "v" : hostPath type check failed: ${at} ${words}`, `${type}, ${name}`);
    else t.match(said(), words, `${type}, ${name}`);
    const waiting = ((await kubelet.pod(name)) as Pod).status?.containerStatuses?.[0]?.state?.waiting?.reason;
    t.equal(waiting, 'ContainerCreating', `${name} waits`);
  }
  t.notOk(existsSync(path('absent')), 'nothing was made');
  t.ok(lstatSync(path('socket')).isSocket(), 'and nothing changed');
  // One that comes to be what it should is taken.
  mkdirSync(path('absent'));
  await kubelet.until('its container is started', async () => {
    const status = (await kubelet.pod('directory-absent'))?.status?.containerStatuses?.[0];
    return status?.state?.terminated != null || status?.lastState?.terminated != null;
  });
}

t.test('hostPath volumes of every type', { skip, timeout: 300_000 }, async (t) => {
  const node = await testNode(t);
  const host = await hostOf(t, node);
  await t.test('are read and written from inside', (t) => used(t, node, host));
  await t.test('are refused when they are of another kind', (t) => refused(t, node, host));
});
