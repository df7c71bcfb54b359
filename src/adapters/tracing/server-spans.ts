// Spans of requests that this agent answers. On the authenticated port they join a caller's trace; on an open one they only link to it, since any
// client could request recording there.
import type { RequestTrace, TracedRequest } from '../http-server/index.js';
import { remoteContext } from './span-context.js';
import type { Tracer } from './tracer.js';

const failedFrom = 500;

export function requestTrace(tracer: Tracer, isPublic: boolean): (request: TracedRequest) => RequestTrace {
  return ({ method, pattern, scheme, headers }) => {
    const remote = remoteContext(headers);
    const attributes = { 'http.request.method': method, 'http.route': pattern, 'url.scheme': scheme, 'server.address': 'kubelet', ...agentOf(headers['user-agent']) };
    const span = tracer.begin(pattern, { kind: 'server', attributes, parent: isPublic ? null : remote, links: isPublic && remote !== null ? [remote] : [] });
    return {
      within: (answer) => tracer.within(span, answer),
      served(status) {
        span.set({ 'http.response.status_code': status });
        if (status >= failedFrom) span.fail('');
        span.end();
      },
    };
  };
}

function agentOf(userAgent: string | undefined): Readonly<Record<string, string>> {
  return userAgent === undefined ? {} : { 'user_agent.original': userAgent };
}
