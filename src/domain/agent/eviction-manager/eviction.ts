// Runs the eviction loop (`eviction/eviction-loop.ts` decides, this performs): measures the node, requests the collections to reclaim unused
// objects, and ends pods.
//
// The loop's conditions are checked after each step instead of by notifications: a completed collection, a stopped pod or a completely
// removed one, for any reason.
// Invariant: nothing is measured, and no pod is evicted, before the first listing of the runtime.
import type { Micros } from '../../../ports/micros.js';
import { type Eviction, evictedReason } from '../../eviction/eviction.js';
import { type EvictionAction, type EvictionLoop, type EvictionLoopEvent, evictionWakeAt, isEvictionLoopNeeded, stepEvictionLoop } from '../../eviction/eviction-loop.js';
import type { ReclaimCall } from '../../eviction/eviction-round.js';
import { actionableThresholds } from '../../eviction/pressure.js';
import type { FileSystemLayout } from '../../eviction/signals.js';
import { unreachable } from '../../kernel/assert.js';
import { couldHaveRunningContainers, shouldPodBeFinished } from '../../pod-workers/queries.js';
import { wallOffset } from '../../values/instant.js';
import { microsPerSecond } from '../../values/time.js';
import { requestContainerGc } from '../container-gc/collection.js';
import { takeCollectionDone } from '../container-gc/requests.js';
import { pressImageCollection } from '../image-gc/image-collection.js';
import { takeImageCollectionDone } from '../image-gc/requests.js';
import type { AnswerOf } from '../part.js';
import { uidOf } from '../pod-manager/pod-index.js';
import { workedOnPods } from '../pod-workers/active-pods.js';
import { expectEnd, longestKill } from '../pod-workers/overdue-kills.js';
import { dispatchUpdate } from '../pod-workers/worker-effects.js';
import type { EvictionManagerContext } from './slice.js';

export const evictionAddress = { machine: 'eviction', key: '' } as const;
/** A hanging disk delays its own numbers for seconds; a hanging runtime those of the pods. */
const summaryTimeout: Micros = 60 * microsPerSecond;

/** Feeds the loop with this step's events, and plans its next wake-up. */
export function planEviction(context: EvictionManagerContext): void {
  const { state, turn } = context;
  const { eviction } = state;
  if (!isEvictionLoopNeeded(state.settings.eviction) || state.relist.newest === null) return;
  for (let seen = nextLoopEvent(context); seen !== null; seen = nextLoopEvent(context)) happen(context, seen);
  const at = eviction.loop.phase.kind === 'killing' ? eviction.killsEndAt : evictionWakeAt(eviction.loop);
  if (at === null || at === eviction.plannedAt) return;
  eviction.plannedAt = at;
  turn.wakeAt(evictionAddress, Math.max(at, turn.now));
}

export function evictionWoken(context: EvictionManagerContext): void {
  const { state, turn } = context;
  const { eviction } = state;
  eviction.plannedAt = null;
  const { phase } = eviction.loop;
  if (phase.kind !== 'killing') happen(context, { type: 'woken' });
  else if (eviction.killsEndAt !== null && turn.now >= eviction.killsEndAt)
    for (const podUid of phase.running) {
      turn.log('error', 'Eviction manager: pod failed to evict', { podUID: podUid, err: 'timeout waiting to kill pod' });
      happen(context, { type: 'stopped', podUid });
    }
}

export function summaryReplied(context: EvictionManagerContext, { outcome }: AnswerOf<'nodeStats.summary'>): void {
  if (!outcome.ok) {
    context.turn.log('error', 'Eviction manager: failed to get summary stats', { err: outcome.error.message });
    happen(context, { type: 'not-measured' });
    return;
  }
  const { summary, dedicatedImageFs } = outcome.value;
  if (dedicatedImageFs === null && context.state.eviction.loop.layout === null) {
    context.turn.log('error', 'Eviction manager: failed to check if we have separate image filesystem', { err: 'the file system of the images is unknown' });
  }
  // A CRI runtime never reports a separate file system for containers.
  const layout: FileSystemLayout | null = dedicatedImageFs === null ? null : { dedicatedImageFs, splitContainerFs: false };
  happen(context, { type: 'measured', summary, wallOffset: wallOffset(context.turn), pods: workedOnPods(context.state), layout });
}

/** The event that the loop waits for, if it has occurred; null: none. */
function nextLoopEvent({ state }: EvictionManagerContext): EvictionLoopEvent | null {
  const { phase } = state.eviction.loop;
  if (phase.kind === 'reclaiming') {
    return takeCollectionDone(state) || takeImageCollectionDone(state) ? { type: 'reclaimed' } : null;
  }
  if (phase.kind !== 'killing' && phase.kind !== 'cleaning') return null;
  const stopped = phase.kind === 'killing' ? phase.running.find((uid) => !couldHaveRunningContainers(state.workers, uid)) : undefined;
  if (stopped !== undefined) return { type: 'stopped', podUid: stopped };
  const cleaned = phase.remaining.find((uid) => shouldPodBeFinished(state.workers, uid));
  return cleaned === undefined ? null : { type: 'cleaned', podUid: cleaned };
}

function happen(context: EvictionManagerContext, event: EvictionLoopEvent): void {
  const { eviction, settings } = context.state;
  const before = eviction.loop;
  const { loop, actions } = stepEvictionLoop(before, event, settings.eviction, context.turn.now);
  eviction.loop = loop;
  if (loop.phase.kind !== 'killing') eviction.killsEndAt = null;
  for (const action of actions) act(context, action, before);
  if (before.phase.kind === 'remeasuring' && loop.phase.kind === 'resting' && event.type === 'measured')
    context.turn.log('info', 'Eviction manager: unused images and containers were enough, or no pod may be evicted');
}

function act(context: EvictionManagerContext, action: EvictionAction, before: EvictionLoop): void {
  switch (action.kind) {
    case 'measure':
      context.turn.ask('nodeStats.summary', evictionAddress, 'summary', null, summaryTimeout);
      return;
    case 'reclaim':
      reclaim(context, action.call);
      return;
    case 'node-event':
      context.turn.log('warn', 'Eviction manager: attempting to reclaim', { what: action.message });
      context.nodeWarning(action.reason, action.message);
      return;
    case 'evict':
      evict(context, action.eviction, before);
      return;
    default:
      unreachable(action);
  }
}

function reclaim(context: EvictionManagerContext, call: ReclaimCall): void {
  if (call === 'containers') requestContainerGc(context);
  else pressImageCollection(context);
}

function evict(context: EvictionManagerContext, { pod, gracePeriodSeconds, message, annotations, signal, condition }: Eviction, before: EvictionLoop): void {
  const { state, turn } = context;
  const { eviction } = state;
  const uid = uidOf(pod);
  turn.log('warn', 'Eviction manager: pod is evicted', { podUID: uid, signal, message });
  eviction.statsAges = condition === null ? [] : statsAges(eviction.loop, before, turn.now);
  eviction.evicted.set(uid, signal);
  context.event(pod, null, 'Warning', evictedReason, message, annotations);
  const statusChange = { reason: evictedReason, message, disruptionReason: condition?.reason ?? null, disruptionMessage: condition?.message ?? null, keepsSuccess: false };
  const killOptions = { evict: true, gracePeriodOverride: gracePeriodSeconds, statusChange, completion: null };
  dispatchUpdate(context, { type: 'kill', pod, mirrorPod: null, runningPod: null, killOptions, startTime: turn.now });
  expectEnd(context, pod, gracePeriodSeconds);
  eviction.killsEndAt = Math.max(eviction.killsEndAt ?? 0, turn.now + longestKill(pod, gracePeriodSeconds));
}

/** For the thresholds of the eviction. */
function statsAges(loop: EvictionLoop, before: EvictionLoop, now: Micros) {
  const { phase } = before;
  const actionable = phase.kind === 'reclaiming' || phase.kind === 'remeasuring' ? phase.look.plan.actionable : actionableThresholds(before.pressure, loop.pressure);
  return actionable.flatMap(({ signal }) => {
    const time = loop.pressure.observations.get(signal)?.time ?? null;
    return time === null ? [] : [{ signal, age: Math.max(0, now - time) }];
  });
}
