// The pods' cgroups by the systemd driver: the contract of all drivers over a fake systemd that makes cgroups of this host, under a name of its own;
// the calls to systemd, and the handling of its refusals, its silence and a lost bus.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type CgroupLayout, readCgroupLayout, SystemdPodCgroups } from '../../src/adapters/linux/index.js';
import { SystemBus, SystemdUnits } from '../../src/adapters/systemd/index.js';
import { cgroupFiles } from '../../src/domain/cgroups/cgroup-files.js';
import { sliceNaming } from '../../src/domain/cgroups/cgroup-name.js';
import { sliceSettings } from '../../src/domain/cgroups/systemd-properties.js';
import { PortError } from '../../src/ports/port-error.js';
import { hasControllers, kernelValue } from '../ports/kernel-cgroup-values.js';
import { podCgroupsContract, quietCall } from '../ports/pod-files.contract.js';
import { FakeBus } from './fake-bus.js';
import { FakeSystemd } from './fake-systemd.js';

const prefix = `kubelet_ts_slices_${process.pid}`;
/** As it is configured: systemd's `_` is a `-` there. */
const cgroupRoot = prefix.replaceAll('_', '-');
const podsCgroup = [cgroupRoot, 'kubepods'];
const layout = readCgroupLayout('/proc/self/mountinfo');
const isRoot = process.getuid?.() === 0;
const hostSkip = isRoot && layout.hierarchies.length > 0 ? false : 'needs root and cgroups';

interface Stage {
  readonly bus: FakeBus;
  readonly systemd: FakeSystemd;
  readonly cgroups: SystemdPodCgroups;
}

async function stage(t: Test, on: CgroupLayout, jobTimeoutMillis = 60_000): Promise<Stage> {
  const bus = await FakeBus.open(t);
  // systemd keeps what it is asked to account, and its own tree.
  const trees = on.hierarchies.filter(({ controllers }) => on.version === 2 || controllers.some((one) => ['systemd', 'memory', 'pids'].includes(one)));
  const systemd = new FakeSystemd({ bus, trees: trees.map(({ mountPoint }) => mountPoint), prefix });
  const systemBus = new SystemBus({ address: bus.address, privateSocket: null, timeoutMillis: 60_000 });
  t.teardown(() => {
    systemBus.close();
    for (const { mountPoint } of on.hierarchies) removeCgroups(join(mountPoint, `${prefix}.slice`));
    if (on.hybrid !== null) removeCgroups(join(on.hybrid, `${prefix}.slice`));
  });
  const units = new SystemdUnits({ bus: systemBus, jobTimeoutMillis });
  return {
    bus,
    systemd,
    cgroups: new SystemdPodCgroups({ podsCgroup, layout: on, units, naming: sliceNaming, settings: sliceSettings, files: (values, version) => cgroupFiles(values, version, []) }),
  };
}

function removeCgroups(directory: string): void {
  if (!existsSync(directory)) return;
  for (const entry of readdirSync(directory, { withFileTypes: true })) if (entry.isDirectory()) removeCgroups(join(directory, entry.name));
  rmdirSync(directory);
}

/** A directory in place of a tree. */
function plainTree(t: Test): CgroupLayout {
  const mountPoint = realpathSync(mkdtempSync(join(tmpdir(), 'slices-')));
  t.teardown(() => rmSync(mountPoint, { recursive: true, force: true }));
  return { version: 1, hierarchies: [{ mountPoint, controllers: ['pids', 'systemd'] }], hybrid: null };
}

async function failure(work: Promise<unknown>): Promise<PortError> {
  return work.then(
    () => {
      throw new Error('did not fail');
    },
    (error: unknown) => {
      if (error instanceof PortError) return error;
      throw error;
    },
  );
}

t.test(`the contract of pod cgroups, on cgroup v${layout.version} of this host`, { skip: hostSkip }, async (t) => {
  const { cgroups, systemd } = await stage(t, layout);
  await podCgroupsContract(t, {
    cgroups,
    podsCgroup,
    readValue: (name, value) => kernelValue(layout, sliceNaming.directories(name), value),
    hasControllers: hasControllers(layout),
  });
  const left = [...systemd.units.keys()].sort();
  t.strictSame(
    left,
    [`${prefix}.slice`, `${prefix}-kubepods.slice`, `${prefix}-kubepods-besteffort.slice`, `${prefix}-kubepods-burstable.slice`].sort(),
    'units of pods went with them',
  );
  t.ok(
    layout.hierarchies.every(({ mountPoint }) => existsSync(join(mountPoint, `${prefix}.slice`, `${prefix}-kubepods.slice`, `${prefix}-kubepods-burstable.slice`))),
    'the slices above lie in each tree, also in those that systemd does not keep',
  );
});

t.test('what systemd is told of a pod', { skip: hostSkip }, async (t) => {
  const { cgroups, systemd } = await stage(t, layout);
  const name = [...podsCgroup, 'burstable', 'pod0a-b'];
  t.strictSame(await cgroups.ensure({ name, values: null, rewrite: false }, quietCall), { created: true, problem: '' });
  const unit = `${prefix}-kubepods-burstable-pod0a_b.slice`;
  t.strictSame(systemd.propertiesOf(unit), {
    Description: `libcontainer container ${unit}`,
    Wants: [`${prefix}-kubepods-burstable.slice`],
    MemoryAccounting: true,
    CPUAccounting: true,
    [layout.version === 1 ? 'BlockIOAccounting' : 'IOAccounting']: true,
    TasksAccounting: true,
    DefaultDependencies: false,
  });
  t.strictSame(
    systemd.calls,
    ['', '-burstable', '-burstable-pod0a_b'].map((end) => `StartTransientUnit ${prefix}-kubepods${end}.slice`),
    'those above are begun first',
  );
  systemd.calls.splice(0);
  t.strictSame(await cgroups.ensure({ name, values: null, rewrite: false }, quietCall), { created: false, problem: '' }, 'one that systemd has is success');
  t.strictSame(systemd.calls, [`StartTransientUnit ${unit}`], '... and those above are known by now');
  systemd.calls.splice(0);
  await cgroups.destroy({ name }, quietCall);
  t.strictSame(systemd.calls, [`StopUnit ${unit}`, `ResetFailedUnit ${unit}`]);
  systemd.calls.splice(0);
  await cgroups.destroy({ name }, quietCall);
  t.strictSame(systemd.calls, [`StopUnit ${unit}`], 'one that systemd does not know is gone');
});

t.test('a slice without a unit is found, and taken away', { skip: hostSkip }, async (t) => {
  const { cgroups } = await stage(t, layout);
  const directory = join(layout.hierarchies[0]!.mountPoint, `${prefix}.slice`, `${prefix}-kubepods.slice`);
  mkdirSync(join(directory, `${prefix}-kubepods-pod1_2.slice`, 'cri-containerd-x.scope'), { recursive: true });
  mkdirSync(join(directory, 'somebody.slice'));
  mkdirSync(join(directory, 'podx'));
  t.strictSame(await cgroups.list(null, quietCall), [{ uid: '1-2', name: [...podsCgroup, 'pod1-2'] }]);
  await cgroups.destroy({ name: [...podsCgroup, 'pod1-2'] }, quietCall);
  t.strictSame(await cgroups.list(null, quietCall), []);
  t.ok(existsSync(join(directory, 'somebody.slice')), 'what is nobody’s of ours stays');
});

t.test('refusals, silence, and a bus that goes', async (t) => {
  const name = [...podsCgroup, 'pod1'];
  const unit = `${prefix}-kubepods-pod1.slice`;
  await t.test('a job that fails is told with its end, and a failed unit is forgotten', async (t) => {
    const { cgroups, systemd } = await stage(t, plainTree(t));
    systemd.jobResult = 'failed';
    const top = `${prefix}-kubepods.slice`;
    t.match(await failure(cgroups.ensure({ name, values: null, rewrite: false }, quietCall)), {
      kind: 'failed-precondition',
      message: `error creating systemd unit \`${top}\`: got \`failed\``,
      operation: 'podCgroups.ensure',
    });
    t.strictSame(systemd.calls, [`StartTransientUnit ${top}`, `ResetFailedUnit ${top}`]);
    systemd.jobResult = 'done';
    t.strictSame(await cgroups.ensure({ name, values: null, rewrite: false }, quietCall), { created: true, problem: '' }, 'asked again, it is made');
  });
  await t.test('a job that never ends', async (t) => {
    const { cgroups, systemd } = await stage(t, plainTree(t), 20);
    systemd.jobResult = null;
    t.match(await failure(cgroups.ensure({ name, values: null, rewrite: false }, quietCall)), {
      kind: 'failed-precondition',
      message: `Timeout waiting for systemd to create ${prefix}-kubepods.slice`,
    });
    systemd.units.set(unit, new Map());
    t.match(await failure(cgroups.destroy({ name }, quietCall)), { kind: 'failed-precondition', message: `Timed out while waiting for systemd to remove ${unit}` });
  });
  await t.test('what systemd refuses keeps its words', async (t) => {
    const { cgroups, systemd } = await stage(t, plainTree(t));
    systemd.refused.set('StartTransientUnit', { error: 'org.freedesktop.DBus.Error.AccessDenied', message: 'Permission denied' });
    t.match(await failure(cgroups.ensure({ name, values: null, rewrite: false }, quietCall)), { kind: 'permission-denied', message: 'Permission denied' });
  });
  await t.test('a bus that goes while a job runs: the job is asked about on a new one', async (t) => {
    const { bus, cgroups, systemd } = await stage(t, plainTree(t));
    systemd.jobResult = null;
    const made = cgroups.ensure({ name, values: null, rewrite: false }, quietCall);
    while (systemd.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    systemd.jobResult = 'done';
    // The unit exists by then, as with a systemd that continued meanwhile.
    systemd.units.set(`${prefix}-kubepods.slice`, new Map());
    bus.drop();
    t.strictSame(await made, { created: true, problem: '' });
    t.ok(bus.connections >= 2);
  });
  await t.test('no bus at all', async (t) => {
    const { bus, cgroups } = await stage(t, plainTree(t));
    await bus.stop();
    t.match(await failure(cgroups.ensure({ name, values: null, rewrite: false }, quietCall)), {
      kind: 'unavailable',
      message: /^dial unix .*: connect: no such file or directory$/,
    });
    await bus.start();
    t.strictSame(await cgroups.ensure({ name, values: null, rewrite: false }, quietCall), { created: true, problem: '' }, 'it is there again');
  });
});
