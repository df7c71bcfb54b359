// Removes images that are not in use.
import { type AgentPart, repliesTo } from '../part.js';
import { beginImageCollection, imageCollectionAddress, imageCollectionOperations, imageCollectionReplied, planImageCollection } from './image-collection.js';

/** `pkg/kubelet/images/image_gc_manager.go`. */
export const imageGC: AgentPart<'imageGC'> = {
  name: 'imageGC',
  settle: planImageCollection,
  machines: {
    [imageCollectionAddress.machine]: {
      replies: repliesTo(imageCollectionOperations, (context, _key, answer) => imageCollectionReplied(context, answer)),
      woken: beginImageCollection,
    },
  },
};
