// Removes dead containers and sandboxes.
import { type AgentPart, repliesTo } from '../part.js';
import { beginCollection, collectionAddress, collectionOperations, collectionReplied, planCollection } from './collection.js';
import { deadContainerRemoved, deadLogsRemoved, deletorAddress } from './dead-containers.js';

/** `pkg/kubelet/kuberuntime/kuberuntime_gc.go`, and the deletor of dead containers. */
export const containerGC: AgentPart<'containerGC'> = {
  name: 'containerGC',
  settle: planCollection,
  machines: {
    [collectionAddress.machine]: { replies: repliesTo(collectionOperations, (context, _key, answer) => collectionReplied(context, answer)), woken: beginCollection },
    [deletorAddress.machine]: {
      replies: {
        'podLogs.removeContainerLogs': (context, _key, answer) => deadLogsRemoved(context, answer),
        'containers.remove': (context, _key, answer) => deadContainerRemoved(context, answer),
      },
    },
  },
};
