// What the bundled daemon costs a node of a cluster: pods created in a mock apiserver, bound to the node and started on a private containerd, as
// somebody who watches sees them; one JSON line for 30 pods at once, 100 at once and 20 one a second. Targets and the way figures are scaled are
// those of `daemon-containerd`. `npm run bench -- cluster-containerd`; nothing where containerd can't run.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type MockApiserver, startMockApiserver } from '../src/adapters/mock-apiserver/index.js';
import type { ApiObject } from '../src/ports/model/api-object.js';
import type { Pod } from '../src/ports/model/pod.js';
import { AdminClient } from '../test/app/admin-client.js';
import { KubeletProcess, manifest, nodeName, pausing } from '../test/containerd/kubelet-process.js';
import { PrivateContainerd, skipWithoutContainerd } from '../test/containerd/private-containerd.js';
import { calibrate, type Figure, memoryMiB, printed } from './calibration.js';

interface Load {
  readonly name: string;
  readonly pods: number;
  /** Between two creations; 0: all at once. */
  readonly everyMs: number;
  readonly targets: { readonly allReady: number | null; readonly median: number | null; readonly cpu: number; readonly idle: number; readonly deleted: number };
}

const loads: readonly Load[] = [
  { name: '30 at once', pods: 30, everyMs: 0, targets: { allReady: 3300, median: 2700, cpu: 11, idle: 0.85, deleted: 3300 } },
  { name: '100 at once', pods: 100, everyMs: 0, targets: { allReady: 14_700, median: 11_300, cpu: 14, idle: 2, deleted: 14_100 } },
  { name: '20, one a second', pods: 20, everyMs: 1000, targets: { allReady: null, median: 210, cpu: 19, idle: 0.65, deleted: 2400 } },
];
const settleMs = 2_000;
const idleMs = 20_000;
const untilMs = 240_000;

class Cluster {
  private constructor(
    readonly containerd: PrivateContainerd,
    readonly kubelet: KubeletProcess,
    readonly server: MockApiserver,
    readonly admin: AdminClient,
  ) {}

  static async start(containerd: PrivateContainerd, name: string): Promise<Cluster> {
    const server = await startMockApiserver();
    const kubelet = await KubeletProcess.prepare(containerd, name, { maxPods: 250 });
    const own = join(containerd.directory, `${name}.conf`);
    writeFileSync(own, server.kubeconfig({ commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] }));
    kubelet.flags.push('--kubeconfig', own);
    await kubelet.start();
    const cluster = new Cluster(containerd, kubelet, server, new AdminClient(join(containerd.directory, `${name}-admin.conf`), server.kubeconfig()));
    await kubelet.until('the node is ready', async () => isReady(await cluster.admin.get('nodes', null, nodeName)));
    return cluster;
  }

  async stop(): Promise<void> {
    await this.kubelet.stop();
    this.admin.close();
    await this.server.stop();
  }

  create(name: string): Promise<ApiObject> {
    const spec = {
      nodeName,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      dnsPolicy: 'Default',
      hostNetwork: false,
      containers: [pausing(this.containerd)],
    };
    return this.admin.create('pods', 'default', manifest(name, spec) as ApiObject);
  }

  /** Requests that the node has made so far. */
  requests(): number {
    return this.server.api.audit.entries.filter(({ user }) => user === `system:node:${nodeName}`).length;
  }
}

function isReady(object: ApiObject | null): boolean {
  const conditions = (object as Pod | null)?.status?.conditions ?? [];
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}

function share(values: readonly number[], part: number): number {
  return [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? Number.NaN;
}

async function measure(cluster: Cluster, { pods, everyMs, targets }: Load): Promise<Figure[]> {
  const { kubelet, admin } = cluster;
  await delay(settleMs);
  const emptyMiB = memoryMiB(kubelet.pid, 'VmRSS');
  const changes = await admin.follow('pods', 'default');
  const created = new Map<string, number>();
  const ready = new Map<string, number>();
  let looked = 0;
  let gone = 0;
  const look = (): void => {
    for (; looked < changes.length; looked++) {
      const change = changes[looked];
      if (change === undefined) continue;
      const { name } = change.object.metadata;
      if (change.type === 'DELETED') gone++;
      else if (!ready.has(name) && isReady(change.object)) ready.set(name, performance.now());
    }
  };
  const timer = setInterval(look, 5);
  const before = kubelet.cpuSeconds;
  const start = performance.now();
  for (let i = 0; i < pods; i++) {
    created.set(`pod-${i}`, performance.now());
    await cluster.create(`pod-${i}`);
    if (everyMs > 0) await delay(Math.max(0, start + (i + 1) * everyMs - performance.now()));
  }
  await kubelet.until('all pods are ready', () => ready.size === pods, untilMs);
  const readyMs = Math.max(...ready.values()) - start;
  await delay(settleMs);
  const cpuMs = ((kubelet.cpuSeconds - before) * 1000) / pods;
  const idleFrom = { cpu: kubelet.cpuSeconds, at: performance.now(), requests: cluster.requests() };
  await delay(idleMs);
  const idleSpan = performance.now() - idleFrom.at;
  const idlePercent = ((kubelet.cpuSeconds - idleFrom.cpu) * 100_000) / idleSpan;
  const requests = ((cluster.requests() - idleFrom.requests) * 60_000) / idleSpan;
  const loadedMiB = memoryMiB(kubelet.pid, 'VmRSS');
  const deleting = performance.now();
  for (let i = 0; i < pods; i++) await admin.remove('pods', 'default', `pod-${i}`);
  await kubelet.until('all pods are gone', () => gone === pods, untilMs);
  const deletedMs = performance.now() - deleting;
  clearInterval(timer);
  const waits = [...ready].map(([name, at]) => at - (created.get(name) ?? at));
  return [
    { name: 'all ready after', value: readyMs, unit: 'ms', target: targets.allReady, calibration: 'podStart' },
    { name: 'create to ready, median', value: share(waits, 0.5), unit: 'ms', target: targets.median, calibration: 'podStart' },
    { name: 'create to ready, 99 %', value: share(waits, 0.99), unit: 'ms', target: null, calibration: 'podStart' },
    { name: 'CPU per pod start', value: cpuMs, unit: 'ms', target: targets.cpu, calibration: 'loop' },
    { name: 'idle CPU', value: idlePercent, unit: '% of a core', target: targets.idle, calibration: 'loop' },
    { name: 'requests to the apiserver, idle', value: requests, unit: 'requests a minute', target: null, calibration: null },
    { name: 'all deleted after', value: deletedMs, unit: 'ms', target: targets.deleted, calibration: 'podStart' },
    { name: 'resident, empty', value: emptyMiB, unit: 'MiB', target: 75, calibration: null },
    { name: 'resident, loaded', value: loadedMiB, unit: 'MiB', target: 110, calibration: null },
    { name: 'resident, peak', value: memoryMiB(kubelet.pid, 'VmHWM'), unit: 'MiB', target: 120, calibration: null },
  ];
}

async function main(): Promise<void> {
  const skip = skipWithoutContainerd();
  if (skip !== false) {
    console.error(`cluster-containerd: ${skip}`);
    return;
  }
  // Words after the name choose loads by their number of pods.
  const chosen = process.argv.slice(2).map(Number);
  for (const load of loads.filter(({ pods }) => chosen.length === 0 || chosen.includes(pods))) {
    const containerd = await PrivateContainerd.start();
    try {
      const calibration = await calibrate(containerd);
      const cluster = await Cluster.start(containerd, 'node');
      const figures = await measure(cluster, load);
      await cluster.stop();
      console.log(printed('cluster-containerd', { load: load.name }, calibration, figures));
    } finally {
      await containerd.stop();
    }
  }
}

await main();
