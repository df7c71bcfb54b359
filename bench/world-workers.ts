// Machine steps a second of the world itself: kernel, virtual time and the real pod workers, with 10 000 pods that churn (they fail, back
// off, run their course, are deleted and come again under a new UID), on an outside that only takes its time. What the whole agent does
// around the workers (statuses, plans, configurations, a simulated runtime) is measured by world-steps.
// `node dist/bench/world-workers.js [PODS]`
import { Kernel } from '../src/domain/kernel/kernel.js';
import type { Command, Machine, Reply, Turn } from '../src/domain/kernel/machine.js';
import type { PodWorkerEffect } from '../src/domain/pod-workers/effects.js';
import { syncKnownPods } from '../src/domain/pod-workers/known-pods.js';
import { newPodWorkers, type PodUpdateType, type PodWorkers } from '../src/domain/pod-workers/pod-worker-record.js';
import { runFinished, runStatusRead } from '../src/domain/pod-workers/run-pod.js';
import { updatePod } from '../src/domain/pod-workers/update-pod.js';
import type { Micros } from '../src/ports/micros.js';
import type { Pod } from '../src/ports/model/pod.js';
import type { Operation } from '../src/ports/operation.js';
import { type NodeModel, type Outside, World } from '../src/sim/world.js';

interface Operations {
  readonly 'pod.status': Operation<null, null>;
  readonly 'pod.operate': Operation<{ readonly op: string }, { readonly done: boolean }>;
}
type Event = { readonly type: 'pod'; readonly pod: Pod; readonly update: PodUpdateType } | { readonly type: 'housekeeping' };
interface State {
  readonly workers: PodWorkers;
  readonly pods: Map<string, Pod>;
}

const second = 1_000_000;
const podCount = Number(process.argv[2] ?? 10_000);

/** The workers on the kernel, wired as the agent does it: a status before each run, one operation at a time, the work queue as wake-ups. */
const machine: Machine<State, Event, Operations> = {
  step({ workers, pods }, input, turn) {
    const effects: PodWorkerEffect[] = [];
    if (input.type === 'housekeeping') syncKnownPods(workers, new Set(pods.keys()), turn.now, effects);
    else if (input.type === 'pod') deliver({ workers, pods }, input.pod, input.update, turn, effects);
    else if (input.type === 'wake') {
      const pod = pods.get(input.address.key);
      if (pod !== undefined) deliver({ workers, pods }, pod, 'sync', turn, effects);
    } else replied(workers, input, turn, effects);
    for (let i = 0; i < effects.length; i++) carryOut(effects[i] as PodWorkerEffect, turn);
  },
};

function deliver({ workers, pods }: State, pod: Pod, type: PodUpdateType, turn: Turn<Operations>, effects: PodWorkerEffect[]): void {
  const uid = pod.metadata.uid ?? '';
  if (type === 'kill') pods.delete(uid);
  else pods.set(uid, pod);
  updatePod(workers, { type, pod, mirrorPod: null, runningPod: null, killOptions: null, startTime: null }, turn.now, () => true, effects);
}

function replied(workers: PodWorkers, reply: Reply<Operations>, turn: Turn<Operations>, effects: PodWorkerEffect[]): void {
  const uid = reply.address.key;
  if (reply.op === 'pod.status') runStatusRead(workers, uid, null, turn.now, effects);
  else {
    const failed = !reply.outcome.ok;
    const error = failed ? { kind: 'failed' as const, message: 'failed to start', backOffExpiries: [turn.now + 20 * second] } : null;
    runFinished(workers, uid, { error, podIsTerminal: reply.outcome.ok && reply.outcome.value.done, postSync: false, rest: null }, turn.now, effects);
  }
}

function carryOut(effect: PodWorkerEffect, turn: Turn<Operations>): void {
  if (effect.kind === 'awaitStatus') turn.ask('pod.status', { machine: 'worker', key: effect.uid }, 'status', null);
  else if (effect.kind === 'start') turn.ask('pod.operate', { machine: 'worker', key: effect.uid }, 'operate', { op: effect.operation.op });
  else if (effect.kind === 'enqueue')
    turn.wakeAt({ machine: 'sync', key: effect.uid }, turn.now + Math.floor(effect.baseDelayMicros * (1 + 0.5 * turn.random('requeue', effect.uid))));
}

/** Takes its time; a third of the syncs fail, and one in forty finds that the pod is done. */
class Model implements NodeModel<Event, Operations> {
  private draws = 12_345;

  perform(command: Command<Operations>, outside: Outside<Event, Operations>): void {
    if (command.op === 'pod.status') {
      outside.reply(command, 2_000, { ok: true, value: null });
      return;
    }
    const chance = this.next();
    const sync = command.request.op === 'syncPod';
    if (sync && chance < 0.33) {
      outside.reply(command, 50_000, { ok: false, error: { kind: 'unknown', message: 'x', operation: command.op, subject: '', retryAfterMicros: null } });
      return;
    }
    outside.reply(command, 100_000 + Math.floor(chance * 400_000), { ok: true, value: { done: sync && chance > 0.975 } });
    // A pod that has run its course is replaced by a new one some time later.
    if (command.request.op === 'syncTerminatedPod') replace(command.address.key, outside);
  }

  cancel(): void {}

  nextAt(): Micros | null {
    return null;
  }

  advance(): void {}

  private next(): number {
    this.draws = (Math.imul(this.draws, 1_103_515_245) + 12_345) & 0x7fffffff;
    return this.draws / 0x7fffffff;
  }
}

function replace(uid: string, outside: Outside<Event, Operations>): void {
  const [name = '', life = '0'] = uid.split('.');
  outside.event(0, { type: 'pod', pod: podOf(uid), update: 'kill' });
  outside.event(second, { type: 'pod', pod: podOf(`${name}.${Number(life) + 1}`), update: 'create' });
}

function podOf(uid: string): Pod {
  return { metadata: { name: uid, namespace: 'default', uid }, spec: { containers: [{ name: 'c', image: 'i' }], terminationGracePeriodSeconds: 5 } };
}

const state: State = { workers: newPodWorkers(), pods: new Map() };
const world = new World<State, Event, Operations>({ start: second });
world.add('node', new Kernel<State, Event, Operations>(machine, state, 1), new Model());
for (let i = 0; i < podCount; i++) world.send('node', { type: 'pod', pod: podOf(`p${i}.0`), update: 'create' });
for (let minute = 1; minute <= 120; minute++) world.send('node', { type: 'housekeeping' }, minute * 60 * second);
world.runUntil(1200 * second);
const warm = world.steps;
const from = process.cpuUsage().user;
world.runUntil(7200 * second);
const cpu = (process.cpuUsage().user - from) / 1e6;
const steps = world.steps - warm;
console.log(
  JSON.stringify({
    bench: 'world-workers',
    pods: podCount,
    steps,
    cpuSeconds: Number(cpu.toPrecision(4)),
    stepsPerCpuSecond: Math.round(steps / cpu),
    records: state.workers.records.size,
  }),
);
