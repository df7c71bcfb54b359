// Images of containers: presence, pulls, records of pulls, credentials.
import { credentialPluginMachine, imageMachine, imageStoreAddress } from '../../images/image-context.js';
import { imageOperations, imageReplied } from '../../images/image-manager.js';
import { askForImages, credentialPluginReplied, imagesListed, nodeConfigRead, recordsListed, startImageStore } from '../../images/image-store.js';
import { type AgentPart, repliesTo } from '../part.js';

/** `pkg/kubelet/images`: presence, pulls, records of pulls, credentials. */
export const imageManager: AgentPart<'imageManager'> = {
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
