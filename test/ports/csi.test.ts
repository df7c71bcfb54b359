// Plugins: the contract, on the model and over real sockets and files; what drivers answer when they fail, hang or go; what is never removed.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { MockCsiDriver, mockCsiDefaults } from '../../src/adapters/mock-plugins/index.js';
import { openNativeLinux, serviceEnvironmentOf } from '../../src/adapters/native-linux/index.js';
import { GrpcCsiNode, UnixPluginSockets } from '../../src/adapters/plugins/index.js';
import { FileCsiFiles, FilePodDirectories } from '../../src/adapters/storage/index.js';
import { SimHost } from '../../src/sim/host/sim-host.js';
import { csiFilesContract, type PluginsUnderTest, pluginsContract } from './csi.contract.js';
import { kindOf, quietCall } from './pod-volumes.contract.js';
import { portOf } from './sim-port.js';

const native = openNativeLinux({ kernelLogPath: '/dev/null', service: serviceEnvironmentOf({}) }, false);
const facts = { nodeId: 'node-1', maxVolumes: 3n, topology: { zone: 'z' } };

function directoryOf(t: Test): string {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'csi-')));
  t.teardown(() => rmSync(base, { recursive: true }));
  return base;
}

function simulated(): PluginsUnderTest {
  const host = new SimHost({ seed: 1 });
  const { rootDirectory } = host.settings;
  const path = (name: string) => `${rootDirectory}/plugins_registry/${name}-reg.sock`;
  return {
    rootDirectory,
    sockets: portOf(host, 'pluginSockets'),
    node: portOf(host, 'csiNode'),
    start: async (name) => void host.csi.put(`${name}-reg.sock`, { name, ...facts }),
    stop: async (name) => host.csi.remove(`${name}-reg.sock`),
    told: (name) => host.state.plugins.get(path(name))?.notified ?? null,
  };
}

interface RealPlugins extends PluginsUnderTest {
  readonly changes: () => number;
  readonly driver: (name: string) => MockCsiDriver;
}

function real(t: Test): RealPlugins {
  const rootDirectory = directoryOf(t);
  let changes = 0;
  const directory = join(rootDirectory, 'plugins_registry');
  const sockets = new UnixPluginSockets({ directory, openFileWatch: (listener) => native.openFileWatch(listener), deliver: () => changes++ });
  const drivers = new Map<string, MockCsiDriver>();
  t.teardown(async () => {
    sockets.close();
    for (const driver of drivers.values()) await driver.stop();
  });
  return {
    rootDirectory,
    sockets,
    node: new GrpcCsiNode(),
    start: async (driver) => {
      const made = new MockCsiDriver({ ...mockCsiDefaults, ...facts, driver, pluginsDirectory: directory, dataDirectory: join(rootDirectory, 'data') });
      await made.start();
      drivers.set(driver, made);
    },
    stop: async (name) => drivers.get(name)?.stop(),
    told: (name) => drivers.get(name)?.notifications.at(-1) ?? null,
    changes: () => changes,
    driver: (name) => drivers.get(name) as MockCsiDriver,
  };
}

t.test('plugins: the model', (t) => pluginsContract(t, simulated()));
t.test('plugins: sockets', (t) => pluginsContract(t, real(t)));

t.test('files: the model', (t) => {
  const host = new SimHost({ seed: 1 });
  const directories = portOf<FilePodDirectories>(host, 'podDirectories');
  return csiFilesContract(t, { files: portOf(host, 'csiFiles'), preparePod: (uid) => directories.prepare({ uid }, quietCall) });
});

function realFiles(t: Test) {
  const rootDirectory = directoryOf(t);
  const directories = FilePodDirectories.open({ rootDirectory, podLogsDirectory: join(rootDirectory, 'logs') });
  const files = FileCsiFiles.open({ rootDirectory });
  t.teardown(() => {
    directories.close();
    files.close();
  });
  return { rootDirectory, files, preparePod: (uid: string) => directories.prepare({ uid }, quietCall) };
}

t.test('files: files', (t) => csiFilesContract(t, realFiles(t)));

t.test('files: nothing of anybody else’s is removed or followed', async (t) => {
  const { rootDirectory, files, preparePod } = realFiles(t);
  await preparePod('u1');
  const place = { kind: 'pod', uid: 'u1', plugin: 'kubernetes.io~csi', volume: 'pv', inner: 'mount' } as const;
  const directory = join(rootDirectory, 'pods/u1/volumes/kubernetes.io~csi/pv');
  await files.prepare({ place, makesPlace: true, data: '{}' }, quietCall);
  t.equal(statSync(directory).mode & 0o777, 0o750);
  writeFileSync(join(directory, 'mount/data'), 'somebody’s');
  t.equal(await kindOf(() => files.remove({ place }, quietCall)), 'failed-precondition');
  t.equal(readFileSync(join(directory, 'mount/data'), 'utf8'), 'somebody’s');
  t.equal(await files.read({ place }, quietCall), '{}', 'and the volume is known for what it is');
  rmSync(directory, { recursive: true });
  const outside = join(rootDirectory, 'outside');
  mkdirSync(outside);
  symlinkSync(outside, directory);
  t.equal(await kindOf(() => files.prepare({ place, makesPlace: true, data: '{}' }, quietCall)), 'permission-denied');
  t.notOk(existsSync(join(outside, 'vol_data.json')));
});

t.test('sockets: changes are told, in directories that are made later too; dots, files and links are none', async (t) => {
  const run = real(t);
  t.ok((await run.sockets.scan(null, quietCall)).watched);
  const directory = join(run.rootDirectory, 'plugins_registry');
  mkdirSync(join(directory, 'deep'));
  writeFileSync(join(directory, 'file'), '');
  await run.start('.hidden');
  await run.start('deep/d');
  symlinkSync(join(directory, 'deep/d-reg.sock'), join(directory, 'link'));
  const { sockets } = await run.sockets.scan(null, quietCall);
  t.strictSame(
    sockets.map(({ path }) => path),
    [join(directory, 'deep/d-reg.sock')],
  );
  const before = run.changes();
  await run.stop('deep/d');
  while (run.changes() === before) await new Promise((resolve) => setImmediate(resolve));
  t.strictSame((await run.sockets.scan(null, quietCall)).sockets, []);
});

t.test('a driver that fails, hangs, is cut off or talks of something else; secrets stay out of errors', async (t) => {
  const run = real(t);
  await run.start('d');
  const driver = run.driver('d');
  const endpoint = driver.socket;
  driver.faults.push({ method: 'NodeGetCapabilities', code: 8, message: 'busy', delayMillis: 0, times: 1 });
  await t.rejects(run.node.capabilities({ endpoint }, quietCall), { kind: 'resource-exhausted', message: 'rpc error: code = ResourceExhausted desc = busy' });
  driver.faults.push({ method: 'NodeGetCapabilities', code: null, message: '', delayMillis: Number.POSITIVE_INFINITY, times: 2 });
  await t.rejects(run.node.capabilities({ endpoint }, { ...quietCall, timeoutMicros: 50_000 }), {
    kind: 'deadline-exceeded',
    message: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
  });
  const controller = new AbortController();
  const cut = run.node.capabilities({ endpoint }, { signal: controller.signal, timeoutMicros: null });
  controller.abort();
  t.equal(await kindOf(() => cut), 'cancelled');
  driver.faults.length = 0;
  t.strictSame(await run.node.capabilities({ endpoint }, quietCall), ['STAGE_UNSTAGE_VOLUME'], 'and works again');
  driver.faults.push({ method: 'NodeStageVolume', code: 13, message: 'no', delayMillis: 0, times: 1 });
  const volumeCapability = { accessMode: 'SINGLE_NODE_WRITER', fsType: '', mountFlags: [], volumeMountGroup: '', isBlock: false };
  const request = { volumeId: 'v', publishContext: {}, stagingTargetPath: '/none', volumeCapability, secrets: { password: 'hunter2' }, volumeContext: {} };
  const error = await run.node.stage({ endpoint, ...request }, quietCall).catch((failure: Error) => failure);
  t.notMatch(JSON.stringify(error) + String(error), /hunter2/);
  t.notMatch(JSON.stringify(driver.calls), /hunter2/);
  t.equal(await kindOf(() => run.node.stage({ endpoint, ...request, volumeCapability: { ...volumeCapability, accessMode: 'ANY' } }, quietCall)), 'invalid-argument');
  const other = join(run.rootDirectory, 'other.sock');
  const server = createServer((socket) => socket.end('HTTP/1.0 400 no\r\n\r\n'));
  await new Promise<void>((resolve) => server.listen(other, resolve));
  t.teardown(() => server.close());
  t.equal(await kindOf(() => run.node.info({ endpoint: other }, quietCall)), 'unavailable');
  t.equal(await kindOf(() => run.sockets.info({ socket: join(run.rootDirectory, 'none') }, quietCall)), 'unavailable');
});
