// One sequence of requests for two apiservers, the real one and the mock: what nodes, people and controllers ask, right and wrong.
// Invariant: each request is decided by the script and what the same server answered before, so both servers get the same ones.
import { accessSteps } from './access-steps.js';
import { nodeSteps } from './node-steps.js';
import { objectSteps } from './object-steps.js';
import { pathSteps } from './path-steps.js';
import { podChangeSteps } from './pod-change-steps.js';
import { podSteps } from './pod-steps.js';
import { events, leases, pods, type Step } from './step.js';

export const apiScript: readonly Step[] = [...nodeSteps, ...podSteps, ...podChangeSteps, ...objectSteps, ...accessSteps, ...pathSteps];

/** Watched from a step on, and what they showed by the end. Without a version a server that has just started refuses a watch. */
export const watchedPaths: readonly (readonly [name: string, after: string, as: 'admin' | 'node', path: string])[] = [
  ['pods of the node', 'node-settled', 'node', '/api/v1/pods?watch=1&resourceVersion=0&fieldSelector=spec.nodeName%3Dlab-node'],
  ['pods', 'node-settled', 'admin', `${pods}?watch=1&resourceVersion=0`],
  ['labelled pods', 'node-settled', 'admin', `${pods}?watch=1&resourceVersion=0&labelSelector=app%3Dx`],
  ['node', 'node-settled', 'node', '/api/v1/nodes?watch=1&resourceVersion=0&fieldSelector=metadata.name%3Dlab-node'],
  ['leases', 'node-settled', 'admin', `${leases}?watch=1&resourceVersion=0`],
  ['events', 'node-settled', 'admin', `${events}?watch=1&resourceVersion=0&fieldSelector=involvedObject.kind%3DPod`],
];
