// The cost of unchanged pods, and the memory of 250 of them: the bundled daemon as a node of a mock apiserver, on a mock
// runtime without events (as containerd 1.6). One JSON line for each number of pods: requests and calls a minute by kind, processor,
// delay of the loop; one for the memory. Beside them a plain program that only watches, renews its lease and lists. `npm run bench -- steady-pods`.
import { setTimeout as delay } from 'node:timers/promises';
import { calibrateHere, type Machine } from './calibration.js';
import { aMinute, MockNode, nodeName } from './stage/mock-node.js';
import { startPlainNode } from './stage/plain-node.js';
import { memoryMiB, round } from './stage/process-cost.js';

const steps = [0, 30, 100, 110, 250];
/** Percent of a core; where the reference has a figure. */
const targets: Readonly<Record<number, number>> = { 30: 0.85, 100: 2 };
const settleMs = 5_000;
const windowMs = 40_000;
const delayMs = 10_000;

interface Steady {
  readonly pods: number;
  readonly cpuPercent: number;
  readonly rssMiB: number;
}

function show(what: string, machine: Machine, figures: object): void {
  console.log(JSON.stringify({ bench: 'steady-pods', what, ...figures, calibrationMs: machine.calibrationMs }));
}

async function measured(node: MockNode, pods: number, machine: Machine): Promise<Steady> {
  await node.untilReady(pods);
  await node.untilQuiet();
  const end = node.begin();
  await delay(windowMs);
  const { seconds, cpuMs, requests, calls } = end();
  const cpuPercent = cpuMs / 10 / seconds;
  const endDelay = node.beginLoopDelay();
  await delay(delayMs);
  const loopDelayMs = await endDelay();
  const rssMiB = memoryMiB(node.kubelet.pid, 'VmRSS');
  const cpu = { cpuPercent: round(cpuPercent), scaled: round(cpuPercent / machine.slowness), target: targets[pods] ?? null };
  show('at rest', machine, { pods, ...cpu, loopDelayMs, requestsAMinute: aMinute(requests, seconds), callsAMinute: aMinute(calls, seconds), rssMiB: round(rssMiB) });
  return { pods, cpuPercent, rssMiB };
}

/** The plain program with the pods that are there. */
async function plain(node: MockNode): Promise<Steady & { readonly peakMiB: number }> {
  const runtime = node.runtime.endpoint;
  const program = await startPlainNode({ kubeconfig: node.kubeconfig, nodeName, runtime }, `${node.loopDelayFile}-plain`);
  const pid = program.pid ?? 0;
  await delay(settleMs);
  const end = node.begin(pid);
  await delay(windowMs);
  const { cpuMs, seconds } = end();
  const figures = { pods: node.pods().length, cpuPercent: cpuMs / 10 / seconds, rssMiB: memoryMiB(pid, 'VmRSS'), peakMiB: memoryMiB(pid, 'VmHWM') };
  program.disconnect();
  return figures;
}

/** Restarts the daemon with all pods in the API: a list of all of them at once. */
async function restarted(node: MockNode, pods: number): Promise<object> {
  await node.kubelet.stop();
  await node.boot();
  await node.untilReady(pods);
  await node.untilQuiet();
  return { restartedRssMiB: round(memoryMiB(node.kubelet.pid, 'VmRSS')), restartedPeakMiB: round(memoryMiB(node.kubelet.pid, 'VmHWM')) };
}

async function main(): Promise<void> {
  const machine = await calibrateHere();
  const node = await MockNode.start('steady-pods');
  try {
    await delay(settleMs);
    const startMiB = memoryMiB(node.kubelet.pid, 'VmRSS');
    const seen: Steady[] = [];
    let there = 0;
    for (const pods of steps) {
      node.create(Array.from({ length: pods - there }, (_, i) => `pod-${there + i}`));
      there = pods;
      seen.push(await measured(node, pods, machine));
    }
    const own = seen.at(-1);
    const peakMiB = memoryMiB(node.kubelet.pid, 'VmHWM');
    const again = await restarted(node, there);
    await node.kubelet.stop();
    const other = await plain(node);
    if (own === undefined) return;
    const first = seen[0]?.cpuPercent ?? 0;
    const growth = { microsOfCpuASecondForEachPod: round(((own.cpuPercent - first) * 10_000) / there) };
    show('processor', machine, {
      pods: there,
      cpuPercent: round(own.cpuPercent),
      plainProgramPercent: round(other.cpuPercent),
      ratio: round(own.cpuPercent / other.cpuPercent),
      ...growth,
    });
    const memory = { startMiB: round(startMiB), loadedMiB: round(own.rssMiB), peakMiB: round(peakMiB), ...again };
    const beside = { plainProgramMiB: round(other.rssMiB), plainProgramPeakMiB: round(other.peakMiB), ratio: round(own.rssMiB / other.rssMiB) };
    show('memory', machine, { pods: there, ...memory, ...beside, kibibytesForEachPod: round(((own.rssMiB - startMiB) * 1024) / there) });
  } finally {
    await node.stop();
  }
}

await main();
