// Objects of the API that pods refer to, and their tokens.
import type { AgentPart } from '../part.js';
import {
  idleObjects,
  objectMachine,
  objectReplied,
  pluginTokenMachine,
  pluginTokenReplied,
  releaseIdleObjects,
  serviceAccountMachine,
  serviceAccountReplied,
  tokenDue,
  tokenMachine,
  tokenRefreshMachine,
  tokenReplied,
} from './api-data.js';

/** `pkg/kubelet/secret`, `pkg/kubelet/configmap` and their `pkg/kubelet/util/manager`. */
export const objectManager: AgentPart<'objectManager'> = {
  name: 'objectManager',
  machines: { [objectMachine]: { replies: { 'apiReader.get': objectReplied } }, [idleObjects.machine]: { woken: releaseIdleObjects } },
};

/** `pkg/kubelet/token`. */
export const tokenManager: AgentPart<'objectManager'> = {
  name: 'tokenManager',
  machines: {
    [tokenMachine]: { replies: { 'apiWriter.create': tokenReplied } },
    [tokenRefreshMachine]: { woken: tokenDue },
    [pluginTokenMachine]: { replies: { 'apiWriter.create': pluginTokenReplied } },
    [serviceAccountMachine]: { replies: { 'apiReader.get': serviceAccountReplied } },
  },
};
