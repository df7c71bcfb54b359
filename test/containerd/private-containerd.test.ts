// The fixture itself: it starts, has its images, survives a restart of the daemon with its containers, and leaves nothing behind.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { PodSandboxConfig, RuntimeServiceService } from '../../src/adapters/cri/gen/cri-runtime-v1.js';
import { leftoversOf, loopsBelow, type RunNames, removeEverythingOf } from './leftovers.js';
import { PrivateContainerd, skipWithoutContainerd } from './private-containerd.js';
import { RuntimeClient } from './runtime-client.js';

const skip = skipWithoutContainerd();
const hasLoops = existsSync('/dev/loop-control');
const nothing = { processes: [], mounts: [], loops: [], bridge: false, cgroups: [], natRules: [] };

/** One sandbox with a network and a published port, over the CRI: what leaves the most behind. */
async function runSandbox(containerd: PrivateContainerd): Promise<string> {
  const client = new RuntimeClient(containerd.endpoint);
  const config = PodSandboxConfig.fromPartial({
    metadata: { name: 'sandbox', uid: 'sandbox', namespace: 'default', attempt: 0 },
    logDirectory: join(containerd.directory, 'logs'),
    portMappings: [{ containerPort: 80, hostPort: 30080, hostIp: '127.0.0.1' }],
    linux: { cgroupParent: join(containerd.cgroupRoot, 'pod') },
  });
  try {
    return (await client.ask(RuntimeServiceService.runPodSandbox, { config, runtimeHandler: '' })).podSandboxId;
  } finally {
    client.close();
  }
}

t.test('a private containerd: images, containers, restart, and nothing left', { skip }, async (t) => {
  const containerd = await PrivateContainerd.start();
  t.teardown(() => containerd.stop());
  const run = { path: containerd.directory, network: containerd.network, cgroupRoot: containerd.cgroupRoot };
  const images = containerd.ctr('images', 'list', '--quiet').trim().split('\n');
  t.strictSame(images.filter((name) => !name.startsWith('sha256:')).sort(), [containerd.images.busybox, containerd.images.pause]);
  t.match(containerd.ctr('plugins', 'list'), /grpc\.v1 +cri +\S+ +ok/);

  containerd.runUnmanaged(containerd.images.busybox, 'sleeper', 'sleep', '1000');
  const sandbox = await runSandbox(containerd);
  const found = leftoversOf(run);
  t.ok(found.processes.length >= 5, 'the daemon, two shims, two containers', { found });
  t.ok(found.mounts.length > 0 && found.cgroups.length > 0 && found.natRules.length > 0 && found.bridge, 'all kinds of traces', { found });

  await containerd.stopDaemon('SIGKILL');
  t.notOk(containerd.log === '', 'it has a log');
  await containerd.startDaemon();
  t.match(containerd.ctr('tasks', 'list'), new RegExp(`${sandbox} +\\d+ +RUNNING`), 'containers outlive the daemon');
  await containerd.restart();
  t.match(containerd.ctr('tasks', 'list'), /sleeper +\d+ +RUNNING/);

  await containerd.stop();
  t.strictSame(leftoversOf(run), nothing);
  t.notOk(existsSync(run.path), 'its directory is gone');
});

t.test('what a killed test process left is cleaned by the next start', { skip }, async (t) => {
  const child = spawn(process.execPath, [fileURLToPath(new URL('./abandoned-containerd.js', import.meta.url))], { stdio: ['ignore', 'pipe', 'inherit'] });
  const run = await new Promise<RunNames>((resolve, reject) => {
    child.stdout.once('data', (bytes: Buffer) => resolve(JSON.parse(bytes.toString()) as RunNames));
    child.once('exit', (code) => reject(new Error(`it ended with ${code} before it was ready`)));
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await exited;
  t.ok(leftoversOf(run).processes.length >= 4, 'daemon, shim, container and kubelet are still there');
  if (hasLoops) t.equal(leftoversOf(run).loops.length, 1, 'and its loop device');
  const containerd = await PrivateContainerd.start();
  t.teardown(() => containerd.stop());
  const isTheSame = containerd.directory === run.path;
  t.ok(isTheSame || !existsSync(run.path), 'the directory was cleaned, or cleaned and taken');
  t.notMatch(containerd.ctr('containers', 'list', '--quiet'), /abandoned/);
  t.strictSame(loopsBelow(run.path), [], 'its loop device is let go');
  if (!isTheSame) t.strictSame(leftoversOf(run), nothing);
});

t.test('a loop device over one of a run is found and let go, and no other is', { skip: skip !== false ? skip : hasLoops ? false : 'the host has no loop devices' }, async (t) => {
  const run = { path: mkdtempSync(join(tmpdir(), 'kubelet-ts-loops-')), network: 'none', cgroupRoot: '/kubelet-ts-loops' };
  const other = mkdtempSync(join(tmpdir(), 'kubelet-ts-loops-other-'));
  t.teardown(() => {
    for (const loop of loopsBelow(other)) execFileSync('losetup', ['--detach', loop]);
    rmSync(other, { recursive: true });
  });
  const over = (file: string): string => execFileSync('losetup', ['--find', '--show', file], { encoding: 'utf8' }).trim();
  const image = (directory: string): string => {
    const file = join(directory, 'image');
    writeFileSync(file, '');
    truncateSync(file, 1024 * 1024);
    return file;
  };
  const foreign = over(image(other));
  const inner = over(image(run.path));
  // As a kubelet holds a block volume: over a bind mount of the device's file.
  const bound = join(run.path, 'bound');
  writeFileSync(bound, '');
  execFileSync('mount', ['--bind', inner, bound]);
  const outer = over(bound);
  execFileSync('umount', ['-l', bound]);
  t.equal(readFileSync(`/sys/block/${basename(outer)}/loop/backing_file`, 'utf8').trim(), '/', 'its path is gone');
  t.strictSame(leftoversOf(run).loops, [outer, inner]);
  removeEverythingOf(run);
  t.strictSame(leftoversOf(run), nothing);
  t.notOk(
    [outer, inner].some((device) => existsSync(`/sys/block/${basename(device)}/loop/backing_file`)),
    'both are free',
  );
  t.strictSame(loopsBelow(other), [foreign], 'the other is as it was');
});
