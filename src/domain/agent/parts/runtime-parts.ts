// Parts around the container runtime: its state, the lister of pod lifecycle events, images, and garbage collection.
import { credentialPluginMachine, imageMachine, imageStoreAddress } from '../../images/image-context.js';
import { imageReplied } from '../../images/image-manager.js';
import { askForImages, credentialPluginReplied, imageStoreReplied, startImageStore } from '../../images/image-store.js';
import type { AgentContext } from '../agent-context.js';
import { beginCollection, collectionAddress, collectionReplied, planCollection } from '../collection.js';
import { deletorAddress, deletorReplied } from '../dead-containers.js';
import { beginImageCollection, imageCollectionAddress, imageCollectionReplied, planImageCollection } from '../image-collection.js';
import { beginLogRotation, logRotationMachine, logRotationReplied, planLogRotation } from '../log-rotation.js';
import { beginLooks, beginRelist, looksAddress, podRelistDue, podRelistMachine, relistAddress, requestPodRelist } from '../looks.js';
import type { AgentPart } from '../part.js';
import { relistReplied } from '../relist.js';
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
      replied: (context, _key, reply) => {
        relistReplied(context, reply);
        deliverReleasedSets(context);
        drain(context);
      },
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
    [imageMachine]: { replied: (context, key, reply) => imageReplied(context, Number(key), reply) },
    [imageStoreAddress.machine]: { replied: (context, _key, reply) => imageStoreReplied(context, reply), woken: askForImages },
    [credentialPluginMachine]: { replied: credentialPluginReplied },
  },
};

/** `pkg/kubelet/kuberuntime/kuberuntime_gc.go`, and the deletor of dead containers. */
export const containerGC: AgentPart = {
  name: 'containerGC',
  settle: planCollection,
  machines: {
    [collectionAddress.machine]: { replied: (context, _key, reply) => collectionReplied(context, reply), woken: beginCollection },
    [deletorAddress.machine]: { replied: (context, _key, reply) => deletorReplied(context, reply) },
  },
};

/** `pkg/kubelet/images/image_gc_manager.go`. */
export const imageGC: AgentPart = {
  name: 'imageGC',
  settle: planImageCollection,
  machines: {
    [imageCollectionAddress.machine]: { replied: (context, _key, reply) => imageCollectionReplied(context, reply), woken: beginImageCollection },
  },
};

/** `pkg/kubelet/logs/container_log_manager.go`. */
export const containerLogManager: AgentPart = {
  name: 'containerLogManager',
  settle: planLogRotation,
  machines: { [logRotationMachine]: { replied: (context, _key, reply) => logRotationReplied(context, reply), woken: beginLogRotation } },
};
