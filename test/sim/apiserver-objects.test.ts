// The fullest object of each kind, written by hand from the API's types and not from the server's tables: it is taken whole, every field of the
// tables is in it, and one more field anywhere is refused with its path.
import t from 'tap';
import { structOf } from '../../src/sim/apiserver/schema/api-schema.js';
import type { ApiFieldType } from '../../src/sim/apiserver/schema/field-types.js';
import { findResourceType } from '../../src/sim/index.js';
import { ApiCaller } from './api-caller.js';

t.setTimeout(120_000);

type Json = Record<string, unknown>;
interface Row {
  readonly plural: string;
  readonly namespaced: boolean;
  readonly object: Json;
  /** Fields of the tables that no client writes, or whose values exclude others; as `Struct.field`. */
  readonly not?: readonly string[];
}

const time = '2026-01-02T03:04:05Z';
const reference = { kind: 'Pod', namespace: 'default', name: 'p', uid: 'u', apiVersion: 'v1', resourceVersion: '1', fieldPath: 'spec' };
const condition = { type: 'Ready', status: 'True', lastTransitionTime: time, reason: 'R', message: 'm' };
const secretRef = { name: 's', namespace: 'default' };
const nodeSelector = {
  nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }], matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] }],
};
const toleration = { key: 'k', operator: 'Equal', value: 'v', effect: 'NoExecute', tolerationSeconds: 5 };
const labelSelector = { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] };
const metadata = (name: string): Json => ({
  name,
  labels: { a: 'b' },
  annotations: { a: 'b' },
  finalizers: ['example.com/f'],
  ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u', controller: true, blockOwnerDeletion: true }],
});

const rows: readonly Row[] = [
  { plural: 'namespaces', namespaced: false, object: { metadata: metadata('full'), spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active', conditions: [condition] } } },
  {
    plural: 'nodes',
    namespaced: false,
    object: {
      metadata: metadata('full'),
      spec: {
        podCIDR: '10.0.0.0/24',
        podCIDRs: ['10.0.0.0/24'],
        providerID: 'mock://n',
        unschedulable: true,
        taints: [{ key: 'k', value: 'v', effect: 'NoSchedule', timeAdded: time }],
        configSource: { configMap: { name: 'c', namespace: 'default', kubeletConfigKey: 'k' } },
        externalID: 'e',
      },
      status: {
        capacity: { cpu: '1', 'hugepages-2Mi': '0' },
        allocatable: { cpu: '1' },
        phase: 'Running',
        conditions: [{ ...condition, lastHeartbeatTime: time }],
        addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
        daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
        nodeInfo: {
          machineID: 'm',
          systemUUID: 's',
          bootID: 'b',
          kernelVersion: '6',
          osImage: 'o',
          containerRuntimeVersion: 'containerd://2.0.0',
          kubeletVersion: 'v1.36.0',
          kubeProxyVersion: 'v1.36.0',
          operatingSystem: 'linux',
          architecture: 'amd64',
          swap: { capacity: 1 },
        },
        images: [{ names: ['a'], sizeBytes: 1 }],
        volumesInUse: ['v'],
        volumesAttached: [{ name: 'v', devicePath: '/dev/x' }],
        config: { error: 'e' },
        runtimeHandlers: [{ name: 'runc', features: { recursiveReadOnlyMounts: true, userNamespaces: true } }],
        features: { supplementalGroupsPolicy: true },
        declaredFeatures: ['F'],
      },
    },
  },
  { plural: 'configmaps', namespaced: true, object: { metadata: metadata('full'), immutable: true, data: { a: 'b' }, binaryData: { c: 'AAE=' } } },
  {
    plural: 'secrets',
    namespaced: true,
    object: { metadata: metadata('full'), immutable: true, type: 'Opaque', data: { a: 'YQ==' }, stringData: { b: 'c' } },
    not: ['Secret.stringData'],
  },
  {
    plural: 'serviceaccounts',
    namespaced: true,
    object: { metadata: metadata('full'), secrets: [reference], imagePullSecrets: [{ name: 's' }], automountServiceAccountToken: false },
  },
  {
    plural: 'services',
    namespaced: true,
    object: {
      metadata: metadata('full'),
      spec: {
        ports: [{ name: 'p', protocol: 'TCP', appProtocol: 'http', port: 80, targetPort: 'web', nodePort: 30_080 }],
        selector: { a: 'b' },
        clusterIP: '10.96.0.99',
        clusterIPs: ['10.96.0.99'],
        type: 'LoadBalancer',
        externalIPs: ['192.0.2.1'],
        sessionAffinity: 'ClientIP',
        loadBalancerIP: '192.0.2.2',
        loadBalancerSourceRanges: ['192.0.2.0/24'],
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: 30_081,
        publishNotReadyAddresses: true,
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } },
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
        allocateLoadBalancerNodePorts: true,
        loadBalancerClass: 'example.com/lb',
        internalTrafficPolicy: 'Cluster',
        trafficDistribution: 'PreferClose',
      },
      status: { loadBalancer: { ingress: [{ ip: '192.0.2.3' }] }, conditions: [{ ...condition, observedGeneration: 1 }] },
    },
    not: ['ServiceSpec.externalName'],
  },
  {
    plural: 'events',
    namespaced: true,
    object: {
      metadata: metadata('full'),
      involvedObject: reference,
      reason: 'Started',
      message: 'm',
      source: { component: 'kubelet', host: 'n' },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 2,
      type: 'Normal',
      eventTime: '2026-01-02T03:04:05.000001Z',
      series: { count: 3, lastObservedTime: '2026-01-02T03:04:05.000001Z' },
      action: 'Start',
      related: reference,
      reportingComponent: 'example.com/kubelet',
      reportingInstance: 'n',
    },
  },
  {
    plural: 'persistentvolumes',
    namespaced: false,
    object: {
      metadata: metadata('full'),
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        claimRef: { ...reference, kind: 'PersistentVolumeClaim' },
        persistentVolumeReclaimPolicy: 'Retain',
        storageClassName: 'c',
        mountOptions: ['ro'],
        volumeMode: 'Filesystem',
        nodeAffinity: { required: nodeSelector },
        volumeAttributesClassName: 'v',
        csi: {
          driver: 'd.example.com',
          volumeHandle: 'h',
          readOnly: true,
          fsType: 'ext4',
          volumeAttributes: { a: 'b' },
          controllerPublishSecretRef: secretRef,
          nodeStageSecretRef: secretRef,
          nodePublishSecretRef: secretRef,
          controllerExpandSecretRef: secretRef,
          nodeExpandSecretRef: secretRef,
        },
      },
      status: { phase: 'Bound', message: 'm', reason: 'r', lastPhaseTransitionTime: time },
    },
    not: ['PersistentVolumeSpec.*'],
  },
  {
    plural: 'persistentvolumeclaims',
    namespaced: true,
    object: {
      metadata: metadata('full'),
      spec: {
        accessModes: ['ReadWriteOnce'],
        selector: labelSelector,
        resources: { limits: { storage: '2Gi' }, requests: { storage: '1Gi' } },
        volumeName: 'full',
        storageClassName: 'c',
        volumeMode: 'Filesystem',
        dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' },
        dataSourceRef: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's', namespace: 'default' },
        volumeAttributesClassName: 'v',
      },
      status: {
        phase: 'Bound',
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '1Gi' },
        conditions: [{ ...condition, type: 'Resizing', lastProbeTime: time }],
        allocatedResources: { storage: '1Gi' },
        allocatedResourceStatuses: { storage: 'NodeResizePending' },
        currentVolumeAttributesClassName: 'v',
        modifyVolumeStatus: { targetVolumeAttributesClassName: 'w', status: 'Pending' },
      },
    },
  },
  {
    plural: 'leases',
    namespaced: true,
    object: {
      metadata: metadata('full'),
      spec: {
        holderIdentity: 'n',
        leaseDurationSeconds: 40,
        acquireTime: '2026-01-02T03:04:05.000001Z',
        renewTime: '2026-01-02T03:04:05.000001Z',
        leaseTransitions: 1,
        strategy: 'OldestEmulationVersion',
        preferredHolder: 'm',
      },
    },
  },
  {
    plural: 'runtimeclasses',
    namespaced: false,
    object: { metadata: metadata('full'), handler: 'runc', overhead: { podFixed: { cpu: '10m' } }, scheduling: { nodeSelector: { a: 'b' }, tolerations: [toleration] } },
  },
  {
    plural: 'priorityclasses',
    namespaced: false,
    object: { metadata: metadata('full'), value: 5, globalDefault: true, description: 'd', preemptionPolicy: 'Never' },
  },
  {
    plural: 'csidrivers',
    namespaced: false,
    object: {
      metadata: metadata('full'),
      spec: {
        attachRequired: true,
        podInfoOnMount: true,
        volumeLifecycleModes: ['Persistent', 'Ephemeral'],
        storageCapacity: true,
        fsGroupPolicy: 'File',
        tokenRequests: [{ audience: 'a', expirationSeconds: 600 }],
        requiresRepublish: true,
        seLinuxMount: true,
        nodeAllocatableUpdatePeriodSeconds: 60,
        serviceAccountTokenInSecrets: true,
      },
    },
  },
  {
    plural: 'csinodes',
    namespaced: false,
    object: { metadata: metadata('full'), spec: { drivers: [{ name: 'd.example.com', nodeID: 'n', topologyKeys: ['a'], allocatable: { count: 3 } }] } },
  },
  {
    plural: 'volumeattachments',
    namespaced: false,
    object: {
      metadata: metadata('full'),
      spec: { attacher: 'd.example.com', nodeName: 'n', source: { persistentVolumeName: 'full' } },
      status: {
        attached: true,
        attachmentMetadata: { a: 'b' },
        attachError: { time, message: 'm', errorCode: 8 },
        detachError: { time, message: 'm', errorCode: 8 },
      },
    },
    not: ['VolumeAttachmentSource.inlineVolumeSpec'],
  },
];

/** Of an object that was sent, what isn't in the one that is stored; as paths. */
function missing(sent: unknown, stored: unknown, path = ''): string[] {
  if (Array.isArray(sent)) return sent.flatMap((item: unknown, i) => missing(item, (stored as unknown[] | undefined)?.[i], `${path}[${i}]`));
  if (typeof sent === 'object' && sent !== null) return Object.entries(sent).flatMap(([key, value]) => missing(value, (stored as Json | undefined)?.[key], `${path}.${key}`));
  return sent === stored ? [] : [`${path}: ${JSON.stringify(stored)}`];
}

/** Fields of a struct and what it holds that the value doesn't have. */
function unused(struct: string, value: Json, not: ReadonlySet<string>): string[] {
  return [...structOf(struct)].flatMap(([name, type]) => {
    if (not.has(`${struct}.${name}`) || struct === 'ObjectMeta') return [];
    const given = value[name];
    if (given === undefined) return not.has(`${struct}.*`) ? [] : [`${struct}.${name}`];
    return unusedIn(type, given, not);
  });
}

function unusedIn(type: ApiFieldType, given: unknown, not: ReadonlySet<string>): string[] {
  if (type.kind === 'struct') return unused(type.struct, given as Json, not);
  if (type.kind === 'list') return (given as unknown[]).flatMap((item) => unusedIn(type.item, item, not));
  return [];
}

/** Each place where a field may be added that nobody knows: the object with it, and its path. */
function* spoiled(struct: string, object: Json): Generator<readonly [path: string, object: Json]> {
  for (const [path, place] of structsIn(struct, object, '')) {
    place.bogus = 1;
    yield [path === '' ? 'bogus' : `${path}.bogus`, object];
    delete place.bogus;
  }
}

function* structsIn(struct: string, value: Json, path: string): Generator<readonly [string, Json]> {
  yield [path, value];
  for (const [name, type] of structOf(struct)) if (value[name] !== undefined) yield* structsOf(type, value[name], path === '' ? name : `${path}.${name}`);
}

function* structsOf(type: ApiFieldType, value: unknown, path: string): Generator<readonly [string, Json]> {
  if (type.kind === 'struct') yield* structsIn(type.struct, value as Json, path);
  else if (type.kind === 'list') for (const [i, item] of (value as unknown[]).entries()) yield* structsOf(type.item, item, `${path}[${i}]`);
  else if (type.kind === 'map') for (const [key, item] of Object.entries(value as Json)) yield* structsOf(type.item, item, `${path}[${key}]`);
}

for (const { plural, namespaced, object, not = [] } of rows) {
  t.test(plural, async (t) => {
    const caller = new ApiCaller();
    const namespace = namespaced ? 'default' : null;
    const type = findResourceType(caller.resource(plural));
    if (type === null) throw new Error(`there is no ${plural}`);
    t.strictSame(unused(type.kind, object, new Set(not)), [], 'every field of the tables is there');
    const { spec, status } = object as { readonly spec?: Json; readonly status?: Json };
    const made = caller.create(plural, structuredClone(object), namespace);
    t.equal(made.code, 201, JSON.stringify(made.body));
    const told = type.subresources.includes('status') && status !== undefined ? caller.patch(plural, 'full', { status }, 'status', namespace) : made;
    t.ok(told.code < 300, JSON.stringify(told.body));
    const stored = caller.get(plural, 'full', namespace).body;
    const { stringData: _once, ...kept } = object;
    t.strictSame(missing(kept, stored), [], 'it is kept whole');
    t.ok(spec === undefined || stored.spec !== undefined);
    let count = 0;
    for (const [path, bad] of spoiled(type.kind, JSON.parse(JSON.stringify(object)))) {
      const answer = caller.create(plural, bad, namespace);
      const message = `${type.kind} in version "v1" cannot be handled as a ${type.kind}: strict decoding error: unknown field "${path}"`;
      t.match({ code: answer.code, message: answer.body.message }, { code: 400, message }, path);
      count++;
    }
    t.ok(count >= 2, `${count} places`);
  });
}
