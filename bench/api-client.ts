// The price of talking to the apiserver, over TLS with a client certificate and a server in a process of its own: a status PATCH, and 1 000 watch
// events a second, by the agent's client and, in the same run, by @kubernetes/client-node. CPU is that of this process.
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CoreV1Api, KubeConfig, PatchStrategy, setHeaderOptions, Watch } from '@kubernetes/client-node';
import { loadKubeconfig, openApiClients } from '../src/adapters/apiserver/index.js';
import { startMockApiserver } from '../src/adapters/mock-apiserver/index.js';

const patches = 300;
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

interface Figures {
  readonly medianMs: number;
  readonly cpuMsEach: number;
}

async function measured(times: number, work: () => Promise<unknown>): Promise<Figures> {
  for (let i = 0; i < warmUp; i++) await work();
  const cpu = process.cpuUsage();
  const took: number[] = [];
  for (let i = 0; i < times; i++) {
    const begun = performance.now();
    await work();
    took.push(performance.now() - begun);
  }
  const { user, system } = process.cpuUsage(cpu);
  took.sort((a, b) => a - b);
  return { medianMs: round(took[times >> 1] ?? 0), cpuMsEach: round((user + system) / 1000 / times) };
}

async function watching(watch: () => Promise<number>): Promise<{ readonly events: number; readonly cpuPercent: number }> {
  await watch();
  const cpu = process.cpuUsage();
  const begun = performance.now();
  const events = await watch();
  const { user, system } = process.cpuUsage(cpu);
  return { events, cpuPercent: round((user + system) / 10 / (performance.now() - begun)) };
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

async function ours(path: string): Promise<void> {
  let events = 0;
  const clients = openApiClients({
    config: loadKubeconfig(path),
    userAgent: 'kubelet/bench',
    main: { perSecond: -1, burst: 0 },
    events: { perSecond: -1, burst: 0 },
    heartbeatTimeoutMicros: 10_000_000,
    environment: {},
    now: () => Date.now() * 1000,
    deliver: (seen) => {
      events += seen.events.length;
    },
    problem: () => {},
  });
  const call = { signal: new AbortController().signal, timeoutMicros: null };
  const pods = { group: '', version: 'v1', plural: 'pods' };
  const patch = { resource: pods, namespace: 'default', name: 'p', client: 'main', subresource: 'status', patch: 'strategic-merge-patch', body: { status } } as const;
  console.log(JSON.stringify({ bench: 'api-client', what: 'status PATCH', client: 'own', ...(await measured(patches, () => clients.writer.patch(patch, call))) }));
  const selection = { resource: pods, namespace: null, fieldSelector: 'spec.nodeName=n1', labelSelector: null };
  const seen = await watching(async () => {
    events = 0;
    await clients.reader.watch({ ...selection, watch: 'w', resourceVersion: '1', timeoutSeconds: 60 }, call);
    return events;
  });
  console.log(JSON.stringify({ bench: 'api-client', what: `${eventsPerSecond} watch events a second`, client: 'own', ...seen }));
  clients.close();
}

async function theirs(path: string): Promise<void> {
  const config = new KubeConfig();
  config.loadFromFile(path);
  const api = config.makeApiClient(CoreV1Api);
  const options = setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch);
  const patch = () => api.patchNamespacedPodStatus({ name: 'p', namespace: 'default', body: { status } }, options);
  console.log(JSON.stringify({ bench: 'api-client', what: 'status PATCH', client: 'client-node', ...(await measured(patches, patch)) }));
  const seen = await watching(
    () =>
      new Promise((resolve) => {
        let events = 0;
        void new Watch(config).watch(
          '/api/v1/pods',
          { fieldSelector: 'spec.nodeName=n1' },
          () => events++,
          () => resolve(events),
        );
      }),
  );
  console.log(JSON.stringify({ bench: 'api-client', what: `${eventsPerSecond} watch events a second`, client: 'client-node', ...seen }));
}

const [directory] = process.argv.slice(2);
if (directory !== undefined) await serve(directory);
else {
  const own = mkdtempSync(join(tmpdir(), 'kubelet-ts-bench-'));
  const server = fork(fileURLToPath(import.meta.url), [own]);
  try {
    await new Promise((resolve) => server.once('message', resolve));
    await ours(join(own, 'kubeconfig'));
    await theirs(join(own, 'kubeconfig'));
  } finally {
    server.send('end');
    rmSync(own, { recursive: true });
  }
}
