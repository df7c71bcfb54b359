// The coverage of a swarm: which faults occurred in which operations, and which events in which state of a pod's worker; as shares of all
// possible ones.
import type { AgentState } from '../../src/domain/agent/agent-state.js';
import { stateOf } from '../../src/domain/pod-workers/pod-worker-record.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { operationNames } from '../../src/ports/outbound/operation-names.js';
import type { ApiFaultRule, SimCluster } from '../../src/sim/index.js';
import { apiFaultKinds, apiFaultName, apiFaultOperations, apiFaultPairs } from './swarm-api-faults.js';
import { featureNames, featuresOf } from './swarm-features.js';
import { hangingOperations } from './swarm-options.js';

const faults = ['fails before', 'fails after', 'is late', 'hangs'] as const;
const states = ['unknown', 'waiting', 'sync', 'terminating', 'terminated', 'finished'] as const;
const events = ['due', 'reply', 'failed reply', 'cancelled reply', 'manifests', 'runtime changed', 'agent killed'] as const;

/** Operations that no pod of a swarm leads to, each with the reason. */
const neverAsked: Readonly<Record<string, string>> = {
  'containers.checkpoint': 'asked for by people, through the API of the node',
  'machine.topology': 'asked for by the daemon alone, before it starts',
  'stateFiles.read': 'asked for twice in the life of an agent, at its start',
  'sandboxes.updateResources': 'no pod of a swarm is resized yet',
  'podCgroups.countProcesses': 'requested by the daemon alone, before it starts',
  'csiNode.stats': 'asked for by whoever wants statistics; in the end each volume has to be where it would be asked for',
  'projectQuotas.usage': 'asked for by whoever wants statistics',
  'volumeMounts.ownershipProgress': 'no volume of a swarm has so many files that they take minutes to be given to a group',
  'volumeMounts.hasLabels': 'no host of a swarm has SELinux',
};

/** Events that can't come in a state, each with the reason. */
const impossible: Readonly<Record<string, readonly (typeof events)[number][]>> = {
  // Nothing runs for a pod without a worker, and only what was asked for before its worker went is answered.
  unknown: ['due', 'failed reply', 'cancelled reply', 'manifests', 'agent killed'],
  // A worker that waits for the pod of its name to end asks for nothing and has nothing in the runtime.
  waiting: ['due', 'reply', 'failed reply', 'cancelled reply', 'runtime changed'],
  // Only the end of the pod cancels.
  sync: ['cancelled reply'],
  terminating: [],
  // By then the runtime has nothing of the pod, and a cleanup is never cancelled.
  terminated: ['cancelled reply', 'runtime changed'],
  finished: ['due', 'failed reply', 'cancelled reply', 'runtime changed'],
};

const swarmed = Object.entries({ ...operationNames, manifestDirectory: { list: true, readFile: true, watch: true } })
  .flatMap(([port, names]) => Object.keys(names).map((name) => `${port}.${name}`))
  .filter((operation) => neverAsked[operation] === undefined);

const allFaultPairs = swarmed.flatMap((operation) => faults.filter((fault) => fault !== 'hangs' || hangingOperations.includes(operation)).map((fault) => `${operation} ${fault}`));
const allStatePairs = states.flatMap((state) => events.filter((event) => impossible[state]?.includes(event) !== true).map((event) => `${state} x ${event}`));

/** Counts as data, to be carried between threads. */
export interface SwarmCounts {
  readonly struck: ReadonlyMap<string, number>;
  readonly met: ReadonlyMap<string, number>;
  readonly reached: ReadonlyMap<string, number>;
}

export class SwarmCoverage {
  /** `<operation> <fault>` -> count. */
  private readonly struck = new Map<string, number>();
  /** `<worker state> x <event>` -> count. */
  private readonly met = new Map<string, number>();
  /** What pods asked for that came to what they had to -> count. */
  private readonly reached = new Map<string, number>();

  addFaults(cluster: SimCluster): void {
    for (const name of cluster.nodeNames) for (const [key, count] of cluster.node(name).model.struck) add(this.struck, key, count);
  }

  counts(): SwarmCounts {
    return { struck: this.struck, met: this.met, reached: this.reached };
  }

  addCounts({ struck, met, reached }: SwarmCounts): void {
    for (const [key, count] of struck) add(this.struck, key, count);
    for (const [key, count] of met) add(this.met, key, count);
    for (const [key, count] of reached) add(this.reached, key, count);
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

  /** @param rule of the apiserver's; it struck so often */
  apiStruck(rule: ApiFaultRule | undefined, count: number): void {
    if (rule !== undefined && count > 0) add(this.struck, apiFaultName(rule), count);
  }

  /** The pod came to what it had to. */
  arrived(pod: Pod): void {
    for (const feature of featuresOf(pod)) add(this.reached, feature, 1);
  }

  /** Of all pairs of an operation and a fault, the share that was met, 0 to 1. */
  get faultShare(): number {
    return share(allFaultPairs, this.struck);
  }

  /** Of all pairs of a worker's state and an event, the share that was met, 0 to 1. */
  get stateShare(): number {
    return share(allStatePairs, this.met);
  }

  /** Of all that pods may ask for, the share that one came to its end or ran with, 0 to 1. */
  get featureShare(): number {
    return share(featureNames, this.reached);
  }

  /** Of all pairs of what nodes ask an apiserver and what that may do to it, the share that was met, 0 to 1. */
  get apiFaultShare(): number {
    return share(apiFaultPairs, this.struck);
  }

  get shares(): readonly number[] {
    return [this.faultShare, this.apiFaultShare, this.stateShare, this.featureShare];
  }

  table(): string[] {
    const lines = [`operations x faults: ${percent(this.faultShare)} of ${allFaultPairs.length} pairs`, row('', faults)];
    for (const operation of swarmed)
      lines.push(
        row(
          operation,
          cells(
            faults,
            (fault) => this.struck.get(`${operation} ${fault}`),
            allFaultPairs,
            (fault) => `${operation} ${fault}`,
          ),
        ),
      );
    for (const [operation, why] of Object.entries(neverAsked)) lines.push(`${operation.padEnd(32)}  left out: ${why}`);
    lines.push(`requests x faults of the apiserver: ${percent(this.apiFaultShare)} of ${apiFaultPairs.length} pairs`, row('', apiFaultKinds));
    for (const operation of apiFaultOperations)
      lines.push(
        row(
          operation,
          cells(
            apiFaultKinds,
            (kind) => this.struck.get(`${operation} ${kind}`),
            apiFaultPairs,
            (kind) => `${operation} ${kind}`,
          ),
        ),
      );
    lines.push(`worker states x events: ${percent(this.stateShare)} of ${allStatePairs.length} pairs`, row('', events));
    for (const state of states)
      lines.push(
        row(
          state,
          cells(
            events,
            (event) => this.met.get(`${state} x ${event}`),
            allStatePairs,
            (event) => `${state} x ${event}`,
          ),
        ),
      );
    lines.push(`what pods ask for: ${percent(this.featureShare)} of ${featureNames.length}`);
    for (const name of featureNames) lines.push(row(name, [this.reached.get(name) ?? 0]));
    return lines;
  }

  private note(agent: AgentState, uid: string, event: (typeof events)[number]): void {
    const record = agent.workers.records.get(uid);
    const state = record === undefined ? 'unknown' : record.finished ? 'finished' : record.startedAt === null && record.terminatingAt === null ? 'waiting' : stateOf(record);
    add(this.met, `${state} x ${event}`, 1);
  }
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function share(all: readonly string[], met: ReadonlyMap<string, number>): number {
  return all.filter((pair) => met.has(pair)).length / all.length;
}

function add(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

/** A dash: can't be met, and wasn't. */
function cells<Column extends string>(
  columns: readonly Column[],
  count: (column: Column) => number | undefined,
  all: readonly string[],
  pair: (column: Column) => string,
): (string | number)[] {
  return columns.map((column) => count(column) ?? (all.includes(pair(column)) ? 0 : '-'));
}

function row(name: string, cells: readonly (string | number)[]): string {
  return name.padEnd(32) + cells.map((cell) => String(cell).padStart(17)).join('');
}
