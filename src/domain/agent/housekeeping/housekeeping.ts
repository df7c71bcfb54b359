// Cleans up after removed pods, and restarts the workers of wanted pods that have none. A pass is:
//
//   idle -> snapshots (pod cgroups, pod directories) -> workers against wanted pods -> running (a fresh listing of the runtime) -> idle
//
// A pod that terminated normally is forgotten by itself (`ended-pods`), without a pass.
// Invariants: nothing is cleaned up before every source has reported; the snapshots are older than the pod index they are compared
// with, so that a new pod can't look orphaned. A pass runs after a change, not by a clock, and again while orphans remain.

import type { Micros } from '../../../ports/micros.js';
import type { ListedPod } from '../../../ports/model/runtime-listing.js';
import type { Outcome } from '../../../ports/port-error.js';
import { keepTries, mayTry, nextTryAt, tryFailed, trySucceeded } from '../../backoff/retry-pauses.js';
import { assert } from '../../kernel/assert.js';
import { isPodBehind, readPodCache } from '../../pod-cache/pod-cache.js';
import { areAllSourcesReady } from '../../pod-sources/pod-config.js';
import type { KnownPod } from '../../pod-workers/known-pods.js';
import { isTerminalPhase } from '../../status/phase.js';
import { isAlive } from '../../values/alive.js';
import { hostCallLimit } from '../../values/host-call-limit.js';
import { podFullName } from '../../values/pod-references.js';
import type { AgentView } from '../agent-view.js';
import { requestCollection } from '../container-gc/requests.js';
import { unprepareOrphans } from '../dra-manager/claims.js';
import { forgetPullBackoffs } from '../image-manager/requests.js';
import { deleteOrphanMirrors } from '../mirror-client/mirror-pods.js';
import type { AnswerOf } from '../part.js';
import { reallocateRestartedPod } from '../pod-admission/pod-admission.js';
import { orphanGraceSeconds } from '../pod-config/inherited-pods.js';
import { podAndMirror, uidOf } from '../pod-manager/pod-index.js';
import { isActive } from '../pod-workers/active-pods.js';
import { forgetFinishedPod } from '../pod-workers/ended-pods.js';
import { forgetUnknown } from '../pod-workers/forgotten-pods.js';
import { forgetCrashLoops, syncWorkers } from '../pod-workers/requests.js';
import { dispatchUpdate, withEffects } from '../pod-workers/worker-effects.js';
import { asideUids, isAside } from '../set-aside/aside-pods.js';
import { bringBackGone } from '../set-aside/set-aside.js';
import { forgetStatusWrites, queueStatusWrite } from '../status-manager/status-writes.js';
import { loopProblem } from '../sync-loop/sync-loop.js';
import { releaseOrphanRanges } from '../user-namespace-manager/user-namespace-ranges.js';
import { removeOrphanDirectory } from './orphan-directories.js';
import { type HousekeepingContext, housekeepingState } from './slice.js';

export const housekeepingAddress = { machine: 'housekeeping', key: '' } as const;
const period: Micros = 2_000_000;
const pass = 'pass';

/** Plans the next pass if needed. */
export function planHousekeeping(context: HousekeepingContext): void {
  const { phase, dirty, lastAt, passAt, retries } = context.state.housekeeping;
  if (phase !== 'idle') return;
  const retryAt = nextTryAt(retries);
  if (!dirty && passAt === null && retryAt === null) return;
  const earliest = dirty ? 0 : Math.min(passAt ?? Number.POSITIVE_INFINITY, retryAt ?? Number.POSITIVE_INFINITY);
  const failedUntil = retries.failures.get(pass)?.retryAt ?? 0;
  context.turn.wakeAt(housekeepingAddress, Math.max(lastAt + period, failedUntil, earliest, context.turn.now));
}

export function beginHousekeeping(context: HousekeepingContext): void {
  const { state, turn } = context;
  const { housekeeping } = state;
  if (housekeeping.phase !== 'idle') return;
  housekeeping.lastAt = turn.now;
  // A snapshot of a failed pass may still be in progress.
  if (['cgroups', 'directories'].some((slot) => turn.inFlight(housekeepingAddress, slot))) return;
  if (!areAllSourcesReady(state.config) || loopProblem(context) !== null) return;
  housekeeping.dirty = false;
  housekeeping.passAt = null;
  housekeeping.phase = 'snapshots';
  housekeeping.cgroups = null;
  housekeeping.directories = null;
  if (state.settings.cgroupsPerQos) turn.ask('podCgroups.list', housekeepingAddress, 'cgroups', null, hostCallLimit);
  else housekeeping.cgroups = [];
  turn.ask('podDirectories.list', housekeepingAddress, 'directories', null, hostCallLimit);
}

export function cgroupsListed(context: HousekeepingContext, { outcome }: AnswerOf<'podCgroups.list'>): void {
  if (outcome.ok) context.state.housekeeping.cgroups = outcome.value;
  listed(context, outcome);
}

export function directoriesListed(context: HousekeepingContext, { outcome }: AnswerOf<'podDirectories.list'>): void {
  if (outcome.ok) context.state.housekeeping.directories = outcome.value;
  listed(context, outcome);
}

/** One of the two listings came. The other one may have ended the pass, or may still be in flight from a pass that ended. */
function listed(context: HousekeepingContext, outcome: Outcome<unknown>): void {
  const { housekeeping, settings } = context.state;
  if (!outcome.ok) {
    passFailed(context, outcome.error.message);
    return;
  }
  if (housekeeping.phase !== 'snapshots' || housekeeping.cgroups === null || housekeeping.directories === null) return;
  housekeeping.phase = 'running';
  context.turn.ask('runtime.listPods', housekeepingAddress, 'running', { uid: null }, settings.runtimeRequestTimeout);
}

export function runningListed(context: HousekeepingContext, { outcome }: AnswerOf<'runtime.listPods'>): void {
  const { housekeeping } = context.state;
  if (!outcome.ok) {
    passFailed(context, outcome.error.message);
    return;
  }
  assert(housekeeping.phase === 'running', 'running pods were listed that no pass waits for', housekeeping.phase);
  cleanUp(context, outcome.value.pods.filter(isAlive));
  housekeeping.phase = 'idle';
  trySucceeded(housekeeping.retries, pass);
}

function passFailed({ state: { housekeeping }, turn }: HousekeepingContext, err: string): void {
  turn.log('error', 'Failed cleaning pods', { err });
  housekeeping.phase = 'idle';
  housekeeping.dirty = true;
  tryFailed(housekeeping.retries, pass, turn.now);
}

export function cgroupDestroyed({ state, turn }: HousekeepingContext, { slot, outcome }: AnswerOf<'podCgroups.destroy'>): void {
  const { retries } = state.housekeeping;
  if (outcome.ok) {
    trySucceeded(retries, slot);
    return;
  }
  tryFailed(retries, slot, turn.now);
  turn.log('warn', 'Orphaned pod found, but failed to remove it', { err: outcome.error.message, subject: slot });
}

function cleanUp(context: HousekeepingContext, running: readonly ListedPod[]): void {
  const { state, turn } = context;
  bringBackGone(context);
  const aside = asideUids(state);
  const wanted = new Set([...state.pods.pods.keys(), ...aside]);
  let known = new Map<string, KnownPod>();
  // From the first pass on, unknown pods may be collected.
  const isFirst = !state.workers.synced;
  if (isFirst) requestCollection(state);
  const before = new Set(state.workers.records.keys());
  withEffects(context, (effects) => {
    known = syncWorkers(context, wanted, effects);
  });
  for (const uid of before) if (!state.workers.records.has(uid)) forgetFinishedPod(context, uid);
  const isKnown = (uid: string): boolean => wanted.has(uid) || known.has(uid);
  forgetUnknown(state, isKnown);
  forgetStatusWrites(context, isKnown);
  // Only now pods without a worker are known to have no running containers.
  if (isFirst) for (const uid of state.statuses.keys()) queueStatusWrite(state, uid);
  const runningUids = new Set(running.map(({ uid }) => uid));
  const present = new Set([...runningUids, ...aside]);
  removeDirectories(context, known, present);
  releaseOrphanRanges(state, known, present);
  unprepareOrphans(context, known, present);
  deleteOrphanMirrors(context);
  for (const pod of state.pods.pods.values()) {
    if (isAside(state, uidOf(pod)) || known.has(uidOf(pod)) || state.admission.pending.has(uidOf(pod)) || !isActive(state, pod) || !reallocateRestartedPod(context, pod)) continue;
    const { mirror } = podAndMirror(state.pods, pod);
    dispatchUpdate(context, { type: 'create', pod, mirrorPod: mirror, runningPod: null, killOptions: null, startTime: turn.now });
  }
  finishDeletedEnded(context, known, runningUids);
  killUnknown(context, known, running);
  removeCgroups(context, known);
  forgetCrashLoops(state, turn.now);
  forgetPullBackoffs(state, turn.now);
  forgetRetries(state);
}

/** Deleted pods that ended long ago, without worker and containers: their worker only has to send the last status. */
function finishDeletedEnded(context: HousekeepingContext, known: ReadonlyMap<string, KnownPod>, running: ReadonlySet<string>): void {
  for (const pod of context.state.pods.pods.values()) {
    const uid = uidOf(pod);
    if (pod.metadata.deletionTimestamp === undefined || !isTerminalPhase(pod.status?.phase) || known.has(uid) || running.has(uid)) continue;
    dispatchUpdate(context, { type: 'kill', pod, mirrorPod: null, runningPod: null, killOptions: null, startTime: context.turn.now });
  }
}

function killUnknown(context: HousekeepingContext, known: ReadonlyMap<string, KnownPod>, running: readonly ListedPod[]): void {
  for (const { uid, name, namespace } of running) {
    if (known.has(uid) || context.state.workers.records.has(uid) || isAside(context.state, uid)) continue;
    // Its containers are not known yet; another pass is requested once they are.
    if (isPodBehind(context.state.cache, uid) || readPodCache(context.state.cache, uid).kind === 'failed') continue;
    context.turn.log('info', 'Clean up containers for orphaned pod we had not seen before', { podUID: uid, pod: `${namespace}/${name}` });
    const gracePeriodOverride = orphanGraceSeconds(context, podFullName(name, namespace));
    const killOptions = { evict: false, gracePeriodOverride, statusChange: null, completion: null };
    dispatchUpdate(context, { type: 'kill', pod: null, mirrorPod: null, runningPod: { uid, name, namespace }, killOptions, startTime: context.turn.now });
    context.state.housekeeping.dirty = true;
  }
}

function removeDirectories(context: HousekeepingContext, known: ReadonlyMap<string, KnownPod>, running: ReadonlySet<string>): void {
  const { state } = context;
  state.housekeeping.orphansSeen = 0;
  // A directory that vanished during the survey of earlier agents' volumes leaves them known.
  for (const uid of new Set([...(state.housekeeping.directories ?? []), ...state.volumes.held.keys()])) {
    const retry = `directory/${uid}`;
    if (state.pods.pods.has(uid) || known.has(uid) || running.has(uid)) trySucceeded(state.housekeeping.retries, retry);
    else {
      state.housekeeping.orphansSeen++;
      if (mayTry(state.housekeeping.retries, retry, context.turn.now)) removeOrphanDirectory(context, uid);
    }
  }
}

function removeCgroups(context: HousekeepingContext, known: ReadonlyMap<string, KnownPod>): void {
  const { state, turn } = context;
  const { cgroups, retries } = state.housekeeping;
  for (const { uid, name } of cgroups ?? []) {
    const mayRun = isAside(state, uid) || (state.workers.records.has(uid) && known.get(uid)?.state !== 'terminated');
    const slot = `cgroup/${uid}`;
    // A pod's own worker may have to destroy it later: then nothing is done here.
    const isWorkers = state.workers.records.get(uid)?.backsOff === true;
    if (mayRun || isWorkers) trySucceeded(retries, slot);
    else if (!state.runs.has(uid) && mayTry(retries, slot, turn.now) && !turn.inFlight(housekeepingAddress, slot))
      context.forPod(uid, () => turn.ask('podCgroups.destroy', housekeepingAddress, slot, { name }, hostCallLimit));
  }
}

/** Removed objects need no retry. */
function forgetRetries(view: AgentView): void {
  const { housekeeping, volumes } = housekeepingState(view);
  const there = new Set<string>();
  for (const { uid } of housekeeping.cgroups ?? []) there.add(`cgroup/${uid}`);
  for (const uid of [...(housekeeping.directories ?? []), ...volumes.held.keys()]) there.add(`directory/${uid}`);
  keepTries(housekeeping.retries, (key) => key === pass || there.has(key));
}
