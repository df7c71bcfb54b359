// Measuring pods' volumes: the method, the period, and the effects of a file system that never answers.

import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { MockCsiDriver, mockCsiDefaults } from '../../src/adapters/mock-plugins/index.js';
import { driverUsage } from '../../src/adapters/node-stats/driver-usage.js';
import { PodDiskUsage, type PodDiskUsageOptions } from '../../src/adapters/node-stats/pod-disk-usage.js';
import { GrpcCsiNode } from '../../src/adapters/plugins/index.js';
import { instantOf } from '../../src/domain/values/instant.js';
import type { MeasuredVolume } from '../../src/ports/model/node-measurements.js';
import type { Pod } from '../../src/ports/model/pod.js';

const minute = 60_000_000;
const podOf = (uid: string): Pod => ({ metadata: { name: uid, namespace: 'ns', uid }, spec: { containers: [] } });
const disk: MeasuredVolume = { name: 'disk', path: '/v/disk', how: 'tree', driver: null, isEphemeral: true, quota: null, claimName: null };
const memory: MeasuredVolume = { ...disk, name: 'memory', path: '/v/memory', isEphemeral: false };
const claimed: MeasuredVolume = { name: 'data', path: '/v/data', how: 'file-system', driver: null, isEphemeral: false, quota: null, claimName: 'c' };
const filesystem = { availableBytes: 60, usedBytes: 30, capacityBytes: 100, inodes: 10, inodesFree: 4 };

function usage(volumes: Readonly<Record<string, readonly MeasuredVolume[]>>, walks: Partial<PodDiskUsageOptions['walks']> = {}) {
  const abnormal: string[] = [];
  const sources: string[] = [];
  const clock = { now: 0 };
  const looked: string[] = [];
  const whole = {
    files: async () => null,
    tree: async () => null,
    volume: async (path: string) => {
      looked.push(path);
      return { usedBytes: 7, inodesUsed: 2, isPartial: false };
    },
    quota: async () => null,
    filesystem: async () => filesystem,
    driver: async () => null,
    ...walks,
  };
  const common = { rootDirectory: '/r', podLogsDirectory: '/l', volumePeriod: minute, random: () => 0.5, patienceMillis: 20 };
  const measured = new PodDiskUsage({
    ...common,
    walks: whole,
    volumes: ({ metadata: { uid = '' } }) => volumes[uid] ?? [],
    now: () => clock.now,
    wall: () => instantOf(clock.now),
    onAbnormal: (...told) => abnormal.push(told.join(' ')),
    onMeasured: (_took, source) => sources.push(source),
  });
  return { measured, clock, looked, abnormal, sources };
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

t.test('a volume with a quota isn’t walked; one whose quota says nothing is', async (t) => {
  const counted = new Map([['counted', { usedBytes: 4096, inodesUsed: 3, isPartial: false }]]);
  const quota = (volume: string) => ({ uid: 'a', plugin: 'kubernetes.io~empty-dir', volume });
  const volumes: MeasuredVolume[] = ['counted', 'lost'].map((name) => ({ ...disk, name, path: `/v/${name}`, quota: quota(name) }));
  const { measured, looked, sources } = usage({ a: [...volumes, disk] }, { quota: async ({ volume }) => counted.get(volume) ?? null });
  await measured.refresh([podOf('a')]);
  await measured.settled();
  t.match(measured.of('a')?.ephemeral, [
    { name: 'counted', usedBytes: 4096, inodesUsed: 3, capacityBytes: 100 },
    { name: 'lost', usedBytes: 7, inodesUsed: 2 },
    { name: 'disk', usedBytes: 7 },
  ]);
  t.strictSame(looked, ['/v/lost', '/v/disk']);
  t.strictSame(sources, ['fsquota', 'du', 'du']);
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

t.test('a volume of a CSI driver: what the driver says, by its claim; one that says nothing is left out', async (t) => {
  const of = (name: string): MeasuredVolume => ({
    name,
    path: `/v/${name}`,
    how: 'driver',
    driver: { name: 'd', volumeId: name },
    isEphemeral: false,
    quota: null,
    claimName: 'c',
  });
  const said = { availableBytes: 1, capacityBytes: 3, usedBytes: 2, inodes: 0, inodesFree: 0, inodesUsed: 0 };
  const { measured, looked } = usage({ a: [of('told'), of('silent')] }, { driver: async ({ name }) => (name === 'told' ? said : null) });
  await measured.refresh([podOf('a')]);
  await measured.settled();
  t.match(measured.of('a')?.persistent, [{ name: 'told', ...said, pvcRef: { name: 'c', namespace: 'ns' } }]);
  t.equal(measured.of('a')?.persistent.length, 1);
  t.strictSame(looked, [], 'the node doesn’t walk it');
});

t.test('a volume that is not well is told of at each look', async (t) => {
  const of = (name: string): MeasuredVolume => ({ name, path: '/v', how: 'driver', driver: { name: 'd', volumeId: name }, isEphemeral: false, quota: null, claimName: 'c' });
  const driver: PodDiskUsageOptions['walks']['driver'] = async ({ name }, tell) => {
    if (name === 'sick') tell('the disk fails');
    return null;
  };
  const { measured, clock, abnormal } = usage({ a: [of('well'), of('sick')] }, { driver });
  for (const at of [0, 0, 2 * minute]) {
    clock.now = at;
    await measured.refresh([podOf('a')]);
    await measured.settled();
  }
  t.strictSame(abnormal, ['a sick the disk fails', 'a sick the disk fails']);
});

t.test('a driver over its socket is asked only if it can tell; one that is away, fails or says nothing gives nothing', async (t) => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'stats-')));
  t.teardown(() => rmSync(base, { recursive: true }));
  const made = async (driver: string, capabilities: readonly string[]) => {
    const options = { ...mockCsiDefaults, driver, capabilities, pluginsDirectory: join(base, 'plugins'), dataDirectory: join(base, 'data') };
    const running = new MockCsiDriver(options);
    await running.start();
    t.teardown(() => running.stop());
    return running;
  };
  const [able, unable] = [await made('able', ['GET_VOLUME_STATS']), await made('unable', [])];
  const volume = (name: string): MeasuredVolume => ({ name: 'v', path: '/v', how: 'driver', driver: { name, volumeId: 'h1' }, isEphemeral: false, quota: null, claimName: null });
  const sick = await made('sick', ['GET_VOLUME_STATS', 'VOLUME_CONDITION']);
  const sockets: Readonly<Record<string, string>> = { able: able.socket, unable: unable.socket, sick: sick.socket, away: join(base, 'none') };
  const wrong: string[] = [];
  const ask = (name: string, reportsHealth = false) => {
    return driverUsage(
      new GrpcCsiNode(),
      (driver) => sockets[driver] ?? null,
      volume(name),
      reportsHealth,
      (message) => wrong.push(message),
    );
  };
  for (const abnormal of [true, false]) {
    sick.condition = { abnormal, message: 'm' };
    t.strictSame((await ask('sick', true))?.volumeHealthStats, { abnormal });
  }
  t.strictSame(wrong, ['m'], 'what is wrong is told, what is well isn’t');
  t.equal((await ask('sick'))?.volumeHealthStats, undefined, 'only with the gate');
  sick.condition = null;
  t.equal((await ask('sick', true))?.volumeHealthStats, undefined, 'a driver that says nothing');
  able.condition = { abnormal: true, message: 'm' };
  t.equal((await ask('able', true))?.volumeHealthStats, undefined, 'one that doesn’t say that it can tell');
  t.equal(wrong.length, 1);
  const told = await ask('able');
  const { capacityBytes = 0, usedBytes = 0 } = told ?? {};
  t.ok(capacityBytes > 0 && capacityBytes >= usedBytes && usedBytes > 0, JSON.stringify(told));
  t.match(able.calls.at(-1), { method: 'NodeGetVolumeStats', request: { volumeId: 'h1', volumePath: '/v' } });
  for (const name of ['unable', 'away', 'unknown']) t.equal(await ask(name), null, name);
  t.notOk(unable.calls.some(({ method }) => method === 'NodeGetVolumeStats'));
  able.faults.push({ method: 'NodeGetVolumeStats', code: 13, message: 'no', delayMillis: 0, times: 1 });
  t.equal(await ask('able'), null, 'it fails');
});
