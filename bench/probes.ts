// Five hundred probes a second, half of them commands and half HTTP, by the bundled daemon: the lateness of each, and the CPU cost. The
// runtime (mock) and the web server are processes of their own and record when a probe reaches them. In the same run a plain program does the
// same: a timer for each target, http.get and @grpc/grpc-js. `npm run bench -- probes`; no root is needed.
//
// A probe is due at a whole period after the first of its target. The server sees when it came, not when it was due, so lateness counts from the
// target's earliest one in the window: a constant delay, the way to the server, is excluded.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { criProtocol } from '../src/adapters/cri/index.js';
import { startMockCri } from '../src/adapters/mock-cri/index.js';
import { idOf, isRunning, KubeletProcess, manifest } from '../test/containerd/kubelet-process.js';
import type { PrivateContainerd } from '../test/containerd/private-containerd.js';

const pods = 100;
const perPod = 5;
const targets = pods * perPod;
const periodMs = 1_000;
const windowMs = 20_000;
const idleMs = 10_000;
/** Probes begin when all containers run and the idle daemon was measured. */
const initialDelaySeconds = 60;
const targetP99Ms = 50;
const untilMs = 240_000;
const ticksPerSecond = 100;

type Arrivals = Record<string, number[]>;

/** A server's process: records arrivals, and sends them on request. */
function noting(serve: (note: (target: string) => void) => Promise<unknown>): void {
  let arrivals: Arrivals = {};
  const note = (target: string): void => {
    arrivals[target] ??= [];
    arrivals[target].push(performance.now());
  };
  void serve(note).then((up) => process.send?.(up));
  process.on('message', () => {
    process.send?.(arrivals);
    arrivals = {};
  });
  process.once('disconnect', () => process.exit(0));
}

async function runtime(note: (target: string) => void, socket: string): Promise<unknown> {
  const observe = (method: string, request: unknown): void => {
    if (method === 'ExecSync') note((request as { readonly containerId: string }).containerId);
  };
  const server = await startMockCri({ seed: 1, registry: 'any', pullBytesPerSecond: 1e10, listen: `unix://${socket}`, observe });
  return server.endpoint;
}

async function web(note: (target: string) => void): Promise<unknown> {
  const server = createServer((request, response) => {
    note(request.url ?? '');
    response.end('ok');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

/** The alternative: timers spread over the period, and what is at hand. */
function plain(endpoint: string, port: number, containerIds: readonly string[]): void {
  const { path, requestSerialize, responseDeserialize } = criProtocol.RuntimeServiceService.execSync;
  const client = new Client(endpoint, credentials.createInsecure(), { 'grpc.enable_channelz': 0 });
  const ask = (i: number): void => {
    const containerId = containerIds[i];
    if (containerId !== undefined) {
      const request = { containerId, cmd: ['true'], timeout: 1n };
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, new Metadata(), { deadline: Date.now() + 3_000 }, () => {});
    } else get({ host: '127.0.0.1', port, path: `/${i}`, agent: false }, (response) => response.resume()).on('error', () => {});
  };
  for (let i = 0; i < targets; i++) {
    setTimeout(
      () => {
        ask(i);
        setInterval(ask, periodMs, i);
      },
      (i * periodMs) / targets,
    );
  }
  process.once('disconnect', () => process.exit(0));
}

const round = (value: number): number => Number(value.toPrecision(3));

function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

async function arrivalsAt(servers: readonly ChildProcess[]): Promise<Arrivals> {
  const all = servers.map(async (server) => {
    const answer = once(server, 'message');
    server.send('tell');
    return (await answer)[0] as Arrivals;
  });
  return Object.assign({}, ...(await Promise.all(all))) as Arrivals;
}

/** Of all probes of the window, how long after they were due they came; milliseconds, ascending. */
function lateness(arrivals: Arrivals): number[] {
  const late: number[] = [];
  for (const times of Object.values(arrivals)) {
    const [first = 0] = times;
    const off = times.map((time) => time - first - Math.round((time - first) / periodMs) * periodMs);
    const earliest = Math.min(...off);
    late.push(...off.map((value) => value - earliest));
  }
  return late.sort((a, b) => a - b);
}

interface Figures {
  readonly probesPerSecond: number;
  readonly lateMs: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly cpuMicrosPerProbe: number;
  /** The lateness of a timer of 5 ms at the same time in an idle process, milliseconds: the host's own share. */
  readonly idleProcess: { readonly p99: number; readonly max: number };
}

/** @param idle share of a core that the process needs without probes */
async function measured(pid: number, idle: number, servers: readonly ChildProcess[]): Promise<Figures> {
  await arrivalsAt(servers);
  const began = { at: performance.now(), cpu: cpuSecondsOf(pid) };
  const host = monitorEventLoopDelay({ resolution: 5 });
  host.enable();
  await delay(windowMs);
  host.disable();
  const seconds = (performance.now() - began.at) / 1_000;
  const cpu = cpuSecondsOf(pid) - began.cpu - idle * seconds;
  const arrivals = await arrivalsAt(servers);
  if (Object.keys(arrivals).length !== targets) throw new Error(`${Object.keys(arrivals).length} of ${targets} targets were probed`);
  const late = lateness(arrivals);
  const at = (share: number): number => round(late[Math.min(late.length - 1, Math.floor(late.length * share))] ?? 0);
  const idleProcess = { p99: round(host.percentile(99) / 1e6), max: round(host.max / 1e6) };
  return { probesPerSecond: round(late.length / seconds), lateMs: { p50: at(0.5), p99: at(0.99), max: at(1) }, cpuMicrosPerProbe: round((cpu * 1e6) / late.length), idleProcess };
}

function podManifest(pod: number, port: number): object {
  const containers = Array.from({ length: perPod }, (_, n) => {
    const i = pod * perPod + n;
    const handler = i % 2 === 0 ? { exec: { command: ['true'] } } : { httpGet: { host: '127.0.0.1', port, path: `/${i}` } };
    return { name: `c${n}`, image: 'app:1', livenessProbe: { ...handler, periodSeconds: 1, initialDelaySeconds } };
  });
  return manifest(`p${pod}`, { containers });
}

async function main(): Promise<void> {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'probes-bench-')));
  const socket = join(directory, 'cri.sock');
  const self = fileURLToPath(import.meta.url);
  const started = async (...words: string[]): Promise<{ readonly child: ChildProcess; readonly up: unknown }> => {
    const child = fork(self, words);
    return { child, up: (await once(child, 'message'))[0] };
  };
  const cri = await started('runtime', socket);
  const page = await started('web');
  const servers = [cri.child, page.child];
  const port = page.up as number;
  const place = { directory, endpoint: cri.up, cgroupRoot: '/', images: {} } as unknown as PrivateContainerd;
  const kubelet = await KubeletProcess.prepare(place, 'node', { cgroupsPerQOS: false, enforceNodeAllocatable: [], maxPods: pods + 10 });
  try {
    await kubelet.start();
    for (let i = 0; i < pods; i++) kubelet.apply(`p${i}.json`, podManifest(i, port));
    await kubelet.until('all run', async () => (await kubelet.pods()).filter(isRunning).length === pods, untilMs);
    await delay(3_000);
    const rest = { at: performance.now(), cpu: kubelet.cpuSeconds };
    await delay(idleMs);
    const idle = (kubelet.cpuSeconds - rest.cpu) / ((performance.now() - rest.at) / 1_000);
    if (Object.keys(await arrivalsAt(servers)).length > 0) throw new Error('probes came before the idle daemon was measured');
    await delay(initialDelaySeconds * 1_000 - idleMs);
    const own = await measured(kubelet.pid, idle, servers);
    const clockSteps = kubelet.logLines().filter(({ msg }) => msg === 'The wall clock was set').length;
    const ids = (await kubelet.pods()).flatMap((pod) => (pod.status?.containerStatuses ?? []).map(({ name }) => idOf(pod, name).replace('mock://', '')));
    await kubelet.kill();
    const program = fork(self, ['plain', String(cri.up), String(port), ...ids.slice(0, targets / 2)]);
    await delay(3_000);
    const other = await measured(program.pid ?? 0, 0, servers);
    program.disconnect();
    const ratio = { cpu: round(own.cpuMicrosPerProbe / other.cpuMicrosPerProbe), lateP99: round(own.lateMs.p99 / other.lateMs.p99) };
    console.log(JSON.stringify({ bench: 'probes', targets, targetP99Ms, idlePercentOfACore: round(idle * 100), clockSteps, kubelet: own, plainProgram: other, ratio }));
  } finally {
    await kubelet.kill();
    for (const server of servers) server.disconnect();
    rmSync(directory, { recursive: true });
  }
}

const [role, ...words] = process.argv.slice(2);
if (role === 'runtime') noting((note) => runtime(note, words[0] ?? ''));
else if (role === 'web') noting(web);
else if (role === 'plain') plain(words[0] ?? '', Number(words[1]), words.slice(2));
else await main();
