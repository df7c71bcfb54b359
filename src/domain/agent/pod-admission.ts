// Whether a new pod may run on this node at all. One that may not is told of, ended as Failed, and never reaches a worker.
// Only kernel parameters are judged yet: fit, ports, taints and managers come with the node's own figures.
// Invariant: a pod that has ended, or is about to, is not judged any more.
import type { Pod } from '../../ports/model/pod.js';
import { type Rejection, rejectionStatusMessage } from '../admission/admission-result.js';
import { admitSysctls, parseSysctlAllowlist } from '../admission/sysctl-gate.js';
import { assert } from '../kernel/assert.js';
import { podQosClass } from '../qos/qos-class.js';
import { isTerminalPhase } from '../status/phase.js';
import type { AgentContext } from './agent-context.js';
import { uidOf } from './pod-index.js';
import { setStatus } from './pod-statuses.js';

/** False: the pod was refused, and its status says why. */
export function admitPod(context: AgentContext, pod: Pod): boolean {
  if (context.isTerminationRequested(uidOf(pod)) || isTerminalPhase(pod.status?.phase)) return true;
  const rejection = rejectionOf(context, pod);
  if (rejection === null) return true;
  context.event(pod, null, 'Warning', rejection.reason, rejection.message);
  setStatus(context, pod, { phase: 'Failed', reason: rejection.reason, message: rejectionStatusMessage(rejection), qosClass: podQosClass(pod) });
  return false;
}

function rejectionOf(context: AgentContext, pod: Pod): Rejection | null {
  if ((pod.spec.securityContext?.sysctls ?? []).length === 0) return null;
  const allowlist = parseSysctlAllowlist(context.state.settings.allowedSysctls);
  assert(allowlist.ok, 'the patterns of sysctls were checked at the start', allowlist.ok ? '' : allowlist.error);
  const admission = admitSysctls(pod, allowlist.value);
  return admission.kind === 'rejected' ? admission : null;
}
