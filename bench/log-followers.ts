// A thousand followers of the logs of a hundred containers through the kubelet's port: how late a line comes, and what it costs the server in
// processor time and memory, at rest and while each container writes a line a second. The server is a process of its own. Prints a line of JSON.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { FileLogReader } from '../src/adapters/container-logs/index.js';
import { containerLogRoutes, KubeletServer } from '../src/adapters/http-server/index.js';
import { openNativeLinux } from '../src/adapters/native-linux/index.js';
import { requestPolicy } from '../src/domain/authorization/request-policy.js';
import type { Pod } from '../src/ports/model/pod.js';

const followers = 1_000;
const containers = 100;
const seconds = 20;
const idleSeconds = 10;

async function beServer(directory: string): Promise<void> {
  const native = openNativeLinux({ kernelLogPath: '/dev/null', service: { notifySocket: null, watchdogMicros: null, watchdogPid: null } }, false);
  const reader = new FileLogReader({ openFileWatch: (listener) => native.openFileWatch(listener) });
  const pod = (_namespace: string, name: string): Pod => ({ metadata: { name, namespace: 'default', uid: name }, spec: { containers: [{ name: 'c', image: 'i' }] } });
  const routes = containerLogRoutes({
    pod,
    containers: { logs: ({ podName }) => Promise.resolve({ kind: 'found', value: { path: join(directory, podName, '0.log'), containerId: podName } }) },
    read: ({ path }, _uid, options, signal) => reader.read({ log: { path, mayGrow: async () => true }, options, signal }),
    now: () => Date.now() * 1000,
    splitStreams: false,
  });
  const server = await KubeletServer.listen({ address: '127.0.0.1', port: 0, policy: requestPolicy('n'), routes, tls: null, access: null, onError: console.error });
  process.on('message', () => process.send?.({ cpu: process.cpuUsage(), rss: process.memoryUsage().rss }));
  process.on('disconnect', () => process.exit(0));
  process.send?.({ port: server.port });
}

async function usage(child: ChildProcess): Promise<{ readonly cpuMillis: number; readonly rssMiB: number }> {
  child.send({});
  const [{ cpu, rss }] = (await once(child, 'message')) as [{ cpu: NodeJS.CpuUsage; rss: number }];
  return { cpuMillis: (cpu.user + cpu.system) / 1_000, rssMiB: rss / 1024 / 1024 };
}

const rounded = (value: number): number => Math.round(value * 100) / 100;
const at = (sorted: readonly number[], part: number): number => rounded(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN);

async function main(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-log-followers-'));
  const paths = Array.from({ length: containers }, (_, i) => join(directory, `pod-${i}`, '0.log'));
  for (const [i, path] of paths.entries()) {
    mkdirSync(join(directory, `pod-${i}`));
    writeFileSync(path, '');
  }
  const child = fork(fileURLToPath(import.meta.url), [directory]);
  try {
    const [{ port }] = (await once(child, 'message')) as [{ port: number }];
    const alone = await usage(child);
    const latencies: number[] = [];
    const agent = new Agent({ maxSockets: followers });
    const opened = Array.from({ length: followers }, async (_, i) => {
      const [response] = (await once(get({ host: '127.0.0.1', port, agent, path: `/containerLogs/default/pod-${i % containers}/c?follow=true` }), 'response')) as [
        NodeJS.ReadableStream,
      ];
      response.on('data', (chunk: Buffer) => {
        const now = performance.timeOrigin + performance.now();
        for (const line of chunk.toString().split('\n')) if (line !== '') latencies.push(now - Number(line));
      });
    });
    await Promise.all(opened);
    await delay(2_000);
    const idleBefore = await usage(child);
    await delay(idleSeconds * 1_000);
    const busyBefore = await usage(child);
    for (let round = 0; round < seconds; round++) {
      for (const path of paths) {
        appendFileSync(path, `${new Date().toISOString()} stdout F ${performance.timeOrigin + performance.now()}\n`);
        await delay(1_000 / containers);
      }
    }
    await delay(2_000);
    const after = await usage(child);
    const sorted = latencies.sort((a, b) => a - b);
    const figures = {
      followers,
      containers,
      linesExpected: followers * seconds,
      linesGot: sorted.length,
      latencyMillis: { p50: at(sorted, 0.5), p99: at(sorted, 0.99), most: at(sorted, 1) },
      idleCpuPercent: rounded((busyBefore.cpuMillis - idleBefore.cpuMillis) / (idleSeconds * 10)),
      busyCpuMicrosPerLine: rounded(((after.cpuMillis - busyBefore.cpuMillis) * 1_000) / sorted.length),
      kibPerFollower: rounded(((after.rssMiB - alone.rssMiB) * 1024) / followers),
      rssMiB: Math.round(after.rssMiB),
    };
    process.stdout.write(`${JSON.stringify({ bench: 'log-followers', ...figures })}\n`);
    agent.destroy();
  } finally {
    child.disconnect();
    rmSync(directory, { recursive: true });
  }
}

const [, , directory] = process.argv;
if (directory === undefined) await main();
else await beServer(directory);
