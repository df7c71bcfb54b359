// Requests to the kubelet's port: the authorizer's attributes, the answers to refused requests, and their metrics.
import { nextAccessStep } from '../../../src/domain/authorization/access-decision.js';
import { accessAttributes } from '../../../src/domain/authorization/request-attributes.js';
import { longRunningLabel, methodLabel, pathLabel } from '../../../src/domain/authorization/request-metric-labels.js';
import { matchServerPattern } from '../../../src/domain/authorization/server-patterns.js';
import { decodePath, splitTarget } from '../../../src/domain/values/request-target.js';
import type { AccessOpinion } from '../../../src/ports/inbound/request-policy.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly kind: 'attributes' | 'filter' | 'metricLabels';
  readonly method?: string;
  readonly path?: string;
  readonly nodeName: string;
  readonly authentication: string;
  readonly decisions: Readonly<Record<string, AccessOpinion>>;
}

function filter(method: string, target: string, input: Input): unknown {
  const { path, query } = splitTarget(target);
  const subresourcesAsked: string[] = [];
  // A server sends no body to HEAD, even if its handler wrote one.
  const body = (text: string): string => (method === 'HEAD' ? '' : text);
  const match = matchServerPattern(method, path, query);
  if (match.kind === 'notFound') return { status: 404, body: body('404 page not found\n'), subresourcesAsked };
  if (match.kind === 'redirect') return { status: 307, location: match.location, subresourcesAsked };
  const user = input.authentication === 'none' || input.authentication === 'error' ? null : input.authentication;
  const checks = accessAttributes(method, decodePath(path) ?? path, input.nodeName);
  const opinions: AccessOpinion[] = [];
  for (;;) {
    const step = nextAccessStep(user, checks, opinions);
    if (step.kind === 'passed') return { passed: true, subresourcesAsked };
    if (step.kind === 'refused') return { status: step.status, contentType: step.contentType, body: body(step.body), subresourcesAsked };
    subresourcesAsked.push(step.attributes.subresource);
    opinions.push(input.decisions[step.attributes.subresource] ?? 'no-opinion');
  }
}

export const driver: VectorDriver = {
  run(input: Input) {
    const { method, path: target } = input;
    if (input.kind === 'filter') return filter(method ?? '', target ?? '', input);
    const path = target === undefined ? null : splitTarget(target).path;
    const decoded = path === null ? null : (decodePath(path) ?? path);
    if (input.kind === 'attributes') return { checks: accessAttributes(method ?? '', decoded ?? '', input.nodeName) };
    return {
      ...(method === undefined ? {} : { method: methodLabel(method) }),
      ...(decoded === null ? {} : { path: pathLabel(decoded), longRunning: longRunningLabel(decoded) }),
    };
  },
};
