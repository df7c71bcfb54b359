// No volume of a pod is torn down or unpublished by a driver while a container of the pod runs.
import type { Checker } from './checker.js';

export const volumesOutliveContainers: Checker<null> = {
  name: 'volumes-outlive-containers',
  fresh: () => null,
  look(_memory, what, { runtime, agent }, report) {
    if (what.kind !== 'command') return;
    const { command } = what;
    let uid = '';
    if (command.op === 'podVolumes.tearDown') ({ uid } = command.request);
    else if (command.op === 'volumeMounts.unmount' && command.request.place.kind === 'pod') ({ uid } = command.request.place);
    else if (command.op === 'csiNode.unpublish') uid = podOfPath(command.request.targetPath, agent.nodeFacts.rootDirectory);
    else if (command.op === 'projectQuotas.clear') ({ uid } = command.request);
    else if (command.op === 'blockDevices.unmap') ({ uid } = command.request);
    if (uid === '') return;
    for (const { id, podUid, state } of runtime.containers.values()) {
      if (podUid === uid && state === 'running') report(`${command.op} for pod ${uid}, whose container ${id} runs`);
    }
  },
};

/** The uid of the pod that a path is below the directory of, or that a raw device is published for; '' for another path. */
function podOfPath(path: string, rootDirectory: string): string {
  const pods = `${rootDirectory}/pods/`;
  if (path.startsWith(pods)) return path.slice(pods.length).split('/')[0] ?? '';
  return path.startsWith(`${rootDirectory}/plugins/kubernetes.io/csi/volumeDevices/publish/`) ? path.slice(path.lastIndexOf('/') + 1) : '';
}
