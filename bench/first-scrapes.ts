// The first answers of a node with 250 pods, and later ones: /metrics, /metrics/cadvisor, /metrics/resource, /stats/summary and /pods through the kubelet's own
// server, read by a client of another process. It requires root, for 750 cgroups of this host.
// One JSON line an answer: time, CPU, bytes, the longest turn of the event loop, and how far the answer raised the process's peak of memory. Each
// path is measured in a process of its own, where nothing was compiled before.
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type KubeletRoute, KubeletServer, metricsRoute, podRoutes } from '../src/adapters/http-server/index.js';
import { KubeletMetrics } from '../src/adapters/metrics/kubelet-metrics.js';
import { addonNativeLinux } from '../src/adapters/native-linux/index.js';
import { loadBinding } from '../src/adapters/native-linux/loader.js';
import { requestPolicy } from '../src/domain/authorization/request-policy.js';
import { podList } from '../src/ports/inbound/agent-queries.js';
import { manifest } from '../test/containerd/kubelet-process.js';
import { memoryMiB, round } from './stage/process-cost.js';
import { openStatisticsNode, statisticsAnswers } from './stage/statistics-node.js';
import { watchTurns } from './stage/turns.js';

const podCount = 250;
const paths = ['/metrics', '/metrics/cadvisor', '/metrics/resource', '/stats/summary', '/pods'];
const laterAnswers = 5;
const options = { kernelLogPath: '/dev/null', service: { notifySocket: null, watchdogMicros: null, watchdogPid: null } };

/** A pod as an apiserver keeps one: with volumes, probes, conditions and managed fields. */
function podOf(i: number): object {
  const env = Array.from({ length: 20 }, (_, at) => ({ name: `VARIABLE_${at}`, value: `value ${at} of pod ${i}` }));
  const probe = { httpGet: { path: '/healthz', port: 8080 }, periodSeconds: 10, timeoutSeconds: 1, successThreshold: 1, failureThreshold: 3 };
  const containers = [
    { name: 'c', image: 'registry.example/team/app:1.2.3', env, livenessProbe: probe, readinessProbe: probe, resources: { requests: { cpu: '10m', memory: '32Mi' } } },
  ];
  const conditions = ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
    type,
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }));
  const managedFields = [
    {
      manager: 'kube-controller-manager',
      operation: 'Update',
      fieldsV1: { 'f:spec': Object.fromEntries(env.map(({ name }) => [`k:{"name":"${name}"}`, { '.': {}, 'f:value': {} }])) },
    },
  ];
  return { ...manifest(`p${i}`, { containers }, { uid: `uid${i}`, managedFields }), status: { phase: 'Running', conditions, podIP: '10.0.0.1', hostIP: '10.0.0.2' } };
}

async function serve(path: string): Promise<void> {
  const loaded = loadBinding(true);
  if (loaded.kind !== 'addon') throw new Error(loaded.reason);
  const node = openStatisticsNode(podCount);
  const answers = statisticsAnswers(node, addonNativeLinux(loaded.binding, options));
  const pods = podList(Array.from({ length: podCount }, (_, i) => podOf(i)) as never);
  const metrics = new KubeletMetrics({ steady: [], readings: async () => [], startedMillis: 0 });
  const page = metricsRoute('/metrics', { contentType: 'text/plain', headers: {}, texts: () => metrics.texts() });
  const routes: readonly KubeletRoute[] = [...answers.routes, ...podRoutes({ pods: () => pods }), page];
  const server = await KubeletServer.listen({
    address: '127.0.0.1',
    port: 0,
    policy: requestPolicy('n'),
    routes,
    tls: null,
    access: null,
    onError: (error) => console.error(error),
  });
  const url = `http://127.0.0.1:${server.port}${path}`;
  // The answer of a client that has nothing to do with it, so that memory and turns are the server's.
  const asked = async () => {
    answers.later();
    // The kernel forgets the peak so far.
    writeFileSync('/proc/self/clear_refs', '5');
    const [rss, cpu, began, turns] = [memoryMiB(process.pid, 'VmRSS'), process.cpuUsage(), performance.now(), watchTurns()];
    const bytes = await fetchedBy(url);
    const longestTurnMillis = turns.end();
    const spent = process.cpuUsage(cpu);
    return {
      bytes,
      millis: round(performance.now() - began),
      cpuMillis: round((spent.user + spent.system) / 1_000),
      longestTurnMillis: round(longestTurnMillis),
      raisedMiB: round(memoryMiB(process.pid, 'VmHWM') - rss),
    };
  };
  const first = await asked();
  const later = [];
  for (let i = 0; i < laterAnswers; i++) later.push(await asked());
  const median = later.toSorted((a, b) => a.longestTurnMillis - b.longestTurnMillis)[laterAnswers >> 1];
  console.log(JSON.stringify({ bench: 'first-scrapes', path, pods: podCount, load: Number(readFileSync('/proc/loadavg', 'latin1').split(' ')[0]), first, later: median }));
  process.exit(0);
}

function fetchedBy(url: string): Promise<number> {
  const program = `fetch(${JSON.stringify(url)}).then((answer) => answer.arrayBuffer()).then((body) => process.stdout.write(String(body.byteLength)))`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  return new Promise((resolve) => child.once('close', () => resolve(Number(text))));
}

const [, , path] = process.argv;
if (path !== undefined && paths.includes(path)) await serve(path);
else for (const each of paths) process.stdout.write(execFileSync(process.execPath, [fileURLToPath(import.meta.url), each]));
