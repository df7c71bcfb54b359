// What goes wrong with the apiserver of a swarm, for its nodes alone: refusals, answers that come late or are lost after the write was done, lists of
// an earlier time, watches that break, and watches that say nothing. What nodes ask it for, and which of that can happen to it.
import type { ApiFaultAction, ApiFaultRule } from '../../src/sim/index.js';
import type { Dice } from './dice.js';
import { ms, second } from './sim-pods.js';

type Kind = ApiFaultAction['kind'];

const reads: readonly Kind[] = ['error', 'latency'];
const lists: readonly Kind[] = ['error', 'latency', 'stale'];
const writes: readonly Kind[] = ['error', 'latency', 'lost'];
const watches: readonly Kind[] = ['error', 'cut', 'silent'];

const operations: Readonly<Record<string, readonly Kind[]>> = {
  'list.pods': lists,
  'list.nodes': lists,
  'list.secrets': lists,
  'list.configmaps': lists,
  'list.services': lists,
  'list.runtimeclasses': lists,
  'watch.pods': watches,
  'watch.nodes': watches,
  'watch.secrets': watches,
  'watch.configmaps': watches,
  'watch.services': watches,
  'watch.runtimeclasses': watches,
  'get.pods': reads,
  'get.nodes': reads,
  'create.pods': writes,
  'delete.pods': writes,
  'patch.pods/status': writes,
  'create.nodes': writes,
  'patch.nodes/status': writes,
  'create.leases': writes,
  'update.leases': writes,
  'create.events': writes,
  'patch.events': writes,
  'create.serviceaccounts/token': writes,
};

export const apiFaultPairs: readonly string[] = Object.entries(operations).flatMap(([operation, kinds]) => kinds.map((kind) => `${operation} ${kind}`));
export const apiFaultKinds: readonly Kind[] = ['error', 'latency', 'lost', 'stale', 'cut', 'silent'];
export const apiFaultOperations: readonly string[] = Object.keys(operations);

export function apiFaultName({ operation, action }: ApiFaultRule): string {
  return `${operation} ${action.kind}`;
}

export function apiFaultRules(dice: Dice): ApiFaultRule[] {
  const intensity = dice.of([0, 0.05, 0.2, 0.5]);
  if (intensity === 0) return [];
  return Object.entries(operations).flatMap(([operation, kinds]) =>
    kinds.flatMap((kind): ApiFaultRule[] => (dice.chance(0.5) ? [{ operation, trigger: { probability: intensity * dice.next() }, action: actionOf(kind, operation, dice) }] : [])),
  );
}

function actionOf(kind: Kind, operation: string, dice: Dice): ApiFaultAction {
  switch (kind) {
    case 'error': {
      // What a watch begins with is too old now and then.
      const code = dice.of(operation.startsWith('watch.') ? [410, 500, 503] : [429, 500, 503, 504]);
      return { kind, code, message: `planned refusal of ${operation}`, retryAfterSeconds: code === 429 ? dice.between(1, 5) : null };
    }
    case 'latency':
      return { kind, micros: dice.of([100 * ms, 2 * second, 15 * second]) };
    case 'stale':
      return { kind, versions: dice.between(1, 60) };
    case 'cut':
      return { kind, afterMicros: dice.between(1, 40) * second };
    case 'lost':
    case 'silent':
      return { kind };
  }
}
