// Node shutdown by logind: the lock and its delay, signals, and the handling of refusals, of a lost bus or holder, of a killed agent;
// then the whole agent on the mock runtime.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { LogindNodeShutdown, SystemBus } from '../../src/adapters/systemd/index.js';
import { takeInhibitorLock } from '../../src/adapters/systemd/inhibitor-lock.js';
import type { ShutdownSignal, ShutdownSignalsLost } from '../../src/ports/outbound/node-shutdown.js';
import { type Outcome, PortError } from '../../src/ports/port-error.js';
import { SimHost } from '../../src/sim/host/sim-host.js';
import { ask } from '../app/ask-daemon.js';
import { phaseOf, podNamed, Stage } from '../app/stage.js';
import { type NodeShutdownUnderTest, nodeShutdownContract } from '../ports/node-shutdown.contract.js';
import { quietCall } from '../ports/pod-files.contract.js';
import { until } from '../support/until.js';
import { FakeBus } from './fake-bus.js';
import { FakeLogind } from './fake-logind.js';

interface Place extends NodeShutdownUnderTest {
  readonly port: LogindNodeShutdown;
  readonly bus: FakeBus;
  readonly logind: FakeLogind;
  readonly directory: string;
  readonly events: (ShutdownSignal | ShutdownSignalsLost)[];
}

async function place(t: Test, mayWrite = true): Promise<Place> {
  const bus = await FakeBus.open(t);
  const logind = new FakeLogind(t, bus);
  const directory = mkdtempSync(join(tmpdir(), 'node-shutdown-'));
  const events: (ShutdownSignal | ShutdownSignalsLost)[] = [];
  const systemBus = new SystemBus({ address: bus.address, privateSocket: null, timeoutMillis: 60_000 });
  const port = new LogindNodeShutdown({
    bus: systemBus,
    deliver: (event) => events.push(event),
    dropIn: mayWrite ? logind.dropIn : null,
    directory,
    inhibitor: { program: logind.inhibitor, timeoutMillis: 60_000 },
  });
  t.teardown(async () => {
    await port.close();
    systemBus.close();
    rmSync(directory, { recursive: true });
  });
  return { port, bus, logind, directory, events, isLocked: () => logind.holders.length === 1, setShuttingDown: (active) => logind.announce(active) };
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

t.test('the contract', async (t) => {
  await t.test('logind', async (t) => nodeShutdownContract(t, await place(t)));
  await t.test('the model', async (t) => {
    const host = new SimHost({ seed: 1 });
    const operation = (name: string) => async (request: never) => {
      const { outcome } = host.handle(`nodeShutdown.${name}` as never, request, 0) as { readonly outcome: Outcome<unknown> };
      if (!outcome.ok) throw new PortError(outcome.error);
      return outcome.value;
    };
    const port = new Proxy({}, { get: (_, name) => operation(String(name)) }) as NodeShutdownUnderTest['port'];
    const setShuttingDown = (active: boolean): void => {
      host.state.shutdown.shuttingDown = active;
    };
    await nodeShutdownContract(t, { port, isLocked: () => host.state.shutdown.isLocked, setShuttingDown });
  });
});

t.test('how long logind waits', async (t) => {
  await t.test('longer than is needed: nothing is changed', async (t) => {
    const { port, logind } = await place(t);
    t.strictSame(await port.inhibit({ neededSeconds: 5 }, quietCall), { shuttingDown: false });
    t.strictSame([existsSync(logind.dropIn), logind.killed], [false, []]);
    t.equal(logind.asked, '--what=shutdown --who=kubelet --why=Kubelet needs time to handle node shutdown --mode=delay cat\n');
  });
  await t.test('too short: it is given a file, and told to read it', async (t) => {
    const { port, logind } = await place(t);
    await port.inhibit({ neededSeconds: 30 }, quietCall);
    t.equal(readFileSync(logind.dropIn, 'utf8'), '# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=30\n');
    t.strictSame([statSync(logind.dropIn).mode & 0o777, logind.killed, logind.delayMax], [0o644, ['systemd-logind.service all 1'], 30_000_000n]);
  });
  await t.test('a logind that doesn’t read it', async (t) => {
    const { port, logind } = await place(t);
    logind.readsFiles = false;
    t.match(await failure(port.inhibit({ neededSeconds: 90 }, quietCall)), {
      kind: 'failed-precondition',
      message: 'node shutdown manager was timed out after 5 attempts waiting for logind InhibitDelayMaxSec to update to 1m30s (ShutdownGracePeriod), current value is 5s',
    });
    t.equal(logind.holders.length, 0);
  });
  await t.test('an agent that may not change the host', async (t) => {
    const { port, logind } = await place(t, false);
    t.match(await failure(port.inhibit({ neededSeconds: 90 }, quietCall)), {
      kind: 'failed-precondition',
      message: /an agent beside the node’s kubelet does not change logind.*current value is 5s$/,
    });
    t.strictSame([existsSync(logind.dropIn), logind.killed], [false, []]);
  });
});

t.test('signals, a bus that goes, and a lock that goes', async (t) => {
  const { port, bus, logind, events } = await place(t);
  await port.inhibit({ neededSeconds: 5 }, quietCall);
  t.strictSame(bus.rules, ["type='signal',sender='org.freedesktop.login1',path='/org/freedesktop/login1',interface='org.freedesktop.login1.Manager',member='PrepareForShutdown'"]);
  logind.announce(true);
  await until('it is told', () => events.length === 1);
  logind.announce(false);
  await until('that too', () => events.length === 2);
  t.strictSame(events.splice(0), [
    { type: 'shutdown-signal', active: true },
    { type: 'shutdown-signal', active: false },
  ]);
  bus.drop();
  await until('the loss is told', () => events.length > 0);
  await port.inhibit({ neededSeconds: 5 }, quietCall);
  await until('one holds the lock', () => logind.holders.length === 1);
  logind.announce(true);
  await until('signals come again', () => events.length === 2);
  t.strictSame(events.splice(0), [{ type: 'shutdown-signals-lost' }, { type: 'shutdown-signal', active: true }], 'once each');
  logind.shuttingDown = false;
  process.kill(logind.holders[0]!, 'SIGKILL');
  await until('the lock’s loss is told', () => events.length > 0);
  t.strictSame(events, [{ type: 'shutdown-signals-lost' }]);
});

t.test('refusals', async (t) => {
  const { port, bus, logind } = await place(t);
  logind.refuse('Failed to inhibit: Access denied');
  t.match(await failure(port.inhibit({ neededSeconds: 5 }, quietCall)), { kind: 'unknown', message: 'systemd-inhibit: Failed to inhibit: Access denied' });
  logind.refuse(null);
  bus.services.delete('org.freedesktop.login1');
  t.match(await failure(port.inhibit({ neededSeconds: 5 }, quietCall)), { kind: 'unavailable', message: /org\.freedesktop\.login1 was not provided/ });
  await bus.stop();
  t.match(await failure(port.inhibit({ neededSeconds: 5 }, quietCall)), { kind: 'unavailable', message: /^dial unix .*: connect: no such file or directory$/ });
  await t.rejects(
    takeInhibitorLock({ program: ['/nowhere/systemd-inhibit'] }, () => {}),
    { message: /ENOENT/ },
  );
  await t.rejects(
    takeInhibitorLock({ program: ['sleep', '60', '#'], timeoutMillis: 1 }, () => {}),
    { message: /within 1 ms|invalid/ },
  );
});

t.test('the lock of an agent that is killed goes with it', async (t) => {
  const { logind } = await place(t);
  const lockModule = new URL('../../src/adapters/systemd/inhibitor-lock.js', import.meta.url).href;
  const script = `import { takeInhibitorLock } from '${lockModule}';
await takeInhibitorLock({ program: ['${logind.inhibitor[0]}'] }, () => {});
console.log('held');
setInterval(() => {}, 60_000);`;
  const agent = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(agent.stdout, 'data');
  t.equal(logind.holders.length, 1);
  agent.kill('SIGKILL');
  await until('nobody holds it', () => logind.holders.length === 0);
});

const hasInhibit = spawnSync('systemd-inhibit', ['--version']).status === 0;

t.test('the words that systemd-inhibit is given are its own', { skip: hasInhibit ? false : 'there is no systemd-inhibit (Debian: systemd)' }, async (t) => {
  const bus = await FakeBus.open(t);
  const asked: unknown[] = [];
  bus.services.set('org.freedesktop.login1', ({ member, signature, body }) => {
    asked.push([member, signature, body]);
    return { error: 'org.freedesktop.DBus.Error.AccessDenied', message: 'not today' };
  });
  await t.rejects(
    takeInhibitorLock({ environment: { DBUS_SYSTEM_BUS_ADDRESS: bus.address } }, () => {}),
    { message: /^systemd-inhibit: Failed to inhibit: (not today|.*denied)/i },
  );
  t.strictSame(asked, [['Inhibit', 'ssss', ['shutdown', 'kubelet', 'Kubelet needs time to handle node shutdown', 'delay']]], 'it asks logind for what the reference asks for');
});

t.test('the whole agent: a node that goes down', async (t) => {
  const bus = await FakeBus.open(t);
  const stage = await Stage.open();
  const logind = new FakeLogind(t, bus);
  t.teardown(() => stage.close());
  stage.environment = { DBUS_SYSTEM_BUS_ADDRESS: bus.address };
  stage.configurationMore = 'shutdownGracePeriod: 20s\nshutdownGracePeriodCriticalPods: 10s\nenableServer: true\naddress: 127.0.0.1\n';
  stage.manifest('a.yaml', stage.pod('a'));
  const daemon = await stage.start({ logind: { dropIn: logind.dropIn, inhibitor: logind.inhibitor } });
  await until('a runs', () => phaseOf(daemon, 'a-n1') === 'Running');
  await until('the lock is held', () => logind.holders.length === 1);
  t.equal(logind.delayMax, 20_000_000n);
  t.match((await ask(daemon, '/metrics')).body, /\nkubelet_graceful_shutdown_start_time_seconds 0\n/);
  logind.announce(true);
  await until('the lock is given back', () => logind.holders.length === 0);
  t.ok(stage.isIdle, 'nothing runs by then');
  t.match(podNamed(daemon, 'a-n1')?.status, { phase: 'Failed', reason: 'Terminated', message: 'Pod was terminated in response to imminent node shutdown.' });
  stage.manifest('late.yaml', stage.pod('late'));
  await until('late is refused', () => phaseOf(daemon, 'late-n1') === 'Failed');
  t.match(podNamed(daemon, 'late-n1')?.status, { reason: 'NodeShutdown' });
  const record = join(stage.root, 'graceful_node_shutdown_state');
  await until('the record has both times', () => existsSync(record) && !readFileSync(record, 'utf8').includes('0001-01-01'));
  t.match(JSON.parse(readFileSync(record, 'utf8')), { startTime: /Z$/, endTime: /Z$/ });
  t.match((await ask(daemon, '/metrics')).body, /\nkubelet_graceful_shutdown_start_time_seconds \d{10}\n/);
  t.ok(stage.log.find('Shutdown manager detected shutdown event'));
  logind.announce(false);
  await until('the lock is held again', () => logind.holders.length === 1);
  await daemon.stop();
  await until('a stopped agent holds none', () => logind.holders.length === 0);
});
