// Settings of a world of simulated nodes. All randomness is drawn from the seed; every other setting has a default for a small node.

import type { KubeletEvent, KubeletOperations, KubeletState } from '../domain/agent/kubelet.js';
import type { AlignmentPolicies } from '../domain/agent/resource-managers/alignment-state.js';
import type { AgentSettings } from '../domain/agent/settings.js';
import type { NodeFacts } from '../domain/containers/node-facts.js';
import type { LogFields, LogLevel, Machine } from '../domain/kernel/machine.js';
import type { NodeSettings } from '../domain/node-status/node-settings.js';
import type { Micros } from '../ports/micros.js';
import type { ApiserverSettings } from './apiserver/apiserver-settings.js';
import type { AnyChecker } from './checkers/checker.js';
import type { FaultRule } from './faults/fault-plan.js';
import type { SimMachineShape } from './host/sim-machine.js';
import type { SimRuntimeOptions } from './runtime/runtime-options.js';

export type KubeletMachine = Machine<KubeletState, KubeletEvent, KubeletOperations>;

export interface SimClusterOptions {
  readonly seed: number;
  /** Names of the nodes; one called `node` by default. */
  readonly nodes?: readonly string[];
  /** The first moment, microseconds since the epoch. */
  readonly start?: Micros;
  readonly runtime?: Omit<SimRuntimeOptions, 'seed'>;
  /** The runtime sends events; otherwise the agent relists once a second. */
  readonly runtimeSendsEvents?: boolean;
  readonly settings?: Partial<Omit<AgentSettings, 'nodeName' | 'sources' | 'runtimeSendsEvents'>>;
  /** The nodes have an apiserver in common, with these settings. */
  readonly apiserver?: Partial<Omit<ApiserverSettings, 'seed'>>;
  /** Each node is one of the cluster: it registers with that apiserver, keeps its lease, and has its pods from there. */
  readonly node?: Partial<Omit<NodeSettings, 'nodeName'>>;
  /** A second source of static pods beside the manifest directory; nothing answers there until a node's `manifests` serve it. */
  readonly manifestUrl?: string;
  readonly facts?: Partial<NodeFacts>;
  /** How each node's machine is built; four CPUs and 16 GiB in one NUMA node by default. */
  readonly machine?: SimMachineShape;
  /** The nodes have resource managers with these policies; otherwise containers get nothing exclusively. */
  readonly alignment?: Partial<AlignmentPolicies>;
  /** The nodes prepare claims for devices; their agents have to take plugins (`settings.takesPlugins`) for any driver to come. */
  readonly claims?: boolean;
  /** Active from the start, on every node. */
  readonly faults?: readonly FaultRule[];
  /** How often the manifest directory is listed, independent of its watch. */
  readonly fileCheckPeriod?: Micros;
  /** All by default. */
  readonly checkers?: readonly AnyChecker[];
  /** Keep the hash of all commands: costs about as much as the rest. */
  readonly hash?: boolean;
  /** Keep the inputs and commands of each agent, for `replay`. */
  readonly record?: boolean;
  /** The agent of a node; another machine than the project's own where one is to be tried. */
  readonly agent?: (state: KubeletState) => KubeletMachine;
  /** Whether an error that an agent's machine throws ends that agent alone, and a fresh one follows at once. Absent, or false: the world throws it. */
  readonly survives?: (error: unknown) => boolean;
  readonly log?: (node: string, now: Micros, level: LogLevel, message: string, fields: LogFields) => void;
  /** Called with what each node's agent was given, after the step: coverage, traces. Null: a wake-up. */
  readonly observe?: (node: string, input: unknown, state: KubeletState) => void;
}

/** The apiserver's place among the nodes of the world. */
export const apiserverName = '(apiserver)';
export const manifestDirectory = '/etc/kubernetes/manifests';
export const defaultStart: Micros = 1_800_000_000_000_000;
export const defaultFileCheckPeriod: Micros = 20_000_000;
