// What a swarm has met: which faults struck which operations, and what happened to pods in which state of their worker.
import type { AgentState } from '../../src/domain/agent/agent-state.js';
import { stateOf } from '../../src/domain/pod-workers/pod-worker-record.js';
import type { SimCluster } from '../../src/sim/index.js';

const faults = ['fails before', 'fails after', 'is late', 'hangs'] as const;
const states = ['unknown', 'waiting', 'sync', 'terminating', 'terminated', 'finished'] as const;
const events = ['due', 'reply', 'failed reply', 'cancelled reply', 'manifests', 'runtime changed', 'agent killed'] as const;

export class SwarmCoverage {
  /** `<operation> <fault>` -> count. */
  private readonly struck = new Map<string, number>();
  private readonly operations = new Set<string>();
  /** `<worker state> x <event>` -> count. */
  private readonly met = new Map<string, number>();

  addFaults(cluster: SimCluster): void {
    for (const name of cluster.nodeNames) {
      const { struck, performed } = cluster.node(name).model;
      for (const [key, count] of struck) add(this.struck, key, count);
      for (const operation of performed.keys()) this.operations.add(operation);
    }
  }

  stepped(input: unknown, agent: AgentState): void {
    const given = input as {
      readonly type: string;
      readonly address?: { readonly machine: string; readonly key: string };
      readonly uids?: readonly string[];
      readonly outcome?: { readonly ok: boolean; readonly error?: { readonly kind: string } };
    } | null;
    if (given === null) {
      for (const record of agent.workers.records.values()) if (record.run !== null) this.note(agent, record.uid, 'due');
    } else if (given.type === 'runtimeChanged') for (const uid of given.uids ?? []) this.note(agent, uid, 'runtime changed');
    else if (given.type === 'reply' && given.address?.machine === 'file-source') for (const uid of agent.workers.records.keys()) this.note(agent, uid, 'manifests');
    else if (given.type === 'reply' && given.address?.machine === 'pod') {
      const kind = given.outcome?.ok === true ? 'reply' : given.outcome?.error?.kind === 'cancelled' ? 'cancelled reply' : 'failed reply';
      this.note(agent, given.address.key, kind);
    }
  }

  killed(agent: AgentState): void {
    for (const uid of agent.workers.records.keys()) this.note(agent, uid, 'agent killed');
  }

  /** Pairs of operation and fault that were met. */
  get faultPairs(): number {
    return this.struck.size;
  }

  get statePairs(): number {
    return this.met.size;
  }

  table(): string[] {
    const lines = [`operations x faults: ${this.faultPairs} pairs`, row('', faults)];
    for (const operation of [...this.operations].sort())
      lines.push(
        row(
          operation,
          faults.map((fault) => this.struck.get(`${operation} ${fault}`) ?? 0),
        ),
      );
    lines.push(`worker states x events: ${this.statePairs} pairs`, row('', events));
    for (const state of states)
      lines.push(
        row(
          state,
          events.map((event) => this.met.get(`${state} x ${event}`) ?? 0),
        ),
      );
    return lines;
  }

  private note(agent: AgentState, uid: string, event: (typeof events)[number]): void {
    const record = agent.workers.records.get(uid);
    const state = record === undefined ? 'unknown' : record.finished ? 'finished' : record.startedAt === null && record.terminatingAt === null ? 'waiting' : stateOf(record);
    add(this.met, `${state} x ${event}`, 1);
  }
}

function add(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

function row(name: string, cells: readonly (string | number)[]): string {
  return name.padEnd(32) + cells.map((cell) => String(cell).padStart(17)).join('');
}
