// The eviction loop: when the node is measured, and the actions that follow.
//
//   phase        event                       becomes
//   resting      woken                       measuring
//   measuring    measured                    resting (nothing to do, or no pod may be evicted), reclaiming, or killing
//   measuring    not measured                resting
//   reclaiming   one call done               reclaiming (calls left), or remeasuring
//   remeasuring  measured                    resting (relieved, or no pod may be evicted), or killing
//   remeasuring  not measured                as if not relieved
//   killing      a pod is stopped            killing (others left), or cleaning
//   cleaning     a pod's remains are gone    cleaning (others left), or measuring at once: more pods may have to be evicted
//   cleaning     woken, time is up           measuring
//
// Any other event has no effect, except that removed remains are recorded while other pods are still being stopped. A measurement may lack parts: each signal
// stands for itself, and one that was not read stays as it was. While the file systems aren't known, memory and processes are judged alone.
// Invariant: one measurement, one reclaim call or one set of kills at a time, independent of the wake-up's source.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodStats, StatsSummary } from '../../ports/model/stats-summary.js';
import { microsPerSecond } from '../values/time.js';
import type { Eviction } from './eviction.js';
import { beginRound, chooseVictim, type EvictionPolicy, isRelieved, type ReclaimCall, type ReclaimPlan, thresholdMetReason } from './eviction-round.js';
import { observeSignals, statsByPod, withLastKnown, withTimes } from './observations.js';
import { noPressure, type PressureState } from './pressure.js';
import { type FileSystemLayout, isMemorySignal } from './signals.js';
import { adaptToFileSystems, type EvictionThreshold } from './thresholds.js';

export interface EvictionSettings {
  /** As configured, before the adaptation to the file systems. */
  readonly thresholds: readonly EvictionThreshold[];
  readonly policy: Omit<EvictionPolicy, 'layout'>;
}

/** From the end of one run to the next. */
export const evictionRestMicros: Micros = 10 * microsPerSecond;
/** How long to wait for the remains of evicted pods: while they exist, a measurement would give the same result. */
export const evictionCleanupMicros: Micros = 30 * microsPerSecond;

interface Look {
  readonly plan: ReclaimPlan;
  readonly pods: readonly Pod[];
  readonly stats: ReadonlyMap<string, PodStats>;
}

export type EvictionPhase =
  | { readonly kind: 'resting'; readonly until: Micros }
  | { readonly kind: 'measuring' }
  | { readonly kind: 'reclaiming'; readonly look: Look; readonly callsLeft: readonly ReclaimCall[] }
  | { readonly kind: 'remeasuring'; readonly look: Look }
  /** By uid: those that still run, and those with remains. */
  | { readonly kind: 'killing'; readonly running: readonly string[]; readonly remaining: readonly string[] }
  | { readonly kind: 'cleaning'; readonly remaining: readonly string[]; readonly until: Micros };

export interface EvictionLoop {
  readonly phase: EvictionPhase;
  readonly pressure: PressureState;
  /** Found once; null until then. */
  readonly layout: FileSystemLayout | null;
}

export type EvictionLoopEvent =
  /** A timer, or the kernel's notification of low memory. */
  | { readonly type: 'woken' }
  /** @param layout null if not known yet: then signals of file systems don't count */
  | { readonly type: 'measured'; readonly summary: StatsSummary; readonly wallOffset: Micros; readonly pods: readonly Pod[]; readonly layout: FileSystemLayout | null }
  | { readonly type: 'not-measured' }
  /** Whether it found something or failed. */
  | { readonly type: 'reclaimed' }
  | { readonly type: 'stopped'; readonly podUid: string }
  | { readonly type: 'cleaned'; readonly podUid: string };

export type EvictionAction =
  | { readonly kind: 'measure' }
  | { readonly kind: 'reclaim'; readonly call: ReclaimCall }
  /** On the node, of type Warning. */
  | { readonly kind: 'node-event'; readonly reason: string; readonly message: string }
  /** Answered with `stopped`, also when the kill failed or took too long, and with `cleaned`. */
  | { readonly kind: 'evict'; readonly eviction: Eviction };

export interface EvictionLoopStep {
  readonly loop: EvictionLoop;
  readonly actions: readonly EvictionAction[];
}

export function startEvictionLoop(now: Micros): EvictionLoop {
  return { phase: { kind: 'resting', until: now }, pressure: noPressure, layout: null };
}

/** Whether anything must be measured. */
export function isEvictionLoopNeeded({ thresholds, policy }: EvictionSettings): boolean {
  return thresholds.length > 0 || policy.localStorageCapacityIsolation;
}

/** When the loop wants to be woken; null while it waits for an answer. */
export function evictionWakeAt({ phase }: EvictionLoop): Micros | null {
  return phase.kind === 'resting' || phase.kind === 'cleaning' ? phase.until : null;
}

export function stepEvictionLoop(loop: EvictionLoop, event: EvictionLoopEvent, settings: EvictionSettings, now: Micros): EvictionLoopStep {
  const { phase } = loop;
  switch (event.type) {
    case 'woken':
      return phase.kind === 'resting' || (phase.kind === 'cleaning' && now >= phase.until) ? measure(loop) : unchanged(loop);
    case 'measured':
      if (phase.kind === 'measuring') return looked(loop, { ...event, layout: loop.layout ?? event.layout }, settings, now);
      return phase.kind === 'remeasuring' ? lookedAgain(loop, phase.look, event, settings, now) : unchanged(loop);
    case 'not-measured':
      if (phase.kind === 'measuring') return rest(loop, now);
      return phase.kind === 'remeasuring' ? evictOne(loop, phase.look, settings, now) : unchanged(loop);
    case 'reclaimed':
      return phase.kind === 'reclaiming' ? reclaim(loop, phase.look, phase.callsLeft) : unchanged(loop);
    case 'stopped':
    case 'cleaned':
      return podWent(loop, event.type, event.podUid, now);
  }
}

function unchanged(loop: EvictionLoop): EvictionLoopStep {
  return { loop, actions: [] };
}

function rest(loop: EvictionLoop, now: Micros): EvictionLoopStep {
  return { loop: { ...loop, phase: { kind: 'resting', until: now + evictionRestMicros } }, actions: [] };
}

function measure(loop: EvictionLoop): EvictionLoopStep {
  return { loop: { ...loop, phase: { kind: 'measuring' } }, actions: [{ kind: 'measure' }] };
}

type Measured = Extract<EvictionLoopEvent, { readonly type: 'measured' }>;

function looked(before: EvictionLoop, { summary, wallOffset, pods, layout }: Measured, settings: EvictionSettings, now: Micros): EvictionLoopStep {
  const stats = statsByPod(summary);
  const pressure = { ...before.pressure, observations: withTimes(before.pressure.observations) };
  const observations = withLastKnown(observeSignals(summary, wallOffset), pressure.observations);
  const { state, plan } = beginRound(pressure, thresholdsInForce(before, layout, settings), observations, pods, stats, policyOf(settings, layout), now);
  const loop = { ...before, pressure: state, layout };
  switch (plan.kind) {
    case 'nothing':
      return rest(loop, now);
    case 'local-limits':
      return kill(loop, plan.evictions);
    case 'reclaim': {
      const look = { plan, pods, stats };
      const step = plan.calls.length > 0 ? reclaim(loop, look, plan.calls) : evictOne(loop, look, settings, now);
      return { ...step, actions: [{ kind: 'node-event', reason: thresholdMetReason, message: plan.eventMessage }, ...step.actions] };
    }
  }
}

function thresholdsInForce(before: EvictionLoop, layout: FileSystemLayout | null, settings: EvictionSettings): readonly EvictionThreshold[] {
  if (layout === null) return settings.thresholds.filter(({ signal }) => isMemorySignal(signal) || signal === 'pid.available');
  const { thresholds, firstRun } = adaptToFileSystems(settings.thresholds, layout);
  return before.layout === null ? firstRun : thresholds;
}

/** Without a known layout, no decision about disks is made, so that any layout will do. */
function policyOf({ policy }: EvictionSettings, layout: FileSystemLayout | null): EvictionPolicy {
  if (layout !== null) return { ...policy, layout };
  return { ...policy, localStorageCapacityIsolation: false, layout: { dedicatedImageFs: false, splitContainerFs: false } };
}

function reclaim(loop: EvictionLoop, look: Look, [call, ...callsLeft]: readonly ReclaimCall[]): EvictionLoopStep {
  if (call === undefined) return { loop: { ...loop, phase: { kind: 'remeasuring', look } }, actions: [{ kind: 'measure' }] };
  return { loop: { ...loop, phase: { kind: 'reclaiming', look, callsLeft } }, actions: [{ kind: 'reclaim', call }] };
}

function lookedAgain(loop: EvictionLoop, look: Look, { summary, wallOffset }: Measured, settings: EvictionSettings, now: Micros): EvictionLoopStep {
  const { thresholds } = loop.layout === null ? settings : adaptToFileSystems(settings.thresholds, loop.layout);
  const observations = withLastKnown(observeSignals(summary, wallOffset), loop.pressure.observations);
  return isRelieved(thresholds, observations) ? rest(loop, now) : evictOne(loop, look, settings, now);
}

/** By the run's first measurement, as in its event and message. */
function evictOne(loop: EvictionLoop, { plan, pods, stats }: Look, settings: EvictionSettings, now: Micros): EvictionLoopStep {
  const victim = chooseVictim(plan, loop.pressure, pods, stats, policyOf(settings, loop.layout));
  return victim === null ? rest(loop, now) : kill(loop, [victim]);
}

function kill(loop: EvictionLoop, evictions: readonly Eviction[]): EvictionLoopStep {
  const uids = evictions.map(({ pod }) => pod.metadata.uid ?? '');
  return { loop: { ...loop, phase: { kind: 'killing', running: uids, remaining: uids } }, actions: evictions.map((eviction) => ({ kind: 'evict', eviction })) };
}

function podWent(loop: EvictionLoop, what: 'stopped' | 'cleaned', podUid: string, now: Micros): EvictionLoopStep {
  const { phase } = loop;
  if (phase.kind !== 'killing' && phase.kind !== 'cleaning') return unchanged(loop);
  const running = phase.kind === 'killing' ? phase.running.filter((uid) => uid !== podUid) : [];
  const remaining = what === 'cleaned' ? phase.remaining.filter((uid) => uid !== podUid) : phase.remaining;
  if (running.length > 0) return { loop: { ...loop, phase: { kind: 'killing', running, remaining } }, actions: [] };
  if (remaining.length === 0) return measure(loop);
  const until = phase.kind === 'cleaning' ? phase.until : now + evictionCleanupMicros;
  return { loop: { ...loop, phase: { kind: 'cleaning', remaining, until } }, actions: [] };
}
