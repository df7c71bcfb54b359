// Parts that read objects of the API for pods.
import { reflectorMachine } from '../../api-cache/reflector.js';
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
} from '../api-data.js';
import { apiReplied, apiSaw, apiWoken, beginApiObjects } from '../api-objects.js';
import { type AgentPart, repliesTo } from '../part.js';
import { certificateStepReplied, certificateWoken, podCertificateMachine } from '../pod-certificates.js';

/** The kubelet's informers: copies of objects, kept up to date by watches. */
export const reflectors: AgentPart = {
  name: 'reflectors',
  start: beginApiObjects,
  events: { 'api-watch': apiSaw },
  machines: { [reflectorMachine]: { replies: repliesTo(['apiReader.list', 'apiReader.watch'], apiReplied), woken: apiWoken } },
};

/** `pkg/kubelet/secret`, `pkg/kubelet/configmap` and their `pkg/kubelet/util/manager`. */
export const objectManager: AgentPart = {
  name: 'objectManager',
  machines: { [objectMachine]: { replies: { 'apiReader.get': objectReplied } }, [idleObjects.machine]: { woken: releaseIdleObjects } },
};

/** `pkg/kubelet/token`. */
export const tokenManager: AgentPart = {
  name: 'tokenManager',
  machines: {
    [tokenMachine]: { replies: { 'apiWriter.create': tokenReplied } },
    [tokenRefreshMachine]: { woken: tokenDue },
    [pluginTokenMachine]: { replies: { 'apiWriter.create': pluginTokenReplied } },
    [serviceAccountMachine]: { replies: { 'apiReader.get': serviceAccountReplied } },
  },
};

/** `pkg/kubelet/podcertificate`. */
export const podCertificateManager: AgentPart = {
  name: 'podCertificateManager',
  machines: {
    [podCertificateMachine]: { replies: repliesTo(['apiReader.get', 'podCertificateKeys.generate', 'apiWriter.create'], certificateStepReplied), woken: certificateWoken },
  },
};
