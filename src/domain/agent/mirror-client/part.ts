// Mirror pods: static pods in the API.
import type { AgentPart } from '../part.js';
import { mirrorCreated, mirrorDeleted, mirrorMachine, mirrorWoken } from './mirror-pods.js';

/** `pkg/kubelet/pod/mirror_client.go`. */
export const mirrorClient: AgentPart<'mirrorClient'> = {
  name: 'mirrorClient',
  machines: { [mirrorMachine]: { replies: { 'apiWriter.create': mirrorCreated, 'apiWriter.delete': mirrorDeleted }, woken: mirrorWoken } },
};
