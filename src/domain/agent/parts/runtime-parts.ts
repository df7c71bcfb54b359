// Parts around the container runtime: its state, the lister of pod lifecycle events, images, and garbage collection.
import { credentialPluginMachine, imageMachine, imageStoreAddress } from '../../images/image-context.js';
import { imageOperations, imageReplied } from '../../images/image-manager.js';
import { askForImages, credentialPluginReplied, imagesListed, nodeConfigRead, recordsListed, startImageStore } from '../../images/image-store.js';
import type { AgentContext } from '../agent-context.js';
import { beginCollection, collectionAddress, collectionOperations, collectionReplied, planCollection } from '../collection.js';
import { deadContainerRemoved, deadLogsRemoved, deletorAddress } from '../dead-containers.js';
import { beginImageCollection, imageCollectionAddress, imageCollectionOperations, imageCollectionReplied, planImageCollection } from '../image-collection.js';
import { beginLogRotation, logRotationMachine, logRotationOperations, logRotationReplied, planLogRotation } from '../log-rotation.js';
import { beginLooks, beginRelist, looksAddress, podRelistDue, podRelistMachine, relistAddress, requestPodRelist } from '../looks.js';
import { type AgentPart, repliesTo } from '../part.js';
import { podRelistReplied, relistReplied } from '../relist.js';
import { podCidrReplied, pollStatus, runtimeAddress, statusReplied, versionReplied } from '../runtime-poll.js';
import { drain } from '../sync-loop.js';
import { deliverReleasedSets } from './source-parts.js';

/** What waited for the runtime may be dispatched after the answer. */
function thenDrain<Answer>(handle: (context: AgentContext, answer: Answer) => void) {
  return (context: AgentContext, _key: string, answer: Answer): void => {
    handle(context, answer);
    drain(context);
  };
}

/** Sets of sources that waited until it was known what runs may be delivered after the answer, too. */
function thenDeliver<Answer>(handle: (context: AgentContext, answer: Answer) => void) {
  return thenDrain<Answer>((context, answer) => {
    handle(context, answer);
    deliverReleasedSets(context);
  });
}

/** `pkg/kubelet/runtime.go`: whether the runtime can be used. */
export const runtimeState: AgentPart = {
  name: 'runtimeState',
  start: pollStatus,
  machines: {
    [runtimeAddress.machine]: {
      replies: {
        'runtime.version': thenDrain(versionReplied),
        'runtime.updateConfig': thenDrain(podCidrReplied),
        'runtime.status': thenDrain(statusReplied),
      },
      woken: pollStatus,
    },
  },
};

/** `pkg/kubelet/pleg`. */
export const pleg: AgentPart = {
  name: 'pleg',
  start: beginRelist,
  events: {
    runtimeChanged: (context, { uids }) => {
      for (const uid of uids) requestPodRelist(context, uid);
    },
    runtimeChangesLost: beginRelist,
  },
  machines: {
    [relistAddress.machine]: {
      replies: { 'runtime.listPods': thenDeliver(relistReplied), 'runtime.inspectPod': thenDeliver(podRelistReplied) },
      woken: beginRelist,
    },
    [looksAddress.machine]: { woken: beginLooks },
    [podRelistMachine]: { woken: podRelistDue },
  },
};

/** `pkg/kubelet/images`: presence, pulls, records of pulls, credentials. */
export const imageManager: AgentPart = {
  name: 'imageManager',
  start: startImageStore,
  events: {
    pullSecrets: ({ state }, { secrets }) => {
      state.pullSecrets = new Map(secrets.map((secret) => [`${secret.metadata.namespace ?? ''}/${secret.metadata.name}`, secret]));
    },
  },
  machines: {
    [imageMachine]: { replies: repliesTo(imageOperations, (context, key, answer) => imageReplied(context, Number(key), answer)) },
    [imageStoreAddress.machine]: {
      replies: {
        'registryCredentials.readNodeConfig': (context, _key, answer) => nodeConfigRead(context, answer),
        'pullRecords.list': (context, _key, answer) => recordsListed(context, answer),
        'images.list': (context, _key, answer) => imagesListed(context, answer),
      },
      woken: askForImages,
    },
    [credentialPluginMachine]: { replies: { 'registryCredentials.runPlugin': credentialPluginReplied } },
  },
};

/** `pkg/kubelet/kuberuntime/kuberuntime_gc.go`, and the deletor of dead containers. */
export const containerGC: AgentPart = {
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

/** `pkg/kubelet/images/image_gc_manager.go`. */
export const imageGC: AgentPart = {
  name: 'imageGC',
  settle: planImageCollection,
  machines: {
    [imageCollectionAddress.machine]: {
      replies: repliesTo(imageCollectionOperations, (context, _key, answer) => imageCollectionReplied(context, answer)),
      woken: beginImageCollection,
    },
  },
};

/** `pkg/kubelet/logs/container_log_manager.go`. */
export const containerLogManager: AgentPart = {
  name: 'containerLogManager',
  settle: planLogRotation,
  machines: { [logRotationMachine]: { replies: repliesTo(logRotationOperations, logRotationReplied), woken: beginLogRotation } },
};
