// kill -9 of the process that works on volumes, before each of its changes of the file system and around each mount: the next one sets up
// and shows complete volumes, or tears everything down; no mount and no directory is left, and the host's own files are untouched.
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { openNativeLinux, parseMountinfo, serviceEnvironmentOf } from '../../src/adapters/native-linux/index.js';
import { isWholeSweep } from '../support/sweep.js';
import { quietCall } from './pod-volumes.contract.js';
import { payloadOf, uid, VolumesOnDisk } from './volume-scenarios.js';

t.setTimeout(540_000);
/** Odd: what alternates with the steps does so in a share of them, too. */
const stride = isWholeSweep ? 1 : 5;
const skip = process.getuid?.() === 0 ? false : 'needs root';
const child = fileURLToPath(new URL('./volume-steps-child.js', import.meta.url));
const native = openNativeLinux({ kernelLogPath: '/dev/null', service: serviceEnvironmentOf({}) }, false);

const mountsBelow = (path: string): string[] =>
  parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')).flatMap(({ mountPoint }) => (mountPoint.startsWith(`${path}/`) ? [mountPoint] : []));

/** A work directory that is always removed completely. */
function place(t: Test): string {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'volume-crashes-')));
  mkdirSync(join(base, 'data/inner'), { recursive: true });
  writeFileSync(join(base, 'data/file'), 'the host’s own');
  t.teardown(async () => {
    for (const target of mountsBelow(base).reverse()) await native.mounts.unmount({ target, force: false }, quietCall);
    if (mountsBelow(base).length === 0) rmSync(base, { recursive: true });
  });
  return base;
}

/** True: it was cut; false: it came to its end first. */
function cutAt(base: string, scenario: string, step: number): boolean {
  const { status, signal, stderr } = spawnSync(process.execPath, [child, base, scenario, String(step)], { encoding: 'utf8' });
  if (signal !== 'SIGKILL' && status !== 42) throw new Error(`${scenario} ${step}: ${status} ${signal} ${stderr}`);
  return signal === 'SIGKILL';
}

/** The files that a container sees, by their paths in the volume. */
function shown(directory: string): Record<string, string> {
  const files: Record<string, string> = {};
  const look = (path: string): void => {
    const at = join(directory, path);
    if (statSync(at).isDirectory()) for (const name of readdirSync(at)) look(join(path, name));
    else files[path] = `${(statSync(at).mode & 0o7777).toString(8)} ${readFileSync(at, 'utf8')}`;
  };
  for (const name of readdirSync(directory)) if (!name.startsWith('..')) look(name);
  return files;
}

const wanted = (version: string): Record<string, string> =>
  Object.fromEntries([...payloadOf(version)].map(([path, { bytes, mode }]) => [path, `${mode.toString(8)} ${Buffer.from(bytes).toString()}`]));

function isWhole(t: Test, base: string, version: string, what: string): void {
  const volumes = join(base, 'root/pods', uid, 'volumes');
  const configs = join(volumes, 'kubernetes.io~configmap/config');
  t.strictSame(shown(configs), wanted(version), `${what}: what is shown`);
  t.equal(readdirSync(configs).filter((name) => name.startsWith('..') && lstatSync(join(configs, name)).isDirectory()).length, 1, `${what}: one generation`);
  t.notOk(existsSync(join(configs, '..data_tmp')), `${what}: nothing half made`);
  t.strictSame(
    mountsBelow(base).sort(),
    ['kubernetes.io~empty-dir/memory', 'kubernetes.io~local-volume/pv'].map((path) => join(volumes, path)).sort(),
    `${what}: each mounted once`,
  );
  t.equal(statSync(join(volumes, 'kubernetes.io~empty-dir/disk')).mode & 0o7777, 0o2777, `${what}: modes`);
  t.equal(readFileSync(join(volumes, 'kubernetes.io~local-volume/pv/file'), 'utf8'), 'the host’s own');
  t.throws(() => writeFileSync(join(volumes, 'kubernetes.io~local-volume/pv/new'), ''), { code: 'EROFS' }, `${what}: read-only`);
}

async function isGone(t: Test, base: string, disk: VolumesOnDisk, what: string): Promise<void> {
  await disk.tearDown();
  t.strictSame(mountsBelow(base), [], `${what}: no mount is left`);
  t.notOk(existsSync(join(base, 'root/pods', uid)), `${what}: no directory is left`);
  t.equal(readFileSync(join(base, 'data/file'), 'utf8'), 'the host’s own', `${what}: the host’s own is untouched`);
}

t.test('cut while setting up: set up again, or taken down', { skip, timeout: 500_000 }, async (t) => {
  const base = place(t);
  let step = 1;
  for (; cutAt(base, 'one', step); step += stride) {
    const disk = new VolumesOnDisk(base, native);
    if (step % 2 === 0) {
      await disk.setUp('one');
      isWhole(t, base, 'one', `cut before ${step}`);
    }
    await isGone(t, base, disk, `cut before ${step}`);
    disk.close();
  }
  t.ok(step > 30, `${step} steps`);
});

for (const next of ['two', 'one']) {
  t.test(`KB064 cut while another payload is written: then ${next === 'two' ? 'the same again' : 'the one before'}`, { skip, timeout: 500_000 }, async (t) => {
    const base = place(t);
    const disk = new VolumesOnDisk(base, native);
    await disk.setUp('one');
    let step = 1;
    for (; cutAt(base, 'two', step); step += stride) {
      const configs = join(base, 'root/pods', uid, 'volumes/kubernetes.io~configmap/config');
      const both = readFileSync(join(configs, 'both'), 'utf8');
      t.ok(['both one', 'both two'].includes(both), `cut before ${step}: a reader sees one whole file`);
      await disk.write(next);
      isWhole(t, base, next, `cut before ${step}`);
      await disk.write('one');
    }
    t.ok(step > 10, `${step} steps`);
    await isGone(t, base, disk, 'at the end');
    disk.close();
  });
}

t.test('cut while taking down', { skip, timeout: 500_000 }, async (t) => {
  const base = place(t);
  let step = 1;
  for (let isCut = true; isCut; step += stride) {
    const disk = new VolumesOnDisk(base, native);
    await disk.setUp('one');
    isCut = cutAt(base, 'tear-down', step);
    await isGone(t, base, disk, `cut before ${step}`);
    disk.close();
  }
  t.ok(step > 20, `${step} steps`);
});
