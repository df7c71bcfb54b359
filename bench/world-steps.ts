// The agent's cost on virtual time: 10 000 pods that crash endlessly, 10 000 pods that only run, and the pod workers alone.
// Machine steps are inputs of the agent (an answer, an event, a wake-up). A fixed loop runs beside each figure, so that
// figures of different machines, or of one under different load, can be compared by their ratio. CPU seconds are the process's own.
// `node dist/bench/world-steps.js [PODS]`; with --expose-gc it prints heap sizes, too.
import { agentMachine } from '../src/domain/agent/agent.js';
import { type AgentEvent, type AgentState, newAgentState } from '../src/domain/agent/agent-state.js';
import { defaultSettings } from '../src/domain/agent/settings.js';
import { nodeFacts } from '../src/domain/containers/default-node-facts.js';
import { Kernel } from '../src/domain/kernel/kernel.js';
import type { PodWorkerEffect } from '../src/domain/pod-workers/effects.js';
import { newPodWorkers } from '../src/domain/pod-workers/pod-worker-record.js';
import { runFinished, runStatusRead } from '../src/domain/pod-workers/run-pod.js';
import { updatePod } from '../src/domain/pod-workers/update-pod.js';
import type { Pod } from '../src/ports/model/pod.js';
import type { AgentOperations } from '../src/ports/outbound/outbound-ports.js';
import { type HostOperationName, SimContainerRuntime, SimHost } from '../src/sim/index.js';
import { SimNode } from '../src/sim/sim-node.js';
import { World } from '../src/sim/world.js';

const podCount = Number(process.argv[2] ?? 10_000);
const second = 1_000_000;
const hour = 3600 * second;
const start = 1_800_000_000 * second;

function cpuSeconds(): number {
  return process.cpuUsage().user / 1e6;
}

function heapBytes(): number | null {
  if (globalThis.gc === undefined) return null;
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

function print(figures: Readonly<Record<string, string | number | null>>): void {
  const rounded = Object.entries(figures).map(([name, value]) => [name, typeof value === 'number' ? Number(value.toPrecision(4)) : value]);
  console.log(JSON.stringify(Object.fromEntries(rounded)));
}

/**
 * Steps a second of a loop that does what any event-driven model does and nothing else: take the earliest event of a heap, copy a small
 * record with a change, answer with one event. It never changes, or old figures would lose their measure.
 */
function calibration(): number {
  interface Entry {
    readonly at: number;
    readonly key: string;
    readonly event: { readonly type: string; readonly outcome: { readonly ok: boolean; readonly value: string } } | null;
  }
  const states = new Map(
    Array.from({ length: 10_000 }, (_, i) => [`unit-${i}`, { name: `unit-${i}`, phase: 'absent', slots: [{ name: 'a', at: 'absent', tries: 0 }], deadline: 0 }]),
  );
  const heap: Entry[] = [];
  const push = (entry: Entry): void => {
    let i = heap.push(entry) - 1;
    for (let up = (i - 1) >> 1; i > 0 && heap[up]!.at > entry.at; up = (i - 1) >> 1) {
      heap[i] = heap[up]!;
      i = up;
    }
    heap[i] = entry;
  };
  const pop = (): Entry => {
    const first = heap[0]!;
    const last = heap.pop()!;
    for (let i = 0; heap.length > 0; ) {
      const left = 2 * i + 1;
      const child = left + 1 < heap.length && heap[left + 1]!.at < heap[left]!.at ? left + 1 : left;
      const down = child < heap.length && heap[child]!.at < last.at;
      heap[i] = down ? heap[child]! : last;
      if (!down) break;
      i = child;
    }
    return first;
  };
  for (const key of states.keys()) push({ at: heap.length, key, event: null });
  const steps = 600_000;
  const from = cpuSeconds();
  for (let n = 0; n < steps; n++) {
    const { at, key, event } = pop();
    const state = states.get(key)!;
    const phase = event === null ? 'starting' : event.outcome.ok ? 'ready' : 'absent';
    states.set(key, { ...state, phase, deadline: at + 1000, slots: state.slots.map((slot) => ({ ...slot, at: phase, tries: slot.tries + 1 })) });
    push({ at: at + 1 + ((n * 7919) % 10_007), key, event: { type: 'reply', outcome: { ok: n % 50 !== 0, value: `id-${key}` } } });
  }
  return steps / (cpuSeconds() - from);
}

function pod(index: number, script: string, containers = 1): Pod {
  const names = Array.from({ length: containers }, (_, i) => `c${i}`);
  return {
    metadata: { name: `p${index}`, namespace: 'default', uid: `uid-${index}`, annotations: Object.fromEntries(names.map((name) => [`sim.kubelet-ts/${name}`, script])) },
    spec: {
      dnsPolicy: 'Default',
      enableServiceLinks: false,
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 5,
      containers: names.map((name) => ({ name, image: 'busybox', imagePullPolicy: 'IfNotPresent' })),
    },
  };
}

/** A node with these pods. @param tells whether its runtime sends events; otherwise it is listed once a second */
function nodeWith(pods: readonly Pod[], tells = true, maxContainerRestartPeriod: number | null = null) {
  const state = newAgentState({ ...defaultSettings, maxContainerRestartPeriod, runtimeSendsEvents: tells }, nodeFacts());
  const kernel = new Kernel<AgentState, AgentEvent, AgentOperations>(agentMachine(state), state, 1);
  const host = new SimHost({ seed: 1 });
  const runtime = new SimContainerRuntime({ seed: 1, registry: 'any' }, undefined, ({ kind, containerId, sandboxId }) => {
    const container = runtime.state.containers.get(containerId);
    const sandbox = runtime.state.sandboxes.get(sandboxId);
    if (kind === 'started' && container !== undefined && sandbox !== undefined) host.models.podLogs.writeLog(`${sandbox.config.logDirectory}/${container.config.logPath}`);
  });
  const ports = {
    wallOffset: 0,
    knows: (op: string) => host.knows(op),
    handle: (op: string, request: unknown, now: number) => host.handle(op as HostOperationName, request as never, now),
  };
  const node = new SimNode({ runtime, host: ports, runtimeSendsEvents: tells });
  const world = new World<AgentState, AgentEvent, AgentOperations>({ start });
  world.add('node', kernel, node);
  world.send('node', { type: 'start' });
  world.send('node', { type: 'podSet', source: 'file', pods });
  return { state, world, performed: node.performed };
}

function podsOf(count: number, script: string, containers = 1): Pod[] {
  return Array.from({ length: count }, (_, i) => pod(i, script, containers));
}

function churning(): void {
  const { world, performed } = nodeWith(podsOf(podCount, 'run=10s,exit=1'));
  const coldFrom = cpuSeconds();
  world.runUntil(start + 600 * second);
  const coldSteps = world.steps;
  const cold = cpuSeconds() - coldFrom;
  const loop = calibration();
  const startsBefore = performed.get('containers.start') ?? 0;
  const from = cpuSeconds();
  world.runUntil(start + 0.5 * hour);
  const cpu = cpuSeconds() - from;
  const steps = world.steps - coldSteps;
  const starts = (performed.get('containers.start') ?? 0) - startsBefore;
  const rate = steps / cpu;
  const calibrationRate = (loop + calibration()) / 2;
  print({
    bench: 'world-steps: churning pods',
    pods: podCount,
    steps,
    cpuSeconds: cpu,
    stepsPerCpuSecond: rate,
    calibrationPerCpuSecond: calibrationRate,
    ratio: rate / calibrationRate,
    containerStarts: starts,
    stepsPerStart: steps / starts,
    cpuMicrosPerStart: (cpu / starts) * 1e6,
    cpuMicrosPerPodHour: (cpu / (podCount * (1 / 3))) * 1e6,
    firstTenMinutesStepsPerCpuSecond: coldSteps / cold,
  });
}

function idle(): void {
  const before = heapBytes();
  const { world, state } = nodeWith(podsOf(podCount, 'run=forever'));
  world.runUntil(start + 600 * second);
  const after = heapBytes();
  const stepsBefore = world.steps;
  const from = cpuSeconds();
  world.runUntil(start + 600 * second + hour);
  const running = [...state.statuses.values()].filter(({ status }) => status.phase === 'Running').length;
  print({
    bench: 'world-steps: idle pods',
    pods: podCount,
    running,
    virtualHours: 1,
    steps: world.steps - stepsBefore,
    cpuSeconds: cpuSeconds() - from,
    heapBytesPerPod: before === null || after === null ? null : (after - before) / podCount,
  });
}

/** The workers' bookkeeping alone: an update, the status it waits for, the end of the operation. */
function workersAlone(): void {
  const workers = newPodWorkers();
  const pods = Array.from({ length: podCount }, (_, i) => pod(i, ''));
  const effects: PodWorkerEffect[] = [];
  const success = { error: null, podIsTerminal: false, postSync: false, rest: null };
  const rounds = 40;
  let now = start;
  const round = (): void => {
    for (const each of pods) {
      const uid = each.metadata.uid ?? '';
      updatePod(workers, { type: 'sync', pod: each, mirrorPod: null, runningPod: null, killOptions: null, startTime: now }, now++, () => false, effects);
      runStatusRead(workers, uid, null, now++, effects);
      runFinished(workers, uid, success, now++, effects);
      effects.length = 0;
    }
  };
  round();
  const from = cpuSeconds();
  for (let n = 0; n < rounds; n++) round();
  const cpu = cpuSeconds() - from;
  const steps = 3 * rounds * podCount;
  const calibrationRate = calibration();
  print({
    bench: 'world-steps: pod workers alone',
    pods: podCount,
    steps,
    stepsPerCpuSecond: steps / cpu,
    calibrationPerCpuSecond: calibrationRate,
    ratio: steps / cpu / calibrationRate,
  });
}

/** What a daemon does without events: a list of 500 containers a second of which none changed, and everything else that an idle node does. */
function relisting(): void {
  const { world, performed } = nodeWith(podsOf(250, 'run=forever', 2), false);
  world.runUntil(start + 600 * second);
  const before = performed.get('runtime.listPods') ?? 0;
  const from = cpuSeconds();
  world.runUntil(start + 600 * second + hour);
  const lists = (performed.get('runtime.listPods') ?? 0) - before;
  print({ bench: 'world-steps: list of 500 unchanged containers', lists, cpuMicrosPerList: ((cpuSeconds() - from) / lists) * 1e6 });
}

/** One container that comes and goes beside pods that only run: what it costs must not grow with their number. */
function oneOf(pods: number): void {
  const { world, performed } = nodeWith([pod(pods, 'run=1s,exit=1'), ...podsOf(pods - 1, 'run=forever')], true, second);
  world.runUntil(start + hour);
  const before = performed.get('containers.start') ?? 0;
  const steps = world.steps;
  const from = cpuSeconds();
  world.runUntil(start + 5 * hour);
  const starts = (performed.get('containers.start') ?? 0) - before;
  print({
    bench: 'world-steps: one changing pod',
    pods,
    containerStarts: starts,
    stepsPerStart: (world.steps - steps) / starts,
    cpuMicrosPerStart: ((cpuSeconds() - from) / starts) * 1e6,
  });
}

calibration();
churning();
idle();
workersAlone();
relisting();
for (const pods of [30, 250, 30, 250]) oneOf(pods);
