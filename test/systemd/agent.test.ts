// The whole agent with the driver systemd, on the mock runtime, the cgroups of this host and a fake systemd; and its start without systemd.
import { existsSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { readCgroupLayout } from '../../src/adapters/linux/index.js';
import { ask } from '../app/ask-daemon.js';
import { phaseOf, podNamed, Stage } from '../app/stage.js';
import { until } from '../support/until.js';
import { FakeBus } from './fake-bus.js';
import { FakeSystemd } from './fake-systemd.js';

const prefix = `kubelet_ts_agent_${process.pid}`;
const layout = readCgroupLayout('/proc/self/mountinfo');
const skip = process.getuid?.() === 0 && layout.hierarchies.length > 0 ? false : 'needs root and cgroups';
const settings = `cgroupsPerQOS: true\ncgroupRoot: /${prefix.replaceAll('_', '-')}\nenableServer: true\naddress: 127.0.0.1\n`;

function removeCgroups(directory: string): void {
  if (!existsSync(directory)) return;
  for (const entry of readdirSync(directory, { withFileTypes: true })) if (entry.isDirectory()) removeCgroups(join(directory, entry.name));
  rmdirSync(directory);
}

t.test('pods in slices: made, told to the runtime, measured, and taken down', { skip }, async (t) => {
  const parents: string[] = [];
  const observe = (method: string, request: unknown) => {
    if (method === 'RunPodSandbox') parents.push((request as { readonly config: { readonly linux: { readonly cgroupParent: string } } }).config.linux.cgroupParent);
  };
  const bus = await FakeBus.open(t);
  const stage = await Stage.open({ cgroupDriver: 'systemd', observe });
  t.teardown(async () => {
    await stage.close();
    for (const { mountPoint } of layout.hierarchies) removeCgroups(join(mountPoint, `${prefix}.slice`));
    if (layout.hybrid !== null) removeCgroups(join(layout.hybrid, `${prefix}.slice`));
  });
  const systemd = new FakeSystemd({ bus, trees: layout.hierarchies.map(({ mountPoint }) => mountPoint), prefix });
  stage.environment = { DBUS_SYSTEM_BUS_ADDRESS: bus.address };
  stage.configurationMore = settings;
  stage.manifest('a.yaml', stage.pod('a'));
  stage.manifest('b.yaml', stage.pod('b'));
  const daemon = await stage.start();
  await until('both run', () => phaseOf(daemon, 'a-n1') === 'Running' && phaseOf(daemon, 'b-n1') === 'Running');

  const uid = podNamed(daemon, 'a-n1')?.metadata.uid ?? '';
  const pods = `/${prefix}.slice/${prefix}-kubepods.slice`;
  const path = `${pods}/${prefix}-kubepods-besteffort.slice/${prefix}-kubepods-besteffort-pod${uid}.slice`;
  t.ok(parents.includes(path), 'the runtime is told the whole path of the slice');
  t.ok(layout.hierarchies.every(({ mountPoint }) => existsSync(`${mountPoint}${path}`)));
  t.ok(systemd.units.has(`${prefix}-kubepods-besteffort-pod${uid}.slice`));
  const cadvisor = await ask(daemon, '/metrics/cadvisor');
  t.ok(cadvisor.body.includes(`id="${path}"`), 'the slice has numbers');
  const summary = JSON.parse((await ask(daemon, '/stats/summary')).body) as {
    readonly node: { readonly systemContainers: readonly { readonly name: string; readonly cpu?: object }[] };
  };
  t.match(
    summary.node.systemContainers.find(({ name }) => name === 'pods'),
    { cpu: { usageCoreNanoSeconds: Number } },
    '... and so has that of all pods',
  );

  const orphan = `${pods}/${prefix}-kubepods-podnobody.slice`;
  for (const { mountPoint } of layout.hierarchies) mkdirSync(`${mountPoint}${orphan}`);
  bus.drop();
  stage.remove('a.yaml');
  await until('a is gone', () => podNamed(daemon, 'a-n1') === undefined && !systemd.units.has(`${prefix}-kubepods-besteffort-pod${uid}.slice`));
  await until('its cgroups are gone', () => !layout.hierarchies.some(({ mountPoint }) => existsSync(`${mountPoint}${path}`)));
  await until('what nobody knows is gone', () => !layout.hierarchies.some(({ mountPoint }) => existsSync(`${mountPoint}${orphan}`)));
  t.equal(phaseOf(daemon, 'b-n1'), 'Running', 'also after the bus went');
});

t.test('the start is refused where systemd does not answer', async (t) => {
  const bus = await FakeBus.open(t);
  const stage = await Stage.open({ cgroupDriver: 'systemd' });
  t.teardown(() => stage.close());
  stage.environment = { DBUS_SYSTEM_BUS_ADDRESS: bus.address };
  stage.configurationMore = settings;
  await t.rejects(stage.start(), { message: /^failed to run Kubelet: failed to start ContainerManager: .*The name org\.freedesktop\.systemd1 was not provided/ });
  await bus.stop();
  await t.rejects(stage.start(), { message: /^failed to run Kubelet: failed to start ContainerManager: .*dial unix .*: connect: no such file or directory$/ });
});
