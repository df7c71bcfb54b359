// A container that takes another's place has a higher attempt than all of its name that are still there, whatever their stamps say: by the attempt it is
// known which of them is the newest.
import { containerLabels } from '../../domain/values/container-labels.js';
import type { Checker } from './checker.js';

export const attemptsGoUp: Checker<null> = {
  name: 'attempts-go-up',
  fresh: () => null,
  look(_memory, what, { runtime }, report) {
    if (what.kind !== 'command' || what.command.op !== 'containers.create') return;
    const { config, sandboxConfig } = what.command.request;
    const { name, attempt } = config.metadata;
    const { uid } = sandboxConfig.metadata;
    for (const other of runtime.containers.values()) {
      if (other.podUid !== uid || other.config.labels[containerLabels.containerName] !== name) continue;
      if (other.config.metadata.attempt >= attempt)
        report(`container ${name} of pod ${uid} is made with attempt ${attempt}, and there is attempt ${other.config.metadata.attempt}`);
    }
  },
};
