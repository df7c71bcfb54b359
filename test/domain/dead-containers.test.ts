// What goes at once when a container of a pod dies: which containers, their logs, and how many removals may wait.

import t from 'tap';
import { newAgentState } from '../../src/domain/agent/agent-state.js';
import { collectAfterDeath, deadContainerRemoved, deadLogsRemoved } from '../../src/domain/agent/container-gc/dead-containers.js';
import { type ContextOf, contextOf } from '../../src/domain/agent/ownership.js';
import { apiParts } from '../../src/domain/agent/reflectors/api-owners.js';
import { defaultSettings } from '../../src/domain/agent/settings.js';
import { StepContext } from '../../src/domain/agent/step-context.js';
import { nodeFacts } from '../../src/domain/containers/default-node-facts.js';
import { deadContainerQueueCapacity } from '../../src/domain/gc/dead-containers.js';
import type { Address, ReplyFor, Turn } from '../../src/domain/kernel/machine.js';
import { setPodCache } from '../../src/domain/pod-cache/pod-cache.js';
import { instantOf } from '../../src/domain/values/instant.js';
import type { ContainerRuntimeState, PodRuntimeStatus, RuntimeContainerStatus } from '../../src/ports/model/runtime-status.js';
import type { AgentOperations } from '../../src/ports/outbound/outbound-ports.js';

/** `c1 c exited 5`: id, name, state, time of creation; as many restarts. */
function container(text: string): RuntimeContainerStatus {
  const [id = '', name = '', state = '', createdAt = ''] = text.split(' ');
  return {
    ...{
      id,
      sandboxId: 's',
      name,
      state: state as ContainerRuntimeState,
      createdAt: instantOf(Number(createdAt)),
      startedAt: null,
      finishedAt: null,
      exitCode: 0,
      reason: '',
      message: '',
    },
    ...{ restartCount: Number(createdAt), hash: '', image: '', imageRef: '', imageId: '', resources: null, user: null },
  };
}

class Agent {
  readonly state;
  readonly context: ContextOf<'containerGC'>;
  readonly asked: unknown[] = [];
  readonly logged: string[] = [];

  constructor() {
    this.state = newAgentState({ ...defaultSettings, containerLogLinks: '/links', podLogsDirectory: '/logs', runtimeRequestTimeout: 7 }, nodeFacts());
    this.context = contextOf<'containerGC'>()(new StepContext(this.state, apiParts));
    const turn = {
      ask: (op: string, address: Address, slot: string, request: object, timeout?: number) => this.asked.push([op, `${address.machine}/${address.key}`, slot, request, timeout]),
      log: (level: string, message: string, fields: object) => this.logged.push(`${level} ${message} ${JSON.stringify(fields)}`),
    };
    this.context.begin(turn as unknown as Turn<AgentOperations>);
  }

  holds(...containers: readonly string[]): void {
    const status: PodRuntimeStatus = { uid: 'u', name: 'p', namespace: 'n', ips: [], sandboxes: [], containers: containers.map(container), observedAt: 1 };
    setPodCache(this.state.cache, 'u', { kind: 'status', status }, 1);
  }

  get slots(): string[] {
    return this.asked.map((one) => (one as [string, string, string])[2]);
  }
}

const answer = <Op extends 'podLogs.removeContainerLogs' | 'containers.remove'>(op: Op, slot: string, failed = false) =>
  ({
    type: 'reply',
    id: 1,
    op,
    address: { machine: 'deletor', key: '' },
    slot,
    outcome: failed ? { ok: false, error: { message: 'busy' } } : { ok: true, value: null },
  }) as unknown as ReplyFor<AgentOperations, Op>;
const logsGone = (id: string, failed = false) => answer('podLogs.removeContainerLogs', `logs/${id}`, failed);
const containerGone = (id: string, failed = false) => answer('containers.remove', `remove/${id}`, failed);

t.test('the older ones of the name, their logs first', async (t) => {
  const agent = new Agent();
  agent.holds('c3 c exited 3', 'c2 c exited 2', 'c1 c exited 1', 'd1 d exited 1', 'c0 c running 0');
  collectAfterDeath(agent.context, 'u', 'c3');
  t.strictSame(agent.asked.splice(0), [
    ['podLogs.removeContainerLogs', 'deletor/', 'logs/c2', { logPaths: ['/logs/n_p_u/c/2.log'], links: ['/links/p_n_c-c2.log'] }, undefined],
    ['podLogs.removeContainerLogs', 'deletor/', 'logs/c1', { logPaths: ['/logs/n_p_u/c/1.log'], links: ['/links/p_n_c-c1.log'] }, undefined],
  ]);
  collectAfterDeath(agent.context, 'u', 'c3');
  t.strictSame(agent.asked, [], 'nothing twice');
  deadLogsRemoved(agent.context, logsGone('c2'));
  t.strictSame(agent.asked.splice(0), [['containers.remove', 'deletor/', 'remove/c2', { containerId: 'c2' }, 7]]);
  deadLogsRemoved(agent.context, logsGone('c1', true));
  t.strictSame([agent.asked, agent.logged], [[], ['warn Failed to remove a dead container {"containerID":"c1","err":"busy"}']], 'a container whose logs stay stays');
  t.strictSame([...agent.state.deleting], ['c2'], 'it is tried again at the next death');
  deadContainerRemoved(agent.context, containerGone('c2'));
  t.strictSame([agent.asked, [...agent.state.deleting]], [[], []]);
  collectAfterDeath(agent.context, 'u', 'c3');
  deadLogsRemoved(agent.context, logsGone('c2'));
  deadContainerRemoved(agent.context, containerGone('c2', true));
  t.strictSame([[...agent.state.deleting], agent.logged.length], [['c1'], 2]);
});

t.test('nothing that nobody knows', async (t) => {
  const unknown = new Agent();
  collectAfterDeath(unknown.context, 'u', 'c3');
  setPodCache(unknown.state.cache, 'u', { kind: 'failed', error: { kind: 'unavailable', message: '', operation: '', subject: '', retryAfterMicros: null } }, 1);
  collectAfterDeath(unknown.context, 'u', 'c3');
  t.strictSame(unknown.asked, []);
});

t.test('one whose log is being rotated waits for the next collection', async (t) => {
  const agent = new Agent();
  agent.holds('c3 c exited 3', 'c2 c exited 2', 'c1 c exited 1');
  (agent.state.logRotation.active as Map<string, unknown>).set('c2', null);
  collectAfterDeath(agent.context, 'u', 'c3');
  t.strictSame(agent.slots, ['logs/c1']);
});

t.test('all dead ones of a pod whose content may go', async (t) => {
  const agent = new Agent();
  agent.state.workers.synced = true;
  agent.holds('c2 c exited 2', 'd1 d exited 1', 'c1 c running 1');
  collectAfterDeath(agent.context, 'u', 'c2');
  t.strictSame(agent.slots, ['logs/c2', 'logs/d1'], 'no worker knows it');
});

t.test('so many removals wait, and no more', async (t) => {
  const agent = new Agent();
  agent.holds(...Array.from({ length: 70 }, (_, i) => `c${i} c exited ${100 - i}`));
  collectAfterDeath(agent.context, 'u', 'c0');
  t.equal(agent.slots.length, deadContainerQueueCapacity);
  t.equal(deadContainerQueueCapacity, 50);
  collectAfterDeath(agent.context, 'u', 'c0');
  t.equal(agent.slots.length, deadContainerQueueCapacity);
});
