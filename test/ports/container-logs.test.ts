// Rotation of logs: one contract on the model and on real files, and what only real files can show.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { FileContainerLogs } from '../../src/adapters/storage/index.js';
import type { Call } from '../../src/ports/operation.js';
import { PortError } from '../../src/ports/port-error.js';
import type { HostOperationName } from '../../src/sim/host/host-ports.js';
import { SimHost } from '../../src/sim/host/sim-host.js';
import { type ContainerLogsUnderTest, containerLogsContract } from './container-logs.contract.js';

const free: Call = { signal: new AbortController().signal, timeoutMicros: null };

function simulated(): ContainerLogsUnderTest {
  const host = new SimHost({ seed: 1 });
  const { podLogsDirectory } = host.settings;
  const operation = (name: string) => async (request: never, call: Call) => {
    const op = `containerLogs.${name}` as HostOperationName;
    if (call.signal.aborted) throw new PortError({ kind: 'cancelled', message: '', operation: op, subject: '' });
    const { outcome } = host.handle(op, request, 0);
    if (!outcome.ok) throw new PortError(outcome.error);
    return outcome.value;
  };
  const filesOf = (path: string) => {
    const [pod = '', container = ''] = path.slice(podLogsDirectory.length + 1).split('/');
    return host.state.logs.get(pod)?.get(container);
  };
  return {
    logs: new Proxy({}, { get: (_, name) => operation(String(name)) }) as ContainerLogsUnderTest['logs'],
    podLogsDirectory,
    put(path, sizeBytes) {
      host.models.podLogs.writeLog(path);
      filesOf(path)?.set(path.slice(path.lastIndexOf('/') + 1), sizeBytes);
    },
    sizeOf: (path) => filesOf(path)?.get(path.slice(path.lastIndexOf('/') + 1)) ?? null,
  };
}

function real(t: Test): ContainerLogsUnderTest & { readonly base: string } {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'container-logs-')));
  const podLogsDirectory = join(base, 'pods');
  const logs = FileContainerLogs.open(podLogsDirectory);
  t.teardown(() => {
    logs.close();
    rmSync(base, { recursive: true });
  });
  return {
    logs,
    base,
    podLogsDirectory,
    put(path, sizeBytes) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, 'x'.repeat(sizeBytes), { mode: 0o640 });
    },
    sizeOf: (path) => statSync(path, { throwIfNoEntry: false })?.size ?? null,
  };
}

async function kindOf(attempt: Promise<unknown>): Promise<string> {
  return attempt.then(
    () => 'done',
    (error: unknown) => (error instanceof PortError ? error.kind : String(error)),
  );
}

t.test('contract on the model', async (t) => containerLogsContract(t, simulated()));
t.test('contract on real files', async (t) => containerLogsContract(t, real(t)));

t.test('a compressed log has the content and the mode of the old one', async (t) => {
  const { logs, put, podLogsDirectory } = real(t);
  const path = join(podLogsDirectory, 'p/c/0.log');
  put(path, 0);
  const text = Array.from({ length: 20_000 }, (_, i) => `2026-01-01T00:00:00Z stdout F line ${i}\n`).join('');
  writeFileSync(`${path}.1`, text, { mode: 0o640 });
  writeFileSync(`${path}.1.tmp`, 'left by a kill, longer than nothing', { mode: 0o666 });
  await logs.compress({ path, name: '0.log.1' }, free);
  t.strictSame(readdirSync(dirname(path)).sort(), ['0.log', '0.log.1.gz']);
  t.equal(gunzipSync(readFileSync(`${path}.1.gz`)).toString(), text);
  t.equal(statSync(`${path}.1.gz`).mode & 0o777, 0o640);
});

t.test('a compression that is cancelled leaves the file as it was', async (t) => {
  const { logs, put, podLogsDirectory } = real(t);
  const path = join(podLogsDirectory, 'p/c/0.log');
  put(path, 0);
  put(`${path}.1`, 1);
  truncateSync(`${path}.1`, 200 * 1024 * 1024);
  const abort = new AbortController();
  const compressing = logs.compress({ path, name: '0.log.1' }, { signal: abort.signal, timeoutMicros: null });
  abort.abort();
  t.equal(await kindOf(compressing), 'cancelled');
  t.strictSame(readdirSync(dirname(path)).sort(), ['0.log', '0.log.1']);
});

t.test('links lead nowhere', async (t) => {
  const { logs, put, podLogsDirectory, base } = real(t);
  const outside = join(base, 'outside');
  put(join(outside, 'c/0.log.1'), 9);
  put(join(podLogsDirectory, 'p/c/0.log'), 1);
  symlinkSync(outside, join(podLogsDirectory, 'evil'));
  symlinkSync(join(outside, 'c/0.log.1'), join(podLogsDirectory, 'p/c/0.log.1'));
  const path = join(podLogsDirectory, 'evil/c/0.log');
  t.equal(await kindOf(logs.compress({ path, name: '0.log.1' }, free)), 'permission-denied');
  t.equal(await kindOf(logs.discard({ path, names: ['0.log.1'] }, free)), 'permission-denied');
  t.equal(await kindOf(logs.rename({ path, name: '0.log.1', direction: 'back' }, free)), 'permission-denied');
  t.equal(await kindOf(logs.compress({ path: join(podLogsDirectory, 'p/c/0.log'), name: '0.log.1' }, free)), 'permission-denied');
  await logs.removeUnfinished(null, free);
  t.ok(existsSync(join(outside, 'c/0.log.1')));
});
