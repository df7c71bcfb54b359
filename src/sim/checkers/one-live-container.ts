// Never two running containers of one (pod uid, container name).
import { containerLabels } from '../../domain/values/container-labels.js';
import type { Checker } from './checker.js';

export const oneLiveContainer: Checker<null> = {
  name: 'one-live-container',
  fresh: () => null,
  look(_memory, what, { runtime }, report) {
    if (what.kind !== 'runtime' || what.event.kind !== 'started') return;
    const started = runtime.containers.get(what.event.containerId);
    if (started?.state !== 'running') return;
    const name = started.config.labels[containerLabels.containerName];
    for (const other of runtime.containers.values()) {
      if (other.id === started.id || other.state !== 'running' || other.podUid !== started.podUid) continue;
      if (other.config.labels[containerLabels.containerName] === name) report(`container ${name} of pod ${started.podUid} runs twice: ${other.id} and ${started.id}`);
    }
  },
};
