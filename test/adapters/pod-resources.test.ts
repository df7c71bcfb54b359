// The service of pod resources at its socket: what it answers over gRPC, in both versions, how much of it, and how it ends.
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { KubeletMetrics } from '../../src/adapters/metrics/kubelet-metrics.js';
import { PodResourcesListerService as v1 } from '../../src/adapters/plugins/gen/podresources-v1.js';
import { callPlugin, type PluginMethod } from '../../src/adapters/plugins/plugin-calls.js';
import { openPodResources } from '../../src/app/daemon/open-pod-resources.js';
import { Teardown } from '../../src/app/daemon/teardown.js';
import { AgentObserver } from '../../src/domain/kubelet-metrics/agent-observer.js';
import type { PodResourceQueries } from '../../src/ports/inbound/pod-resources.js';
import type { Logger } from '../../src/ports/outbound/logger.js';
import type { PodResourcesCall } from '../../src/ports/outbound/metrics/kubelet-metrics.js';
import { PortError } from '../../src/ports/port-error.js';
import { quietCall } from '../ports/pull-records.contract.js';
import { joined } from '../support/joined.js';

t.setTimeout(120_000);

const memory = [{ type: 'memory', sizeBytes: 2 ** 40, numaNodes: [0, 1] }];
const pod = { name: 'a', namespace: 'default', containers: [{ containerName: 'c', cpus: [2, 3], memory }] };
const queries: PodResourceQueries = {
  list: () => [pod],
  get: (namespace, name) => (namespace === 'default' && name === 'a' ? pod : null),
  allocatable: () => ({ cpus: [1, 2, 3], memory }),
};

interface Opened {
  readonly socket: string;
  readonly said: string[];
  readonly calls: PodResourcesCall[];
  readonly teardown: Teardown;
}

async function opened(t: Test, left = false): Promise<Opened> {
  const root = mkdtempSync(join(tmpdir(), 'pod-res-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(join(root, 'pod-resources'));
  const socket = join(root, 'pod-resources', 'kubelet.sock');
  if (left) writeFileSync(socket, 'of an agent that was killed');
  const said: string[] = [];
  const logger: Logger = { log: (_level: string, message: string) => said.push(message), named: () => logger } as unknown as Logger;
  const teardown = new Teardown(logger);
  const calls: PodResourcesCall[] = [];
  await openPodResources({ rootDirectory: root, queries, onCall: (call) => calls.push(call) }, logger, teardown);
  t.teardown(() => teardown.run());
  return { socket, said, calls, teardown };
}

function ask<Request, Reply>(socket: string, method: PluginMethod<Request, Reply>, request: Request): Promise<Reply> {
  return callPlugin({ method, socket, request, timeoutMillis: 60_000, operation: 'test.ask' }, quietCall);
}

const answerError = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => (error instanceof PortError ? error : null),
  );

t.test('what containers have, what there is, and one pod', async (t) => {
  const { socket, calls } = await opened(t as unknown as Test, true);
  const held = { memoryType: 'memory', size: 2n ** 40n, topology: { nodes: [{ ID: 0n }, { ID: 1n }] } };
  const container = { name: 'c', devices: [], cpuIds: [2n, 3n], memory: [held], dynamicResources: [] };
  t.match(await ask(socket, v1.list, {}), { podResources: [{ name: 'a', namespace: 'default', containers: [container] }] });
  t.match(await ask(socket, v1.getAllocatableResources, {}), { devices: [], cpuIds: [1n, 2n, 3n], memory: [held] });
  t.match(await ask(socket, v1.get, { podName: 'a', podNamespace: 'default' }), { podResources: { name: 'a', containers: [container] } });
  t.match(await answerError(ask(socket, v1.get, { podName: 'b', podNamespace: 'default' })), { kind: 'unknown', message: /pod b in namespace default not found/ });
  const old = { ...v1.list, path: '/v1alpha1.PodResourcesLister/List' };
  t.match(await ask(socket, old, {}), { podResources: [{ name: 'a', namespace: 'default', containers: [{ name: 'c', cpuIds: [], memory: [] }] }] });
  t.strictSame(await counted(calls), [
    'errors_get{server_api_version="v1"} 1',
    'requests_get_allocatable{server_api_version="v1"} 1',
    'requests_get{server_api_version="v1"} 2',
    'requests_list{server_api_version="v1"} 1',
    'requests_total{server_api_version="v1"} 4',
    'requests_total{server_api_version="v1alpha1"} 1',
  ]);
});

/** What the metrics show of calls. */
async function counted(calls: readonly PodResourcesCall[]): Promise<string[]> {
  const metrics = new KubeletMetrics({ steady: [], readings: async () => [], startedMillis: 1 });
  const observer = new AgentObserver();
  observer.watch(metrics, { agent: { workers: { records: new Map() } } } as never);
  for (const call of calls) observer.podResourcesCall(call);
  const text = await joined(metrics.texts());
  metrics.close();
  const prefix = 'kubelet_pod_resources_endpoint_';
  return text
    .split('\n')
    .filter((line) => line.startsWith(prefix))
    .map((line) => line.slice(prefix.length))
    .sort();
}

t.test('a burst gets so many answers and no more', async (t) => {
  const { socket } = await opened(t as unknown as Test);
  const answers = await Promise.all(Array.from({ length: 60 }, () => answerError(ask(socket, v1.list, {}))));
  const refused = answers.filter((failure) => failure !== null);
  t.ok(answers.length - refused.length >= 10, 'ten at once go through');
  for (const failure of refused) t.match(failure, { kind: 'resource-exhausted', message: /rejected by rate limit/ });
});

t.test('whoever speaks nonsense is cut, and the end takes the socket along', async (t) => {
  const { socket, teardown } = await opened(t as unknown as Test);
  const { createConnection } = await import('node:net');
  const peer = createConnection(socket);
  peer.on('error', () => {});
  const closed = new Promise((resolve) => peer.once('close', resolve));
  peer.write('GET / HTTP/1.1\r\n\r\n');
  peer.resume();
  await closed;
  t.match(await ask(socket, v1.list, {}), { podResources: [{ name: 'a' }] }, 'others are answered');
  const idle = createConnection(socket);
  idle.on('error', () => {});
  const gone = new Promise((resolve) => idle.once('close', resolve));
  await new Promise((resolve) => idle.once('connect', resolve));
  idle.resume();
  await teardown.run();
  await gone;
  t.notOk(existsSync(socket));
});

t.test('a place that can not be had is told, and nothing else', async (t) => {
  const said: string[] = [];
  const logger = { log: (_level: string, message: string) => said.push(message) } as unknown as Logger;
  await openPodResources({ rootDirectory: '/proc/nowhere', queries, onCall: () => {} }, logger, new Teardown(logger));
  t.strictSame(said, ['Failed to listen to socket while starting pod resources']);
});
