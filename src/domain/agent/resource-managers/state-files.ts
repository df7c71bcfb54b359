// The state files of the CPU and memory managers: written at the end of each step that changed them. Waiting runs resume after each write: with the error, if it failed.
//
// Invariant: a container with an exclusive allocation is created only after the file with it is on disk; otherwise a
// restarted agent could find it free, and allocate it to another.
import { mayWrite, type StateFileWriter, stateFileWritten, writeStateFile } from '../../checkpoints/state-file-writer.js';
import { cpuStateFile } from '../../cpu-manager/cpu-manager.js';
import { assert } from '../../kernel/assert.js';
import type { View } from '../../kernel/view.js';
import { memoryStateFile } from '../../memory-manager/memory-manager.js';
import type { AgentView } from '../agent-view.js';
import type { AnswerOf } from '../part.js';
import { resumeRuns } from '../sync-loop/requests.js';
import type { ResourceManagersContext } from './slice.js';

/** At the end of a step: writes changes. */
export function planStateFiles(context: ResourceManagersContext): void {
  const { alignment } = context.state;
  if (alignment === null) return;
  plan(context, alignment.cpuFile, cpuStateFile(alignment.cpu));
  plan(context, alignment.memoryFile, memoryStateFile(alignment.memory));
}

function plan({ turn }: ResourceManagersContext, file: StateFileWriter<string>, text: string): void {
  if (mayWrite(file, turn.now)) writeStateFile(file, text, text, turn);
}

export function stateFileReplied({ state, turn }: ResourceManagersContext, name: string, answer: AnswerOf<'stateFiles.write'>): void {
  const { alignment } = state;
  assert(alignment !== null, 'a state file was written without managers', name);
  stateFileWritten(name === alignment.cpuFile.name ? alignment.cpuFile : alignment.memoryFile, answer, turn);
  resumeRuns(state, alignment.waiting);
  alignment.waiting.clear();
}

/** The state files that this agent writes. */
export function stateFilesOf(state: Pick<AgentView, 'alignment' | 'dra' | 'allocation' | 'observed' | 'setAside'>): readonly View<StateFileWriter>[] {
  const { alignment, dra, allocation, observed, setAside } = state;
  const managers = alignment === null ? [] : [alignment.cpuFile, alignment.memoryFile];
  return [...managers, ...(dra === null ? [] : [dra.file]), allocation.files.allocated.writer, allocation.files.actuated.writer, observed.file, setAside.file];
}
