// Paths where nothing is, watches that can't begin, and what ends the script.
import { leases, pods, type Step, step, stepPod } from './step.js';

export const pathSteps: readonly Step[] = [
  step('unknown-group', 'GET', '/apis/none.example.com/v1/things'),
  step('unknown-version', 'GET', '/apis/node.k8s.io/v1beta1/runtimeclasses'),
  step('unknown-document', 'GET', '/apis/node.k8s.io/v1beta1'),
  step('unknown-core', 'GET', '/api/v2/pods'),
  step('unknown-subresource', 'GET', `${pods}/full/things`),
  step('watch-bad-version', 'GET', `${pods}?watch=1&resourceVersion=x`),
  step('unknown-resource', 'GET', '/api/v1/namespaces/default/things'),
  step('unknown-path', 'GET', '/none'),
  step('wrong-method', 'PUT', pods, stepPod('x')),
  step('not-acceptable', 'GET', `${pods}/full`, undefined, { accept: 'text/plain' }),
  step('watch-from-long-ago', 'GET', `${leases}?watch=1&resourceVersion=1&timeoutSeconds=1`),
  step('watch-future', 'GET', `${pods}?resourceVersion=999999999&timeoutSeconds=1`),
  step('namespace', 'POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'more' } }),
  step('deletecollection', 'DELETE', `${pods}?labelSelector=app%3Dmade`, { gracePeriodSeconds: 0 }),
];
