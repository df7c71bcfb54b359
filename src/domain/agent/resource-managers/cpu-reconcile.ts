// Updates the CPU sets of running containers in the runtime. Level-triggered: a pass compares the desired set of each container with the last
// one sent, and sends those that differ.
//
//   the shared pool changed, an agent started, pods ended -> a pass, a second after the last one at the earliest
//   an incomplete pass (an update failed, a container isn't known well enough) -> again after the reconcile period
//
// Invariant: only differing sets are sent; nothing is compared while nothing changes.

import type { Micros } from '../../../ports/micros.js';
import { type CpuReconcileItem, cpuReconcileItems, noteCpuUpdate } from '../../cpu-manager/reconcile-cpus.js';
import { assert } from '../../kernel/assert.js';
import { readPodCache } from '../../pod-cache/pod-cache.js';
import { formatCpuSet } from '../../values/cpu-set.js';
import type { AgentView } from '../agent-view.js';
import type { AnswerOf } from '../part.js';
import { activePods } from '../pod-workers/active-pods.js';
import { collectStale } from './alignment.js';
import type { AlignmentState } from './alignment-state.js';
import { type ResourceManagersContext, resourceManagersState } from './slice.js';

export const cpuReconcileAddress = { machine: 'cpu-reconcile', key: '' } as const;
export const cpuUpdateMachine = 'cpu-update';

/** So that many pods that come together make few passes. */
const betweenPasses: Micros = 1_000_000;
/** The number of concurrent updates. */
const updatesAtOnce = 16;

/** An allocation may have changed: requests a pass. */
export function noteAlignmentChange(view: AgentView): void {
  const { alignment } = resourceManagersState(view);
  if (alignment !== null) alignment.reconcile.dirty = true;
}

/** At the end of a step. */
export function planCpuReconcile(context: ResourceManagersContext): void {
  const { alignment } = context.state;
  if (alignment === null || alignment.cpu.policy === null) return;
  const { reconcile, cpu } = alignment;
  if (cpu.sharedPool !== reconcile.pool) reconcile.dirty = true;
  if (reconcile.updating.size > 0) return;
  const { now } = context.turn;
  const spacing = Math.min(betweenPasses, context.state.settings.alignment?.cpuManagerReconcilePeriod ?? betweenPasses);
  const due = reconcile.dirty ? Math.min(reconcile.lastAt + spacing, reconcile.retryAt ?? Number.POSITIVE_INFINITY) : reconcile.retryAt;
  if (due === null) return;
  if (due > now) context.turn.wakeAt(cpuReconcileAddress, due);
  else pass(context, alignment);
}

function pass(context: ResourceManagersContext, alignment: AlignmentState): void {
  const { state, turn } = context;
  const { reconcile, cpu } = alignment;
  reconcile.dirty = false;
  reconcile.retryAt = null;
  reconcile.failed = false;
  reconcile.lastAt = turn.now;
  collectStale(state);
  reconcile.pool = cpu.sharedPool;
  const items = cpuReconcileItems(cpu, activePods(state), (uid) => state.statuses.get(uid)?.status ?? null);
  for (const item of items) {
    if (item.kind !== 'update') continue;
    reconcile.waiting.set(item.containerId, { podUid: item.pod.metadata.uid ?? '', containerName: item.containerName, cpus: item.cpus, replaced: false });
  }
  if (items.some((item) => mayRun(state, item)) || hasLeavers(state, alignment)) retry(context, alignment);
  requestUpdates(context, alignment);
}

/** Missing in the status, but running: its last update may be outdated. */
function mayRun({ cache }: AgentView, item: CpuReconcileItem): boolean {
  if (item.kind !== 'unknown') return false;
  const cached = readPodCache(cache, item.pod.metadata.uid ?? '');
  return cached.kind === 'status' && cached.status.containers.some(({ name, state }) => state === 'running' && (item.containerName ?? name) === name);
}

/** Whether terminated pods still hold CPUs because their containers aren't known to be dead yet. */
function hasLeavers(state: AgentView, { cpu }: AlignmentState): boolean {
  if (cpu.assignments.size === 0) return false;
  const active = new Set(activePods(state).map(({ metadata }) => metadata.uid ?? ''));
  return [...cpu.assignments.keys()].some((uid) => !active.has(uid));
}

function retry({ state, turn }: ResourceManagersContext, { reconcile }: AlignmentState): void {
  reconcile.retryAt = turn.now + (state.settings.alignment?.cpuManagerReconcilePeriod ?? 0);
  turn.wakeAt(cpuReconcileAddress, reconcile.retryAt);
}

function requestUpdates({ state, turn }: ResourceManagersContext, { reconcile }: AlignmentState): void {
  for (const [containerId, item] of reconcile.waiting) {
    if (reconcile.updating.size >= updatesAtOnce) return;
    reconcile.waiting.delete(containerId);
    reconcile.updating.set(containerId, item);
    const request = { containerId, resources: { cpusetCpus: formatCpuSet(item.cpus) } };
    turn.ask('containers.updateResources', { machine: cpuUpdateMachine, key: containerId }, 'cpus', request, state.settings.runtimeRequestTimeout);
  }
}

export function cpuUpdateReplied(context: ResourceManagersContext, containerId: string, reply: AnswerOf<'containers.updateResources'>): void {
  const { alignment } = context.state;
  const item = alignment?.reconcile.updating.get(containerId);
  assert(alignment !== null && item !== undefined, 'CPUs of a container were set that no assignment has', containerId);
  const { reconcile, cpu } = alignment;
  reconcile.updating.delete(containerId);
  if (item.replaced) reconcile.dirty = true;
  else if (reply.outcome.ok) noteCpuUpdate(cpu, item.podUid, item.containerName, item.cpus);
  else if (reply.outcome.error.kind !== 'not-found') {
    reconcile.failed = true;
    const { message } = reply.outcome.error;
    context.turn.log('error', 'Failed to update container', {
      podUID: item.podUid,
      containerName: item.containerName,
      containerID: containerId,
      cpuSet: formatCpuSet(item.cpus),
      err: message,
    });
  }
  requestUpdates(context, alignment);
  if (reconcile.updating.size === 0 && reconcile.failed) retry(context, alignment);
}
