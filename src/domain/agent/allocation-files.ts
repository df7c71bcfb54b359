// The files `allocated_pods_state` and `actuated_pods_state`: read before anything is admitted, then kept equal to the state, one write a file at
// a time, the newest text.
//
//   reading -> read
//           -> failed, or malformed: nothing is admitted; read again after a pause (an operator may have removed it)
//   dirty -> write -> written: runs that waited for it resume
//                  -> failed: they resume, too, as in the Go kubelet; written again after a pause, or with the next change
//
// Invariant: the first run of a pod begins after the file with its allocation is on disk.
import type { Micros } from '../../ports/micros.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { type CheckpointFile, isAllocationKnown } from '../allocation/allocation-state.js';
import { doubledPause } from '../backoff/doubled-pause.js';
import { type PodResourceEntry, readPodResourcesCheckpoint, writePodResourcesCheckpoint } from '../checkpoints/pod-resources-checkpoint.js';
import type { Reply } from '../kernel/machine.js';
import type { AgentContext } from './agent-context.js';

export const allocationMachine = 'allocation';
const readPause: Micros = 30_000_000;
const firstPause: Micros = 1_000_000;
const longestPause: Micros = 60_000_000;

type Name = 'allocated' | 'actuated';
const names: readonly Name[] = ['allocated', 'actuated'];

export function readAllocation({ state, turn }: AgentContext): void {
  for (const key of names) {
    const { name, isRead } = state.allocation.files[key];
    const address = { machine: allocationMachine, key };
    if (!isRead && !turn.inFlight(address, 'read')) turn.ask('stateFiles.read', address, 'read', { name });
  }
}

/** At the end of a step. */
export function planAllocationFiles(context: AgentContext): void {
  if (!isAllocationKnown(context.state.allocation)) return;
  for (const key of names) plan(context, key);
}

function plan({ state, turn }: AgentContext, key: Name): void {
  const { allocation, backlog } = state;
  const file = allocation.files[key];
  if (!file.dirty || file.writing !== null || (file.retryAt !== null && turn.now < file.retryAt)) return;
  file.dirty = false;
  file.retryAt = null;
  const { content, checksum } = writePodResourcesCheckpoint(allocation[key]);
  if (checksum === file.checksum) {
    file.unsaved.clear();
    for (const uid of file.waiting) backlog.woken.add(uid);
    file.waiting.clear();
    return;
  }
  file.writing = checksum;
  file.inWrite = file.unsaved;
  file.unsaved = new Set();
  turn.ask('stateFiles.write', { machine: allocationMachine, key }, 'write', { name: file.name, text: content });
}

/** True: both files have been read with this. */
export function allocationReplied(context: AgentContext, key: string, reply: Reply<AgentOperations>): boolean {
  const { allocation } = context.state;
  if (reply.op === 'stateFiles.read') return taken(context, key as Name, reply.outcome) && isAllocationKnown(allocation);
  written(context, allocation.files[key as Name], reply);
  return false;
}

type ReadOutcome = Extract<Reply<AgentOperations>, { readonly op: 'stateFiles.read' }>['outcome'];

function taken({ state, turn }: AgentContext, key: Name, outcome: ReadOutcome): boolean {
  const { allocation } = state;
  const file = allocation.files[key];
  const read = outcome.ok ? entriesOf(outcome.value) : { ok: false as const, error: outcome.error.message };
  if (!read.ok) {
    turn.log('error', 'Could not restore the state of allocations: drain this node and remove the file', { file: file.name, err: read.error });
    turn.wakeAt({ machine: allocationMachine, key: 'read' }, turn.now + readPause);
    return false;
  }
  for (const [uid, entry] of read.value) allocation[key].set(uid, entry);
  file.isRead = true;
  return true;
}

/** A previous agent's file. @param text null: absent */
export function entriesOf(text: string | null): ReturnType<typeof readPodResourcesCheckpoint> {
  return text === null ? { ok: true, value: new Map<string, PodResourceEntry>() } : readPodResourcesCheckpoint(text);
}

function written({ state, turn }: AgentContext, file: CheckpointFile, reply: Reply<AgentOperations>): void {
  if (reply.outcome.ok) {
    file.checksum = file.writing;
    file.failures = 0;
  } else {
    turn.log('error', 'Failed to save the state of allocations', { file: file.name, err: reply.outcome.error.message });
    file.checksum = null;
    file.dirty = true;
    file.retryAt = turn.now + doubledPause(firstPause, longestPause, file.failures++);
    turn.wakeAt({ machine: allocationMachine, key: file.name }, file.retryAt);
  }
  file.writing = null;
  file.inWrite = new Set();
  for (const uid of file.waiting) state.backlog.woken.add(uid);
  file.waiting.clear();
}
