// The policy of one node's server: its patterns, and the checks that name the node.
import type { RequestPolicy } from '../../ports/inbound/request-policy.js';
import { nextAccessStep } from './access-decision.js';
import { accessAttributes } from './request-attributes.js';
import { matchServerPattern } from './server-patterns.js';

export function requestPolicy(nodeName: string): RequestPolicy {
  return { match: matchServerPattern, checks: (method, path) => accessAttributes(method, path, nodeName), next: nextAccessStep };
}
