// The fullest objects of the core group but for pods and volumes, of leases, runtime and priority classes, and of certificates.
import { condition, type FullObjects, metadata, reference, time, toleration } from './full-objects.js';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const certificateRequest = base64('-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n');

export const fullCoreObjects: readonly FullObjects[] = [
  {
    plural: 'namespaces',
    namespaced: false,
    objects: [{ metadata: metadata('full'), spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active', conditions: [condition] } }],
  },
  {
    plural: 'nodes',
    namespaced: false,
    objects: [
      {
        metadata: metadata('full'),
        spec: {
          podCIDR: '10.0.0.0/24',
          podCIDRs: ['10.0.0.0/24'],
          providerID: 'mock://n',
          unschedulable: true,
          taints: [{ key: 'k', value: 'v', effect: 'NoSchedule', timeAdded: time }],
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
          runtimeHandlers: [{ name: 'runc', features: { recursiveReadOnlyMounts: true, userNamespaces: true } }],
          features: { supplementalGroupsPolicy: true },
          declaredFeatures: ['F'],
        },
      },
    ],
    not: ['NodeSpec.configSource', 'NodeStatus.config'],
  },
  { plural: 'configmaps', namespaced: true, objects: [{ metadata: metadata('full'), immutable: true, data: { a: 'b' }, binaryData: { c: 'AAE=' } }] },
  {
    plural: 'secrets',
    namespaced: true,
    objects: [{ metadata: metadata('full'), immutable: true, type: 'Opaque', data: { a: 'YQ==' }, stringData: { b: 'c' } }],
    not: ['Secret.stringData'],
  },
  {
    plural: 'serviceaccounts',
    namespaced: true,
    objects: [{ metadata: metadata('full'), secrets: [reference], imagePullSecrets: [{ name: 's' }], automountServiceAccountToken: false }],
  },
  {
    plural: 'services',
    namespaced: true,
    objects: [
      {
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
        status: {
          loadBalancer: { ingress: [{ ip: '192.0.2.3', hostname: 'h', ipMode: 'VIP', ports: [{ port: 80, protocol: 'TCP', error: 'E' }] }] },
          conditions: [{ ...condition, observedGeneration: 1 }],
        },
      },
    ],
    not: ['ServiceSpec.externalName'],
  },
  {
    plural: 'events',
    namespaced: true,
    objects: [
      {
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
    ],
  },
  {
    plural: 'leases',
    namespaced: true,
    objects: [
      {
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
    ],
  },
  {
    plural: 'runtimeclasses',
    namespaced: false,
    objects: [{ metadata: metadata('full'), handler: 'runc', overhead: { podFixed: { cpu: '10m' } }, scheduling: { nodeSelector: { a: 'b' }, tolerations: [toleration] } }],
  },
  {
    plural: 'priorityclasses',
    namespaced: false,
    objects: [{ metadata: metadata('full'), value: 5, globalDefault: true, description: 'd', preemptionPolicy: 'Never' }],
  },
  {
    plural: 'certificatesigningrequests',
    namespaced: false,
    objects: [
      {
        metadata: metadata('full'),
        spec: {
          request: certificateRequest,
          signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
          expirationSeconds: 3600,
          usages: ['digital signature', 'client auth'],
          username: 'somebody else',
          uid: 'u',
          groups: ['g'],
          extra: { k: ['v'] },
        },
        status: {
          conditions: [{ type: 'Failed', status: 'True', reason: 'R', message: 'm', lastUpdateTime: time, lastTransitionTime: time }],
          certificate: base64('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'),
        },
      },
    ],
    serverSays: ['.spec.username', '.spec.uid', '.spec.groups', '.spec.extra'],
  },
  {
    plural: 'clustertrustbundles',
    namespaced: false,
    objects: [{ metadata: metadata('example.com:s:full'), spec: { signerName: 'example.com/s', trustBundle: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' } }],
  },
  {
    plural: 'podcertificaterequests',
    namespaced: true,
    objects: [
      {
        metadata: metadata('full'),
        spec: {
          signerName: 'example.com/s',
          ...{ podName: 'p', podUID: 'u', serviceAccountName: 'a', serviceAccountUID: 'v', nodeName: 'n', nodeUID: 'w' },
          maxExpirationSeconds: 7200,
          stubPKCS10Request: certificateRequest,
          unverifiedUserAnnotations: { 'example.com/a': 'b' },
        },
        status: {
          conditions: [{ type: 'Issued', status: 'True', observedGeneration: 1, lastTransitionTime: time, reason: 'R', message: 'm' }],
          certificateChain: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
          ...{ notBefore: time, beginRefreshAt: '2026-01-02T03:34:05Z', notAfter: '2026-01-02T04:04:05Z' },
        },
      },
    ],
  },
];
