// What a report of an agent's end needs of its state: the pod that the step was about, and the secrets that the report must not show.

import type { Micros } from '../../ports/micros.js';
import type { PodEnd } from '../../ports/model/pod-end.js';
import type { AgentState } from '../agent/agent-state.js';
import { endedPodOf } from '../agent/set-aside/set-aside.js';

export interface EndedAgent {
  readonly pod: Omit<PodEnd, 'at' | 'file'> | null;
  readonly secrets: readonly unknown[];
}

export function endedAgent(agent: AgentState, now: Micros): EndedAgent {
  return { pod: endedPodOf(agent, now), secrets: [knownSecrets(agent), agent.api?.objects ?? null] };
}

/** Secrets that the agent has copies of. */
function knownSecrets({ api, pullSecrets }: AgentState): unknown[] {
  const copies = [...(api?.reflectors.values() ?? [])].filter(({ name }) => name.startsWith('secrets')).flatMap(({ objects }) => [...objects.values()]);
  return [...copies, ...pullSecrets.values()].map((secret) => ({ ...(secret as object), kind: 'Secret' }));
}
