// Properties that hold in every world at every moment, under any fault. A checker observes each step and reports violations.
// Invariant: a checker's memory is plain data, one a node, so that a forked world is checked, too.
import type { AgentState } from '../../domain/agent/agent-state.js';
import type { KubeletOperations } from '../../domain/agent/kubelet.js';
import type { Command } from '../../domain/kernel/machine.js';
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import { objectKey } from '../apiserver/object-store.js';
import type { SimApiserver } from '../apiserver/sim-apiserver.js';
import type { SimHostState } from '../host/host-state.js';
import type { SimRuntimeEvent, SimRuntimeState } from '../runtime/runtime-state.js';

/** A node at the moment of an observation. The agent's state is the newest one where the agent is down. */
export interface CheckedNode {
  readonly name: string;
  readonly now: Micros;
  readonly running: boolean;
  readonly agent: AgentState;
  readonly runtime: SimRuntimeState;
  readonly host: SimHostState;
  /** null: the world has none. */
  readonly apiserver: SimApiserver | null;
  /** Addresses (`<machine>/<key>`) with a command in flight or a wake-up. Costs as much as there are. */
  attended(): ReadonlySet<string>;
}

export type Observation =
  /** The agent commands something, before it is done. */
  | { readonly kind: 'command'; readonly command: Command<KubeletOperations> }
  /** Something changed in the runtime. */
  | { readonly kind: 'runtime'; readonly event: SimRuntimeEvent }
  /** The agent made a step. */
  | { readonly kind: 'step' }
  /** A fresh agent begins: it remembers nothing. */
  | { readonly kind: 'started' };

export interface Checker<Memory> {
  readonly name: string;
  fresh(): Memory;
  look(memory: Memory, what: Observation, node: CheckedNode, report: (message: string) => void): void;
}
/** A checker whose memory is its own business. */
export type AnyChecker = Checker<unknown>;

export interface Violation {
  readonly checker: string;
  readonly node: string;
  readonly at: Micros;
  readonly message: string;
}

/** A write to a pod, and the pod as the API has it before; null: the observation is none. */
export function podWrite(what: Observation, { apiserver }: CheckedNode): { readonly command: ApiWrite; readonly shown: Pod | null } | null {
  if (what.kind !== 'command' || apiserver === null) return null;
  const { command } = what;
  if (command.op !== 'apiWriter.create' && command.op !== 'apiWriter.update' && command.op !== 'apiWriter.patch' && command.op !== 'apiWriter.delete') return null;
  const { resource, namespace, name } = command.request;
  if (resource.group !== '' || resource.plural !== 'pods') return null;
  return { command, shown: name === null ? null : (apiserver.store.get('pods', objectKey(namespace, name)) as unknown as Pod | null) };
}

type ApiWrite = Extract<Command<KubeletOperations>, { readonly op: `apiWriter.${string}` }>;

/** Erases the type of the checker's memory. */
export function anyChecker<Memory>(checker: Checker<Memory>): AnyChecker {
  return { name: checker.name, fresh: () => checker.fresh(), look: (memory, what, node, report) => checker.look(memory as Memory, what, node, report) };
}
