// /pods: the agent's pods as a PodList.
import type { AgentQueries } from '../../ports/inbound/agent-queries.js';
import { goJson, type HttpAnswer } from './http-answer.js';
import type { StreamAnswer } from './kubelet-routes.js';
import { listAnswer } from './list-answer.js';
import type { Route } from './route-table.js';

const json = 'application/json';

/** @param list with its items as the last field */
export function podsAnswer<List extends { readonly items: readonly unknown[] | null }>(list: List): HttpAnswer | StreamAnswer {
  const headers = { 'Content-Type': json };
  const { items, ...rest } = list;
  if (items === null) return { status: 200, headers, body: `${goJson(list)}\n` };
  return listAnswer({ before: `${goJson(rest).slice(0, -1)},"items":[`, items, textOf: goJson, separator: ',', after: ']}\n' }, headers);
}

export function podsRoutes(queries: Pick<AgentQueries, 'pods'>): readonly Route[] {
  const answer = () => podsAnswer(queries.pods());
  return ['/pods', '/pods/'].map((path) => ({ path, methods: ['GET'], produces: json, answer: (question) => (question.path === path ? answer() : null) }));
}
