// Writes down when pods and containers started and ended, by the clock that is never set, so that deadlines, initial delays of probes and ages don't depend
// on timestamps after a restart of the agent, even if the wall clock was set meanwhile.
//
//   a start or an end is observed -> write at once -> the next write a second later at the earliest
//
// Invariants: what is not in the file has happened after its `upTo`, so that a time that wasn't written in time is wrong by no more than what has passed
// since then. Entries of the previous agent are kept until every source has reported and the runtime was listed.

import type { Micros } from '../../../ports/micros.js';
import {
  type ObservedContainerTimes,
  type ObservedPodTimes,
  observedTimesFileName,
  readObservedTimes,
  writeObservedPod,
  writeObservedTimes,
} from '../../checkpoints/observed-times.js';
import { mayWrite, stateFileWritten, writeStateFile } from '../../checkpoints/state-file-writer.js';
import { areAllSourcesReady } from '../../pod-sources/pod-config.js';
import type { AgentView } from '../agent-view.js';
import type { AnswerOf } from '../part.js';
import { forgetCachedStatus, momentsTaken, recallMoments, recallObservedBefore } from '../pleg/requests.js';
import { isAside } from '../set-aside/aside-pods.js';
import { forgetStart, recallStart } from '../status-manager/pod-starts.js';
import { observedTimesAddress } from './observed-times-state.js';
import { type ObservedTimesContext, observedTimesState } from './slice.js';

/** Between writes: many pods that start at a time are written together. */
const pause: Micros = 1_000_000;

/** At the start of the agent. An unreadable file never prevents it: then the timestamps count. */
export function beginObservedTimes(context: ObservedTimesContext): void {
  const problem = recallTimes(context);
  if (problem !== null) context.turn.log('warn', 'Times that an earlier kubelet observed cannot be used', { file: observedTimesFileName, err: problem });
}

/** Takes over what the previous agent has written down. Returns why it can't; null: done, or nothing to take over. */
function recallTimes({ state, turn }: ObservedTimesContext): string | null {
  const { observed, settings } = state;
  const { text, bootId, bootedAt } = settings.observedTimes;
  if (text === null || bootId === '') return null;
  const read = readObservedTimes(text, bootId, turn.now - bootedAt);
  if (!read.ok) return read.error;
  const { upTo, pods } = read.value;
  observed.upTo = upTo === null ? null : upTo + bootedAt;
  recallObservedBefore(state, observed.upTo);
  for (const [uid, pod] of pods) {
    observed.recalled.add(uid);
    if (pod.start !== null) recallStart(state, uid, { startTime: pod.start.startTime, at: pod.start.at + bootedAt });
    recallMoments(state, uid, momentsOf(pod, bootedAt));
  }
  return null;
}

function momentsOf({ containers }: ObservedPodTimes, bootedAt: Micros) {
  const shift = (moment: Micros | null): Micros | null => (moment === null ? null : moment + bootedAt);
  return new Map([...containers].map(([id, { createdAt, startedAt, endedAt }]) => [id, { createdAt: createdAt + bootedAt, startedAt: shift(startedAt), endedAt: shift(endedAt) }]));
}

/** At the end of a step. */
export function planObservedTimes(context: ObservedTimesContext): void {
  const { state, turn } = context;
  const { observed, cache, settings } = state;
  if (settings.observedTimes.bootId === '') return;
  if (observed.recalled.size > 0 && isComplete(state)) forgetRecalled(state);
  const { file } = observed;
  if (observed.changedStarts.size === 0 && cache.changedMoments.size === 0 && file.onDisk === observed.revision) return;
  if (!mayWrite(file, turn.now)) return;
  if (turn.now < observed.nextAt) {
    turn.wakeAt(observedTimesAddress, observed.nextAt);
    return;
  }
  if (takeChanges(state)) observed.revision++;
  if (file.onDisk === observed.revision) return;
  observed.nextAt = turn.now + pause;
  if (isComplete(state)) observed.upTo = settings.runtimeSendsEvents ? turn.now : cache.globalTime;
  const { bootId, bootedAt } = settings.observedTimes;
  const text = writeObservedTimes(bootId, observed.upTo === null ? null : Math.max(0, observed.upTo - bootedAt), observed.texts);
  writeStateFile(file, observed.revision, text, turn);
}

export function observedTimesWritten({ state, turn }: ObservedTimesContext, answer: AnswerOf<'stateFiles.write'>): void {
  stateFileWritten(state.observed.file, answer, turn);
}

/** Every pod of this node is known, and each of its containers as the runtime has it. */
function isComplete({ cache, config }: AgentView): boolean {
  return cache.globalTime !== null && cache.behind.size === 0 && areAllSourcesReady(config);
}

/** True: an entry differs from the last write. */
function takeChanges(view: AgentView): boolean {
  const state = observedTimesState(view);
  const { observed, cache, podStarts } = state;
  let isChanged = false;
  for (const uid of new Set([...observed.changedStarts, ...cache.changedMoments])) {
    const start = podStarts.get(uid);
    const moments = cache.moments.get(uid);
    const text = start === undefined && moments === undefined ? undefined : podText(state, uid);
    if (observed.texts.get(uid) === text) continue;
    isChanged = true;
    if (text === undefined) observed.texts.delete(uid);
    else observed.texts.set(uid, text);
  }
  observed.changedStarts.clear();
  momentsTaken(state);
  return isChanged;
}

function podText({ cache, podStarts, settings }: AgentView, uid: string): string {
  const { bootedAt } = settings.observedTimes;
  const start = podStarts.get(uid);
  // A timestamp from before the boot can't be expressed by this clock: the boot is the earliest moment.
  const sinceBoot = (moment: Micros): Micros => Math.max(0, Math.floor(moment - bootedAt));
  const orNull = (moment: Micros | null): Micros | null => (moment === null ? null : sinceBoot(moment));
  const containers = new Map<string, ObservedContainerTimes>();
  for (const [id, { createdAt, startedAt, endedAt }] of cache.moments.get(uid) ?? [])
    containers.set(id, { createdAt: sinceBoot(createdAt), startedAt: orNull(startedAt), endedAt: orNull(endedAt) });
  return writeObservedPod({ start: start === undefined ? null : { startTime: start.startTime, at: sinceBoot(start.at) }, containers });
}

/** Drops what the previous agent knew of pods that are gone. */
function forgetRecalled(view: AgentView): void {
  const state = observedTimesState(view);
  const { observed, cache, statuses, pods, workers } = state;
  for (const uid of observed.recalled) {
    if (isAside(state, uid)) continue;
    observed.recalled.delete(uid);
    if (!cache.entries.has(uid)) forgetCachedStatus(state, uid);
    if (pods.pods.has(uid) || statuses.has(uid) || workers.records.has(uid)) continue;
    forgetStart(state, uid);
    observed.changedStarts.add(uid);
  }
}
