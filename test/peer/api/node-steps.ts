// Requests about nodes, and requests of nodes about their own objects.
import { lease, leases, merge, node, nodes, type Step, step, strategic } from './step.js';

const nodeObject = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'lab-node', labels: { 'kubernetes.io/hostname': 'lab-node' } },
  spec: {},
  status: {
    capacity: { cpu: '2', memory: '4Gi', pods: '110' },
    conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'well', lastHeartbeatTime: '2026-01-01T00:00:00Z', lastTransitionTime: '2026-01-01T00:00:00Z' }],
  },
};
export const nodeSteps: readonly Step[] = [
  step('node-absent', 'GET', `${nodes}/lab-node`, undefined, node),
  step('node-create', 'POST', nodes, nodeObject, node),
  {
    ...step('node-settled', 'GET', `${nodes}/lab-node`, undefined, node),
    until: ({ metadata, spec }) => metadata.annotations?.['node.alpha.kubernetes.io/ttl'] !== undefined && spec.taints === undefined,
  },
  step('node-create-again', 'POST', nodes, nodeObject, node),
  step('node-create-other', 'POST', nodes, { ...nodeObject, metadata: { name: 'other' } }, node),
  step('node-label', 'PATCH', `${nodes}/lab-node`, { metadata: { labels: { 'node-restriction.kubernetes.io/x': 'y' } } }, { ...node, ...strategic }),
  step('node-annotate', 'PATCH', `${nodes}/lab-node`, { metadata: { annotations: { note: 'x' } } }, { ...node, ...strategic }),
  step(
    'node-status',
    'PATCH',
    `${nodes}/lab-node/status`,
    {
      status: {
        conditions: [
          {
            type: 'MemoryPressure',
            status: 'False',
            reason: 'KubeletHasSufficientMemory',
            message: 'm',
            lastHeartbeatTime: '2026-01-01T00:00:10Z',
            lastTransitionTime: '2026-01-01T00:00:00Z',
          },
        ],
        nodeInfo: { kubeletVersion: 'v1.36.2' },
        addresses: [{ type: 'InternalIP', address: '10.90.0.1' }],
      },
    },
    { ...node, ...strategic },
  ),
  step('node-taint', 'PATCH', `${nodes}/lab-node`, { spec: { taints: [{ key: 'x', effect: 'NoSchedule' }] } }, { ...node, ...strategic }),
  step('node-uid', 'PATCH', `${nodes}/lab-node`, { metadata: { uid: 'other', annotations: { note: 'y' } } }, { ...node, ...strategic }),
  step('node-address-range', 'PATCH', `${nodes}/lab-node`, { spec: { podCIDR: '10.1.0.0/24' } }, merge),
  step('node-get-other', 'GET', `${nodes}/other`, undefined, node),
  step('node-list', 'GET', nodes, undefined, node),
  step('node-delete', 'DELETE', `${nodes}/lab-node`, undefined, node),
  step('lease-absent', 'GET', `${leases}/lab-node`, undefined, node),
  step('lease-create', 'POST', leases, lease('lab-node'), node),
  step('lease-other', 'POST', leases, { ...lease('other'), metadata: { name: 'other', namespace: 'kube-node-lease' } }, node),
  step('lease-update', 'PUT', `${leases}/lab-node`, lease('lab-node', { resourceVersion: '{{lease-create.metadata.resourceVersion}}' }), node),
  step('lease-update-stale', 'PUT', `${leases}/lab-node`, lease('lab-node', { resourceVersion: '{{lease-create.metadata.resourceVersion}}' }), node),
  step('lease-uid', 'PATCH', `${leases}/lab-node`, { metadata: { uid: 'other' } }, { ...node, ...merge }),
  step('lease-put-uid', 'PUT', `${leases}/lab-node`, lease('lab-node', { uid: 'other', resourceVersion: '{{lease-update.metadata.resourceVersion}}' }), node),
  step('lease-delete-version', 'DELETE', `${leases}/lab-node`, { preconditions: { resourceVersion: '1' } }),
  step('lease-elsewhere', 'GET', '/apis/coordination.k8s.io/v1/namespaces/default/leases/lab-node', undefined, node),
  step('lease-invalid', 'PUT', `${leases}/lab-node`, { ...lease('lab-node'), spec: { leaseDurationSeconds: -1 } }, node),
  step(
    'csinode-create',
    'POST',
    '/apis/storage.k8s.io/v1/csinodes',
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSINode',
      metadata: { name: 'lab-node', ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'lab-node', uid: '{{node-create.metadata.uid}}' }] },
      spec: { drivers: [] },
    },
    node,
  ),
  step('csinode-get', 'GET', '/apis/storage.k8s.io/v1/csinodes/lab-node', undefined, node),
];
