// Which pods may run on this node, and which are preempted for them.
import type { AgentPart } from '../part.js';
import { uidOf } from '../pod-manager/pod-index.js';
import { admitAgain, nodeRead } from '../sync-loop/sync-loop.js';
import { admissionMachine, endRefused, takePodsWhosePreemptionIsDone } from './pod-admission.js';

/** `pkg/kubelet/lifecycle` and `pkg/kubelet/preemption`. */
export const podAdmission: AgentPart<'podAdmission'> = {
  name: 'podAdmission',
  settle: (context) => {
    if (context.refusals.size === 0 && context.state.admission.completed.length === 0) return;
    endRefused(context);
    for (const pod of takePodsWhosePreemptionIsDone(context)) context.forPod(uidOf(pod), () => admitAgain(context, pod));
  },
  machines: { [admissionMachine]: { replies: { 'apiReader.get': nodeRead } } },
};
