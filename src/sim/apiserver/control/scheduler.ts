// A minimal scheduler: a pod goes to the node with the most free resources among those whose labels, taints and resources fit.
//
// Invariants: pods are scheduled in the order of priority, then age, then name; of equal nodes the first by name wins;
// an unschedulable pod gets one event, not one per attempt.

import { areHostPortsFree, usedHostPorts } from '../../../domain/admission/host-ports.js';
import { type Amounts, allocatableAmounts, shortages, usedAmounts } from '../../../domain/admission/node-resources.js';
import { instantOf } from '../../../domain/values/instant.js';
import { matchesNodeAffinity } from '../../../domain/values/node-affinity.js';
import { byCodeUnits } from '../../../domain/values/text-order.js';
import { formatRfc3339 } from '../../../domain/values/time.js';
import { untoleratedTaint } from '../../../domain/values/tolerations.js';
import type { Node } from '../../../ports/model/node.js';
import type { Pod } from '../../../ports/model/pod.js';
import type { PodRelations } from '../access/pod-relations.js';
import { objectKey, type StoredObject } from '../object-store.js';
import type { ControlContext } from './control-context.js';

const schedulerName = 'default-scheduler';

/** Whether the scheduler has to do with the pod. */
export function waitsForNode(object: StoredObject): boolean {
  const { spec, metadata, status } = object as unknown as Pod;
  if ((spec.nodeName ?? '') !== '' || metadata.deletionTimestamp !== undefined || status?.phase === 'Failed' || status?.phase === 'Succeeded') return false;
  return spec.schedulerName === schedulerName && ((spec as { readonly schedulingGates?: readonly unknown[] }).schedulingGates ?? []).length === 0;
}

export function schedulePods(context: ControlContext, relations: PodRelations, waiting: Iterable<StoredObject>): void {
  const { store } = context;
  const nodes = [...store.all('nodes')].map((object) => object as unknown as Node).sort((a, b) => byCodeUnits(a.metadata.name, b.metadata.name));
  for (const object of [...waiting].sort(inTurn)) {
    const pod = object as unknown as Pod;
    const refusals = new Map<string, number>();
    let best: { readonly node: Node; readonly room: bigint } | null = null;
    for (const node of nodes) {
      const found = look(pod, node, relations);
      if (typeof found === 'string') refusals.set(found, (refusals.get(found) ?? 0) + 1);
      else if (best === null || found > best.room) best = { node, room: found };
    }
    if (best === null) recordUnschedulable(object, messageOf(nodes.length, refusals), context);
    else bind(object, best.node, context);
  }
}

function inTurn(a: StoredObject, b: StoredObject): number {
  const priority = (object: StoredObject): number => (object as unknown as Pod).spec.priority ?? 0;
  const age = (object: StoredObject): string => object.metadata.creationTimestamp ?? '';
  return priority(b) - priority(a) || byCodeUnits(age(a), age(b)) || byCodeUnits(a.metadata.name, b.metadata.name);
}

/** The free CPU in thousandths; a text: why the pod doesn't fit. */
function look(pod: Pod, node: Node, relations: PodRelations): bigint | string {
  const { name, labels = {} } = node.metadata;
  if (!matchesNodeAffinity(pod, name, labels)) return "node(s) didn't match Pod's node affinity/selector";
  const taint = untoleratedTaint(node.spec?.taints ?? [], pod.spec.tolerations ?? [], ['NoSchedule', 'NoExecute']);
  if (taint !== null) return `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`;
  const pods = [...relations.podsOf(name)].filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed');
  if (!areHostPortsFree(pod, usedHostPorts(pods))) return "node(s) didn't have free ports for the requested pod ports";
  const allocatable: Amounts = allocatableAmounts(node.status?.allocatable);
  const used = usedAmounts(pods);
  const short = shortages(pod, allocatable, used)[0];
  if (short !== undefined) return short.resource === 'pods' ? 'Too many pods' : `Insufficient ${short.resource}`;
  const cpu = allocatable.get('cpu') ?? 0n;
  return cpu === 0n ? 0n : ((cpu - (used.get('cpu') ?? 0n)) * 1000n) / cpu;
}

function messageOf(count: number, refusals: ReadonlyMap<string, number>): string {
  if (count === 0) return 'no nodes available to schedule pods';
  const reasons = [...refusals].map(([text, times]) => `${times} ${text}`).sort(byCodeUnits);
  return `0/${count} nodes are available: ${reasons.join(', ')}.`;
}

function withScheduled(object: StoredObject, condition: Readonly<Record<string, unknown>>, { now }: ControlContext): StoredObject {
  const status = (object.status ?? {}) as { readonly conditions?: readonly { readonly type: string }[] };
  const others = (status.conditions ?? []).filter(({ type }) => type !== 'PodScheduled');
  const scheduled = { type: 'PodScheduled', observedGeneration: object.metadata.generation ?? 1, lastTransitionTime: formatRfc3339(instantOf(now)), ...condition };
  return { ...object, status: { ...status, conditions: [...others, scheduled] } };
}

function bind(object: StoredObject, node: Node, context: ControlContext): void {
  const { namespace, name } = object.metadata;
  const bound = withScheduled({ ...object, spec: { ...(object.spec as object), nodeName: node.metadata.name } }, { status: 'True' }, context);
  context.store.put('pods', objectKey(namespace, name), bound);
  record(bound, 'Normal', 'Scheduled', `Successfully assigned ${namespace}/${name} to ${node.metadata.name}`, context);
}

function recordUnschedulable(object: StoredObject, message: string, context: ControlContext): void {
  const { namespace, name } = object.metadata;
  const conditions = (object as unknown as Pod).status?.conditions ?? [];
  if (conditions.some((condition) => condition.type === 'PodScheduled' && condition.message === message)) return;
  context.store.put('pods', objectKey(namespace, name), withScheduled(object, { status: 'False', reason: 'Unschedulable', message }, context));
  record(object, 'Warning', 'FailedScheduling', message, context);
}

function record(object: StoredObject, type: string, reason: string, message: string, { store, ids, now }: ControlContext): void {
  const { namespace = '', name, uid = '', resourceVersion = '' } = object.metadata;
  const eventName = `${name}.${ids.uid().slice(0, 16).replaceAll('-', '')}`;
  const time = formatRfc3339(instantOf(now));
  const involvedObject = { kind: 'Pod', namespace, name, uid, apiVersion: 'v1', resourceVersion };
  const times = { firstTimestamp: time, lastTimestamp: time, count: 1 };
  const metadata = { name: eventName, namespace, uid: ids.uid(), creationTimestamp: time };
  const reporter = { source: { component: schedulerName }, reportingComponent: schedulerName, reportingInstance: '' };
  store.put('events', objectKey(namespace, eventName), { kind: 'Event', apiVersion: 'v1', metadata, involvedObject, reason, message, type, ...times, ...reporter });
}
