// Node shutdown, from taking the inhibitor lock at the start to releasing it when the pods have ended.
//
//   phase      event            becomes     does
//   off        begun            taking      reads the record, requests the lock
//   taking     inhibited        watching    (and as a signal, if the node is shutting down already)
//   taking     lost, signal     same        requests the lock again when the answer has come
//   taking     refused          failed      reports it; after a time of watching: pausing
//   watching   lost             pausing     the lock was lost with the connection to init
//   pausing    woken            taking      requests the lock
//   any but    signal: down     same        admits nothing from now on, ends the pods group by group, then releases the lock
//   off,failed signal: up       same        admits pods again, ends no further group, requests the lock
//
// Invariants: nothing is admitted during a shutdown; the lock is released when the last group has ended and not before; groups are formed
// once a shutdown, from the pods at that time.
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import { assert, unreachable } from '../kernel/assert.js';
import type { Clocks } from '../values/instant.js';
import { microsPerSecond } from '../values/time.js';
import { groupPods, type ShutdownPriority, totalShutdownSeconds } from './shutdown-groups.js';
import { advanceShutdown, beginShutdown, type ShutdownRun } from './shutdown-run.js';

export type ShutdownPhase = 'off' | 'taking' | 'failed' | 'watching' | 'pausing';

export interface ShutdownManager {
  readonly phase: ShutdownPhase;
  /** The lock was held, or a signal was heard, at some time: later failures are tried again. */
  readonly hasWatched: boolean;
  readonly shuttingDown: boolean;
  /** The groups that are ending; null: none are. */
  readonly run: ShutdownRun | null;
  /** The last known shutdown; null: none, or it continues. */
  readonly startedAt: Instant | null;
  readonly endedAt: Instant | null;
  /** The time of the next request for the lock; null: none. */
  readonly retryAt: Micros | null;
  /** A signal came, or the connection was lost, since the lock was requested: the answer may be older than that, and the lock is requested again. */
  readonly isOutdated: boolean;
}

export type ShutdownEvent =
  | { readonly type: 'begun' }
  | { readonly type: 'inhibited'; readonly shuttingDown: boolean; readonly pods: readonly Pod[] }
  | { readonly type: 'refused'; readonly message: string }
  | { readonly type: 'lost' }
  | { readonly type: 'woken' }
  /** @property pods those that are active */
  | { readonly type: 'signal'; readonly active: boolean; readonly pods: readonly Pod[] }
  /** The record of an earlier shutdown. */
  | { readonly type: 'remembered'; readonly startedAt: Instant | null; readonly endedAt: Instant | null };

export type ShutdownAction =
  | { readonly kind: 'read-record' }
  | { readonly kind: 'inhibit'; readonly neededSeconds: number }
  | { readonly kind: 'release' }
  | { readonly kind: 'write-record'; readonly startedAt: Instant; readonly endedAt: Instant | null }
  | { readonly kind: 'node-event'; readonly message: string }
  | { readonly kind: 'log'; readonly message: string; readonly err: string }
  | { readonly kind: 'kill'; readonly pod: Pod; readonly gracePeriodSeconds: number };

export interface ShutdownDecision {
  readonly manager: ShutdownManager;
  readonly actions: readonly ShutdownAction[];
}

export const shutdownReason = 'Shutdown';
const detectedMessage = 'Shutdown manager detected shutdown event';
const cancelledMessage = 'Shutdown manager detected shutdown cancellation';
/** The delay before the next request for the lock. */
const retryPause: Micros = microsPerSecond;

export function newShutdownManager(): ShutdownManager {
  return { phase: 'off', hasWatched: false, shuttingDown: false, run: null, startedAt: null, endedAt: null, retryAt: null, isOutdated: false };
}

/** @param priorities lowest first; empty: the feature is off, and no lock is requested */
export function stepShutdown(manager: ShutdownManager, event: ShutdownEvent, priorities: readonly ShutdownPriority[], clocks: Clocks): ShutdownDecision {
  const { now } = clocks;
  const inhibit: ShutdownAction = { kind: 'inhibit', neededSeconds: totalShutdownSeconds(priorities) };
  switch (event.type) {
    case 'begun':
      if (priorities.length === 0 || manager.phase !== 'off') return unchanged(manager);
      return { manager: { ...manager, phase: 'taking' }, actions: [{ kind: 'read-record' }, inhibit] };
    case 'remembered':
      // A run that began meanwhile is newer.
      if (manager.startedAt !== null) return unchanged(manager);
      return { manager: { ...manager, startedAt: event.startedAt, endedAt: event.endedAt }, actions: [] };
    case 'inhibited': {
      if (manager.phase !== 'taking') return unchanged(manager);
      if (manager.isOutdated) return { manager: { ...manager, isOutdated: false }, actions: [inhibit] };
      const watching: ShutdownManager = { ...manager, phase: 'watching', hasWatched: true };
      if (event.shuttingDown === watching.shuttingDown) return { manager: watching, actions: [] };
      return signalled(watching, event.shuttingDown, event.pods, priorities, clocks.wall);
    }
    case 'refused':
      return refused(manager, event.message, now);
    case 'lost':
      if (manager.phase === 'taking') return { manager: { ...manager, isOutdated: true }, actions: [] };
      if (manager.phase !== 'watching') return unchanged(manager);
      return paused(manager, 'the connection to init went', now);
    case 'woken':
      if (manager.phase !== 'pausing' || manager.retryAt === null || now < manager.retryAt) return unchanged(manager);
      return { manager: { ...manager, phase: 'taking', retryAt: null }, actions: [inhibit] };
    case 'signal':
      if (manager.phase === 'off' || manager.phase === 'failed') return unchanged(manager);
      return signalled({ ...manager, isOutdated: manager.phase === 'taking' }, event.active, event.pods, priorities, clocks.wall);
    default:
      return unreachable(event);
  }
}

/** Continues with the groups that are ending. @param isGone whether the pod has ended and its volumes are unmounted */
export function advanceManager(manager: ShutdownManager, isGone: (pod: Pod) => boolean, { now, wall }: Clocks): ShutdownDecision & { readonly wakeAt: Micros | null } {
  if (manager.run === null) return { manager, actions: [], wakeAt: manager.retryAt };
  assert(manager.shuttingDown && manager.startedAt !== null, 'pods end for a shutdown that was not signalled');
  const { run, kills, wakeAt } = advanceShutdown(manager.run, isGone, now);
  const actions: ShutdownAction[] = kills.map((kill) => ({ kind: 'kill', ...kill }));
  if (wakeAt === null) {
    const startedAt = manager.startedAt ?? wall;
    actions.push({ kind: 'write-record', startedAt, endedAt: wall }, { kind: 'release' });
    return { manager: { ...manager, run: null, endedAt: wall }, actions, wakeAt: manager.retryAt };
  }
  const earliest = manager.retryAt === null ? wakeAt : Math.min(wakeAt, manager.retryAt);
  return { manager: run === manager.run ? manager : { ...manager, run }, actions, wakeAt: earliest };
}

function signalled(manager: ShutdownManager, active: boolean, pods: readonly Pod[], priorities: readonly ShutdownPriority[], wall: Instant): ShutdownDecision {
  const nodeEvent: ShutdownAction = { kind: 'node-event', message: active ? detectedMessage : cancelledMessage };
  if (!active) {
    const inhibit: ShutdownAction = { kind: 'inhibit', neededSeconds: totalShutdownSeconds(priorities) };
    const up: ShutdownManager = { ...manager, hasWatched: true, shuttingDown: false, run: null };
    // A pending request for the lock is enough.
    return manager.phase === 'watching' ? { manager: { ...up, phase: 'taking' }, actions: [nodeEvent, inhibit] } : { manager: up, actions: [nodeEvent] };
  }
  // A repeated signal means the same shutdown.
  if (manager.run !== null) return unchanged(manager);
  const run = beginShutdown(groupPods(priorities, pods));
  return {
    manager: { ...manager, hasWatched: true, shuttingDown: true, run, startedAt: wall, endedAt: null },
    actions: [nodeEvent, { kind: 'write-record', startedAt: wall, endedAt: null }],
  };
}

function refused(manager: ShutdownManager, message: string, now: Micros): ShutdownDecision {
  if (manager.phase !== 'taking') return unchanged(manager);
  if (manager.hasWatched) return paused(manager, message, now);
  return { manager: { ...manager, phase: 'failed', isOutdated: false }, actions: [{ kind: 'log', message: 'Failed to start node shutdown manager', err: message }] };
}

function paused(manager: ShutdownManager, err: string, now: Micros): ShutdownDecision {
  return {
    manager: { ...manager, phase: 'pausing', retryAt: now + retryPause, isOutdated: false },
    actions: [{ kind: 'log', message: 'Restarting watch for node shutdown events', err }],
  };
}

function unchanged(manager: ShutdownManager): ShutdownDecision {
  return { manager, actions: [] };
}
