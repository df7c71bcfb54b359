// The price of talking to the apiserver, over TLS with a client certificate and a server in a process of its own: a status PATCH, and 1 000 watch
// events a second, by the agent's client and, in the same run, by @kubernetes/client-node and by node:https alone with the same bytes. The
// patches of the three are sent in turns, so that what else the machine does meets all of them. CPU is that of this process.

import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CoreV1Api, KubeConfig, PatchStrategy, setHeaderOptions, Watch } from '@kubernetes/client-node';
import { loadKubeconfig, openApiClients } from '../src/adapters/apiserver/index.js';
import { startMockApiserver } from '../src/adapters/mock-apiserver/index.js';
import { instantOf } from '../src/domain/values/instant.js';
import { calibrateHere } from './calibration.js';
import { round, share } from './stage/process-cost.js';

const patches = 100;
const rounds = 5;
const eventsPerSecond = 1_000;
const seconds = 4;
const warmUp = 30;

const status = {
  phase: 'Running',
  conditions: ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
    type,
    status: 'True',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  })),
  containerStatuses: [
    { name: 'c', ready: true, started: true, restartCount: 0, image: 'busybox:1', imageID: `sha256:${'a'.repeat(64)}`, containerID: `containerd://${'b'.repeat(64)}` },
  ],
};
const pod = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'p', namespace: 'default', uid: 'u', resourceVersion: '1', labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image: 'busybox:1', env: Array.from({ length: 20 }, (_, i) => ({ name: `V${i}`, value: 'x'.repeat(40) })) }] },
  status,
};

/** The server's process: answers with a pod, and watches with as many events as wanted; it borrows the mock's authority for its certificates. */
async function serve(directory: string): Promise<void> {
  const mock = await startMockApiserver();
  const admin = JSON.parse(mock.kubeconfig()) as { clusters: [{ cluster: Record<string, string> }]; users: [{ user: Record<string, string> }] };
  const [{ cluster }] = admin.clusters;
  const [{ user }] = admin.users;
  const text = (value: string | undefined): string => Buffer.from(value ?? '', 'base64').toString('utf8');
  const tls = { cert: text(user['client-certificate-data']), key: text(user['client-key-data']), ca: text(cluster['certificate-authority-data']), requestCert: true };
  const server = createServer(tls, (request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    if (!(request.url ?? '').includes('watch=')) {
      request.resume().on('end', () => response.end(JSON.stringify(pod)));
      return;
    }
    let sent = 0;
    const timer = setInterval(() => {
      response.write(
        Array.from(
          { length: eventsPerSecond / 50 },
          () => `${JSON.stringify({ type: 'MODIFIED', object: { ...pod, metadata: { ...pod.metadata, resourceVersion: String(++sent) } } })}\n`,
        ).join(''),
      );
      if (sent < eventsPerSecond * seconds) return;
      clearInterval(timer);
      response.end();
    }, 20);
  });
  server.listen(0, '127.0.0.1', () => {
    cluster.server = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    // The certificate is a client's, which has no names: who it is does not matter here, what TLS costs does.
    delete cluster['certificate-authority-data'];
    Object.assign(cluster, { 'insecure-skip-tls-verify': true });
    writeFileSync(join(directory, 'kubeconfig'), JSON.stringify(admin));
    process.send?.('ready');
  });
  process.on('message', () => process.exit(0));
}

interface Sender {
  readonly client: string;
  patch(): Promise<unknown>;
  close(): void;
}

interface Figures {
  readonly client: string;
  readonly medianMs: number;
  readonly cpuMsEach: number;
}

/** Rounds of all senders, one after the other; of each the median of its rounds. */
async function patched(senders: readonly Sender[]): Promise<Figures[]> {
  const times = new Map(senders.map((sender) => [sender, { took: [] as number[], cpu: [] as number[] }]));
  for (const { patch } of senders) for (let i = 0; i < warmUp; i++) await patch();
  for (let turn = 0; turn < rounds; turn++) {
    for (const [{ patch }, { took, cpu }] of times) {
      const before = process.cpuUsage();
      for (let i = 0; i < patches; i++) {
        const begun = performance.now();
        await patch();
        took.push(performance.now() - begun);
      }
      const { user, system } = process.cpuUsage(before);
      cpu.push((user + system) / 1000 / patches);
    }
  }
  return [...times].map(([{ client }, { took, cpu }]) => ({ client, medianMs: share(took, 0.5), cpuMsEach: share(cpu, 0.5) }));
}

async function watching(watch: () => Promise<number>): Promise<{ readonly events: number; readonly cpuPercent: number }> {
  await watch();
  const cpu = process.cpuUsage();
  const begun = performance.now();
  const events = await watch();
  const { user, system } = process.cpuUsage(cpu);
  return { events, cpuPercent: (user + system) / 10 / (performance.now() - begun) };
}

const call = { signal: new AbortController().signal, timeoutMicros: null };
const pods = { group: '', version: 'v1', plural: 'pods' };
let eventsSeen = 0;

function ours(path: string): Sender & { watch(): Promise<number> } {
  const clients = openApiClients({
    config: loadKubeconfig(path),
    userAgent: 'kubelet/bench',
    main: { perSecond: -1, burst: 0 },
    events: { perSecond: -1, burst: 0 },
    heartbeatTimeoutMicros: 10_000_000,
    environment: {},
    now: () => Date.now() * 1000,
    wall: () => instantOf(Date.now() * 1000),
    deliver: (seen) => {
      eventsSeen += seen.events.length;
    },
    problem: () => {},
  });
  const patch = { resource: pods, namespace: 'default', name: 'p', client: 'main', subresource: 'status', patch: 'strategic-merge-patch', body: { status } } as const;
  const selection = { resource: pods, namespace: null, fieldSelector: 'spec.nodeName=n1', labelSelector: null };
  const watch = async (): Promise<number> => {
    eventsSeen = 0;
    await clients.reader.watch({ ...selection, watch: 'w', resourceVersion: '1', timeoutSeconds: 60 }, call);
    return eventsSeen;
  };
  return { client: 'own', patch: () => clients.writer.patch(patch, call), watch, close: () => clients.close() };
}

function theirs(path: string): Sender & { watch(): Promise<number> } {
  const config = new KubeConfig();
  config.loadFromFile(path);
  const api = config.makeApiClient(CoreV1Api);
  const options = setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch);
  const watch = (): Promise<number> =>
    new Promise((resolve) => {
      let events = 0;
      void new Watch(config).watch(
        '/api/v1/pods',
        { fieldSelector: 'spec.nodeName=n1' },
        () => events++,
        () => resolve(events),
      );
    });
  return { client: 'client-node', patch: () => api.patchNamespacedPodStatus({ name: 'p', namespace: 'default', body: { status } }, options), watch, close: () => {} };
}

/** node:https alone: a request of the same bytes on a connection that is kept, its answer parsed; lines of a watch parsed. */
function plain(path: string): Sender & { watch(): Promise<number> } {
  const config = JSON.parse(readFileSync(path, 'utf8')) as { clusters: [{ cluster: { server: string } }]; users: [{ user: Record<string, string> }] };
  const { server } = config.clusters[0].cluster;
  const { user } = config.users[0];
  const text = (value: string | undefined): string => Buffer.from(value ?? '', 'base64').toString('utf8');
  const agent = new Agent({ keepAlive: true, cert: text(user['client-certificate-data']), key: text(user['client-key-data']), rejectUnauthorized: false });
  const ask = (method: string, where: string, body: string, onData: (part: string) => void): Promise<void> =>
    new Promise((resolve, reject) => {
      const kind = { 'Content-Type': 'application/strategic-merge-patch+json', Accept: 'application/json', 'User-Agent': 'kubelet/bench' };
      const headers = body === '' ? {} : { ...kind, 'Content-Length': Buffer.byteLength(body) };
      const sent = request(`${server}${where}`, { method, agent, headers }, (response) => response.setEncoding('utf8').on('data', onData).on('end', resolve));
      sent.on('error', reject).end(body);
    });
  const patch = async (): Promise<unknown> => {
    let answer = '';
    await ask('PATCH', '/api/v1/namespaces/default/pods/p/status', JSON.stringify({ status }), (part) => (answer += part));
    return JSON.parse(answer);
  };
  const watch = async (): Promise<number> => {
    let events = 0;
    let rest = '';
    await ask('GET', '/api/v1/pods?watch=true', '', (part) => {
      const lines = (rest + part).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (JSON.parse(line) !== null) events++;
    });
    return events;
  };
  return { client: 'node:https', patch, watch, close: () => agent.destroy() };
}

async function main(path: string): Promise<void> {
  const machine = await calibrateHere();
  const { calibrationMs } = machine;
  const senders = [ours(path), theirs(path), plain(path)];
  const bytes = Buffer.byteLength(JSON.stringify({ status }));
  const figures = await patched(senders);
  const least = figures.at(-1)?.cpuMsEach ?? Number.NaN;
  for (const { client, medianMs, cpuMsEach } of figures) {
    const cpu = { cpuMsEach: round(cpuMsEach), scaled: round(cpuMsEach / machine.slowness), timesThatOfPlainHttps: round(cpuMsEach / least) };
    console.log(JSON.stringify({ bench: 'api-client', what: 'status PATCH', bytes, client, medianMs: round(medianMs), ...cpu, calibrationMs }));
  }
  const seen: { readonly client: string; readonly events: number; readonly cpuPercent: number }[] = [];
  for (const { client, watch } of senders) seen.push({ client, ...(await watching(watch)) });
  const leastPercent = seen.at(-1)?.cpuPercent ?? Number.NaN;
  for (const { client, events, cpuPercent } of seen) {
    const cpu = { cpuPercent: round(cpuPercent), timesThatOfPlainHttps: round(cpuPercent / leastPercent) };
    console.log(JSON.stringify({ bench: 'api-client', what: `${eventsPerSecond} watch events a second`, client, events, ...cpu, calibrationMs }));
  }
  for (const sender of senders) sender.close();
}

const [directory] = process.argv.slice(2);
if (directory !== undefined) await serve(directory);
else {
  const own = mkdtempSync(join(tmpdir(), 'kubelet-ts-bench-'));
  const server = fork(fileURLToPath(import.meta.url), [own]);
  try {
    await new Promise((resolve) => server.once('message', resolve));
    await main(join(own, 'kubeconfig'));
  } finally {
    server.send('end');
    rmSync(own, { recursive: true });
  }
}
