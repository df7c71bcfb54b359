// The cost of a relist: one listing of 500 containers in 250 pods over a real socket, with the mock runtime in a process of its own.
// Figures per call: median and CPU of this process, while nothing changes, while the items come in another order each time (as
// containerd sends them), and while one container changed; and, in the same run, of decoding both answers whole.
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CriConnection, CriRuntimeState, criProtocol } from '../src/adapters/cri/index.js';
import { PodListing } from '../src/adapters/cri/pod-listing.js';
import { startMockCri } from '../src/adapters/mock-cri/index.js';
import type { SandboxConfig } from '../src/ports/model/sandbox-config.js';
import type { Call } from '../src/ports/operation.js';

const pods = 250;
const containersPerPod = 2;
const rounds = 200;
const image = { reference: 'docker.io/library/busybox:1', sizeBytes: 4_000_000, present: true };
const call: Call = { signal: new AbortController().signal, timeoutMicros: null };
const { ListContainersResponse, ListPodSandboxResponse, RuntimeServiceService } = criProtocol;

type Order = 'same' | 'rotated' | 'one-changed';

/** The runtime's process: fills itself, and prepares each round on request. */
async function serve(socket: string): Promise<void> {
  const latencies = { look: 0, runSandbox: 0, createContainer: 0, startContainer: 0, stop: 0, remove: 0, pull: 0 };
  const server = await startMockCri({ listen: socket, seed: 1, images: [image], latencies });
  const first = fill(server);
  process.on('message', (order: Order | 'end') => {
    if (order === 'end') process.disconnect();
    if (order === 'rotated') {
      rotate(server.runtime.state.sandboxes);
      rotate(server.runtime.state.containers);
    }
    const container = server.runtime.state.containers.get(first);
    if (order === 'one-changed' && container !== undefined) container.state = container.state === 'running' ? 'exited' : 'running';
    process.send?.(order);
  });
  process.on('disconnect', () => void server.stop());
  process.send?.('ready');
}

function fill(server: Awaited<ReturnType<typeof startMockCri>>): string {
  let first = '';
  for (let i = 0; i < pods; i++) {
    const uid = `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
    const labels = { 'io.kubernetes.pod.name': `pod-${i}`, 'io.kubernetes.pod.namespace': 'default', 'io.kubernetes.pod.uid': uid };
    const annotations = { 'kubernetes.io/config.seen': '2026-01-01T00:00:00Z', 'kubernetes.io/config.source': 'api' };
    const config: SandboxConfig = {
      metadata: { name: `pod-${i}`, namespace: 'default', uid, attempt: 0 },
      labels: { ...labels, app: 'web', 'pod-template-hash': '5d5f8c7b9' },
      annotations,
    };
    const sandboxId = value(server.ask('sandboxes.run', { config, runtimeHandler: '' })).sandboxId;
    for (let j = 0; j < containersPerPod; j++) {
      const container = {
        metadata: { name: `c${j}`, attempt: 0 },
        image: { image: 'busybox:1' },
        labels: { ...labels, 'io.kubernetes.container.name': `c${j}` },
        annotations: {
          'io.kubernetes.container.hash': '8e45cbd0',
          'io.kubernetes.container.restartCount': '0',
          'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
          'io.kubernetes.container.terminationMessagePolicy': 'File',
          'io.kubernetes.pod.terminationGracePeriod': '30',
        },
        logPath: '',
      };
      const { containerId } = value(server.ask('containers.create', { sandboxId, config: container, sandboxConfig: config }));
      value(server.ask('containers.start', { containerId }));
      if (first === '') first = containerId;
    }
  }
  return first;
}

function value<T>({ outcome }: { readonly outcome: { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: { readonly message: string } } }): T {
  if (!outcome.ok) throw new Error(outcome.error.message);
  return outcome.value;
}

/** The first half goes to the end. */
function rotate<T>(map: Map<string, T>): void {
  for (const [key, item] of [...map].slice(0, map.size >> 1)) {
    map.delete(key);
    map.set(key, item);
  }
}

async function measure(name: string, order: Order, tell: (order: Order) => Promise<void>, ask: () => Promise<unknown>): Promise<void> {
  const times: number[] = [];
  let cpuMicros = 0;
  for (let i = 0; i < rounds + 20; i++) {
    await tell(order);
    const cpu = process.cpuUsage();
    const start = performance.now();
    await ask();
    const ms = performance.now() - start;
    const used = process.cpuUsage(cpu);
    if (i < 20) continue; // until the code is compiled
    times.push(ms);
    cpuMicros += used.user + used.system;
  }
  const median = times.sort((a, b) => a - b)[rounds >> 1] ?? 0;
  console.log(
    JSON.stringify({ bench: 'list-containers', case: name, containers: pods * containersPerPod, medianMs: round(median), cpuMsPerCall: round(cpuMicros / rounds / 1_000) }),
  );
}

/** Two pairs of answers that say the same in another order, in turn: read as the relist does, and decoded whole. */
function compareDecoding(answers: readonly (readonly [Buffer, Buffer])[]): void {
  const listing = new PodListing();
  const [read, whole] = [
    (sandboxes: Buffer, containers: Buffer) => listing.update(sandboxes, containers),
    (sandboxes: Buffer, containers: Buffer) => [ListPodSandboxResponse.decode(sandboxes), ListContainersResponse.decode(containers)],
  ].map((decode) => {
    const times = Array.from({ length: rounds }, (_, i) => {
      const [sandboxes, containers] = answers[i % answers.length] ?? [Buffer.alloc(0), Buffer.alloc(0)];
      const start = performance.now();
      decode(sandboxes, containers);
      return performance.now() - start;
    });
    return times.sort((a, b) => a - b)[rounds >> 1] ?? 0;
  }) as [number, number];
  console.log(
    JSON.stringify({
      bench: 'list-containers',
      case: 'decoding alone',
      containers: pods * containersPerPod,
      medianMs: round(read),
      wholeMedianMs: round(whole),
      ratio: round(read / whole),
    }),
  );
}

function round(n: number): number {
  return Math.round(n * 1_000) / 1_000;
}

async function main(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-bench-'));
  const socket = join(directory, 'cri.sock');
  const server = fork(fileURLToPath(import.meta.url), [socket], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const next = () => new Promise<void>((resolve) => server.once('message', () => resolve()));
  await next();
  const tell = (order: Order) => {
    const done = next();
    server.send(order);
    return done;
  };
  const connection = new CriConnection({ endpoint: socket, requestTimeoutMicros: 120_000_000 });
  const state = new CriRuntimeState(connection, () => Date.now() * 1_000);
  const target = { operation: 'bench', subject: '', deadlineMicros: null };
  const bytes = <Request>(method: { readonly path: string; readonly requestSerialize: (value: Request) => Buffer }, request: Request) =>
    connection.unary({ ...method, responseDeserialize: (answer: Buffer) => answer }, request, call, target);
  const both = () => Promise.all([bytes(RuntimeServiceService.listPodSandbox, { filter: undefined }), bytes(RuntimeServiceService.listContainers, { filter: undefined })]);
  try {
    await measure('unchanged', 'same', tell, () => state.listPods({ uid: null }, call));
    await measure('unchanged, other order', 'rotated', tell, () => state.listPods({ uid: null }, call));
    await measure('one container changed', 'one-changed', tell, () => state.listPods({ uid: null }, call));
    await measure('transport alone', 'same', tell, both);
    await measure('decoded whole', 'same', tell, async () => {
      const [sandboxes, containers] = await both();
      return [ListPodSandboxResponse.decode(sandboxes), ListContainersResponse.decode(containers)];
    });
    await tell('same');
    const one = await both();
    await tell('rotated');
    compareDecoding([one, await both()]);
  } finally {
    connection.close();
    server.disconnect();
    rmSync(directory, { recursive: true });
  }
}

const [socketOfServer] = process.argv.slice(2);
await (socketOfServer === undefined ? main() : serve(socketOfServer));
