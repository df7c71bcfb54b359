// The mock CRI server's own promises: files, sockets, short ids, filters, and methods that it does not have.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { criProtocol } from '../../src/adapters/cri/index.js';
import { type MockCriOptions, MockCriServer, startMockCri } from '../../src/adapters/mock-cri/index.js';
import type { ContainerConfig } from '../../src/ports/model/container-config.js';
import type { SandboxConfig } from '../../src/ports/model/sandbox-config.js';
import { call } from '../ports/container-runtime.contract.js';
import { criClient, untilHolds } from '../ports/cri-harness.js';

const busybox = { reference: 'docker.io/library/busybox:1', sizeBytes: 4_000_000, present: true };
const quick = { look: 0, runSandbox: 0, createContainer: 0, startContainer: 0, stop: 0, remove: 0, pull: 0 };
const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-mock-cri-'));
let sockets = 0;

t.teardown(() => rmSync(directory, { recursive: true }));

function mockOptions(options: Partial<MockCriOptions> = {}): MockCriOptions {
  return { listen: join(directory, `${++sockets}.sock`), seed: 1, images: [busybox], latencies: quick, ...options };
}

t.test('the mock writes logs and termination messages into what is there', async (t) => {
  const server = await startMockCri(mockOptions({ speed: 20 }));
  const { connection, ports } = criClient(server.endpoint);
  t.teardown(async () => {
    connection.close();
    await server.stop();
  });
  const logDirectory = join(directory, 'n_p_u');
  const log = join(logDirectory, 'c', '0.log');
  const message = join(directory, 'message');
  mkdirSync(logDirectory);
  writeFileSync(message, '');
  const labels = { 'io.kubernetes.pod.uid': 'u', 'io.kubernetes.container.name': 'c' };
  const annotations = { 'sim.kubelet-ts/c': 'run=20s,exit=1,log=10/s,message=all is lost' };
  const config: SandboxConfig = { metadata: { name: 'p', namespace: 'n', uid: 'u', attempt: 0 }, logDirectory, labels, annotations };
  const { sandboxId } = await ports.sandboxes.run({ config, runtimeHandler: '' }, call());
  const wanted: ContainerConfig = {
    metadata: { name: 'c', attempt: 0 },
    image: { image: busybox.reference },
    labels,
    annotations: { 'io.kubernetes.container.terminationMessagePath': '/dev/termination-log', 'io.kubernetes.container.terminationMessagePolicy': 'File' },
    mounts: [{ containerPath: '/dev/termination-log', hostPath: message }],
    logPath: 'c/0.log',
  };
  const { containerId } = await ports.containers.create({ sandboxId, config: wanted, sandboxConfig: config }, call());
  await ports.containers.start({ containerId }, call());
  t.ok(existsSync(log), 'the file is there when the container has started');
  await untilHolds(async () => readFileSync(log, 'utf8').includes('line 20 of c'));
  renameSync(log, `${log}.1`);
  await reopen(server.endpoint, containerId);
  await untilHolds(async () => (await ports.runtime.inspectPod({ uid: 'u' }, call()))?.containers[0]?.state === 'exited');
  const lines = `${readFileSync(`${log}.1`, 'utf8')}${readFileSync(log, 'utf8')}`.trimEnd().split('\n');
  t.equal(lines.length, 200);
  t.ok(lines.every((line, i) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z stdout F line (\d+) of c$/.exec(line)?.[1] === String(i + 1)));
  t.match((await ports.runtime.inspectPod({ uid: 'u' }, call()))?.containers, [{ exitCode: 1, message: 'all is lost' }]);
  t.equal(readFileSync(message, 'utf8'), 'all is lost');
});

function reopen(endpoint: string, containerId: string): Promise<unknown> {
  const { connection } = criClient(endpoint);
  const target = { operation: 'test', subject: '', deadlineMicros: null };
  return connection.unary(criProtocol.RuntimeServiceService.reopenContainerLog, { containerId }, call(), target).finally(() => connection.close());
}

t.test('the mock takes a stale socket and no other', async (t) => {
  const options = mockOptions();
  const first = await startMockCri(options);
  t.equal(statSync(options.listen).mode & 0o777, 0o600);
  await t.rejects(startMockCri(options), /is in use/);
  await first.stop();
  await first.stop();
  t.notOk(existsSync(options.listen));
  // A listener that closed its handle only, as a killed process does, leaves its socket behind.
  const left = join(directory, 'left.sock');
  await leaveSocket(left);
  const second = new MockCriServer({ ...options, listen: left });
  await second.start();
  await second.stop();
  await t.rejects(startMockCri({ ...options, listen: join(directory, 'none', 'a.sock') }), /none\/a\.sock: there is no directory .*\/none$/);
  writeFileSync(options.listen, 'precious');
  await t.rejects(startMockCri(options), /exists and is no socket/);
  t.equal(readFileSync(options.listen, 'utf8'), 'precious');
});

/** Node removes a socket's path when it closes; under another name it stays. */
async function leaveSocket(path: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(`${path}.other`, resolve));
  renameSync(`${path}.other`, path);
  await new Promise<void>((resolve) => server.close(() => resolve()));
}

t.test('short ids, filters, and methods that are not there', async (t) => {
  const server = await startMockCri(mockOptions());
  const { connection, ports } = criClient(server.endpoint);
  t.teardown(async () => {
    connection.close();
    await server.stop();
  });
  const { sandboxId } = await ports.sandboxes.run(
    { config: { metadata: { name: 'p', namespace: 'n', uid: 'u', attempt: 0 }, labels: { a: 'b' }, annotations: {} }, runtimeHandler: '' },
    call(),
  );
  const rpc = <Request, Response>(method: Parameters<typeof connection.unary<Request, Response>>[0], request: Request) =>
    connection.unary(method, request, call(), { operation: 'test', subject: '', deadlineMicros: null });
  const { RuntimeServiceService: runtime, PodSandboxState } = criProtocol;
  t.equal((await rpc(runtime.podSandboxStatus, { podSandboxId: sandboxId.slice(0, 13), verbose: true })).status?.id, sandboxId);
  const list = (filter: Partial<criProtocol.PodSandboxFilter>) => rpc(runtime.listPodSandbox, { filter: { id: '', state: undefined, labelSelector: {}, ...filter } });
  t.equal((await list({ id: sandboxId.slice(0, 8) })).items.length, 1);
  t.equal((await list({ labelSelector: { a: 'c' } })).items.length, 0);
  t.equal((await list({ state: { state: PodSandboxState.SANDBOX_NOTREADY } })).items.length, 0);
  await t.rejects(rpc(runtime.podSandboxStats, { podSandboxId: 'a' }), { name: 'PortError', message: /does not implement/ });
});
