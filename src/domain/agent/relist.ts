// Looks at the runtime: everything once a second where it tells of no changes (else rarely, as a safety net), single pods on demand.
// One listing at a time; what it finds changed is inspected, and goes to the cache, to the workers that wait, and to the sync loop.
import type { Micros } from '../../ports/micros.js';
import type { RuntimeListing } from '../../ports/model/runtime-listing.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { Reply, ReplyFor } from '../kernel/machine.js';
import { inspected, inspectionFailed, isPodRelistDue, podRelisted, type RelistOutcome, relisted, takePlegEvents } from '../pleg/pleg.js';
import type { AgentContext } from './agent-context.js';
import { collectAfterDeath } from './dead-containers.js';
import { syncPods } from './sync-loop.js';
import { resumeAwaiting } from './worker-effects.js';

export const relistAddress = { machine: 'relist', key: '' } as const;
/** Where the runtime tells of changes, everything is looked at this often all the same. */
const safetyNetPeriod: Micros = 300_000_000;
const maxRequests = 200;

/** Begins a look at everything, unless one is under way: then the next one begins when that is over. */
export function beginRelist(context: AgentContext): void {
  const { relist, settings, pleg } = context.state;
  if (relist.listing !== 'idle' || pleg.round !== null) return;
  relist.listing = 'all';
  context.turn.wakeAt(relistAddress, null);
  context.turn.ask('runtime.listPods', relistAddress, 'list', { uid: null }, settings.runtimeRequestTimeout);
}

/** Asks for a look at one pod soon. Beyond the limit the next full look has to do. */
export function requestPodRelist(context: AgentContext, uid: string): void {
  const { requests } = context.state.relist;
  if (requests.size < maxRequests) requests.set(uid, context.turn.now);
  next(context);
}

export function relistReplied(context: AgentContext, reply: Reply<AgentOperations>): void {
  if (reply.op === 'runtime.listPods') listed(context, reply);
  else if (reply.op === 'runtime.inspectPod') podInspected(context, reply);
}

function listed(context: AgentContext, reply: ReplyFor<AgentOperations, 'runtime.listPods'>): void {
  const { state, turn } = context;
  const { relist, pleg, cache } = state;
  const kind = relist.listing;
  relist.listing = 'idle';
  if (!reply.outcome.ok) {
    turn.log('error', 'GenericPLEG: Unable to retrieve pods', { err: reply.outcome.error.message });
    if (kind === 'all') turn.wakeAt(relistAddress, turn.now + state.settings.relistPeriod);
    next(context);
    return;
  }
  const listing = reply.outcome.value;
  if (kind === 'pod') {
    apply(context, podRelisted(pleg, cache, listing.pods[0] ?? null, listing.observedAt));
    return;
  }
  if (isOtherSet(relist.newest, listing)) state.housekeeping.dirty = true;
  relist.newest = listing;
  apply(context, relisted(pleg, cache, listing.pods, listing.observedAt));
}

function podInspected(context: AgentContext, reply: ReplyFor<AgentOperations, 'runtime.inspectPod'>): void {
  const { pleg, cache } = context.state;
  const uid = reply.slot.slice('inspect/'.length);
  if (reply.outcome.ok) apply(context, inspected(pleg, cache, uid, reply.outcome.value));
  else apply(context, inspectionFailed(pleg, cache, uid, reply.outcome.error, pleg.round?.startedAt ?? context.turn.now));
}

function apply(context: AgentContext, outcome: RelistOutcome): void {
  const { state, turn } = context;
  for (const uid of outcome.inspect) turn.ask('runtime.inspectPod', relistAddress, `inspect/${uid}`, { uid }, state.settings.runtimeRequestTimeout);
  if (state.pleg.round === null && outcome.globalTimeAdvanced) {
    turn.wakeAt(relistAddress, turn.now + (state.settings.runtimeTellsChanges ? safetyNetPeriod : state.settings.relistPeriod));
  }
  if (outcome.globalTimeAdvanced) resumeAwaiting(context, null);
  else {
    const fresh = [...outcome.updated, ...outcome.deleted, ...outcome.observed];
    if (fresh.length > 0) resumeAwaiting(context, fresh);
  }
  const changed = new Set<string>();
  for (const event of takePlegEvents(state.pleg)) {
    if (event.type === 'ContainerDied') collectAfterDeath(context, event.uid, event.containerId);
    if (event.type !== 'ContainerRemoved' && state.pods.pods.has(event.uid)) changed.add(event.uid);
    state.housekeeping.dirty = true;
    state.collection.dirty = true;
  }
  if (changed.size > 0) syncPods(context, changed);
  next(context);
}

/** Begins the next look that somebody asked for, if nothing is under way. */
function next(context: AgentContext): void {
  const { state, turn } = context;
  const { relist, pleg } = state;
  if (relist.listing !== 'idle' || pleg.round !== null) return;
  for (const [uid, requestedAt] of relist.requests) {
    relist.requests.delete(uid);
    if (!isPodRelistDue(pleg, requestedAt)) continue;
    relist.listing = 'pod';
    turn.ask('runtime.listPods', relistAddress, 'list', { uid }, state.settings.runtimeRequestTimeout);
    return;
  }
}

function isOtherSet(before: RuntimeListing | null, after: RuntimeListing): boolean {
  return before === null || (before !== after && (before.pods.length !== after.pods.length || before.pods.some((pod, i) => pod.uid !== after.pods[i]?.uid)));
}
