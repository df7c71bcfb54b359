// DRA drivers: the contract, on the model and over real sockets; what drivers answer when they fail, hang or leave claims out.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { MockDraDriver, mockDraDefaults } from '../../src/adapters/mock-plugins/index.js';
import { GrpcDraPlugin } from '../../src/adapters/plugins/index.js';
import { PortError } from '../../src/ports/port-error.js';
import { SimHost } from '../../src/sim/host/sim-host.js';
import { draPluginContract } from './dra-plugin.contract.js';
import { kindOf, quietCall } from './pod-volumes.contract.js';
import { portOf } from './sim-port.js';

const name = 'gpu.example.com';
const claims = [{ namespace: 'default', name: 'g', uid: 'u1' }];

function driverOf(t: Test): MockDraDriver {
  const pluginsDirectory = realpathSync(mkdtempSync(join(tmpdir(), 'dra-')));
  const driver = new MockDraDriver({ ...mockDraDefaults, driver: name, pluginsDirectory });
  t.teardown(async () => {
    await driver.stop();
    rmSync(pluginsDirectory, { recursive: true });
  });
  return driver;
}

t.test('the model', (t) => {
  const host = new SimHost({ seed: 1 });
  const socket = (driver: string) => `${driver}-reg.sock`;
  return draPluginContract(t, {
    plugin: portOf(host, 'draPlugin'),
    endpoint: (driver) => `${host.settings.rootDirectory}/plugins_registry/${socket(driver)}`,
    start: async (driver) => void host.csi.put(socket(driver), { name: driver, type: 'DRAPlugin' }),
    stop: async (driver) => host.csi.remove(socket(driver)),
    prepared: (driver) => [...(host.state.draClaims.get(driver)?.keys() ?? [])],
  });
});

t.test('over gRPC', (t) => {
  const driver = driverOf(t);
  return draPluginContract(t, {
    plugin: new GrpcDraPlugin(),
    endpoint: () => driver.socket,
    start: () => driver.start(),
    stop: () => driver.stop(),
    prepared: () => [...driver.prepared.keys()],
  });
});

t.test('a driver’s error has its code and text; one that hangs is given up; an error of a claim is an answer', async (t) => {
  const driver = driverOf(t);
  await driver.start();
  const plugin = new GrpcDraPlugin();
  const asked = { endpoint: driver.socket, claims };
  driver.faults.push({ method: 'NodePrepareResources', code: 9, message: 'no such device', hangs: false, times: 1 });
  await t.rejects(
    plugin.prepare(asked, quietCall),
    new PortError({ kind: 'failed-precondition', message: 'rpc error: code = FailedPrecondition desc = no such device', operation: 'draPlugin.prepare', subject: driver.socket }),
  );
  driver.faults.push({ method: 'NodePrepareResources', code: null, message: 'out of order', hangs: false, times: 1 });
  t.strictSame(await plugin.prepare(asked, quietCall), { claims: new Map([['u1', { devices: [], error: 'out of order' }]]) });
  driver.faults.push({ method: 'NodeUnprepareResources', code: null, message: '', hangs: true, times: 1 });
  t.equal(await kindOf(() => plugin.unprepare(asked, { ...quietCall, timeoutMicros: 50_000 })), 'deadline-exceeded');
  const gone = new AbortController();
  driver.faults.push({ method: 'NodeUnprepareResources', code: null, message: '', hangs: true, times: 1 });
  const pending = kindOf(() => plugin.unprepare(asked, { ...quietCall, signal: gone.signal }));
  gone.abort();
  t.equal(await pending, 'cancelled');
});
