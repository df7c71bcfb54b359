// Writes down when pods and containers started and ended, by the clock that is never set, so that deadlines, initial delays of probes and ages don't depend
// on timestamps after a restart of the agent, even if the wall clock was set meanwhile.
//
//   a start or an end is observed -> write at once -> the next write a second later at the earliest
//
// Invariants: what is not in the file has happened after its `upTo`, so that a time that wasn't written in time is wrong by no more than what has passed
// since then. Entries of the previous agent are kept until every source has reported and the runtime was listed.

import type { Micros } from '../../../ports/micros.js';
import { type ObservedContainerTimes, observedTimesFileName, writeObservedPod, writeObservedTimes } from '../../checkpoints/observed-times.js';
import { mayWrite, stateFileWritten, writeStateFile } from '../../checkpoints/state-file-writer.js';
import { deleteFromPodCache } from '../../pod-cache/pod-cache.js';
import { areAllSourcesReady } from '../../pod-sources/pod-config.js';
import type { AgentContext } from '../agent-context.js';
import type { AgentState } from '../agent-state.js';
import type { AnswerOf } from '../part.js';
import { isAside } from '../set-aside/aside-pods.js';
import { observedTimesAddress, recallTimes } from './observed-times-state.js';

/** Between writes: many pods that start at a time are written together. */
const pause: Micros = 1_000_000;

/** At the start of the agent. An unreadable file never prevents it: then the timestamps count. */
export function beginObservedTimes({ state, turn }: AgentContext): void {
  const problem = recallTimes(state.settings.observedTimes, state, turn.now);
  if (problem !== null) turn.log('warn', 'Times that an earlier kubelet observed cannot be used', { file: observedTimesFileName, err: problem });
}

/** At the end of a step. */
export function planObservedTimes(context: AgentContext): void {
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
  if (isComplete(state)) observed.upTo = settings.runtimeTellsChanges ? turn.now : cache.globalTime;
  const { bootId, bootedAt } = settings.observedTimes;
  const text = writeObservedTimes(bootId, observed.upTo === null ? null : Math.max(0, observed.upTo - bootedAt), observed.texts);
  writeStateFile(file, observed.revision, text, turn);
}

export function observedTimesWritten({ state, turn }: AgentContext, answer: AnswerOf<'stateFiles.write'>): void {
  stateFileWritten(state.observed.file, answer, turn);
}

/** Every pod of this node is known, and each of its containers as the runtime has it. */
function isComplete({ cache, config }: AgentState): boolean {
  return cache.globalTime !== null && cache.behind.size === 0 && areAllSourcesReady(config);
}

/** True: an entry differs from the last write. */
function takeChanges(state: AgentState): boolean {
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
  cache.changedMoments.clear();
  return isChanged;
}

function podText({ cache, podStarts, settings }: AgentState, uid: string): string {
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
function forgetRecalled(state: AgentState): void {
  const { observed, cache, podStarts, statuses, pods, workers, pleg } = state;
  for (const uid of observed.recalled) {
    if (isAside(state, uid)) continue;
    observed.recalled.delete(uid);
    if (!pleg.records.has(uid) && !cache.entries.has(uid)) deleteFromPodCache(cache, uid);
    if (pods.pods.has(uid) || statuses.has(uid) || workers.records.has(uid)) continue;
    podStarts.delete(uid);
    observed.changedStarts.add(uid);
  }
}
