// A pod is removed from the API only after it has ended there, and nothing of it runs.
import { isTerminalPhase } from '../../domain/status/phase.js';
import { isMirrorPod } from '../../domain/values/pod-kind.js';
import { type Checker, podWrite } from './checker.js';

export const apiPodOutlivesContainers: Checker<null> = {
  name: 'api-pod-outlives-containers',
  fresh: () => null,
  look(_memory, what, node, report) {
    const write = podWrite(what, node);
    if (write === null || write.shown === null || write.command.op !== 'apiWriter.delete' || isMirrorPod(write.shown)) return;
    const { name, uid } = write.shown.metadata;
    // Another pod by now: the server refuses it.
    if (write.command.request.uid !== null && write.command.request.uid !== uid) return;
    if (write.command.request.uid === null) report(`pod ${name} is deleted, whichever it is`);
    if (!isTerminalPhase(write.shown.status?.phase)) report(`pod ${name} is deleted, and is ${write.shown.status?.phase} in the API`);
    for (const { id, podUid, state } of node.runtime.containers.values()) if (podUid === uid && state === 'running') report(`pod ${name} is deleted, and its container ${id} runs`);
  },
};
