// What the agent answers from its state: its pods with their newest statuses, and its health.
import type { AgentState } from '../../domain/agent/agent-state.js';
import { type AgentQueries, podList } from '../../ports/inbound/agent-queries.js';
import type { LoopHealth } from './loop-health.js';

export function agentQueries(state: AgentState, health: LoopHealth): AgentQueries {
  return {
    pods() {
      const pods = [...state.pods.pods.values()].map((pod) => {
        const status = state.statuses.get(pod.metadata.uid ?? '')?.status ?? pod.status;
        return status === undefined ? pod : { ...pod, status };
      });
      return podList(pods);
    },
    health: () => [{ name: 'ping', failure: null }, health.syncloop()],
  };
}
