// No sandbox is removed while a container in it runs. (It may be stopped, as after a failed stop of a container.)
import type { Checker } from './checker.js';

export const sandboxOutlivesContainers: Checker<null> = {
  name: 'sandbox-outlives-containers',
  fresh: () => null,
  look(_memory, what, { runtime }, report) {
    if (what.kind !== 'command' || what.command.op !== 'sandboxes.remove') return;
    const { sandboxId } = what.command.request;
    for (const { id, sandboxId: of, state } of runtime.containers.values()) {
      if (of === sandboxId && state === 'running') report(`sandbox ${sandboxId} is removed, in which ${id} runs`);
    }
  },
};
