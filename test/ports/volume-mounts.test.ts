// Mounts of volumes: the contract, on the model and on a file system with the addon and without; mount helpers; servers that don't answer.
import { chmodSync, closeSync, existsSync, linkSync, mkdirSync, mkdtempSync, openSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { fallbackNativeLinux } from '../../src/adapters/native-linux/fallback.js';
import { type NativeLinux, openNativeLinux, parseMountinfo, serviceEnvironmentOf } from '../../src/adapters/native-linux/index.js';
import { FilePodDirectories, FileVolumeMounts } from '../../src/adapters/storage/index.js';
import type { MountOperations } from '../../src/ports/outbound/mounts.js';
import { SimHost } from '../../src/sim/host/sim-host.js';
import { kindOf, quietCall } from './pod-volumes.contract.js';
import { portOf } from './sim-port.js';
import { placeOf, type VolumeMountsUnderTest, volumeMountsContract } from './volume-mounts.contract.js';

const asRoot = process.getuid?.() === 0 ? false : 'needs root';
const options = { kernelLogPath: '/dev/null', service: serviceEnvironmentOf({}) };

function simulated(): VolumeMountsUnderTest {
  const host = new SimHost({ seed: 1 });
  host.models.podVolumes.putHostPath('/srv/data', 'directory');
  const directories = portOf<FilePodDirectories>(host, 'podDirectories');
  return {
    mounts: portOf(host, 'volumeMounts'),
    hostDirectory: '/srv/data',
    preparePod: (uid) => directories.prepare({ uid }, quietCall),
    removePod: (uid) => directories.remove({ uid }, quietCall),
  };
}

const mountsBelow = (path: string) => parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')).filter(({ mountPoint }) => mountPoint.startsWith(`${path}/`));

interface RealMounts extends VolumeMountsUnderTest {
  readonly base: string;
  readonly helpers: string;
  pathOf(volume: string): string;
}

function real(t: Test, native: NativeLinux, mounts = native.mounts): RealMounts {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'volume-mounts-')));
  const [rootDirectory, helpers] = [join(base, 'root'), join(base, 'sbin')];
  for (const name of ['data', 'sbin']) mkdirSync(join(base, name));
  const directories = FilePodDirectories.open({ rootDirectory, podLogsDirectory: join(base, 'logs') });
  const volumes = FileVolumeMounts.open({ rootDirectory, helperDirectories: [helpers] }, mounts, native.trees);
  t.teardown(async () => {
    for (const { mountPoint } of mountsBelow(base).reverse()) await native.mounts.unmount({ target: mountPoint, force: false }, quietCall);
    directories.close();
    volumes.close();
    if (mountsBelow(base).length === 0) rmSync(base, { recursive: true });
  });
  return {
    base,
    helpers,
    mounts: volumes,
    hostDirectory: join(base, 'data'),
    preparePod: (uid) => directories.prepare({ uid }, quietCall),
    removePod: (uid) => directories.remove({ uid }, quietCall),
    pathOf: (volume) => join(rootDirectory, 'pods/u1/volumes/kubernetes.io~local-volume', volume),
  };
}

t.test('the model', (t) => volumeMountsContract(t, simulated()));
t.test('files', { skip: asRoot }, (t) => volumeMountsContract(t, real(t, openNativeLinux(options, false))));
t.test('files, without the addon', { skip: asRoot }, (t) => volumeMountsContract(t, real(t, fallbackNativeLinux(options, 'wanted by the test'))));

const native = openNativeLinux(options, false);

for (const [how, system, failure, output] of [
  ['the kernel', native, 'no such device', /^$/],
  ['mount(8)', fallbackNativeLinux(options, 'wanted by the test'), 'exit status 32', /^\nOutput: mount: \S+: /],
] as const) {
  t.test(`a mount that ${how} refuses is told with its arguments, and without its secrets`, { skip: asRoot }, async (t) => {
    const { mounts, preparePod, pathOf } = real(t, system);
    await preparePod('u1');
    const source = { kind: 'fileSystem', fsType: 'nosuchfs', source: 'none', options: ['ro', 'password=hunter2'] } as const;
    const error = await mounts.mount({ place: placeOf('u1'), source }, quietCall).then(
      () => null,
      (thrown: Error) => thrown,
    );
    const begins = `mount failed: ${failure}\nMounting command: mount\nMounting arguments: -t nosuchfs -o ro,password=<masked> none ${pathOf('pv')}`;
    t.equal(error?.message.slice(0, begins.length), begins);
    t.match(error?.message.slice(begins.length), output);
    t.notMatch(error?.message, /hunter2/);
  });
}

t.test('a bind of what is not there is told as such', { skip: asRoot }, async (t) => {
  const { mounts, preparePod, pathOf } = real(t, native);
  await preparePod('u1');
  await t.rejects(mounts.mount({ place: placeOf('u1'), source: { kind: 'bind', path: '/nonexistent/source', options: [] } }, quietCall), {
    name: 'PortError',
    kind: 'not-found',
    message: `mount failed: no such file or directory\nMounting command: mount\nMounting arguments: -o bind /nonexistent/source ${pathOf('pv')}`,
  });
});

t.test('a bind keeps to what was asked and to what its source allows', { skip: asRoot }, async (t) => {
  const { mounts, hostDirectory, preparePod, pathOf } = real(t, native);
  await preparePod('u1');
  await mounts.mount({ place: placeOf('u1'), source: { kind: 'bind', path: hostDirectory, options: ['ro', 'noexec'] } }, quietCall);
  t.throws(() => writeFileSync(join(pathOf('pv'), 'f'), ''), { code: 'EROFS' });
  const [mount] = mountsBelow(pathOf('pv').replace(/\/pv$/, ''));
  t.ok(
    ['ro', 'noexec'].every((option) => mount?.options.includes(option)),
    String(mount?.options),
  );
  writeFileSync(join(hostDirectory, 'f'), 'x');
});

t.test('a volume with something in it that isn’t mounted is never removed', { skip: asRoot }, async (t) => {
  const { mounts, preparePod, pathOf } = real(t, native);
  await preparePod('u1');
  mkdirSync(pathOf('pv'), { recursive: true });
  writeFileSync(join(pathOf('pv'), 'data'), 'somebody’s');
  t.equal(await kindOf(() => mounts.unmount({ place: placeOf('u1'), forceAfter: null }, quietCall)), 'failed-precondition');
  t.equal(readFileSync(join(pathOf('pv'), 'data'), 'utf8'), 'somebody’s');
});

t.test('whose files are: all of them, no link followed, several names once, another mount in it left alone', { skip: asRoot }, async (t) => {
  for (const kind of [native, fallbackNativeLinux(options, 'wanted by the test')]) {
    const { base, mounts, hostDirectory, preparePod } = real(t, kind);
    await preparePod('u1');
    mkdirSync(join(hostDirectory, 'd'), { mode: 0o700 });
    mkdirSync(join(hostDirectory, 'other'));
    writeFileSync(join(hostDirectory, 'd/f'), '', { mode: 0o600 });
    linkSync(join(hostDirectory, 'd/f'), join(hostDirectory, 'again'));
    writeFileSync(join(base, 'outside'), '', { mode: 0o600 });
    symlinkSync(join(base, 'outside'), join(hostDirectory, 'link'));
    await kind.mounts.mount({ source: 'tmpfs', target: join(hostDirectory, 'other'), fsType: 'tmpfs', options: [] }, quietCall);
    await mounts.mount({ place: placeOf('u1'), source: { kind: 'bind', path: hostDirectory, options: [] } }, quietCall);
    await mounts.setOwnership({ place: placeOf('u1'), ownership: { gid: 4711, fileBits: 0o660, directoryBits: 0o2770, onRootMismatch: false } }, quietCall);
    const seen = (path: string) => [statSync(path).mode & 0o7777, statSync(path).gid];
    t.strictSame(seen(hostDirectory), [0o2775, 4711]);
    t.strictSame(seen(join(hostDirectory, 'd')), [0o2770, 4711]);
    t.strictSame(seen(join(hostDirectory, 'd/f')), [0o660, 4711]);
    t.strictSame(seen(join(base, 'outside')), [0o600, 0], 'what a link leads to');
    t.strictSame(statSync(join(hostDirectory, 'other')).gid, 0, 'what is mounted there by others');
  }
});

t.test('how far a walk is can be asked while it goes on, and only then', { skip: asRoot }, async (t) => {
  for (const kind of [native, fallbackNativeLinux(options, 'wanted by the test')]) {
    const { mounts, hostDirectory, preparePod } = real(t, kind);
    await preparePod('u1');
    const files = 3000;
    for (let file = 0; file < files; file++) closeSync(openSync(join(hostDirectory, `f${file}`), 'w'));
    await mounts.mount({ place: placeOf('u1'), source: { kind: 'bind', path: hostDirectory, options: [] } }, quietCall);
    const place = placeOf('u1');
    const halfway: number[] = [];
    // A walk may end before it is observed: then another one is tried, and one of a hundred is observed.
    for (let walk = 0; walk < 100 && halfway.length === 0; walk++) {
      let isOver = false;
      const walked = mounts.setOwnership({ place, ownership: { gid: 5000 + walk, fileBits: 0o660, directoryBits: 0o2770, onRootMismatch: false } }, quietCall);
      const over = walked.then(() => {
        isOver = true;
      });
      let last = 0;
      while (!isOver) {
        const seen = await mounts.ownershipProgress({ place }, quietCall);
        await nextTurn();
        if (seen === null) continue;
        if (seen < last || seen > files) t.fail(`${seen} of ${files} files after ${last}`);
        last = seen;
        if (seen > 0 && seen < files) halfway.push(seen);
      }
      await over;
      t.match(await walked, { walked: true, failures: 0 });
      t.equal(await mounts.ownershipProgress({ place }, quietCall), null, 'none is under way any more');
    }
    t.ok(halfway.length > 0, 'somewhere between none and all');
  }
});

/** A program that does with a bind what mount.nfs does with a server, and keeps what it was given. */
function helper(helpers: string, body: string): void {
  const path = join(helpers, 'mount.nfs');
  writeFileSync(path, `#!/bin/sh\nprintf '%s\\n' "$@" > ${join(helpers, 'given')}\n${body}\n`);
  chmodSync(path, 0o755);
}

const nfs = (source: string, more: readonly string[] = []) => ({ kind: 'helper', fsType: 'nfs', source, options: more }) as const;

t.test('a program mounts: its arguments one by one, no shell, its words in the error', { skip: asRoot }, async (t) => {
  const { mounts, helpers, hostDirectory, preparePod, pathOf } = real(t, native);
  await preparePod('u1');
  const mount = (source: ReturnType<typeof nfs>) => mounts.mount({ place: placeOf('u1'), source }, quietCall);
  await t.rejects(mount(nfs('s:/p')), { message: /Mounting arguments: -t nfs s:\/p .*\/pv\nOutput: the node has no mount\.nfs in / });
  t.notOk(existsSync(pathOf('pv')), 'no directory is left of it');
  helper(helpers, `exec mount --bind ${hostDirectory} "$2"`);
  const path = '/p; touch /tmp/never `id` $(id)';
  t.equal(await mount(nfs(`s:${path}`, ['ro', 'vers=4'])), 'mounted');
  t.strictSame(readFileSync(join(helpers, 'given'), 'utf8').trimEnd().split('\n'), [`s:${path}`, pathOf('pv'), '-o', 'ro,vers=4']);
  t.equal(await mount(nfs('s:/p')), 'present');
  await mounts.unmount({ place: placeOf('u1'), forceAfter: 60_000_000 }, quietCall);
  t.notOk(existsSync(pathOf('pv')));
  helper(helpers, 'echo "mount.nfs: access denied by server" >&2; exit 32');
  await t.rejects(mount(nfs('s:/p', ['password=hunter2'])), {
    kind: 'unavailable',
    message: /^(?!.*hunter2)[\s\S]*mount failed: exit status 32\n[\s\S]*password=<masked>[\s\S]*access denied by server$/,
  });
  t.equal(await kindOf(() => mount(nfs('-o/x:/p'))), 'invalid-argument');
  helper(helpers, 'exec sleep 600');
  t.equal(await kindOf(() => mounts.mount({ place: placeOf('u1'), source: nfs('s:/p') }, { ...quietCall, timeoutMicros: 300_000 })), 'deadline-exceeded');
  t.notOk(existsSync(pathOf('pv')));
});

t.test('a server that doesn’t answer is given up in time, and only then', { skip: asRoot }, async (t) => {
  const forced: boolean[] = [];
  let release = () => {};
  const stuck = new Proxy(native.mounts, {
    get(target, name: keyof MountOperations) {
      if (name !== 'unmount') return target[name].bind(target);
      return async (request: { target: string; force: boolean }, call: never) => {
        forced.push(request.force);
        if (!request.force) await new Promise<void>((resolve) => (release = resolve));
        const done = await target.unmount({ target: request.target, force: false }, call);
        release();
        return done;
      };
    },
  });
  const { mounts, hostDirectory, preparePod, pathOf } = real(t, native, stuck);
  await preparePod('u1');
  await mounts.mount({ place: placeOf('u1'), source: { kind: 'bind', path: hostDirectory, options: [] } }, quietCall);
  await mounts.unmount({ place: placeOf('u1'), forceAfter: 50_000 }, quietCall);
  t.strictSame(forced, [false, true]);
  t.notOk(existsSync(pathOf('pv')));
});
