// The node's conditions: memory, disk and PID pressure, and Ready with the reasons why not.
// Invariants: heartbeat times move with every report, transition times only with the status; a change of status sends an event, but
// never Ready's first one; conditions of others (a network plugin's) are left as they are, and so is the order.
import type { Instant } from '../../ports/instant.js';
import type { ResourceList } from '../../ports/model/container.js';
import type { NodeCondition } from '../../ports/model/node.js';
import { formatRfc3339 } from '../values/time.js';
import { type NodeEvent, nodeStatusEvent } from './node-event.js';
import { problemText } from './problem-list.js';

export interface ConditionsUpdate {
  readonly conditions: readonly NodeCondition[];
  readonly events: readonly NodeEvent[];
}

export interface Pressures {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pid: boolean;
}

interface PressureState {
  readonly reason: string;
  readonly message: string;
  readonly event: string;
}
interface PressureKind {
  readonly type: string;
  readonly on: PressureState;
  readonly off: PressureState;
}

const memoryPressure: PressureKind = {
  type: 'MemoryPressure',
  on: { reason: 'KubeletHasInsufficientMemory', message: 'kubelet has insufficient memory available', event: 'NodeHasInsufficientMemory' },
  off: { reason: 'KubeletHasSufficientMemory', message: 'kubelet has sufficient memory available', event: 'NodeHasSufficientMemory' },
};
const diskPressure: PressureKind = {
  type: 'DiskPressure',
  on: { reason: 'KubeletHasDiskPressure', message: 'kubelet has disk pressure', event: 'NodeHasDiskPressure' },
  off: { reason: 'KubeletHasNoDiskPressure', message: 'kubelet has no disk pressure', event: 'NodeHasNoDiskPressure' },
};
const pidPressure: PressureKind = {
  type: 'PIDPressure',
  on: { reason: 'KubeletHasInsufficientPID', message: 'kubelet has insufficient PID available', event: 'NodeHasInsufficientPID' },
  off: { reason: 'KubeletHasSufficientPID', message: 'kubelet has sufficient PID available', event: 'NodeHasSufficientPID' },
};

/** Memory, disk and PID pressure, in this order. A condition that was not there yet counts as changed. */
export function withPressures(nodeName: string, conditions: readonly NodeCondition[], pressures: Pressures, wall: Instant): ConditionsUpdate {
  let update: ConditionsUpdate = { conditions, events: [] };
  for (const [kind, isUnder] of [[memoryPressure, pressures.memory] as const, [diskPressure, pressures.disk] as const, [pidPressure, pressures.pid] as const]) {
    const { condition, event } = pressureCondition(kind, isUnder, update.conditions, wall);
    update = {
      conditions: replaced(update.conditions, condition),
      events: event === null ? update.events : [...update.events, nodeStatusEvent(nodeName, event)],
    };
  }
  return update;
}

function pressureCondition(
  kind: PressureKind,
  isUnder: boolean,
  conditions: readonly NodeCondition[],
  wall: Instant,
): { readonly condition: NodeCondition; readonly event: string | null } {
  const time = formatRfc3339(wall);
  const old = conditions.find(({ type }) => type === kind.type);
  const status = isUnder ? 'True' : 'False';
  if (old?.status === status) return { condition: { ...old, lastHeartbeatTime: time }, event: null };
  const { reason, message, event } = isUnder ? kind.on : kind.off;
  return { condition: { ...old, type: kind.type, status, lastHeartbeatTime: time, lastTransitionTime: time, reason, message }, event };
}

export interface ReadinessFacts {
  /** Why not, each list in order; empty: nothing is wrong. */
  readonly runtime: readonly string[];
  readonly network: readonly string[];
  readonly storage: readonly string[];
  readonly shuttingDown: boolean;
  readonly capacity: ResourceList;
  readonly localStorageCapacityIsolation: boolean;
  /** Missing features of a ready node; null: none. */
  readonly softRequirements: string | null;
}

/** Ready, replaced in place or appended. */
export function withReady(nodeName: string, conditions: readonly NodeCondition[], facts: ReadinessFacts, wall: Instant): ConditionsUpdate {
  const time = formatRfc3339(wall);
  const old = conditions.find(({ type }) => type === 'Ready');
  const problem = problemText(readinessProblems(facts));
  const warning = facts.softRequirements === null ? '' : `. WARNING: ${facts.softRequirements}`;
  const status = problem === null ? 'True' : 'False';
  const condition: NodeCondition = {
    type: 'Ready',
    status,
    lastHeartbeatTime: time,
    lastTransitionTime: old?.status === status ? (old.lastTransitionTime ?? null) : time,
    reason: problem === null ? 'KubeletReady' : 'KubeletNotReady',
    message: (problem ?? 'kubelet is posting ready status') + warning,
  };
  const flipped = old !== undefined && old.status !== status;
  return { conditions: replaced(conditions, condition), events: flipped ? [nodeStatusEvent(nodeName, problem === null ? 'NodeReady' : 'NodeNotReady')] : [] };
}

/** Why the node is not ready, in order of the message. */
function readinessProblems(facts: ReadinessFacts): readonly string[] {
  const required = ['cpu', 'memory', 'pods', ...(facts.localStorageCapacityIsolation ? ['ephemeral-storage'] : [])];
  const missing = required.filter((resource) => !Object.hasOwn(facts.capacity, resource));
  return [
    ...facts.runtime,
    ...facts.network,
    ...facts.storage,
    ...(facts.shuttingDown ? ['node is shutting down'] : []),
    ...(missing.length === 0 ? [] : [`missing node capacity for resources: ${missing.join(', ')}`]),
  ];
}

function replaced(conditions: readonly NodeCondition[], condition: NodeCondition): readonly NodeCondition[] {
  const at = conditions.findIndex(({ type }) => type === condition.type);
  return at < 0 ? [...conditions, condition] : conditions.with(at, condition);
}
