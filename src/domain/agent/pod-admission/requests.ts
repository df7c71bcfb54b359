// What other parts report to the admission of pods.
import type { AgentView } from '../agent-view.js';
import type { AdmissionState } from './admission-state.js';
import { podAdmissionState } from './slice.js';

/** A pod has ended that was preempted for another. */
export function preemptionCompleted(state: AgentView, completion: AdmissionState['completed'][number]): void {
  podAdmissionState(state).admission.completed.push(completion);
}
