// /healthz: all checks in one word, or one line a check; and each check by itself.
// Invariant: only the page of a single check shows the reason of its failure.
import type { HealthCheck } from '../../ports/inbound/agent-queries.js';
import { type HttpAnswer, plainText, strictText } from './http-answer.js';
import type { HttpQuestion, Route } from './route-table.js';

/** The kubelet's own health port only reports that it is alive. */
export const pingOnly = (): readonly HealthCheck[] => [{ name: 'ping', failure: null }];

export function healthRoutes(checks: () => readonly HealthCheck[]): readonly Route[] {
  return [
    { path: '/healthz', methods: null, produces: null, answer: (question) => summary(checks(), question) },
    { path: '/healthz/', methods: null, produces: null, answer: (question) => single(checks(), question.path.slice('/healthz/'.length)) },
  ];
}

function summary(checks: readonly HealthCheck[], { query }: HttpQuestion): HttpAnswer {
  const excluded = new Set(query.getAll('exclude'));
  let text = '';
  let failed = false;
  for (const { name, failure } of checks) {
    if (excluded.delete(name)) text += `[+]${name} excluded: ok\n`;
    else if (failure === null) text += `[+]${name} ok\n`;
    else {
      failed = true;
      text += `[-]${name} failed: reason withheld\n`;
    }
  }
  if (excluded.size > 0) text += `warn: some health checks cannot be excluded: no matches for ${[...excluded].map((name) => JSON.stringify(name)).join(', ')}\n`;
  if (failed) return strictText(500, `${text}healthz check failed\n`);
  return strictText(200, query.has('verbose') ? `${text}healthz check passed\n` : 'ok');
}

function single(checks: readonly HealthCheck[], name: string): HttpAnswer | null {
  const check = checks.find((one) => one.name === name);
  if (check === undefined) return null;
  return check.failure === null ? plainText(200, 'ok') : strictText(500, `internal server error: ${check.failure}\n`);
}
