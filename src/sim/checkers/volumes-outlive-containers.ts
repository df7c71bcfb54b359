// Nothing of a pod's volumes is taken down while a container of the pod runs.
import type { Checker } from './checker.js';

export const volumesOutliveContainers: Checker<null> = {
  name: 'volumes-outlive-containers',
  fresh: () => null,
  look(_memory, what, { runtime }, report) {
    if (what.kind !== 'command') return;
    const { command } = what;
    let uid = '';
    if (command.op === 'podVolumes.tearDown') ({ uid } = command.request);
    else if (command.op === 'volumeMounts.unmount' && command.request.place.kind === 'pod') ({ uid } = command.request.place);
    if (uid === '') return;
    for (const { id, podUid, state } of runtime.containers.values()) {
      if (podUid === uid && state === 'running') report(`${command.op} for pod ${uid}, whose container ${id} runs`);
    }
  },
};
