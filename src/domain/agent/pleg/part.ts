// Compares what the runtime has with what it had, and wakes the workers of changed pods.

import type { AgentPart } from '../part.js';
import { deliverReleasedSets } from '../pod-config/pod-sets.js';
import { thenDrain } from '../sync-loop/then-drain.js';
import { beginLooks, beginRelist, looksAddress, podRelistDue, podRelistMachine, relistAddress, requestPodRelist } from './looks.js';
import { podRelistReplied, relistReplied } from './relist.js';
import type { PlegContext } from './slice.js';

/** Sets of sources that waited until it was known what runs may be delivered after the answer, too. */
function thenDeliver<Answer>(handle: (context: PlegContext, answer: Answer) => void) {
  return thenDrain((context: PlegContext, answer: Answer) => {
    handle(context, answer);
    deliverReleasedSets(context);
  });
}

/** `pkg/kubelet/pleg`. */
export const pleg: AgentPart<'pleg'> = {
  name: 'pleg',
  start: beginRelist,
  events: {
    runtimeChanged: (context, { uids }) => {
      for (const uid of uids) requestPodRelist(context, uid);
    },
    runtimeChangesLost: beginRelist,
  },
  machines: {
    [relistAddress.machine]: {
      replies: { 'runtime.listPods': thenDeliver(relistReplied), 'runtime.inspectPod': thenDeliver(podRelistReplied) },
      woken: beginRelist,
    },
    [looksAddress.machine]: { woken: beginLooks },
    [podRelistMachine]: { woken: podRelistDue },
  },
};
