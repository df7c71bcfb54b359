// The control plane's changes of nodes: taints by condition, and the unknown status of a silent node.

import { canonicalJson } from '../../../domain/kernel/canonical.js';
import { instantOf } from '../../../domain/values/instant.js';
import { formatRfc3339 } from '../../../domain/values/time.js';
import type { Micros } from '../../../ports/micros.js';
import type { Node, NodeCondition, Taint } from '../../../ports/model/node.js';
import { objectKey, type StoredObject } from '../object-store.js';
import type { ControlContext } from './control-context.js';

const prefix = 'node.kubernetes.io/';
const pressures: readonly (readonly [condition: string, taint: string])[] = [
  ['MemoryPressure', 'memory-pressure'],
  ['DiskPressure', 'disk-pressure'],
  ['PIDPressure', 'pid-pressure'],
  ['NetworkUnavailable', 'network-unavailable'],
];
const managedTaints: ReadonlySet<string> = new Set([...pressures.map(([, taint]) => taint), 'not-ready', 'unreachable', 'unschedulable'].map((name) => `${prefix}${name}`));
/** Conditions that a kubelet answers for. */
const kubeletConditions: readonly string[] = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** NoSchedule taints by the node's own conditions. */
function conditionTaints(node: Node): Taint[] {
  const statusOf = (type: string) => node.status?.conditions?.find((condition) => condition.type === type)?.status;
  const ready = statusOf('Ready');
  const names: string[] = [];
  if (ready === 'Unknown') names.push('unreachable');
  else if (ready !== 'True') names.push('not-ready');
  for (const [condition, taint] of pressures) if (statusOf(condition) === 'True') names.push(taint);
  if (node.spec?.unschedulable === true) names.push('unschedulable');
  return names.map((name) => ({ key: `${prefix}${name}`, effect: 'NoSchedule' }));
}

export function reconcileTaints({ store, state, now }: ControlContext): void {
  const names = [...state.changedNodes];
  state.changedNodes.clear();
  for (const name of names) {
    const object = store.get('nodes', objectKey(null, name));
    if (object === null) continue;
    const node = object as unknown as Node;
    const taints = node.spec?.taints ?? [];
    const wanted = conditionTaints(node);
    const isManaged = (taint: Taint): boolean => managedTaints.has(taint.key) && taint.effect === 'NoSchedule';
    const kept = taints.filter((taint) => !isManaged(taint) || wanted.some(({ key }) => key === taint.key));
    const added = wanted.filter(({ key }) => !kept.some((taint) => taint.key === key && isManaged(taint))).map((taint) => ({ ...taint, timeAdded: formatRfc3339(instantOf(now)) }));
    const next = [...kept, ...added];
    if (canonicalJson(next) === canonicalJson(taints)) continue;
    const { taints: _old, ...spec } = (object.spec ?? {}) as { readonly taints?: unknown };
    store.put('nodes', objectKey(null, object.metadata.name), { ...object, spec: next.length === 0 ? spec : { ...spec, taints: next } });
  }
}

/** Sets the conditions of nodes that have been silent for too long to unknown. Returns the time of the next check. */
export function reviewHeartbeats({ store, settings, state, now }: ControlContext): Micros | null {
  const grace = settings.nodeMonitorGraceMicros;
  if (grace === null) return null;
  for (const [name, heard] of state.heartbeats) {
    if (heard + grace > now) return heard + grace;
    state.heartbeats.delete(name);
    const node = store.get('nodes', objectKey(null, name));
    if (node !== null) store.put('nodes', objectKey(null, name), silenced(node, now));
  }
  return null;
}

function silenced(object: StoredObject, now: Micros): StoredObject {
  const status = (object.status ?? {}) as { readonly conditions?: readonly NodeCondition[] };
  const others = (status.conditions ?? []).filter(({ type }) => !kubeletConditions.includes(type));
  const unknown = kubeletConditions.map((type) => {
    const old = status.conditions?.find((condition) => condition.type === type);
    const lastTransitionTime = old?.status === 'Unknown' ? old.lastTransitionTime : formatRfc3339(instantOf(now));
    const reason = old === undefined ? 'NodeStatusNeverUpdated' : 'NodeStatusUnknown';
    const message = old === undefined ? 'Kubelet never posted node status.' : 'Kubelet stopped posting node status.';
    return { ...old, type, status: 'Unknown', lastTransitionTime, reason, message };
  });
  return { ...object, status: { ...status, conditions: [...others, ...unknown] } };
}
