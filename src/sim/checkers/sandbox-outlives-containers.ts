// No sandbox is stopped or removed while a container in it runs: its containers would be killed without their grace.
import type { Checker } from './checker.js';

export const sandboxOutlivesContainers: Checker<null> = {
  name: 'sandbox-outlives-containers',
  fresh: () => null,
  look(_memory, what, { runtime }, report) {
    if (what.kind !== 'command' || (what.command.op !== 'sandboxes.remove' && what.command.op !== 'sandboxes.stop')) return;
    const { sandboxId } = what.command.request;
    for (const { id, sandboxId: of, state } of runtime.containers.values()) {
      if (of === sandboxId && state === 'running') report(`${what.command.op} of ${sandboxId}, in which ${id} runs`);
    }
  },
};
