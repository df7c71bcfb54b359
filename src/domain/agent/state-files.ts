// Keeps the state files equal to the resource managers' state: level-triggered, one write a file at a time, the newest text.
//
//   the text differs -> write -> written: waiting runs resume
//                             -> failed: waiting runs get the error; retried after a pause, or with the next change
//
// Invariant: a container with an exclusive allocation is created only after the file with it is on disk; otherwise a
// restarted agent could find it free, and allocate it to another.
import type { Micros } from '../../ports/micros.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { doubledPause } from '../backoff/doubled-pause.js';
import { cpuStateFile } from '../cpu-manager/cpu-manager.js';
import { assert } from '../kernel/assert.js';
import type { Reply } from '../kernel/machine.js';
import { memoryStateFile } from '../memory-manager/memory-manager.js';
import type { AgentContext } from './agent-context.js';
import type { StateFile } from './alignment-state.js';

export const stateFileMachine = 'state-file';
/** Between tries of a write that failed. */
const firstPause: Micros = 1_000_000;
const longestPause: Micros = 60_000_000;

/** At the end of a step: writes changes. */
export function planStateFiles(context: AgentContext): void {
  const { alignment } = context.state;
  if (alignment === null) return;
  plan(context, alignment.cpuFile, cpuStateFile(alignment.cpu));
  plan(context, alignment.memoryFile, memoryStateFile(alignment.memory));
}

function plan({ turn }: AgentContext, file: StateFile, text: string): void {
  if (file.writing !== null || (file.retryAt !== null && turn.now < file.retryAt)) return;
  if (text === file.written) {
    file.unsaved.clear();
    return;
  }
  file.writing = text;
  file.retryAt = null;
  file.inWrite = file.unsaved;
  file.unsaved = new Set();
  turn.ask('stateFiles.write', { machine: stateFileMachine, key: file.name }, 'write', { name: file.name, text });
}

export function stateFileReplied(context: AgentContext, name: string, reply: Reply<AgentOperations>): void {
  const { state, turn } = context;
  const { alignment } = state;
  assert(alignment !== null, 'a state file was written without managers', name);
  const file = name === alignment.cpuFile.name ? alignment.cpuFile : alignment.memoryFile;
  if (reply.outcome.ok) {
    file.written = file.writing;
    file.problem = null;
    file.failures = 0;
  } else {
    file.problem = reply.outcome.error.message;
    const pause = doubledPause(firstPause, longestPause, file.failures++);
    file.retryAt = turn.now + pause;
    for (const uid of file.inWrite) file.unsaved.add(uid);
    turn.wakeAt({ machine: stateFileMachine, key: name }, file.retryAt);
    turn.log('error', 'Failed to save state', { file: name, err: file.problem });
  }
  file.writing = null;
  file.inWrite = new Set();
  for (const uid of alignment.waiting) state.backlog.woken.add(uid);
  alignment.waiting.clear();
}
