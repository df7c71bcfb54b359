// Merges the pods of the sources.
import type { AgentPart } from '../part.js';

import { takePodSet, withdrawPods } from './pod-sets.js';

/** `pkg/kubelet/config`: merges the sets of the sources. */
export const podConfig: AgentPart<'podConfig'> = { name: 'podConfig', events: { podSet: takePodSet, 'withdraw-pods': withdrawPods } };
