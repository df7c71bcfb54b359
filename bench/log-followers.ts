// A thousand followers of the logs of a hundred containers through the kubelet's port: how late a line comes, and what it costs the server in
// processor time and memory, at rest and while each container writes a line a second. As root the server is that of a node with 110 pods, too, and
// its statistics are asked for without followers, with them at rest and with them at work. The server is a process of its own. Prints lines of JSON.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { FileLogReader } from '../src/adapters/container-logs/index.js';
import { containerLogRoutes, type KubeletRoute, KubeletServer } from '../src/adapters/http-server/index.js';
import { openNativeLinux } from '../src/adapters/native-linux/index.js';
import { requestPolicy } from '../src/domain/authorization/request-policy.js';
import { instantOf } from '../src/domain/values/instant.js';
import type { Pod } from '../src/ports/model/pod.js';
import { openStatisticsNode, statisticsAnswers } from './stage/statistics-node.js';
import { type Turns, watchTurns } from './stage/turns.js';

const followers = 1_000;
const containers = 100;
const seconds = 20;
const idleSeconds = 10;
const statisticsPods = 110;
const asks = 40;
const isRoot = process.geteuid?.() === 0;

async function beServer(directory: string): Promise<void> {
  const native = openNativeLinux({ kernelLogPath: '/dev/null', service: { notifySocket: null, watchdogMicros: null, watchdogPid: null } }, false);
  const reader = new FileLogReader({ openFileWatch: (listener) => native.openFileWatch(listener) });
  const pod = (_namespace: string, name: string): Pod => ({ metadata: { name, namespace: 'default', uid: name }, spec: { containers: [{ name: 'c', image: 'i' }] } });
  const routes = containerLogRoutes({
    pod,
    containers: { logs: ({ podName }) => Promise.resolve({ kind: 'found', value: { path: join(directory, podName, '0.log'), containerId: podName } }) },
    read: ({ path }, _uid, options, signal) => reader.read({ log: { path, mayGrow: async () => true }, options, signal }),
    wall: () => instantOf(Date.now() * 1000),
    splitStreams: false,
  });
  const statistics = isRoot ? statisticsAnswers(openStatisticsNode(statisticsPods), native) : null;
  // Each question finds what is known too old.
  const fresh = (statistics?.routes ?? []).map(({ answer, ...route }): KubeletRoute => {
    const anew: KubeletRoute['answer'] = (question) => {
      statistics?.later();
      return answer(question);
    };
    return { ...route, answer: anew };
  });
  const served = { address: '127.0.0.1', port: 0, policy: requestPolicy('n'), routes: [...routes, ...fresh], tls: null, access: null };
  const server = await KubeletServer.listen({ ...served, onError: console.error });
  let turns: Turns | null = null;
  process.on('message', (message: 'usage' | 'watch' | 'longest') => {
    if (message === 'watch') turns = watchTurns();
    process.send?.(message === 'longest' ? { longest: turns?.end() ?? 0 } : { cpu: process.cpuUsage(), rss: process.memoryUsage().rss });
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.({ port: server.port });
}

async function usage(child: ChildProcess): Promise<{ readonly cpuMillis: number; readonly rssMiB: number }> {
  child.send('usage');
  const [{ cpu, rss }] = (await once(child, 'message')) as [{ cpu: NodeJS.CpuUsage; rss: number }];
  return { cpuMillis: (cpu.user + cpu.system) / 1_000, rssMiB: rss / 1024 / 1024 };
}

const rounded = (value: number): number => Math.round(value * 100) / 100;
const at = (sorted: readonly number[], part: number): number => rounded(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN);

async function bodyOf(port: number, path: string): Promise<void> {
  const [response] = (await once(get({ host: '127.0.0.1', port, path, agent: false }), 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode}`);
  response.resume();
  await once(response, 'end');
}

async function told<T>(child: ChildProcess, message: 'watch' | 'longest'): Promise<T> {
  child.send(message);
  const [answer] = (await once(child, 'message')) as [T];
  return answer;
}

/** What answers about the node take, and how long they hold up the server's loop. @param when the followers do what they do */
async function statisticsWhile(when: string, port: number, child: ChildProcess): Promise<void> {
  if (!isRoot) return;
  for (const path of ['/stats/summary', '/metrics/cadvisor']) {
    const millis: number[] = [];
    const longest: number[] = [];
    const before = await usage(child);
    for (let i = 0; i < asks; i++) {
      const start = performance.now();
      await bodyOf(port, path);
      millis.push(performance.now() - start);
    }
    const after = await usage(child);
    for (let i = 0; i < asks / 2; i++) {
      await told(child, 'watch');
      await bodyOf(port, path);
      longest.push((await told<{ readonly longest: number }>(child, 'longest')).longest);
    }
    const sorted = (values: readonly number[]) => values.toSorted((a, b) => a - b);
    const shown = (values: readonly number[]) => ({ p50: at(sorted(values), 0.5), p99: at(sorted(values), 0.99) });
    const figures = { followers: when, path, pods: statisticsPods, millis: shown(millis), processCpuMillisPerAnswer: rounded((after.cpuMillis - before.cpuMillis) / asks) };
    process.stdout.write(`${JSON.stringify({ bench: 'log-followers', ...figures, longestTurnMillis: shown(longest) })}\n`);
  }
}

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
    // What is compiled on the way is not what answers cost.
    if (isRoot) for (let i = 0; i < asks; i++) for (const path of ['/stats/summary', '/metrics/cadvisor']) await bodyOf(port, path);
    await statisticsWhile('none', port, child);
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
    const latest = latencies.length;
    for (let round = 0; round < seconds; round++) {
      for (const path of paths) {
        appendFileSync(path, `${new Date().toISOString()} stdout F ${performance.timeOrigin + performance.now()}\n`);
        await delay(1_000 / containers);
      }
    }
    await delay(2_000);
    const after = await usage(child);
    await statisticsWhile('at rest', port, child);
    const lines = latencies.slice(latest);
    let [writing, line] = [true, 0];
    const written = (async () => {
      while (writing) {
        appendFileSync(paths[line++ % containers] ?? '', `${new Date().toISOString()} stdout F ${performance.timeOrigin + performance.now()}\n`);
        await delay(1_000 / containers);
      }
    })();
    await statisticsWhile('at work', port, child);
    writing = false;
    await written;
    const sorted = lines.sort((a, b) => a - b);
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
