// Certificates of pods for projected volumes.
import { type AgentPart, repliesTo } from '../part.js';
import { certificateStepReplied, certificateWoken, podCertificateMachine } from './pod-certificates.js';

/** `pkg/kubelet/podcertificate`. */
export const podCertificateManager: AgentPart<'podCertificateManager'> = {
  name: 'podCertificateManager',
  machines: {
    [podCertificateMachine]: { replies: repliesTo(['apiReader.get', 'podCertificateKeys.generate', 'apiWriter.create'], certificateStepReplied), woken: certificateWoken },
  },
};
