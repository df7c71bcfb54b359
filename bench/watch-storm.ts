// A thousand changes of pods a second in the apiserver: of pods on other nodes, of the node's own pods in fields that a kubelet ignores, of
// their statuses by another client. The bundled daemon's cost (processor, delay of the loop, memory, resulting requests), the start time of a pod
// meanwhile, and the cost of a plain program that only reads and keeps them. `npm run bench -- watch-storm`.
import { setTimeout as delay } from 'node:timers/promises';
import { calibrateHere, type Machine } from './calibration.js';
import type { LoopDelay } from './stage/loop-delay.js';
import { isReady, MockNode, nodeName, type Span } from './stage/mock-node.js';
import { startPlainNode } from './stage/plain-node.js';
import { memoryMiB, round } from './stage/process-cost.js';

const ownPods = 110;
const otherPods = 110;
const eventsPerSecond = 1_000;
const turnMs = 10;
const warmUpMs = 5_000;
const windowMs = 20_000;
const settleMs = 5_000;

type Change = (node: MockNode, i: number) => void;

const storms: Readonly<Record<string, Change>> = {
  'pods of other nodes': (node, i) => {
    node.ask('patch', 'pods', `other-${i % otherPods}`, { metadata: { labels: { turn: String(i) } } });
  },
  'pods that did not change': (node, i) => {
    // Who owns a pod and what must happen before it goes are not the kubelet's business.
    node.ask('patch', 'pods', `pod-${i % ownPods}`, { metadata: { finalizers: [`bench.example/turn-${i % (ownPods * 7)}`] } });
  },
  'statuses by somebody else': (node, i) => {
    const conditions = [{ type: 'bench.example/gate', status: 'True', message: String(i) }];
    node.ask('patch', 'pods', `pod-${i % ownPods}`, { status: { conditions } }, { patch: 'strategic-merge-patch', subresource: 'status' });
  },
};

/** Changes as many a second as it can, up to what is wanted. Resolves to how many it made. */
async function storm(node: MockNode, change: Change, milliseconds: number): Promise<number> {
  const start = performance.now();
  let made = 0;
  for (let now = start; now < start + milliseconds; now = performance.now()) {
    const due = Math.min(made + eventsPerSecond / 10, Math.floor(((now - start) * eventsPerSecond) / 1_000));
    while (made < due) change(node, made++);
    await delay(turnMs);
  }
  return made;
}

interface Storm {
  readonly events: number;
  readonly span: Span;
  readonly loop: LoopDelay;
}

async function stormOn(node: MockNode, change: Change, pid: number, loopDelayFile: string): Promise<Storm> {
  await storm(node, change, warmUpMs);
  const end = node.begin(pid);
  const endDelay = node.beginLoopDelay(pid, loopDelayFile);
  const events = await storm(node, change, windowMs);
  const loop = await endDelay();
  return { events, span: end(), loop };
}

const percent = ({ cpuMs, seconds }: Span): number => cpuMs / 10 / seconds;

/** Milliseconds until a pod is ready, and gone again. */
async function passing(node: MockNode): Promise<number> {
  const start = performance.now();
  node.create(['passing']);
  const ofIt = () => node.pods().find(({ metadata }) => metadata.name === 'passing');
  await node.until('it is ready', () => isReady(ofIt() ?? ({} as never)), 10);
  const took = performance.now() - start;
  node.ask('delete', 'pods', 'passing');
  await node.until('it is gone', () => ofIt() === undefined);
  return took;
}

async function main(): Promise<void> {
  const machine = await calibrateHere();
  const node = await MockNode.start('watch-storm');
  try {
    node.create(Array.from({ length: ownPods }, (_, i) => `pod-${i}`));
    node.create(
      Array.from({ length: otherPods }, (_, i) => `other-${i}`),
      { nodeName: 'another-node' },
    );
    await node.untilReady(ownPods);
    await node.untilQuiet();
    const own = await ofDaemon(node);
    await node.kubelet.stop();
    await ofPlainProgram(node, own, machine);
  } finally {
    await node.stop();
  }
}

interface Figures {
  readonly cpuPercent: number;
  readonly events: number;
  readonly seconds: number;
  readonly more: object;
}

async function ofDaemon(node: MockNode): Promise<Map<string, Figures>> {
  const { pid } = node.kubelet;
  const found = new Map<string, Figures>();
  const endRest = node.begin();
  await delay(windowMs);
  const rest = percent(endRest());
  const quietStartMs = await passing(node);
  for (const [what, change] of Object.entries(storms)) {
    const before = memoryMiB(pid, 'VmRSS');
    const { events, span, loop } = await stormOn(node, change, pid, node.loopDelayFile);
    const meanwhile = storm(node, change, 4_000);
    const startMs = await passing(node);
    await meanwhile;
    const rssMiB = { before: round(before), after: round(memoryMiB(pid, 'VmRSS')), peak: round(memoryMiB(pid, 'VmHWM')) };
    const podStartMs = { quiet: round(quietStartMs), meanwhile: round(startMs) };
    const more = { restPercent: round(rest), loopDelayMs: loop, rssMiB, podStartMs, requests: span.requests, calls: span.calls };
    found.set(what, { cpuPercent: percent(span), events, seconds: span.seconds, more });
    // The comparison takes as long again: a run that is stopped before its end has figures, too.
    console.log(JSON.stringify({ bench: 'watch-storm', what, eventsPerSecond: round(events / span.seconds), cpuPercent: round(percent(span)), ...more }));
    await delay(settleMs);
  }
  return found;
}

async function ofPlainProgram(node: MockNode, own: ReadonlyMap<string, Figures>, machine: Machine): Promise<void> {
  const file = `${node.loopDelayFile}-plain`;
  const program = await startPlainNode({ kubeconfig: node.kubeconfig, nodeName, runtime: node.runtime.endpoint }, file);
  const pid = program.pid ?? 0;
  for (const [what, change] of Object.entries(storms)) {
    const figures = own.get(what);
    if (figures === undefined) continue;
    const other = await stormOn(node, change, pid, file);
    const { cpuPercent, events, seconds, more } = figures;
    const scaled = round(cpuPercent / machine.slowness);
    const shown = { eventsPerSecond: round(events / seconds), cpuPercent: round(cpuPercent), scaled, ...more };
    const plainProgram = { eventsPerSecond: round(other.events / other.span.seconds), cpuPercent: round(percent(other.span)), loopDelayMs: other.loop };
    const ratio = round(cpuPercent / events / (percent(other.span) / other.events));
    console.log(JSON.stringify({ bench: 'watch-storm', what, ownPods, ...shown, plainProgram, ratio, calibrationMs: machine.calibrationMs }));
  }
  program.disconnect();
}

await main();
