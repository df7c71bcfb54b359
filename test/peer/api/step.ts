// One request of the script, and what its parts have in common.
import type { Json } from '../admin-client.js';

export interface Step {
  readonly name: string;
  /** Asked again until the answer is as it should be: for what a controller has to do first. */
  readonly until?: (body: Json) => boolean;
  readonly as: 'admin' | 'node';
  readonly method: string;
  readonly path: string;
  readonly body: Json | string | undefined;
  readonly type: string;
  readonly accept: string;
}

type Rest = Partial<Pick<Step, 'as' | 'type' | 'accept'>>;

export const merge = { type: 'application/merge-patch+json' };
export const strategic = { type: 'application/strategic-merge-patch+json' };
export const jsonPatch = { type: 'application/json-patch+json' };
export const apply = { type: 'application/apply-patch+yaml' };
export const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' };
export const node = { as: 'node' } as const;
export const json = {};

export const pods = '/api/v1/namespaces/default/pods';
export const maps = '/api/v1/namespaces/default/configmaps';
export const secrets = '/api/v1/namespaces/default/secrets';
export const nodes = '/api/v1/nodes';
export const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
export const events = '/api/v1/namespaces/default/events';
export const csrs = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

/** `{{step.path}}` in a path or body is what that step was answered. */
export function step(name: string, method: string, path: string, body?: Json | string, { as = 'admin', type = 'application/json', accept = 'application/json' }: Rest = {}): Step {
  return { name, as, method, path, body, type, accept };
}

export const stepPod = (name: string, spec: object = {}, metadata: object = {}): Json => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...metadata },
  spec: { nodeName: 'lab-node', containers: [{ name: 'main', image: 'busybox' }], ...spec },
});

export const lease = (holderIdentity: string, more: object = {}): Json => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'lab-node', namespace: 'kube-node-lease', ...more },
  spec: { holderIdentity, leaseDurationSeconds: 40, renewTime: '2026-01-01T00:00:00.000000Z' },
});
