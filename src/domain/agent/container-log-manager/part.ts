// Rotates the logs of containers.
import { type AgentPart, repliesTo } from '../part.js';
import { beginLogRotation, logRotationMachine, logRotationOperations, logRotationReplied, planLogRotation } from './log-rotation.js';

/** `pkg/kubelet/logs/container_log_manager.go`. */
export const containerLogManager: AgentPart<'containerLogManager'> = {
  name: 'containerLogManager',
  settle: planLogRotation,
  machines: { [logRotationMachine]: { replies: repliesTo(logRotationOperations, logRotationReplied), woken: beginLogRotation } },
};
