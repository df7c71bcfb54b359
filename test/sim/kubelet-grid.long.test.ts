// The grid of the whole agent: every state that a life of pods passes x every event that can follow. A state consists of the states of the machines
// inside (workers, runs and their steps, container starts, kills, hooks, sub paths, volumes, housekeeping, collection, both sources) and of their
// pending commands; events are each answer failing in each way, each wake-up too early, and each outside event.
// Each cell is closed: no assertion fails, no checker finds a violation, and some minutes later the pods match the manifests.
import t from 'tap';
import type { KubeletEvent, KubeletOperations } from '../../src/domain/agent/kubelet.js';
import type { Command, Reply } from '../../src/domain/kernel/machine.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { ManifestResponse } from '../../src/ports/outbound/manifests.js';
import type { PortErrorKind } from '../../src/ports/port-error.js';
import { SimCluster, type SimClusterNode } from '../../src/sim/index.js';
import { sweepOf } from '../support/sweep.js';
import { minute, podOf, second } from './sim-pods.js';

t.setTimeout(600_000);

const url = 'http://manifests.example/';
const noPods: ManifestResponse = {
  status: '200 OK',
  statusCode: 200,
  bodyBytes: 1,
  digest: '1',
  excerpt: '',
  content: { kind: 'document', value: { apiVersion: 'v1', kind: 'PodList', items: [] }, notes: [] },
};

const kinds: readonly PortErrorKind[] = [
  ...(['cancelled', 'unknown', 'invalid-argument', 'deadline-exceeded', 'not-found', 'already-exists', 'permission-denied', 'resource-exhausted'] as const),
  ...(['failed-precondition', 'aborted', 'out-of-range', 'unimplemented', 'internal', 'unavailable', 'data-loss', 'unauthenticated'] as const),
];

/** What is tried in a state. */
interface Cell {
  readonly name: string;
  readonly act: (cluster: SimCluster) => SimCluster;
}

function failed(command: Command<KubeletOperations>, kind: PortErrorKind): Reply<KubeletOperations> {
  const { id, op, address, slot } = command;
  return {
    type: 'reply',
    id,
    op,
    address,
    slot,
    outcome: { ok: false, error: { kind, message: 'refused', operation: op, subject: slot, retryAfterMicros: null } },
  } as Reply<KubeletOperations>;
}

function sending(name: string, event: KubeletEvent): Cell {
  return {
    name,
    act: (cluster) => {
      cluster.node().send(event);
      return cluster;
    },
  };
}

/** Answers are events of the kernel, beside those of the agent's vocabulary. */
const answering = (command: Command<KubeletOperations>, kind: PortErrorKind): Cell => sending(`${command.op} fails: ${kind}`, failed(command, kind) as unknown as KubeletEvent);

/** All that was planned for later is due now. */
const early: Cell = {
  name: 'every wake-up at once',
  act: (cluster) => {
    const { options, data } = cluster.snapshot();
    const nodes = data.world.nodes.map((node) => ({
      ...node,
      wakeScheduled: cluster.now,
      kernel: { ...node.kernel, wakes: node.kernel.wakes.map(([address]) => [address, cluster.now] as const) },
    }));
    const due = [...data.world.due, ...nodes.map(({ name, life }) => ({ at: cluster.now, kind: 'wake' as const, node: name, life, input: null }))];
    return SimCluster.from({ options, data: { ...data, world: { ...data.world, nodes, due } } });
  },
};

function eventsFor(uids: readonly string[], cluster: SimCluster): Cell[] {
  return [
    sending('the runtime tells of the pods', { type: 'runtimeChanged', uids }),
    sending('the runtime tells of a pod that nobody knows', { type: 'runtimeChanged', uids: ['nobody'] }),
    sending('messages of the runtime were lost', { type: 'runtimeChangesLost' }),
    sending('facts of the node', { type: 'nodeFacts', facts: cluster.node().agent.nodeFacts }),
    sending('the watch of the manifests was lost', { type: 'manifests-changed', events: [{ kind: 'lost' }] }),
    sending('every pod is to go', { type: 'withdraw-pods' }),
    {
      name: 'the agent is killed',
      act: (cluster) => {
        cluster.node().start();
        return cluster;
      },
    },
    {
      name: 'the runtime goes away for a while',
      act: (cluster) => {
        cluster.node().runtimeDown(20 * second);
        return cluster;
      },
    },
    {
      name: 'the manifests go',
      act: (cluster) => {
        cluster.node().remove('a.yaml');
        return cluster;
      },
    },
  ];
}

/** What the machines are at: every `kind`, `phase` and `state` within, and what is in flight. */
function signature(cluster: SimCluster): string {
  const { agent } = cluster.node();
  const parts: string[] = [];
  const visit = (value: unknown, path: string, depth: number): void => {
    if (typeof value !== 'object' || value === null || depth > 5) return;
    const entries = value instanceof Map ? [...value.entries()] : Object.entries(value);
    for (const [key, member] of entries) {
      if (['pod', 'status', 'results', 'container', 'operation', 'settings', 'content', 'imageStatus'].includes(String(key))) continue;
      if (typeof member === 'string' && (key === 'phase' || key === 'kind' || key === 'state')) parts.push(`${path}${key}=${member}`);
      else visit(member, `${path}${value instanceof Map || Array.isArray(value) ? '' : `${String(key)}.`}`, depth + 1);
    }
  };
  for (const run of agent.runs.values()) visit({ op: { kind: run.operation.op }, step: run.steps[0], cancelled: { state: String(run.cancelled) } }, 'run.', 0);
  for (const { run, terminatingAt, terminatedAt, finished, pending } of agent.workers.records.values())
    parts.push(
      `worker=${run === null ? 'rests' : run.operating ? 'works' : 'waits'} ${finished ? 3 : terminatedAt !== null ? 2 : terminatingAt !== null ? 1 : 0} ${pending !== null}`,
    );
  parts.push(`housekeeping=${agent.housekeeping.phase}`, `collection=${agent.collection.phase}`);
  for (const { op } of cluster.world.kernel('node').inFlight.values()) parts.push(`asks=${op}`);
  return [...new Set(parts)].sort().join(' ');
}

interface Life {
  readonly name: string;
  readonly pod: Pod;
  /** A disturbance in the middle of its life. */
  readonly disturb?: (node: SimClusterNode, now: number) => void;
  /** Phases in which it may be found at any later time, as long as its manifest is there. */
  readonly rests?: readonly string[];
}

const mounts = [
  { name: 'work', mountPath: '/work' },
  { name: 'work', mountPath: '/sub', subPath: 'a/b' },
  { name: 'info', mountPath: '/info' },
  { name: 'host', mountPath: '/host' },
];
const hooks = { lifecycle: { postStart: { exec: { command: ['true'] } }, preStop: { httpGet: { port: 80, path: '/' } } } };
const probes = { readinessProbe: { exec: { command: ['true'] }, periodSeconds: 5 }, livenessProbe: { tcpSocket: { port: 80 }, periodSeconds: 7 } };
const volumes = [
  { name: 'work', emptyDir: { medium: 'Memory' } },
  { name: 'info', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
  { name: 'host', hostPath: { path: '/srv/made', type: 'DirectoryOrCreate' } },
];

function withAll(pod: Pod): Pod {
  return { ...pod, spec: { ...pod.spec, volumes, containers: pod.spec.containers.map((container) => ({ ...container, volumeMounts: mounts, ...hooks, ...probes })) } };
}

function withHook(pod: Pod): Pod {
  return { ...pod, spec: { ...pod.spec, containers: pod.spec.containers.map((container) => ({ ...container, ...hooks })) } };
}

const postStartFails = podOf('a', { uid: 'a', containers: { c: 'run=forever,exec-exit=1', d: 'run=forever' }, grace: 2 });
const lives: readonly Life[] = [
  { name: 'volumes, hooks, probes, init, a sidecar', pod: withAll(podOf('a', { uid: 'a', init: { i: 'run=1s' }, sidecars: { s: 'run=forever' }, grace: 3 })) },
  { name: 'crashes', pod: podOf('a', { uid: 'a', containers: { c: 'run=2s,exit=1', d: 'run=forever' }, grace: 2 }) },
  { name: 'a hook that fails', pod: withHook(postStartFails), rests: ['Running', 'Pending'] },
  {
    name: 'its sandbox, with a user namespace of its own, dies',
    pod: podOf('a', { uid: 'a', init: { i: 'run=1s' }, grace: 2, spec: { hostUsers: false } }),
    disturb: (node, now) => {
      for (const { id } of node.sandboxes('a')) node.runtime.killSandbox(id, now);
    },
  },
  { name: 'runs its course', pod: podOf('a', { uid: 'a', policy: 'Never', init: { i: 'run=1s' }, containers: { c: 'run=3s' } }) },
];

/** Each state that the life passes, once, with the world as it was. */
function statesOf({ pod, disturb }: Life): Map<string, SimCluster> {
  const states = new Map<string, SimCluster>();
  const cluster = new SimCluster({ seed: 5, runtimeSendsEvents: true, manifestUrl: url });
  const note = (): boolean => {
    const state = signature(cluster);
    if (!states.has(state)) states.set(state, cluster.fork());
    return false;
  };
  cluster.node().manifests.serve(url, noPods);
  cluster.node().put('a.yaml', pod);
  cluster.runUntil(note, 20 * second);
  disturb?.(cluster.node(), cluster.now);
  cluster.world.refresh('node');
  cluster.runUntil(note, 20 * second);
  cluster.node().remove('a.yaml');
  cluster.runUntil(note, 40 * second);
  return states;
}

/** The final state of a cell is checked in one of so many, in turn; the nightly tier checks all of them. */
const every = process.env['KUBELET_TS_TIER'] === 'nightly' ? 1 : 8;

/** What is wrong afterwards; null: nothing. */
function problemOf(origin: SimCluster, cell: Cell, toTheEnd: boolean, rests: readonly string[]): string | null {
  try {
    const cluster = cell.act(origin.fork());
    cluster.run(toTheEnd ? 8 * minute : 5 * second);
    if (cluster.violations.length > 0) return `${cluster.violations[0]?.checker}: ${cluster.violations[0]?.message}`;
    return toTheEnd ? restProblem(cluster, rests) : null;
  } catch (error) {
    return error instanceof Error ? `${error.message}\n${error.stack?.split('\n').slice(1, 4).join('\n')}` : String(error);
  }
}

function restProblem(cluster: SimCluster, rests: readonly string[]): string | null {
  const node = cluster.node();
  const wanted = !node.state.agent.withdrawn && node.manifests.state.files.size > 0;
  const left = node.sandboxes().length + node.host.state.podDirectories.size;
  if (!wanted)
    return left === 0 && node.agent.runs.size === 0 ? null : `something is left: ${node.sandboxes().length} sandboxes, ${node.host.state.podDirectories.size} directories`;
  const phase = node.status('a')?.phase;
  return phase !== undefined && rests.includes(phase) ? null : `the pod is ${phase ?? 'unknown'}`;
}

const passed = new Set<string>();

for (const life of lives) {
  t.test(life.name, { timeout: 600_000 }, async (t) => {
    const states = statesOf(life);
    let cells = 0;
    const wrong = new Map<string, string>();
    for (const [state, origin] of states) {
      const inFlight = [...origin.world.kernel('node').inFlight.values()];
      const answers = inFlight.flatMap((command) => kinds.map((kind) => answering(command, kind)));
      for (const cell of sweepOf([...answers, early, ...eventsFor(['a'], origin)])) {
        cells++;
        const problem = problemOf(origin, cell, cells % every === 0, life.rests ?? ['Running', 'Succeeded']);
        if (problem !== null && !wrong.has(problem)) wrong.set(problem, `${state}: ${cell.name}`);
      }
    }
    t.strictSame([...wrong], []);
    for (const state of states.keys()) for (const part of state.split(' ')) passed.add(part);
    t.comment(`${states.size} states, ${cells} cells`);
  });
}

/** What the lives have to pass, or the grid has a hole. */
const wanted: Readonly<Record<string, readonly string[]>> = {
  'run.op.kind': ['syncPod', 'syncTerminatingPod', 'syncTerminatedPod'],
  'run.cancelled.state': ['false', 'true'],
  'run.step.kind': ['cgroup', 'directories', 'volumes', 'kill', 'remove', 'userNamespace', 'sandbox', 'start', 'verify', 'unmount', 'destroyCgroup'],
  'run.step.phase': ['ask', 'containers', 'ensure', 'inspect', 'logs', 'run'],
  'run.step.start.phase': ['image', 'count', 'hosts', 'files', 'subPaths', 'create', 'start', 'postStart', 'kill'],
  'run.step.start.subPaths.phase': ['present', 'directory', 'mount'],
  'run.step.kill.phase': ['containers', 'sandboxes'],
  'run.step.kill.items.kill.phase': ['preStop', 'turn', 'stop', 'done'],
  asks: ['hostPaths.make', 'podVolumes.setUp', 'podVolumes.read', 'podVolumes.write', 'podDirectories.readUserNamespaces', 'podDirectories.writeUserNamespace'],
  housekeeping: ['idle', 'snapshots', 'running'],
  collection: ['idle', 'listContainers', 'removeContainers', 'listSandboxes', 'removeSandboxes', 'logs'],
};

t.test('the lives pass what the machines can be at', async (t) => {
  const missing = Object.entries(wanted).flatMap(([name, values]) => values.map((value) => `${name}=${value}`).filter((part) => !passed.has(part)));
  t.strictSame(missing, [], [...passed].sort().join(' '));
});
