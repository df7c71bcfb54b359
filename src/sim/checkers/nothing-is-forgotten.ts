// Where desired and actual differ, something is under way: a command in flight, a wake-up, or a place in a queue that is worked on. A difference that
// nothing attends to is a lost wake-up, and stays until something else happens to the pod.

import { cachedObject, ownNode } from '../../domain/agent/reflectors/api-state.js';
import { isAside } from '../../domain/agent/set-aside/aside-pods.js';
import { loopProblemAt } from '../../domain/agent/sync-loop/sync-loop.js';
import { isAllocationKnown } from '../../domain/allocation/allocation-state.js';
import { mirrorPlan } from '../../domain/pod-sources/mirror-pod.js';
import { isMirrorPod, isStaticPod } from '../../domain/values/pod-kind.js';
import { podFullNameOf } from '../../domain/values/pod-references.js';
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { CheckedNode, Checker } from './checker.js';

/** What waits for the next event of the same moment, for a watch or for a relist, is no lost wake-up yet. */
const patience: Micros = 15_000_000;
const period: Micros = 1_000_000;

interface Memory {
  nextAt: Micros;
  /** What was unattended at each look since. */
  since: Map<string, Micros>;
}

export const nothingIsForgotten: Checker<Memory> = {
  name: 'nothing-is-forgotten',
  fresh: () => ({ nextAt: 0, since: new Map() }),
  look(memory, what, node, report) {
    if (what.kind === 'started') {
      memory.since.clear();
      return;
    }
    if (what.kind !== 'step' || !node.running || node.now < memory.nextAt) return;
    memory.nextAt = node.now + period;
    const before = memory.since;
    memory.since = new Map();
    for (const difference of unattended(node, node.attended())) {
      const since = before.get(difference) ?? node.now;
      memory.since.set(difference, since);
      if (node.now - since > patience) report(`${difference}, and for ${(node.now - since) / 1_000_000} s nothing has been in flight or scheduled about it`);
    }
  },
};

function unattended(node: CheckedNode, attended: ReadonlySet<string>): string[] {
  return [...mirrors(node, attended), ...statuses(node, attended), ...workers(node, attended), ...backlog(node, attended), ...upkeep(node, attended)];
}

/** Static pods against their mirrors. */
function mirrors({ agent }: CheckedNode, attended: ReadonlySet<string>): string[] {
  const { api, pods, workers } = agent;
  const node = ownNode(api);
  if (api === null || node === null || api.reflectors.get('pods')?.synced !== true) return [];
  return [...pods.pods.values()].filter(isStaticPod).flatMap((pod) => {
    const fullName = podFullNameOf(pod);
    const record = workers.records.get(pod.metadata.uid ?? '');
    if (
      isAside(agent, pod.metadata.uid ?? '') ||
      record?.startedAt == null ||
      record.terminatingAt !== null ||
      attended.has(`mirror/${fullName}`) ||
      api.mirrors.made.has(fullName)
    )
      return [];
    const shown = cachedObject(api, 'pods', pod.metadata.namespace ?? '', pod.metadata.name) as Pod | null;
    const mirror = shown === null || !isMirrorPod(shown) || api.mirrors.unmade.get(fullName) === shown.metadata.uid ? null : shown;
    const plan = mirrorPlan(pod, mirror, node);
    return plan === 'create' || plan === 'delete' ? [`the mirror of ${fullName} is to be ${plan === 'create' ? 'made' : 'deleted'}`] : [];
  });
}

/** Statuses that the API was not sent. */
function statuses({ agent }: CheckedNode, attended: ReadonlySet<string>): string[] {
  const writes = agent.api?.statusWrites;
  if (writes === undefined || writes.queue.size === 0) return [];
  const isPlanned = [...attended].some((address) => address.startsWith('status-write'));
  return isPlanned ? [] : [`the statuses of ${[...writes.queue].join()} wait to be written`];
}

/** Pods that are to end, and whose worker has nothing to do. What is in the backlog is none of them: see below. */
function workers({ agent }: CheckedNode, attended: ReadonlySet<string>): string[] {
  return [...agent.workers.records.values()].flatMap(({ uid, run, pending, startedAt, terminatingAt, finished }) => {
    if (finished || attended.has(`sync/${uid}`) || agent.backlog.syncs.has(uid) || isAside(agent, uid)) return [];
    // A pod that never started and that its source no longer has is forgotten by the next pass of the housekeeping.
    if (run === null && startedAt === null && !agent.pods.pods.has(uid)) return attended.has('housekeeping/') ? [] : [`${uid} waits to be forgotten`];
    if (run === null) return terminatingAt !== null && startedAt !== null ? [`${uid} has not ended`] : pending !== null ? [`${uid} has an update that waits`] : [];
    if (!run.operating) return agent.awaitingStatus.has(uid) ? [] : [`${uid} waits for its status, and no relist knows of it`];
    const started = agent.runs.get(uid);
    return started !== undefined && started.outstanding > 0 && !attended.has(`pod/${uid}`) && !attended.has(`hook/${uid}`) ? [`a run of ${uid} waits for an answer`] : [];
  });
}

/** What is dispatched next, unless the runtime is unusable: its next answer that says otherwise has it dispatched. */
function backlog({ agent, now }: CheckedNode, attended: ReadonlySet<string>): string[] {
  const { syncs, deliveries } = agent.backlog;
  if ((syncs.size === 0 && deliveries.length === 0) || !isAllocationKnown(agent.allocation) || attended.has('sync-loop/') || loopProblemAt(agent, now) !== null) return [];
  return [`${deliveries.length} deliveries and the pods ${[...syncs].join()} wait to be dispatched`];
}

/** Parts that say themselves that they have something to do. */
function upkeep({ agent }: CheckedNode, attended: ReadonlySet<string>): string[] {
  const { housekeeping, api } = agent;
  const found: string[] = [];
  if (housekeeping.dirty && housekeeping.phase === 'idle' && !attended.has('housekeeping/')) found.push('housekeeping has something to do');
  if (housekeeping.phase !== 'idle' && !attended.has('housekeeping/')) found.push('a pass of housekeeping waits for an answer');
  for (const { name } of api?.reflectors.values() ?? []) if (!attended.has(`reflector/${name}`)) found.push(`the reflector ${name} does nothing`);
  for (const uid of agent.orphans)
    if (!['orphan', 'volume-release'].some((machine) => attended.has(`${machine}/${uid}`)) && (agent.volumes.held.get(uid)?.size ?? 0) === 0)
      found.push(`the directory of ${uid} waits to be removed`);
  return found;
}
