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
}

async function own({ run }: Cluster): Promise<Numbers> {
  const [cpu, memory] = [await run(['exec', 'burns', '-c', 'main', '--', 'sh', '-c', ownCpu]), await run(['exec', 'burns', '-c', 'main', '--', 'sh', '-c', ownMemory])];
  return { cpuNanos: Number(cpu.text), memoryBytes: Number(memory.text) };
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

async function values(t: Test, cluster: Cluster): Promise<void> {
  const first = await untilReadAnew(cluster, 0);
  const from = sample(first, 'container_cpu_usage_seconds_total', ofMain);
  const before = await own(cluster);
  const beforeMillis = Date.now();
  // Eviction measures, too: what it read before the container was asked is no answer.
  const resource = await untilReadAnew(cluster, Math.max(from.atMillis, beforeMillis + 1_000));
  const cadvisor = await asked(cluster, '/metrics/cadvisor');
  const { main, pod } = await summary(cluster);
  const after = await own(cluster);
  const afterMillis = Date.now();

  const rate = (after.cpuNanos - before.cpuNanos) / ((afterMillis - beforeMillis) * 1e6);
  const to = sample(resource, 'container_cpu_usage_seconds_total', ofMain);
  const shown = (to.value - from.value) / ((to.atMillis - from.atMillis) / 1_000);
  t.comment(`own rate ${rate.toFixed(3)}, /metrics/resource ${shown.toFixed(3)}, /stats/summary ${(main.cpu?.usageNanoCores ?? 0) / 1e9}`);
  t.ok(rate <= 0.55, 'the limit holds');
  t.ok(near(shown, rate, 0.1) || near(shown, 0.5), 'the rate between two scrapes is the container’s own');
  t.ok(near((main.cpu?.usageNanoCores ?? 0) / 1e9, shown, 0.1) || near((main.cpu?.usageNanoCores ?? 0) / 1e9, 0.5), 'so is the rate in the summary');
  const totals: readonly (readonly [where: string, nanos: number])[] = [
    ['/metrics/resource', to.value * 1e9],
    ['/stats/summary', main.cpu?.usageCoreNanoSeconds ?? 0],
    ['/metrics/cadvisor', sample(cadvisor, 'container_cpu_usage_seconds_total', ofMain).value * 1e9],
  ];
  for (const [where, nanos] of totals)
    t.ok(nanos >= before.cpuNanos && nanos <= after.cpuNanos, `${where}: a total between two own readings: ${before.cpuNanos} ${nanos} ${after.cpuNanos}`);
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
  t.ok(Number(cpu) >= 200 && Number(cpu) <= 550 && Number(memory) >= 48 && Number(memory) <= 60, pod.text);
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
