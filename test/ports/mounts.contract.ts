// The contract of Mounts and of file system usage. Needs permission to mount; the mounts are made below the test's own directory
// and unmounted by it.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { PortOf } from '../../src/ports/operation.js';
import type { FilesystemUsageOperations } from '../../src/ports/outbound/filesystem-usage.js';
import type { BindRequest, MountOperations, MountPropagation, MountRequest } from '../../src/ports/outbound/mounts.js';

const tmpfs = (target: string, options: readonly string[]) => ({ source: 'tmpfs', target, fsType: 'tmpfs', options });

type Ports = ReturnType<typeof portsOf>;

/** The ports' operations with the requests' fields as arguments. */
function portsOf(port: PortOf<MountOperations>, usagePort: PortOf<FilesystemUsageOperations>) {
  const call = { signal: new AbortController().signal, timeoutMicros: null };
  return {
    mounts: {
      mount: (request: MountRequest) => port.mount(request, call),
      bind: (request: BindRequest) => port.bind(request, call),
      remount: (target: string, options: readonly string[], bindOnly: boolean) => port.remount({ target, options, bindOnly }, call),
      propagate: (target: string, propagation: MountPropagation) => port.propagate({ target, propagation }, call),
      unmount: (target: string, force: boolean) => port.unmount({ target, force }, call),
      state: (path: string) => port.state({ path }, call),
    },
    usage: { usage: (path: string) => usagePort.usage({ path }, call) },
  };
}

/** A directory of its own, always unmounted before it is removed: the removal must never walk into a mount. */
const mountTest = async (t: Test, title: string, body: (t: Test, places: { readonly source: string; readonly target: string }) => Promise<void>): Promise<void> => {
  await t.test(title, async (t) => {
    const directory = realpathSync(mkdtempSync(join(tmpdir(), 'kubelet-mounts-')));
    const [source, target] = [join(directory, 'source'), join(directory, 'target')];
    mkdirSync(join(source, 'sub'), { recursive: true });
    mkdirSync(target);
    writeFileSync(join(source, 'file'), 'text');
    try {
      await body(t, { source, target });
    } finally {
      const left = readFileSync('/proc/self/mountinfo', 'utf8')
        .split('\n')
        .map((line) => line.split(' ')[4] ?? '')
        .filter((place) => place.startsWith(`${directory}/`));
      for (const place of left.reverse()) spawnSync('umount', [place]);
      spawnSync('rm', ['-rf', '--one-file-system', directory]);
    }
  });
};

export async function mountsContract(t: Test, port: PortOf<MountOperations>, usagePort: PortOf<FilesystemUsageOperations>): Promise<void> {
  const ports = portsOf(port, usagePort);
  await filesystems(t, ports);
  await binds(t, ports);
  await t.test('cancelled before it began', async (t) => {
    const call = { signal: AbortSignal.abort(), timeoutMicros: null };
    await t.rejects(port.state({ path: '/' }, call), { name: 'PortError', kind: 'cancelled' });
    await t.rejects(port.unmount({ target: '/nonexistent', force: false }, call), { name: 'PortError', kind: 'cancelled' });
  });
}

async function filesystems(t: Test, { mounts, usage }: Ports): Promise<void> {
  await mountTest(t, 'state: absent, not mounted, mounted; unmounting twice', async (t, { source, target }) => {
    t.equal(await mounts.state(join(target, 'absent')), 'absent');
    t.equal(await mounts.state(join(source, 'file', 'below-a-file')), 'absent');
    t.equal(await mounts.state(target), 'not-mounted');
    t.equal(await mounts.state('/proc'), 'mounted');
    symlinkSync('/proc', join(target, 'link'));
    t.equal(await mounts.state(join(target, 'link')), 'not-mounted');
    await mounts.mount(tmpfs(target, []));
    t.equal(await mounts.state(target), 'mounted');
    await mounts.unmount(target, false);
    t.equal(await mounts.state(target), 'not-mounted');
    await mounts.unmount(target, false);
    await mounts.unmount(join(target, 'absent'), false);
  });

  await mountTest(t, 'tmpfs: size, options, remount', async (t, { target }) => {
    await mounts.mount(tmpfs(target, ['size=65536', 'nosuid', 'noexec']));
    const figures = await usage.usage(target);
    t.equal(figures.capacityBytes, 65536n);
    t.equal(figures.availableBytes, 65536n);
    t.equal(figures.type, 0x01021994n);
    t.strictSame(
      figures.mountOptions?.filter((option) => option !== 'relatime'),
      ['nosuid', 'noexec'],
    );
    writeFileSync(join(target, 'x'), Buffer.alloc(8192));
    t.equal((await usage.usage(target)).freeBytes, 65536n - 8192n);
    await mounts.remount(target, ['size=131072', 'nosuid', 'noexec'], false);
    t.equal((await usage.usage(target)).capacityBytes, 131072n);
  });

  await mountTest(t, 'propagation', async (t, { target }) => {
    await mounts.mount(tmpfs(target, []));
    const tags = (): string => {
      const line = readFileSync('/proc/self/mountinfo', 'utf8')
        .split('\n')
        .filter((entry) => entry.split(' ')[4] === target)
        .at(-1)!;
      return line.slice(0, line.indexOf(' - ')).split(' ').slice(6).join(' ');
    };
    await mounts.propagate(target, 'rshared');
    t.match(tags(), /^shared:\d+$/);
    await mounts.propagate(target, 'private');
    t.equal(tags(), '');
    await mounts.propagate(target, 'unbindable');
    t.equal(tags(), 'unbindable');
  });

  await mountTest(t, 'errors', async (t, { source, target }) => {
    await t.rejects(mounts.mount(tmpfs(join(target, 'absent'), [])), { name: 'PortError', kind: 'not-found', subject: join(target, 'absent') });
    await t.rejects(mounts.bind({ source: join(source, 'absent'), target, recursive: false, options: [] }), { name: 'PortError', kind: 'not-found' });
    await t.rejects(mounts.bind({ source, target, recursive: false, options: ['size=1'] }), { name: 'PortError', kind: 'invalid-argument' });
    t.equal(await mounts.state(target), 'not-mounted', 'nothing is left of a bind that failed');
    await t.rejects(usage.usage(join(target, 'absent')), { name: 'PortError', kind: 'not-found' });
    mkdirSync(join(target, 'busy'));
    await mounts.mount(tmpfs(target, []));
    await mounts.mount({ ...tmpfs(target, []), options: ['ro'] });
    t.equal((await usage.usage(target)).mountOptions?.includes('ro'), true, 'the topmost counts');
  });
}

async function binds(t: Test, { mounts, usage }: Ports): Promise<void> {
  await mountTest(t, 'bind: the same files; read-only holds on the bind alone', async (t, { source, target }) => {
    await mounts.bind({ source, target, recursive: false, options: ['ro'] });
    t.equal(readFileSync(join(target, 'file'), 'utf8'), 'text');
    t.throws(() => writeFileSync(join(target, 'new'), ''), { code: 'EROFS' });
    writeFileSync(join(source, 'new'), '');
    t.strictSame(readdirSync(target), ['file', 'new', 'sub']);
    t.ok((await usage.usage(target)).mountOptions?.includes('ro'));
    await mounts.remount(target, [], true);
    writeFileSync(join(target, 'written'), '');
  });

  await mountTest(t, "bind: keeps the source mount's restrictions", async (t, { source, target }) => {
    await mounts.mount(tmpfs(source, ['nosuid', 'nodev', 'noexec']));
    await mounts.bind({ source, target, recursive: false, options: ['ro'] });
    t.strictSame(
      (await usage.usage(target)).mountOptions?.filter((option) => option !== 'relatime'),
      ['ro', 'nosuid', 'nodev', 'noexec'],
    );
  });

  await mountTest(t, 'bind: recursive or not', async (t, { source, target }) => {
    await mounts.mount(tmpfs(join(source, 'sub'), []));
    writeFileSync(join(source, 'sub', 'deep'), '');
    await mounts.bind({ source, target, recursive: false, options: [] });
    t.strictSame(readdirSync(join(target, 'sub')), []);
    await mounts.unmount(target, false);
    await mounts.bind({ source, target, recursive: true, options: [] });
    t.strictSame(readdirSync(join(target, 'sub')), ['deep']);
    await mounts.unmount(join(target, 'sub'), false);
  });

  await mountTest(t, 'bind of a single file', async (t, { source, target }) => {
    const place = join(target, 'place');
    writeFileSync(place, '');
    await mounts.bind({ source: join(source, 'file'), target: place, recursive: false, options: ['ro'] });
    t.equal(readFileSync(place, 'utf8'), 'text');
    t.equal(await mounts.state(place), 'mounted');
    await mounts.unmount(place, false);
  });
}
