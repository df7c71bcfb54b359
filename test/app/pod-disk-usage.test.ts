// What is measured of pods' volumes: by which means, how often, and what a file system that never answers holds up.
import t from 'tap';
import { PodDiskUsage, type PodDiskUsageOptions } from '../../src/app/daemon/stats/pod-disk-usage.js';
import type { MeasuredVolume } from '../../src/domain/volume-manager/measured-volumes.js';
import type { Pod } from '../../src/ports/model/pod.js';

const minute = 60_000_000;
const podOf = (uid: string): Pod => ({ metadata: { name: uid, namespace: 'ns', uid }, spec: { containers: [] } });
const disk: MeasuredVolume = { name: 'disk', path: '/v/disk', how: 'tree', isEphemeral: true, claimName: null };
const memory: MeasuredVolume = { ...disk, name: 'memory', path: '/v/memory', isEphemeral: false };
const claimed: MeasuredVolume = { name: 'data', path: '/v/data', how: 'file-system', isEphemeral: false, claimName: 'c' };
const filesystem = { availableBytes: 60, usedBytes: 30, capacityBytes: 100, inodes: 10, inodesFree: 4 };

function usage(volumes: Readonly<Record<string, readonly MeasuredVolume[]>>, walks: Partial<PodDiskUsageOptions['walks']> = {}) {
  const clock = { now: 0 };
  const looked: string[] = [];
  const whole = {
    files: async () => null,
    tree: async () => null,
    volume: async (path: string) => {
      looked.push(path);
      return { usedBytes: 7, inodesUsed: 2, isPartial: false };
    },
    filesystem: async () => filesystem,
    ...walks,
  };
  const common = { rootDirectory: '/r', podLogsDirectory: '/l', volumePeriod: minute, random: () => 0.5, patienceMillis: 20 };
  const measured = new PodDiskUsage({ ...common, walks: whole, volumes: ({ metadata: { uid = '' } }) => volumes[uid] ?? [], now: () => clock.now });
  return { measured, clock, looked };
}

t.test('trees by what is in them, file systems by what they say; claims by name; only the node’s disk is ephemeral', async (t) => {
  const { measured } = usage({ a: [disk, memory, claimed] });
  await measured.refresh([podOf('a')]);
  await measured.settled();
  const { ephemeral, persistent } = measured.of('a') ?? {};
  const common = { availableBytes: 60, capacityBytes: 100, inodes: 10, inodesFree: 4 };
  t.match(ephemeral, [{ name: 'disk', usedBytes: 7, inodesUsed: 2, ...common }]);
  t.match(persistent, [
    { name: 'memory', usedBytes: 7 },
    { name: 'data', usedBytes: 30, inodesUsed: 6, pvcRef: { name: 'c', namespace: 'ns' } },
  ]);
  t.notOk('pvcRef' in (ephemeral?.[0] ?? {}));
});

t.test('again after a period and a half, and not before', async (t) => {
  const { measured, clock, looked } = usage({ a: [disk] });
  const times: number[] = [];
  for (const at of [0, 1, 1.4, 1.5, 2, 2.9, 3]) {
    clock.now = at * minute;
    const before = looked.length;
    await measured.refresh([podOf('a')]);
    await measured.settled();
    if (looked.length > before) times.push(at);
  }
  t.strictSame(times, [0, 1.5, 3]);
});

t.test('KB063 a file system that never answers holds up its own pod’s numbers alone, and is asked once', async (t) => {
  // The wait for it keeps no process alive.
  const alive = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(alive));
  let asked = 0;
  const { measured, clock } = usage(
    { dead: [claimed], a: [disk] },
    {
      filesystem: async (path) => {
        if (path !== claimed.path) return filesystem;
        asked++;
        return await new Promise<never>(() => {});
      },
    },
  );
  for (let turn = 0; turn < 3; turn++) {
    clock.now += 2 * minute;
    await measured.refresh([podOf('dead'), podOf('a')]);
    await measured.settled();
    t.equal(measured.of('a')?.ephemeral.length, 1);
    t.strictSame(measured.of('dead')?.persistent, []);
  }
  t.equal(asked, 1);
});
