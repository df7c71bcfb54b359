// The state file of claims: written at the end of each step that changed them. Waiting tasks resume when it is on disk, and get the error of a write that failed;
// a task that waits does not wait for the pause after a failed write.
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { mayWrite, stateFileWritten, writeStateFile } from '../checkpoints/state-file-writer.js';
import type { ReplyFor } from '../kernel/machine.js';
import { type DraContext, type DraManager, draFileText } from './dra-state.js';
import { fileFailed, fileSaved, isFileAwaited } from './dra-tasks.js';

/** At the end of a step. */
export function planDraFile(manager: DraManager, { turn }: DraContext): void {
  const { file, revision } = manager;
  if (file.onDisk === revision || !mayWrite(file, turn.now, isFileAwaited(manager))) return;
  writeStateFile(file, revision, draFileText(manager), turn);
}

export function draFileReplied(manager: DraManager, answer: ReplyFor<AgentOperations, 'stateFiles.write'>, context: DraContext): void {
  const { file } = manager;
  const { writing } = file;
  if (stateFileWritten(file, answer, context.turn)) fileSaved(manager, context);
  else fileFailed(manager, writing ?? 0, file.problem ?? '', context);
}
