// The cost of a step of the agent that changes nothing: an input that no part acts on, and the end of the step, on a node with pods at rest.
// Beside it the same turn alone, so that the rest is the agent's own. Figures are microseconds of CPU.
// `node dist/bench/agent-step.js [STEPS]`; with --expose-gc it also prints the bytes that a step allocates.

import { agentMachine } from '../src/domain/agent/agent.js';
import { contextOf, type Owner } from '../src/domain/agent/ownership.js';
import { agentParts } from '../src/domain/agent/parts.js';
import { apiParts } from '../src/domain/agent/reflectors/api-owners.js';
import { restAddress } from '../src/domain/agent/status-manager/status-writes.js';
import { StepContext } from '../src/domain/agent/step-context.js';
import type { Turn } from '../src/domain/kernel/machine.js';
import { instantOf } from '../src/domain/values/instant.js';
import type { Instant } from '../src/ports/instant.js';
import type { Pod } from '../src/ports/model/pod.js';
import type { AgentOperations } from '../src/ports/outbound/outbound-ports.js';
import { SimCluster } from '../src/sim/index.js';

const steps = Number(process.argv[2] ?? 200_000);
const second = 1_000_000;

function podOf(i: number): Pod {
  const name = `p${i}`;
  return {
    metadata: { name, namespace: 'default', uid: name, annotations: { 'sim.kubelet-ts/c': 'run=forever' } },
    spec: { containers: [{ name: 'c', image: 'busybox' }] },
  } as Pod;
}

/** A turn that gives nothing on: what an idle step asks for would be an error of this benchmark. */
function idleTurn(now: number, wall: Instant): Turn<AgentOperations> {
  const refuse = (): never => {
    throw new Error('the step is not idle');
  };
  return { now, wall, ask: refuse, emit: refuse, cancel: refuse, inFlight: () => false, wakeAt: () => {}, random: () => 0.5, end: refuse, log: refuse };
}

function microsEach(run: () => void, times: number): number {
  for (let i = 0; i < times / 10; i++) run();
  const start = process.cpuUsage();
  for (let i = 0; i < times; i++) run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / times;
}

function bytesEach(run: () => void, times: number): number | null {
  if (globalThis.gc === undefined) return null;
  globalThis.gc();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < times; i++) run();
  return Math.max(0, process.memoryUsage().heapUsed - before) / times;
}

for (const pods of [10, 250]) {
  const cluster = new SimCluster({ seed: 1, runtimeSendsEvents: true });
  const node = cluster.node();
  for (let i = 0; i < pods; i++) node.put(`p${i}.yaml`, podOf(i));
  cluster.run(120 * second);
  const state = node.agent;
  const machine = agentMachine(state);
  const turn = idleTurn(cluster.now, instantOf(cluster.now));
  const input = { type: 'wake', address: restAddress } as const;
  const step = (): void => machine.step(state, input, turn);
  const context = contextOf<Owner>()(new StepContext(state, apiParts));
  context.begin(turn);
  const settling = agentParts.flatMap(({ name, settle }) => (settle === undefined ? [] : [[name, microsEach(() => settle(context), steps)] as const]));
  const figures = {
    pods,
    running: [...state.statuses.values()].filter(({ status }) => status.phase === 'Running').length,
    step: microsEach(step, steps),
    bytes: bytesEach(step, 10_000),
    parts: Object.fromEntries(settling.filter(([, micros]) => micros >= 0.02).map(([name, micros]) => [name, Number(micros.toPrecision(2))])),
  };
  console.log(JSON.stringify(figures));
}
