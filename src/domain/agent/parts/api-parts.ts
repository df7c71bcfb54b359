// Parts that read objects of the API for pods.
import { reflectorMachine } from '../../api-cache/reflector.js';
import {
  idleObjects,
  objectMachine,
  objectReplied,
  pluginDataReplied,
  pluginTokenMachine,
  releaseIdleObjects,
  serviceAccountMachine,
  tokenDue,
  tokenMachine,
  tokenRefreshMachine,
  tokenReplied,
} from '../api-data.js';
import { apiReplied, apiSaw, apiWoken, beginApiObjects } from '../api-objects.js';
import type { AgentPart } from '../part.js';
import { certificateStepReplied, certificateWoken, podCertificateMachine } from '../pod-certificates.js';

/** The kubelet's informers: copies of objects, kept up to date by watches. */
export const reflectors: AgentPart = {
  name: 'reflectors',
  start: beginApiObjects,
  events: { 'api-watch': apiSaw },
  machines: { [reflectorMachine]: { replied: apiReplied, woken: apiWoken } },
};

/** `pkg/kubelet/secret`, `pkg/kubelet/configmap` and their `pkg/kubelet/util/manager`. */
export const objectManager: AgentPart = {
  name: 'objectManager',
  machines: { [objectMachine]: { replied: objectReplied }, [idleObjects.machine]: { woken: releaseIdleObjects } },
};

/** `pkg/kubelet/token`. */
export const tokenManager: AgentPart = {
  name: 'tokenManager',
  machines: {
    [tokenMachine]: { replied: tokenReplied },
    [tokenRefreshMachine]: { woken: tokenDue },
    [pluginTokenMachine]: { replied: (context, _key, reply) => pluginDataReplied(context, reply) },
    [serviceAccountMachine]: { replied: (context, _key, reply) => pluginDataReplied(context, reply) },
  },
};

/** `pkg/kubelet/podcertificate`. */
export const podCertificateManager: AgentPart = {
  name: 'podCertificateManager',
  machines: { [podCertificateMachine]: { replied: certificateStepReplied, woken: certificateWoken } },
};
