// The files `allocated_pods_state` and `actuated_pods_state`: read before anything is admitted, then written at the end of each step that added to them.
//
//   reading -> read
//           -> failed, or malformed: nothing is admitted; read again after a pause (an operator may have removed it)
//   dirty -> write -> written: runs that waited for it resume
//                  -> failed: they resume, too, as in the Go kubelet
//
// Invariant: the first run of a pod begins after the file with its allocation is on disk, or its write has failed.
import type { Micros } from '../../../ports/micros.js';
import { allocationMachine, type CheckpointFile, isAllocationKnown } from '../../allocation/allocation-state.js';
import { type PodResourceEntry, readPodResourcesCheckpoint, writePodResourcesCheckpoint } from '../../checkpoints/pod-resources-checkpoint.js';
import { mayWrite, stateFileWritten, writeStateFile } from '../../checkpoints/state-file-writer.js';
import { assert } from '../../kernel/assert.js';
import type { AgentView } from '../agent-view.js';
import type { AnswerOf } from '../part.js';
import { resumeRuns } from '../sync-loop/requests.js';
import type { AllocationManagerContext } from './slice.js';

const readPause: Micros = 30_000_000;

type Name = 'allocated' | 'actuated';
const names: readonly Name[] = ['allocated', 'actuated'];

export function readAllocation({ state, turn }: AllocationManagerContext): void {
  for (const key of names) {
    const { writer, isRead } = state.allocation.files[key];
    const { name, address } = writer;
    if (!isRead && !turn.inFlight(address, 'read')) turn.ask('stateFiles.read', address, 'read', { name });
  }
}

/** At the end of a step. */
export function planAllocationFiles(context: AllocationManagerContext): void {
  if (!isAllocationKnown(context.state.allocation)) return;
  plan(context, 'allocated');
  plan(context, 'actuated');
}

function plan({ state, turn }: AllocationManagerContext, key: Name): void {
  const file = state.allocation.files[key];
  if (!file.dirty || !mayWrite(file.writer, turn.now)) return;
  file.dirty = false;
  const { content, checksum } = writePodResourcesCheckpoint(state.allocation[key]);
  if (!writeStateFile(file.writer, checksum, content, turn)) resumeWaiting(state, file);
}

function resumeWaiting(view: AgentView, { waiting }: CheckpointFile): void {
  resumeRuns(view, waiting);
  waiting.clear();
}

/** True: both files have been read with this. */
export function allocationRead({ state, turn }: AllocationManagerContext, key: string, { outcome }: AnswerOf<'stateFiles.read'>): boolean {
  const { allocation } = state;
  const name = nameOf(key);
  const file = allocation.files[name];
  assert(!file.isRead, 'a file of allocations was read twice', key);
  const read = outcome.ok ? entriesOf(outcome.value) : { ok: false as const, error: outcome.error.message };
  if (!read.ok) {
    turn.log('error', 'Could not restore the state of allocations: drain this node and remove the file', { file: file.writer.name, err: read.error });
    turn.wakeAt({ machine: allocationMachine, key: 'read' }, turn.now + readPause);
    return false;
  }
  for (const [uid, entry] of read.value) allocation[name].set(uid, entry);
  file.isRead = true;
  return isAllocationKnown(allocation);
}

function nameOf(key: string): Name {
  const name = names.find((one) => one === key);
  assert(name !== undefined, 'an answer came for an unknown file of allocations', key);
  return name;
}

/** A previous agent's file. @param text null: absent */
export function entriesOf(text: string | null): ReturnType<typeof readPodResourcesCheckpoint> {
  return text === null ? { ok: true, value: new Map<string, PodResourceEntry>() } : readPodResourcesCheckpoint(text);
}

export function allocationWritten({ state, turn }: AllocationManagerContext, key: string, answer: AnswerOf<'stateFiles.write'>): void {
  const file = state.allocation.files[nameOf(key)];
  assert(file.isRead, 'a file of allocations was written before it was read', key);
  if (!stateFileWritten(file.writer, answer, turn)) file.dirty = true;
  resumeWaiting(state, file);
}
