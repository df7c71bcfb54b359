// /stats/summary, /metrics/resource and /metrics/cadvisor of a node with 110 pods (a sandbox and a container each, with a process): 330 cgroups of
// this host, which requires root. The addon against the fallback that reads file by file with Node, in turns of one run.
// One JSON line an answer, and one for the reading alone: medians and p99; `cpuRatio` is the fallback's CPU time over the addon's. `scaled` figures
// are divided by this host's slowdown against the quiet one on which the targets were set. `longestTurn` is the longest delay of the event loop by an
// answer, beside the same without requests (`idleTurn`).
import { setTimeout as delay } from 'node:timers/promises';
import type { KubeletRoute } from '../src/adapters/http-server/index.js';
import { fallbackNativeLinux } from '../src/adapters/native-linux/fallback.js';
import { addonNativeLinux } from '../src/adapters/native-linux/index.js';
import { loadBinding } from '../src/adapters/native-linux/loader.js';
import { loopMs, quiet } from './calibration.js';
import { openStatisticsNode, type StatisticsAnswers, statisticsAnswers } from './stage/statistics-node.js';
import { watchTurns } from './stage/turns.js';

const podCount = 110;
const rounds = 40;
const warmUps = 60;
const turnRounds = 20;
const options = { kernelLogPath: '/dev/null', service: { notifySocket: null, watchdogMicros: null, watchdogPid: null } };

/** Of the whole body, as the server would send it. */
async function answeredBytes(route: KubeletRoute, path: string): Promise<number> {
  const question = { method: 'GET', path, elements: [], query: new URLSearchParams(), headers: {}, body: async () => '', signal: new AbortController().signal };
  const answer = await route.answer(question);
  if (answer === null || 'target' in answer) throw new Error('no answer');
  if (!('chunks' in answer)) return Buffer.from(answer.body).length;
  let bytes = 0;
  for await (const chunk of answer.chunks) bytes += chunk.length;
  return bytes;
}

/** Each request finds an outdated snapshot, and reads again. */
async function asked(answers: StatisticsAnswers, path: string): Promise<number> {
  answers.later();
  if (path === 'reading') return answers.readEverything();
  const route = answers.routes.find(({ pattern }) => path.startsWith(pattern));
  if (route === undefined) throw new Error(`nothing answers ${path}`);
  return answeredBytes(route, path);
}

const at = (values: readonly number[], part: number): number => values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))]!;
const median = (values: readonly number[]): number => at(values, 0.5);
const rounded = (value: number): number => Math.round(value * 100) / 100;

interface Costs {
  readonly millis: number[];
  readonly cpuMillis: number[];
  bytes: number;
}

const newCosts = (): Costs => ({ millis: [], cpuMillis: [], bytes: 0 });

async function askOnce(answers: StatisticsAnswers, path: string, costs: Costs): Promise<void> {
  const [start, before] = [performance.now(), process.cpuUsage()];
  costs.bytes = await asked(answers, path);
  costs.millis.push(performance.now() - start);
  const spent = process.cpuUsage(before);
  costs.cpuMillis.push((spent.user + spent.system) / 1_000);
}

async function longestTurns(work: () => Promise<unknown>): Promise<readonly number[]> {
  const longest: number[] = [];
  for (let round = 0; round < turnRounds; round++) {
    const turns = watchTurns();
    await work();
    longest.push(turns.end());
  }
  return longest;
}

const loaded = loadBinding(true);
if (loaded.kind !== 'addon') throw new Error(loaded.reason);
const node = openStatisticsNode(podCount);
const addon = statisticsAnswers(node, addonNativeLinux(loaded.binding, options));
const fallback = statisticsAnswers(node, fallbackNativeLinux(options, 'to compare with'));
const slowness = loopMs() / quiet.loop;
for (const path of ['reading', '/stats/summary', '/metrics/resource', '/metrics/cadvisor']) {
  let [own, other] = [newCosts(), newCosts()];
  // What is compiled on the way is not what an answer costs.
  for (let round = -warmUps; round < rounds; round++) {
    if (round === 0) [own, other] = [newCosts(), newCosts()];
    await askOnce(addon, path, own);
    await askOnce(fallback, path, other);
  }
  const held = await longestTurns(() => asked(addon, path));
  const idle = await longestTurns(() => delay(Math.max(1, median(own.millis))));
  const [millis, cpuMillis, fallbackCpuMillis] = [median(own.millis), median(own.cpuMillis), median(other.cpuMillis)];
  const figures = {
    ...{ bench: 'node-statistics', path, pods: podCount, slowness: rounded(slowness), bytes: own.bytes },
    ...{ millis: rounded(millis), p99Millis: rounded(at(own.millis, 0.99)), scaledMillis: rounded(millis / slowness) },
    ...{ cpuMillis: rounded(cpuMillis), scaledCpuMillis: rounded(cpuMillis / slowness) },
    longestTurnMillis: { p50: rounded(median(held)), p99: rounded(at(held, 0.99)) },
    idleTurnMillis: { p50: rounded(median(idle)), p99: rounded(at(idle, 0.99)) },
    ...{ fallbackMillis: rounded(median(other.millis)), fallbackCpuMillis: rounded(fallbackCpuMillis), cpuRatio: rounded(fallbackCpuMillis / cpuMillis) },
  };
  console.log(JSON.stringify(figures));
}
addon.close();
fallback.close();
