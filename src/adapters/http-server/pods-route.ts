// /pods: the agent's pods as a PodList.
import type { AgentQueries } from '../../ports/inbound/agent-queries.js';
import { goJson } from './http-answer.js';
import type { Route } from './route-table.js';

const json = 'application/json';

export function podsRoutes(queries: Pick<AgentQueries, 'pods'>): readonly Route[] {
  const answer = () => ({ status: 200, headers: { 'Content-Type': json }, body: `${goJson(queries.pods())}\n` });
  return ['/pods', '/pods/'].map((path) => ({ path, methods: ['GET'], produces: json, answer: (question) => (question.path === path ? answer() : null) }));
}
