// A container's usage, as it sees it itself, in three forms of the kubelet's port, and in kubectl top.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import type { ContainerStats, PodStats, StatsSummary } from '../../src/ports/model/stats-summary.js';
import { skipWithoutKubectl } from './kubectl.js';
import { manifest, nodeName, scripted } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type Cluster, testCluster } from './stream-cluster.js';

t.setTimeout(300_000);
const skip = skipWithoutContainerd() || skipWithoutKubectl();

const heldBytes = 50 * 1024 * 1024;
/** Half a core by its limit; dd fills its buffer and then waits for a reader that never reads. */
const script = `yes | head -c 300000; while :; do :; done & dd if=/dev/zero bs=${heldBytes} count=1 2>/dev/null | sleep 100000`;

/** As the container itself can read it: v1 or v2. */
const ownCpu = 'cat /sys/fs/cgroup/cpuacct/cpuacct.usage 2>/dev/null || sed -n "s/usage_usec \\(.*\\)/\\1000/p" /sys/fs/cgroup/cpu.stat';
const ownMemory = 'cat /sys/fs/cgroup/memory/memory.usage_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.current';

interface Numbers {
  readonly cpuNanos: number;
  readonly memoryBytes: number;
  /** By the host's clock: the reading was made between the two. */
  readonly askedMillis: number;
  readonly answeredMillis: number;
}

async function own({ run }: Cluster): Promise<Numbers> {
  const askedMillis = Date.now();
  const [cpu, memory] = [await run(['exec', 'burns', '-c', 'main', '--', 'sh', '-c', ownCpu]), await run(['exec', 'burns', '-c', 'main', '--', 'sh', '-c', ownMemory])];
  return { cpuNanos: Number(cpu.text), memoryBytes: Number(memory.text), askedMillis, answeredMillis: Date.now() };
}

async function asked({ run }: Cluster, path: string): Promise<string> {
  const { code, text } = await run(['get', '--raw', `/api/v1/nodes/${nodeName}/proxy${path}`]);
  if (code !== 0) throw new Error(`${path}: ${text}`);
  return text;
}

async function summary(cluster: Cluster): Promise<{ readonly pod: PodStats; readonly main: ContainerStats; readonly all: StatsSummary }> {
  const all = JSON.parse(await asked(cluster, '/stats/summary')) as StatsSummary;
  const pod = all.pods?.find(({ podRef }) => podRef.name === 'burns');
  const main = pod?.containers?.find(({ name }) => name === 'main');
  if (pod === undefined || main === undefined) throw new Error('the pod has no numbers');
  return { pod, main, all };
}

function sample(text: string, name: string, label: string): { readonly value: number; readonly atMillis: number } {
  const match = new RegExp(`^${name}\\{[^}]*${label}[^}]*\\} (\\S+) (\\d+)$`, 'm').exec(text);
  return { value: Number(match?.[1]), atMillis: Number(match?.[2]) };
}

/** The pod has another container, and the runtime lists them in no order. */
const ofMain = 'container="main"[^}]*pod="burns"';

const near = (value: number, expected: number, share = 0.05): boolean => Math.abs(value - expected) <= expected * share;

/** The kubelet takes a new reading when the last one is ten seconds old. @param sinceMillis by the kubelet's clock, which may differ from the host's by a second */
async function untilReadAnew(cluster: Cluster, sinceMillis: number): Promise<string> {
  let text = '';
  await cluster.kubelet.until('it is read anew', async () => {
    text = await asked(cluster, '/metrics/resource');
    return sample(text, 'container_cpu_usage_seconds_total', ofMain).atMillis > sinceMillis;
  });
  return text;
}

/** How much the clocks of the host and of a reading may differ. */
const clockMillis = 1_000;

/** The container's own readings enclose the kubelet's: what holds then does not depend on the load of the host. */
function enclosed(t: Test, what: string, nanos: number, [before, after]: readonly [Numbers, Numbers]): void {
  t.ok(nanos >= before.cpuNanos && nanos <= after.cpuNanos, `${what}: a total between two own readings: ${before.cpuNanos} ${nanos} ${after.cpuNanos}`);
}

interface Reading {
  readonly atMillis: number;
  readonly totalNanos: number;
  readonly nanoCores: number;
}

/** Times of the summary are whole seconds. */
const timeSteps = 1;

/** Whether the last rate is that between the last total and an earlier one. */
function isRateOfTotals(readings: readonly Reading[]): boolean {
  const last = readings.at(-1);
  return readings.slice(0, -1).some(({ atMillis, totalNanos }) => {
    if (last === undefined) return false;
    const [seconds, nanos] = [(last.atMillis - atMillis) / 1_000, last.totalNanos - totalNanos];
    return last.nanoCores >= (0.95 * nanos) / (seconds + timeSteps) && last.nanoCores <= (1.05 * nanos) / Math.max(seconds - timeSteps, timeSteps / 2);
  });
}

/** Reads on until a rate and the totals agree: the kubelet may have read in between, over a short time. */
async function untilRateOfTotals(cluster: Cluster): Promise<readonly Reading[]> {
  const readings: Reading[] = [];
  await cluster.kubelet.until('the rate of the summary is that of its totals', async () => {
    const { main } = await summary(cluster);
    const { time, usageCoreNanoSeconds, usageNanoCores } = main.cpu ?? {};
    const atMillis = Date.parse(time ?? '');
    if (usageCoreNanoSeconds === undefined || usageNanoCores === undefined || readings.at(-1)?.totalNanos === usageCoreNanoSeconds) return false;
    readings.push({ atMillis, totalNanos: usageCoreNanoSeconds, nanoCores: usageNanoCores });
    return isRateOfTotals(readings);
  });
  return readings;
}

async function values(t: Test, cluster: Cluster): Promise<void> {
  const owns = [await own(cluster)];
  const last = (): Numbers => owns.at(-1) as Numbers;
  // Eviction measures, too: what it read before the container was asked is no answer.
  const first = await untilReadAnew(cluster, last().answeredMillis + clockMillis);
  owns.push(await own(cluster));
  const resource = await untilReadAnew(cluster, last().answeredMillis + clockMillis);
  const cadvisor = await asked(cluster, '/metrics/cadvisor');
  const { main, pod } = await summary(cluster);
  owns.push(await own(cluster));
  const [before, between, after] = owns as [Numbers, Numbers, Numbers];

  const [from, to] = [first, resource].map((text) => sample(text, 'container_cpu_usage_seconds_total', ofMain)) as [ReturnType<typeof sample>, ReturnType<typeof sample>];
  enclosed(t, 'the first scrape of /metrics/resource', from.value * 1e9, [before, between]);
  enclosed(t, 'the second', to.value * 1e9, [between, after]);
  enclosed(t, '/stats/summary', main.cpu?.usageCoreNanoSeconds ?? 0, [between, after]);
  enclosed(t, '/metrics/cadvisor', sample(cadvisor, 'container_cpu_usage_seconds_total', ofMain).value * 1e9, [between, after]);
  for (const [at, [earlier, later]] of [
    [from.atMillis, [before, between]],
    [to.atMillis, [between, after]],
  ] as const)
    t.ok(at >= earlier.askedMillis - clockMillis && at <= later.answeredMillis + clockMillis, `the time of a reading: ${earlier.askedMillis} ${at} ${later.answeredMillis}`);
  const rate = (after.cpuNanos - before.cpuNanos) / ((after.answeredMillis - before.askedMillis) * 1e6);
  t.ok(rate <= 0.55, `the limit holds: ${rate}`);
  const rates = await untilRateOfTotals(cluster);
  t.ok((rates.at(-1)?.nanoCores ?? 0) > 0, `a rate of the summary is that of its totals: ${JSON.stringify(rates)}`);
  const rss = main.memory?.rssBytes ?? 0;
  t.ok(near(rss, heldBytes), `fifty MiB are held: ${rss}`);
  t.ok(near(sample(cadvisor, 'container_memory_rss', ofMain).value, heldBytes), 'and /metrics/cadvisor says so');
  t.ok(near(sample(resource, 'container_memory_working_set_bytes', ofMain).value, after.memoryBytes), 'the working set is what the container sees');
  t.ok(near(main.memory?.usageBytes ?? 0, after.memoryBytes), 'so is the usage');
  t.ok((pod.memory?.usageBytes ?? 0) >= (main.memory?.usageBytes ?? 0), 'a pod has no less than its container');
}

async function disk(t: Test, cluster: Cluster): Promise<void> {
  const { run, kubelet } = cluster;
  const written = 3 * 1024 * 1024;
  await run(['exec', 'burns', '-c', 'main', '--', 'sh', '-c', `dd if=/dev/zero of=/scratch/file bs=${written} count=1; dd if=/dev/zero of=/own bs=${written} count=1`]);
  await kubelet.until('the volume was walked', async () => ((await summary(cluster)).pod.volume?.find(({ name }) => name === 'scratch')?.usedBytes ?? 0) >= written);
  await kubelet.until('the writable layer was measured', async () => ((await summary(cluster)).main.rootfs?.usedBytes ?? 0) >= written);
  const { pod, main, all } = await summary(cluster);
  const volume = pod.volume?.find(({ name }) => name === 'scratch');
  t.ok(near(volume?.usedBytes ?? 0, written), `the volume: ${volume?.usedBytes}`);
  const storage = pod['ephemeral-storage']?.usedBytes ?? 0;
  t.ok(storage >= (main.rootfs?.usedBytes ?? 0) + (volume?.usedBytes ?? 0), `all that the pod writes: ${storage}`);
  t.ok((main.logs?.usedBytes ?? 0) > 0, 'logs are measured');
  t.match(pod.network, { name: 'eth0', rxBytes: Number, txBytes: Number });
  t.ok(
    pod.network?.interfaces?.every(({ name }) => name !== 'lo'),
    'loopback says nothing',
  );
  t.match(main.swap, { swapUsageBytes: Number });
  t.match(all.node.fs, { capacityBytes: Number });
  const [, blocks = ''] = execFileSync('df', ['-B1', '--output=size', cluster.containerd.directory], { encoding: 'utf8' }).split('\n');
  t.ok(near(all.node.fs?.capacityBytes ?? 0, Number(blocks), 0.01), 'the node’s file system is as large as df says');
}

/** Paths of all values of a document, with their types; elements of lists under `[]`. */
function shapeOf(value: unknown, path = '', found = new Map<string, string>()): ReadonlyMap<string, string> {
  if (Array.isArray(value)) {
    found.set(path, 'array');
    for (const one of value) shapeOf(one, `${path}[]`, found);
  } else if (typeof value === 'object' && value !== null) {
    found.set(path, 'object');
    for (const [key, one] of Object.entries(value)) shapeOf(one, path === '' ? key : `${path}.${key}`, found);
  } else found.set(path, typeof value);
  return found;
}

/** Recorded, and not here. */
const missing: readonly (readonly [path: RegExp, reason: string])[] = [
  [/^node\.systemContainers\[\]\.(?:logs|rootfs)/, 'system containers have neither'],
  [/^node\.systemContainers\[\]\.memory\.availableBytes/, 'the cgroups of the node’s parts have no limit in this test'],
  [/^pods\[\]\.memory\.availableBytes/, 'the agent gives the cgroups of pods no limits yet'],
  [/\.pvcRef/, 'there is no claim in this test'],
  ...(existsSync('/sys/fs/cgroup/cgroup.controllers') ? [] : ([[/\.(?:psi|io)(?:\.|$)/, 'cgroup v1 measures no pressure: the Go kubelet shows zeros']] as const)),
];

async function shape(t: Test, cluster: Cluster): Promise<void> {
  const rows = readFileSync(fileURLToPath(new URL('../../../test/reference/stats-summary-shape.tsv', import.meta.url)), 'utf8')
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'));
  const known = new Map(rows.map(([path = '', type = '']) => [path, type]));
  const questions: readonly (readonly [query: string, column: number])[] = [
    ['', 4],
    ['?only_cpu_and_memory=true', 5],
  ];
  for (const [query, column] of questions) {
    const found = shapeOf(JSON.parse(await asked(cluster, `/stats/summary${query}`)));
    for (const row of rows) {
      const [path = '', type = ''] = row;
      if (row[column] !== 'yes' || missing.some(([pattern]) => pattern.test(path))) continue;
      t.ok(found.has(path), `${path} is there${query}`);
      if (!found.has(path)) continue;
      const jsonType = type.startsWith('RFC3339') ? 'string' : type === 'integer' ? 'number' : type;
      t.equal(found.get(path), jsonType, `${path} is a ${jsonType}`);
    }
    for (const path of found.keys()) if (path !== '') t.ok(known.has(path), `${path} is the reference’s, too${query}`);
  }
}

async function top(t: Test, { run }: Cluster): Promise<void> {
  const node = await run(['top', 'node']);
  t.match(node, { code: 0, text: new RegExp(`^NAME +CPU\\(cores\\) +CPU\\(%\\) +MEMORY\\(bytes\\) +MEMORY\\(%\\) *\\n${nodeName} +\\d+m +\\d+% +\\d+Mi +\\d+%`) }, node.text);
  const pod = await run(['top', 'pod', 'burns']);
  const [, cpu, memory] = /^burns +(\d+)m +(\d+)Mi/m.exec(pod.text) ?? [];
  // The other load of the host leaves it at least this much of its half core.
  t.ok(Number(cpu) >= 20 && Number(cpu) <= 550 && Number(memory) >= 48 && Number(memory) <= 60, pod.text);
  const containers = await run(['top', 'pod', '--containers', '-A']);
  t.match(containers.text, /^default +burns +main +\d+m +5\dMi/m);
  t.match(containers.text, /^default +burns +idle +0m +/m);
  t.match((await run(['top', 'pod', '-l', 'app=burns'])).text, /^burns /m);
  t.match((await run(['top', 'pod', '-l', 'app=other'])).text, /No resources found/);
  t.match((await run(['top', 'pod', 'none'])).text, /not found/);
}

t.test('what a container uses', { skip, timeout: 240_000 }, async (t) => {
  const cluster = await testCluster(t, { volumeStatsAggPeriod: '2s' });
  await cluster.run(['wait', `node/${nodeName}`, '--for=condition=Ready', '--timeout=60s']);
  const main = scripted(cluster.containerd, 'main', script, {
    resources: { limits: { cpu: '500m', memory: '200Mi' } },
    volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
  });
  const idle = scripted(cluster.containerd, 'idle', 'sleep 100000', { resources: { limits: { memory: '50Mi' } } });
  const spec = { automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, containers: [main, idle], volumes: [{ name: 'scratch', emptyDir: {} }] };
  await cluster.run(['apply', '-f', '-'], JSON.stringify(manifest('burns', spec, { labels: { app: 'burns' } })));
  await cluster.run(['wait', 'pod/burns', '--for=condition=Ready', '--timeout=60s']);
  await t.test('CPU and memory', (t) => values(t, cluster));
  await t.test('disk, network and swap', (t) => disk(t, cluster));
  await t.test('the summary has the keys and types of the reference', (t) => shape(t, cluster));
  await t.test('kubectl top', (t) => top(t, cluster));
});
