// Traces of a daemon: the spans of a pod's life, of requests and of the apiserver, their parents, and that a collector that is
// unreachable, silent or refusing doesn't affect the agent.
import { writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { startMockApiserver } from '../../src/adapters/mock-apiserver/index.js';
import { Tracer } from '../../src/adapters/tracing/index.js';
import type { Daemon } from '../../src/app/daemon/start-daemon.js';
import { tokens } from '../../src/app/tokens.js';
import { AgentSpans } from '../../src/domain/tracing/agent-spans.js';
import { Collector, type SeenSpan } from '../adapters/otlp-collector.js';
import { until } from '../support/until.js';
import { ask } from './ask-daemon.js';
import { phaseOf, podNamed, Stage } from './stage.js';

t.setTimeout(120_000);

const internal = 1;
const server = 2;
const client = 3;

function tracingOf(daemon: Daemon) {
  const { tracing } = daemon.resolver.get(tokens.tracing);
  if (tracing === null) throw new Error('is not configured');
  return tracing;
}

function isAtRest(daemon: Daemon): boolean {
  const { workers, runs } = daemon.resolver.get(tokens.kernel).state.agent;
  return runs.size === 0 && workers.records.size === 0;
}

/** Its spans so far are at the collector, and it is stopped. */
async function ended(daemon: Daemon): Promise<void> {
  await tracingOf(daemon).flush(20_000);
  await daemon.stop();
}

async function traced(t: Test, rate: number | null, more = ''): Promise<{ readonly stage: Stage; readonly collector: Collector }> {
  const collector = await Collector.open();
  const stage = await Stage.open();
  t.teardown(async () => {
    await stage.close();
    collector.close();
  });
  const sampling = rate === null ? '' : `, samplingRatePerMillion: ${rate}`;
  stage.configurationMore = `tracing: {endpoint: "127.0.0.1:${collector.port}"${sampling}}\n${more}`;
  return { stage, collector };
}

const childrenOf = (collector: Collector, { spanId }: SeenSpan): string[] => collector.spans.filter(({ parentSpanId }) => parentSpanId === spanId).map(({ name }) => name);

t.test('the life of a pod, with its calls to the runtime below', async (t) => {
  const { stage, collector } = await traced(t, 1_000_000);
  stage.manifest('a.yaml', stage.pod('a'));
  const daemon = await stage.start();
  t.notOk(stage.log.find('tracing'), 'nothing is said to be unused');
  await until('it runs', () => phaseOf(daemon, 'a-n1') === 'Running');
  const uid = podNamed(daemon, 'a-n1')?.metadata.uid;
  stage.remove('a.yaml');
  await until('it is gone', () => stage.isIdle && isAtRest(daemon));
  await ended(daemon);
  t.match(collector.exports[0], { resource: { 'service.name': 'kubelet', 'host.name': 'n1' }, scope: 'k8s.io/kubernetes/pkg/kubelet' });
  const attributes = { 'k8s.pod.uid': uid, 'k8s.pod': 'default/a-n1', 'k8s.pod.name': 'a-n1', 'k8s.namespace.name': 'default' };
  const [sync] = collector.named('syncPod');
  t.match(sync, { kind: internal, parentSpanId: '', attributes: { ...attributes, 'k8s.pod.update_type': 'create' }, status: { code: 0 } });
  const calls = sync === undefined ? [] : childrenOf(collector, sync);
  const start = ['RunPodSandbox', 'PullImage', 'CreateContainer', 'StartContainer'];
  for (const method of start)
    t.ok(
      calls.some((name) => name.endsWith(`/${method}`)),
      `${method} is part of it`,
    );
  const [run] = collector.named('runtime.v1.RuntimeService/RunPodSandbox');
  t.match(run, {
    kind: client,
    traceId: sync?.traceId,
    attributes: { 'rpc.system': 'grpc', 'rpc.service': 'runtime.v1.RuntimeService', 'rpc.method': 'RunPodSandbox', 'rpc.grpc.status_code': 0 },
  });
  t.ok(sync !== undefined && run !== undefined && sync.start <= run.start && run.start < run.end && run.end <= sync.end, 'within its time');
  const [killing] = collector.named('syncTerminatingPod');
  t.match(killing, { parentSpanId: '', attributes });
  t.ok(killing !== undefined && childrenOf(collector, killing).includes('runtime.v1.RuntimeService/StopPodSandbox'));
  t.match(collector.named('syncTerminatedPod'), [{ parentSpanId: '', attributes }]);
  const [version] = collector.named('runtime.v1.RuntimeService/Version');
  t.match(version, { parentSpanId: '' }, 'a call that is no part of a pod is on its own');
  t.equal(tracingOf(daemon).dropped, 0);
});

t.test('a sync that fails says why', async (t) => {
  const { stage, collector } = await traced(t, 1_000_000);
  stage.manifest('a.yaml', stage.pod('a', 'absent').replace('IfNotPresent', 'Never'));
  const daemon = await stage.start();
  await until('it was tried', () => podNamed(daemon, 'a-n1')?.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ErrImageNeverPull');
  await ended(daemon);
  t.ok(collector.named('syncPod').some(({ status }) => status.code === 2 && /ErrImageNeverPull/.test(status.message)));
});

const parent = '0af7651916cd43dd8448eb211c80319c';
const remote = (flag: string): Record<string, string> => ({ traceparent: `00-${parent}-b7ad6b7169203331-${flag}`, tracestate: 'v=1' });

t.test('requests to the ports', async (t) => {
  const { stage, collector } = await traced(t, null, 'enableServer: true\naddress: 127.0.0.1\n');
  stage.manifest('a.yaml', stage.pod('a'));
  const daemon = await stage.start();
  await until('it runs', () => phaseOf(daemon, 'a-n1') === 'Running');
  t.match(await ask(daemon, '/pods', 'GET', remote('01')), { status: 200 });
  t.match(await ask(daemon, '/pods', 'GET', remote('00')), { status: 200 });
  t.match(await ask(daemon, '/runningpods/'), { status: 200 });
  t.match(await ask(daemon, '/runningpods/', 'GET', remote('01')), { status: 200 });
  t.match(await ask(daemon, '/run/default/a-n1/c?cmd=secret', 'POST', remote('01')), { status: 200 });
  const metrics = await ask(daemon, '/metrics');
  t.match(metrics.body, /\nkubelet_ts_trace_spans_dropped_total 0\n/);
  await ended(daemon);
  t.strictSame(new Set(collector.spans.map(({ traceId }) => traceId)), new Set([parent]), 'only what a caller asked for is recorded');
  const [pods] = collector.named('/pods');
  t.match(collector.named('/pods'), [{ kind: server, parentSpanId: 'b7ad6b7169203331', traceState: 'v=1', flags: 0x301 }]);
  t.match(pods?.attributes, { 'http.request.method': 'GET', 'http.route': '/pods', 'url.scheme': 'https', 'http.response.status_code': 200, 'server.address': 'kubelet' });
  const [run] = collector.named('/run/');
  t.ok(run !== undefined && childrenOf(collector, run).includes('runtime.v1.RuntimeService/ExecSync'), 'what it asks of the runtime is part of it');
  t.notMatch(JSON.stringify(run?.attributes), /secret/, 'commands are not told');
});

t.test('an apiserver is asked under spans of their own', async (t) => {
  const { stage, collector } = await traced(t, 1_000_000);
  const apiserver = await startMockApiserver();
  t.teardown(() => apiserver.stop());
  const path = join(stage.directory, 'kubelet.conf');
  writeFileSync(path, apiserver.kubeconfig({ commonName: 'system:node:n1', organizations: ['system:nodes'] }));
  stage.flags.push(`--kubeconfig=${path}`);
  const daemon = await stage.start();
  await until('the node is written', () => tracingOf(daemon).ended > 20);
  await ended(daemon);
  const [post] = collector.named('HTTP POST');
  t.match(post, { kind: client, parentSpanId: '', attributes: { 'http.request.method': 'POST', 'url.full': /^https:\/\/127\.0\.0\.1:\d+\/api/ } });
  t.ok(collector.named('HTTP GET').some(({ attributes }) => attributes['http.response.status_code'] === 200));
});

const spoiled: readonly (readonly [sentence: string, spoil: (t: Test, collector: Collector) => Promise<string | null> | null])[] = [
  [
    'is away',
    (_t, collector) => {
      collector.close();
      return null;
    },
  ],
  [
    'never answers',
    (_t, collector) => {
      collector.behaviour = 'hang';
      return null;
    },
  ],
  [
    'refuses',
    (_t, collector) => {
      collector.behaviour = 7;
      return null;
    },
  ],
  [
    'takes connections and never speaks',
    async (t) => {
      const sockets = new Set<Socket>();
      const mute = createServer((peer) => sockets.add(peer));
      await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
      t.teardown(() => {
        for (const peer of sockets) peer.destroy();
        mute.close();
      });
      return `127.0.0.1:${(mute.address() as { port: number }).port}`;
    },
  ],
];

for (const [sentence, spoil] of spoiled) {
  t.test(`the agent does its work while the collector ${sentence}`, async (t) => {
    const { stage, collector } = await traced(t, 1_000_000);
    const endpoint = await spoil(t, collector);
    if (endpoint !== null) stage.configurationMore = `tracing: {endpoint: "${endpoint}", samplingRatePerMillion: 1000000}\n`;
    stage.manifest('a.yaml', stage.pod('a'));
    const daemon = await stage.start();
    await until('it runs', () => phaseOf(daemon, 'a-n1') === 'Running');
    stage.remove('a.yaml');
    await until('it is gone', () => stage.isIdle && isAtRest(daemon));
    const begun = Date.now();
    await daemon.stop();
    t.ok(Date.now() - begun < 9_000, 'it does not wait for an attempt to end');
    t.ok(tracingOf(daemon).ended > 10);
    t.equal(collector.spans.length, 0);
  });
}

t.test('where it is not configured nothing of it is there', async (t) => {
  const { stage, collector } = await traced(t, 1_000_000);
  stage.configurationMore = '';
  stage.manifest('a.yaml', stage.pod('a'));
  const daemon = await stage.start();
  await until('it runs', () => phaseOf(daemon, 'a-n1') === 'Running');
  t.equal(daemon.resolver.get(tokens.tracing).tracing, null);
  await daemon.stop();
  t.equal(collector.calls, 0);
});

t.test('an endpoint that names no collector is refused', async (t) => {
  const { stage } = await traced(t, null);
  stage.configurationMore = 'tracing: {endpoint: "a:b:c"}\n';
  await t.rejects(stage.start(), { message: /tracing\.endpoint: "a:b:c" names no collector: host:port, unix:\/\/\/path or unix-abstract:name is expected/ });
});

t.test('rounds of garbage collection', async (t) => {
  const ended: string[] = [];
  const tracer = new Tracer({ samplingRatePerMillion: 1_000_000, now: () => 1, ended: ({ name }) => ended.push(name) });
  const state = { runs: new Map(), images: { runs: new Map() }, collection: { phase: 'idle' }, imageCollection: { phase: 'idle' } };
  const spans = new AgentSpans(tracer, state as never);
  const parent = (machine: string) => spans.spanOf({ address: { machine, key: '' } } as never);
  const step = (collection: string, imageCollection: string) => {
    state.collection.phase = collection;
    state.imageCollection.phase = imageCollection;
    spans.stepped();
  };
  step('idle', 'idle');
  t.equal(parent('collection'), null);
  step('listContainers', 'idle');
  t.ok(parent('collection'));
  t.equal(parent('image-collection'), null);
  step('logs', 'list');
  step('idle', 'remove');
  t.strictSame(ended, ['Containers/GarbageCollect']);
  t.ok(parent('image-collection'));
  step('idle', 'idle');
  t.strictSame(ended, ['Containers/GarbageCollect', 'Images/GarbageCollect']);
  t.equal(parent('relist'), null);
});
