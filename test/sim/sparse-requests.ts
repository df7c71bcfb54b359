// Requests without optional fields, one after the other, for each kind that the agent reads or writes. The answers show what a server defaults,
// writes as null, as `{}` or not at all: they were recorded from kube-apiserver, and the mock's are compared with them.
export interface SparseRequest {
  readonly name: string;
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'GET';
  readonly path: string;
  readonly type?: string;
  readonly body?: unknown;
}

const merge = 'application/merge-patch+json';
const strategic = 'application/strategic-merge-patch+json';
const inDefault = '/api/v1/namespaces/default';
const storage = '/apis/storage.k8s.io/v1';
const resource = '/apis/resource.k8s.io/v1';

const named = (name: string, more: object = {}) => ({ metadata: { name }, ...more });

function made(kind: string, path: string, body: object): SparseRequest[] {
  const { name } = (body as { readonly metadata: { readonly name: string } }).metadata;
  return [
    { name: `${kind}: create`, method: 'POST', path, body },
    { name: `${kind}: get`, method: 'GET', path: `${path}/${name}` },
  ];
}

function changed(kind: string, path: string, body: object, type = merge): SparseRequest[] {
  return [
    { name: `${kind}: patch`, method: 'PATCH', path, type, body },
    { name: `${kind}: get after the patch`, method: 'GET', path: path.replace(/\/status$/, '') },
  ];
}

const probe = { httpGet: { port: 80 } };
const container = { name: 'c', image: 'example.com/i' };

const busyContainer = {
  ...container,
  env: [
    { name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'B', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
    { name: 'C', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
  ],
  envFrom: [{ configMapRef: { name: 'c' } }],
  ports: [{ containerPort: 80 }],
  livenessProbe: probe,
  readinessProbe: { exec: { command: ['a'] } },
  startupProbe: { grpc: { port: 80 } },
  lifecycle: { preStop: { tcpSocket: { port: 80 } }, postStart: { httpGet: { port: 'web' } } },
  securityContext: { capabilities: {}, seLinuxOptions: {} },
  resources: { limits: { cpu: '1' } },
  volumeMounts: [{ name: 'e', mountPath: '/e' }],
};

const volumes = [
  { name: 'e', emptyDir: {} },
  { name: 'h', hostPath: { path: '/h' } },
  { name: 's', secret: { secretName: 's' } },
  { name: 'm', configMap: { name: 'm', items: [{ key: 'k', path: 'p' }] } },
  { name: 'd', downwardAPI: {} },
  { name: 'p', projected: {} },
  { name: 't', projected: { sources: [{ serviceAccountToken: { path: 't' } }, { downwardAPI: {} }, { secret: { name: 's' } }] } },
  { name: 'c', csi: { driver: 'example.com' } },
  { name: 'v', persistentVolumeClaim: { claimName: 'v' } },
  { name: 'g', ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } } } },
  { name: 'i', iscsi: { targetPortal: '192.0.2.1:3260', iqn: 'iqn.2026-01.com.example:t', lun: 1 } },
  { name: 'n', nfs: { server: 's', path: '/p' } },
  { name: 'r', rbd: { monitors: ['m'], image: 'i' } },
  { name: 'z', azureDisk: { diskName: 'd', diskURI: 'https://example.com/d' } },
  { name: 'o', image: { reference: 'example.com/i' } },
  { name: 'x' },
];

const busyPod = {
  nodeName: 'absent',
  automountServiceAccountToken: false,
  initContainers: [{ name: 'i', image: 'example.com/i:1' }],
  containers: [busyContainer],
  volumes,
  securityContext: { sysctls: [{ name: 'kernel.shm_rmid_forced', value: '1' }] },
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{}] } }, podAffinity: {} },
  tolerations: [{ operator: 'Exists' }],
  dnsConfig: { options: [{ name: 'o' }] },
  hostAliases: [{ ip: '192.0.2.1' }],
  topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'k', whenUnsatisfiable: 'DoNotSchedule' }],
  readinessGates: [{ conditionType: 'example.com/gate' }],
};

const podStatus = {
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'False' }],
  initContainerStatuses: [{ name: 'i', state: { terminated: { exitCode: 0 } } }],
  containerStatuses: [
    { name: 'c', state: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } }, lastState: { running: {} }, volumeMounts: [{ name: 'e', mountPath: '/e' }] },
  ],
  ephemeralContainerStatuses: [{ name: 'x', state: { waiting: {} }, user: { linux: {} }, resources: {} }],
};

const pods: readonly SparseRequest[] = [
  ...made('pod', `${inDefault}/pods`, named('sparse', { spec: { nodeName: 'absent', containers: [container] } })),
  ...changed('pod status', `${inDefault}/pods/sparse/status`, { status: podStatus }, strategic),
  ...changed('pod status without what it had', `${inDefault}/pods/sparse/status`, { status: { conditions: null, containerStatuses: [{ name: 'c' }] } }),
  ...made('pod of many parts', `${inDefault}/pods`, named('parts', { spec: busyPod })),
  { name: 'pods: list', method: 'GET', path: `${inDefault}/pods` },
  { name: 'pod: bound to a token', method: 'POST', path: `${inDefault}/serviceaccounts/default/token`, body: { spec: {} } },
];

const nodes: readonly SparseRequest[] = [
  ...made('node', '/api/v1/nodes', named('sparse')),
  ...changed(
    'node status',
    '/api/v1/nodes/sparse/status',
    {
      status: {
        conditions: [{ type: 'Ready', status: 'True' }],
        images: [{}],
        volumesAttached: [{ name: 'v' }],
        addresses: [{ type: 'InternalIP', address: '192.0.2.1' }],
        runtimeHandlers: [{}],
        config: {},
      },
    },
    strategic,
  ),
  ...changed('node taints', '/api/v1/nodes/sparse', { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } }, strategic),
  ...made('lease', '/apis/coordination.k8s.io/v1/namespaces/default/leases', named('sparse')),
  ...made('csinode', `${storage}/csinodes`, named('sparse', { spec: {} })),
  ...made('csinode with a driver', `${storage}/csinodes`, named('driver', { spec: { drivers: [{ name: 'example.com', nodeID: 'n' }] } })),
];

const data: readonly SparseRequest[] = [
  ...made('configmap', `${inDefault}/configmaps`, named('sparse')),
  ...made('configmap of empty maps', `${inDefault}/configmaps`, named('empty', { data: {}, binaryData: {} })),
  ...made('secret', `${inDefault}/secrets`, named('sparse')),
  ...made('secret of empty data', `${inDefault}/secrets`, named('empty', { data: { a: '' } })),
  ...made('service', `${inDefault}/services`, named('sparse', { spec: { ports: [{ port: 80 }] } })),
  ...made('service without an address', `${inDefault}/services`, named('headless', { spec: { clusterIP: 'None' } })),
  ...made('service account', `${inDefault}/serviceaccounts`, named('sparse')),
  ...made('event', `${inDefault}/events`, named('sparse', { involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' } })),
  ...made('event of a series', `${inDefault}/events`, named('series', { involvedObject: { namespace: 'default' }, series: {} })),
];

const volumeKinds: readonly SparseRequest[] = [
  ...made('volume', '/api/v1/persistentvolumes', named('sparse', { spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/v' } } })),
  ...made(
    'volume of a driver',
    '/api/v1/persistentvolumes',
    named('driver', { spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], csi: { driver: 'example.com', volumeHandle: 'h' } } }),
  ),
  ...made('claim', `${inDefault}/persistentvolumeclaims`, named('sparse', { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } })),
  ...changed('claim status', `${inDefault}/persistentvolumeclaims/sparse/status`, { status: { conditions: [{ type: 'Resizing', status: 'True' }] } }),
  ...made('storage class', `${storage}/storageclasses`, named('sparse', { provisioner: 'example.com' })),
  ...made('driver', `${storage}/csidrivers`, named('sparse.example.com')),
  ...made('driver with a spec', `${storage}/csidrivers`, named('spec.example.com', { spec: { tokenRequests: [{ audience: 'a' }] } })),
  ...made('attachment', `${storage}/volumeattachments`, named('sparse', { spec: { attacher: 'example.com', nodeName: 'sparse', source: { persistentVolumeName: 'sparse' } } })),
  ...changed('attachment status', `${storage}/volumeattachments/sparse/status`, { status: { attached: false, attachError: {} } }),
];

const claim = { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'example.com' } }] } };

const devices: readonly SparseRequest[] = [
  ...made('resource claim', `${resource}/namespaces/default/resourceclaims`, named('sparse', { spec: claim })),
  ...changed('resource claim status', `${resource}/namespaces/default/resourceclaims/sparse/status`, {
    status: { allocation: { devices: { results: [{ request: 'r', driver: 'example.com', pool: 'p', device: 'd' }] } } },
  }),
  ...changed('resource claim device status', `${resource}/namespaces/default/resourceclaims/sparse/status`, {
    status: { devices: [{ driver: 'example.com', pool: 'p', device: 'd', networkData: {} }] },
  }),
  ...made('resource claim template', `${resource}/namespaces/default/resourceclaimtemplates`, named('sparse', { spec: { spec: claim } })),
  ...made(
    'resource slice',
    `${resource}/resourceslices`,
    named('sparse', {
      spec: {
        driver: 'example.com',
        nodeName: 'sparse',
        pool: { name: 'p', resourceSliceCount: 1 },
        devices: [{ name: 'd' }, { name: 'e', attributes: { a: { bool: false } }, capacity: { c: { value: '1' } } }],
      },
    }),
  ),
  ...made('device class', `${resource}/deviceclasses`, named('sparse', { spec: {} })),
];

const others: readonly SparseRequest[] = [
  ...made('namespace', '/api/v1/namespaces', named('sparse')),
  ...made('runtime class', '/apis/node.k8s.io/v1/runtimeclasses', named('sparse', { handler: 'runc' })),
  ...made('runtime class with parts', '/apis/node.k8s.io/v1/runtimeclasses', named('parts', { handler: 'runc', overhead: {}, scheduling: {} })),
  ...made('priority class', '/apis/scheduling.k8s.io/v1/priorityclasses', named('sparse', { value: 0 })),
  { name: 'token review', method: 'POST', path: '/apis/authentication.k8s.io/v1/tokenreviews', body: { spec: { token: 'unknown' } } },
  { name: 'access review', method: 'POST', path: '/apis/authorization.k8s.io/v1/subjectaccessreviews', body: { spec: { user: 'u', resourceAttributes: {} } } },
  { name: 'own access review', method: 'POST', path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', body: { spec: { nonResourceAttributes: {} } } },
];

/** In order: one needs what the one before made. */
export const sparseRequests: readonly SparseRequest[] = [...nodes, ...data, ...volumeKinds, ...devices, ...others, ...pods];
