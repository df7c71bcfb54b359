// The bundled daemon's cost for a node of a cluster: pods created in a mock apiserver, bound to the node and started on a private containerd, observed
// by a watch; one JSON line for 30 pods at once, 100 at once and 20 one a second. Targets and scaling are
// those of `daemon-containerd`; `plain` is the time of the same pods by plain CRI calls, without any kubelet.
// `npm run bench -- cluster-containerd`; nothing where containerd can't run.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type MockApiserver, startMockApiserver } from '../src/adapters/mock-apiserver/index.js';
import type { ApiObject } from '../src/ports/model/api-object.js';
import type { Pod } from '../src/ports/model/pod.js';
import { AdminClient } from '../test/app/admin-client.js';
import { KubeletProcess, manifest, nodeName, pausing } from '../test/containerd/kubelet-process.js';
import { PrivateContainerd, skipWithoutContainerd } from '../test/containerd/private-containerd.js';
import { calibrated, type Figure, type PlainLoad, plainLoad, printed } from './calibration.js';
import { beginLoopDelay, IdleProcess, type LoopDelay, measurable } from './stage/loop-delay.js';
import { aMinute, type Counts, countRequests, difference } from './stage/mock-node.js';
import { cpuMsOf, memoryMiB, share } from './stage/process-cost.js';

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
const quietMs = 3_000;
const lookEveryMs = 5;
const idleMs = 20_000;
const untilMs = 240_000;

const loopDelayFile = ({ directory }: PrivateContainerd): string => join(directory, 'loop-delay');

class Cluster {
  readonly requests: Counts;

  private constructor(
    readonly containerd: PrivateContainerd,
    readonly kubelet: KubeletProcess,
    readonly server: MockApiserver,
    readonly admin: AdminClient,
  ) {
    this.requests = countRequests(server);
  }

  static async start(containerd: PrivateContainerd, name: string): Promise<Cluster> {
    const server = await startMockApiserver();
    const kubelet = await KubeletProcess.prepare(containerd, name, { maxPods: 250 });
    const own = join(containerd.directory, `${name}.conf`);
    writeFileSync(own, server.kubeconfig({ commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] }));
    kubelet.flags.push('--kubeconfig', own);
    Object.assign(kubelet.environment, measurable(loopDelayFile(containerd)));
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
}

function isReady(object: ApiObject | null): boolean {
  const conditions = (object as Pod | null)?.status?.conditions ?? [];
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}

/** A watcher's events of pods. */
class Onlooker {
  private looked = 0;
  readonly created = new Map<string, number>();
  readonly ready = new Map<string, number>();
  gone = 0;
  private readonly timer = setInterval(() => this.look(), lookEveryMs);

  private constructor(private readonly changes: Awaited<ReturnType<AdminClient['follow']>>) {}

  static async of(admin: AdminClient): Promise<Onlooker> {
    return new Onlooker(await admin.follow('pods', 'default'));
  }

  private look(): void {
    for (; this.looked < this.changes.length; this.looked++) {
      const change = this.changes[this.looked];
      if (change === undefined) continue;
      const { name } = change.object.metadata;
      if (change.type === 'DELETED') this.gone++;
      else if (!this.ready.has(name) && isReady(change.object)) this.ready.set(name, performance.now());
    }
  }

  close(): void {
    clearInterval(this.timer);
  }
}

/** Until nothing is asked any more but for the lease: events are written as slowly as they are allowed to be. */
async function untilQuiet(cluster: Cluster): Promise<void> {
  for (;;) {
    const before = new Map(cluster.requests);
    await delay(quietMs);
    if (Object.keys(difference(cluster.requests, before)).every((kind) => kind === 'update leases')) return;
  }
}

interface Idle {
  readonly percent: number;
  readonly requests: Readonly<Record<string, number>>;
}

async function idling(cluster: Cluster): Promise<Idle> {
  const { pid } = cluster.kubelet;
  const from = { cpu: cpuMsOf(pid), at: performance.now(), requests: new Map(cluster.requests) };
  await delay(idleMs);
  const seconds = (performance.now() - from.at) / 1000;
  return { percent: (cpuMsOf(pid) - from.cpu) / 10 / seconds, requests: aMinute(difference(cluster.requests, from.requests), seconds) };
}

interface Measured {
  readonly figures: readonly Figure[];
  readonly loopDelayMs: LoopDelay & { readonly idleProcess: LoopDelay };
  readonly idleRequestsAMinute: Idle['requests'];
}

async function measure(cluster: Cluster, { pods, everyMs, targets }: Load, plain: PlainLoad): Promise<Measured> {
  const { kubelet, admin } = cluster;
  const { pid } = kubelet;
  await untilQuiet(cluster);
  const emptyMiB = memoryMiB(pid, 'VmRSS');
  const seen = await Onlooker.of(admin);
  const idleProcess = await IdleProcess.start(join(cluster.containerd.directory, 'idle-delay'));
  const endDelays = [beginLoopDelay(pid, loopDelayFile(cluster.containerd)), idleProcess.begin()] as const;
  const before = cpuMsOf(pid);
  const start = performance.now();
  for (let i = 0; i < pods; i++) {
    seen.created.set(`pod-${i}`, performance.now());
    await cluster.create(`pod-${i}`);
    if (everyMs > 0) await delay(Math.max(0, start + (i + 1) * everyMs - performance.now()));
  }
  await kubelet.until('all pods are ready', () => seen.ready.size === pods, untilMs);
  const readyMs = Math.max(...seen.ready.values()) - start;
  const loopDelayMs = { ...(await endDelays[0]()), idleProcess: await endDelays[1]() };
  idleProcess.stop();
  await untilQuiet(cluster);
  const used = { cpuMs: cpuMsOf(pid) - before, seconds: (performance.now() - start) / 1000 };
  const idle = await idling(cluster);
  // What it would have needed at rest meanwhile is not the pods'.
  const cpuMs = (used.cpuMs - idle.percent * 10 * used.seconds) / pods;
  const loadedMiB = memoryMiB(pid, 'VmRSS');
  const deleting = performance.now();
  for (let i = 0; i < pods; i++) await admin.remove('pods', 'default', `pod-${i}`);
  await kubelet.until('all pods are gone', () => seen.gone === pods, untilMs);
  const deletedMs = performance.now() - deleting;
  seen.close();
  const waits = [...seen.ready].map(([name, at]) => at - (seen.created.get(name) ?? at));
  const figures: Figure[] = [
    { name: 'all ready after', value: readyMs, unit: 'ms', target: targets.allReady, calibration: 'podStart', plain: plain.allStarted },
    { name: 'create to ready, median', value: share(waits, 0.5), unit: 'ms', target: targets.median, calibration: 'podStart', plain: plain.medianStart },
    { name: 'create to ready, 99 %', value: share(waits, 0.99), unit: 'ms', target: null, calibration: 'podStart' },
    { name: 'CPU per pod start', value: cpuMs, unit: 'ms', target: targets.cpu, calibration: 'loop', plain: plain.cpuPerPod },
    { name: 'idle CPU', value: idle.percent, unit: '% of a core', target: targets.idle, calibration: 'loop' },
    { name: 'all deleted after', value: deletedMs, unit: 'ms', target: targets.deleted, calibration: 'podStart', plain: plain.allRemoved },
    { name: 'resident, empty', value: emptyMiB, unit: 'MiB', target: 75, calibration: null },
    { name: 'resident, loaded', value: loadedMiB, unit: 'MiB', target: 110, calibration: null },
    { name: 'resident, peak', value: memoryMiB(pid, 'VmHWM'), unit: 'MiB', target: 120, calibration: null },
  ];
  return { figures, loopDelayMs, idleRequestsAMinute: idle.requests };
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
      const { calibration, measured } = await calibrated(containerd, async () => {
        const plain = await plainLoad(containerd, load.pods, load.everyMs);
        const cluster = await Cluster.start(containerd, 'node');
        const all = await measure(cluster, load, plain);
        await cluster.stop();
        return all;
      });
      const { figures, ...more } = measured;
      console.log(printed('cluster-containerd', { load: load.name, ...more }, calibration, figures));
    } finally {
      await containerd.stop();
    }
  }
}

await main();
