// Keeps the state file of claims equal to the claims: level-triggered, one write at a time, the newest text.
//
//   a change -> write -> written: waiting tasks resume
//                     -> failed: waiting tasks get the error; retried after a pause, or for the next task that waits
import type { Micros } from '../../ports/micros.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { doubledPause } from '../backoff/doubled-pause.js';
import { draCheckpointName } from '../checkpoints/dra-checkpoint.js';
import type { Reply } from '../kernel/machine.js';
import { type DraContext, type DraManager, draFileAddress, draFileText } from './dra-state.js';
import { fileFailed, fileSaved, isFileAwaited } from './dra-tasks.js';

const firstPause: Micros = 1_000_000;
const longestPause: Micros = 60_000_000;

/** At the end of a step. */
export function planDraFile(manager: DraManager, { turn }: DraContext): void {
  const { file } = manager;
  if (file.writing !== null || file.revision === file.savedRevision || (file.retryAt !== null && turn.now < file.retryAt && !isFileAwaited(manager))) return;
  file.writing = file.revision;
  file.retryAt = null;
  turn.ask('stateFiles.write', draFileAddress, 'write', { name: draCheckpointName, text: draFileText(manager) });
}

export function draFileReplied(manager: DraManager, { outcome }: Reply<AgentOperations>, context: DraContext): void {
  const { file } = manager;
  const { turn } = context;
  const written = file.writing ?? 0;
  file.writing = null;
  if (outcome.ok) {
    file.savedRevision = written;
    file.failures = 0;
    fileSaved(manager, context);
    return;
  }
  file.retryAt = turn.now + doubledPause(firstPause, longestPause, file.failures++);
  turn.wakeAt(draFileAddress, file.retryAt);
  turn.log('error', 'Failed to save state', { file: draCheckpointName, err: outcome.error.message });
  fileFailed(manager, written, outcome.error.message, context);
}
