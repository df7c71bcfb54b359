// The fullest pods: every field of a Pod is in one of them, each as a server accepts it.
import { condition, type FullObjects, type Json, labelSelector, metadata, nodeSelector, time, toleration } from './full-objects.js';

const localRef = { name: 's' };
const items = [{ key: 'k', path: 'p', mode: 0o440 }];
const fieldRef = { apiVersion: 'v1', fieldPath: 'metadata.name' };
const resourceFieldRef = { containerName: 'c', resource: 'limits.cpu', divisor: '1m' };
const seLinuxOptions = { user: 'u', role: 'r', type: 't', level: 'l' };
const profiles = {
  seccompProfile: { type: 'Localhost', localhostProfile: 'p' },
  appArmorProfile: { type: 'Localhost', localhostProfile: 'p' },
};
const resources = { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } };
const httpGet = { path: '/', port: 'web', host: 'h', scheme: 'HTTPS', httpHeaders: [{ name: 'N', value: 'v' }] };
const timing = { initialDelaySeconds: 1, timeoutSeconds: 2, periodSeconds: 3, successThreshold: 1, failureThreshold: 4 };
const affinityTerm = {
  labelSelector,
  namespaces: ['default'],
  topologyKey: 'kubernetes.io/hostname',
  namespaceSelector: labelSelector,
  matchLabelKeys: ['m'],
  mismatchLabelKeys: ['n'],
};
const podAffinity = {
  requiredDuringSchedulingIgnoredDuringExecution: [affinityTerm],
  preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: affinityTerm }],
};

/** Every kind of volume, by its field. */
const volumes: Readonly<Record<string, Json>> = {
  hostPath: { path: '/x', type: 'Directory' },
  emptyDir: { medium: 'Memory', sizeLimit: '1Gi' },
  gcePersistentDisk: { pdName: 'd', fsType: 'ext4', partition: 1, readOnly: true },
  awsElasticBlockStore: { volumeID: 'v', fsType: 'ext4', partition: 1, readOnly: true },
  gitRepo: { repository: 'r', revision: 'v', directory: 'd' },
  secret: { secretName: 's', items, defaultMode: 0o400, optional: true },
  nfs: { server: 's', path: '/p', readOnly: true },
  iscsi: {
    targetPortal: '192.0.2.1:3260',
    iqn: 'iqn.2026-01.com.example:t',
    lun: 1,
    iscsiInterface: 'default',
    fsType: 'ext4',
    readOnly: true,
    portals: ['192.0.2.2:3260'],
    chapAuthDiscovery: true,
    chapAuthSession: true,
    secretRef: localRef,
    initiatorName: 'iqn.2026-01.com.example:i',
  },
  glusterfs: { endpoints: 'e', path: 'p', readOnly: true },
  persistentVolumeClaim: { claimName: 'c', readOnly: true },
  rbd: { monitors: ['m'], image: 'i', fsType: 'ext4', pool: 'p', user: 'u', keyring: 'k', secretRef: localRef, readOnly: true },
  flexVolume: { driver: 'example.com/d', fsType: 'ext4', secretRef: localRef, readOnly: true, options: { a: 'b' } },
  cinder: { volumeID: 'v', fsType: 'ext4', readOnly: true, secretRef: localRef },
  cephfs: { monitors: ['m'], path: '/p', user: 'u', secretFile: '/f', secretRef: localRef, readOnly: true },
  flocker: { datasetName: 'd' },
  downwardAPI: {
    items: [
      { path: 'a', fieldRef, mode: 0o440 },
      { path: 'b', resourceFieldRef },
    ],
    defaultMode: 0o400,
  },
  fc: { targetWWNs: ['w'], lun: 1, fsType: 'ext4', readOnly: true },
  azureFile: { secretName: 's', shareName: 'h', readOnly: true },
  configMap: { name: 'm', items, defaultMode: 0o400, optional: true },
  vsphereVolume: { volumePath: 'p', fsType: 'ext4', storagePolicyName: 'n', storagePolicyID: 'i' },
  quobyte: { registry: 'r:1', volume: 'v', readOnly: true, user: 'u', group: 'g', tenant: 't' },
  azureDisk: { diskName: 'd', diskURI: 'https://blob.core.windows.net/d', cachingMode: 'None', fsType: 'ext4', readOnly: true, kind: 'Dedicated' },
  photonPersistentDisk: { pdID: 'p', fsType: 'ext4' },
  projected: {
    sources: [
      { secret: { name: 's', items, optional: true } },
      { downwardAPI: { items: [{ path: 'q', fieldRef }] } },
      { configMap: { name: 'm', items: [{ key: 'k', path: 'r' }], optional: true } },
      { serviceAccountToken: { audience: 'a', expirationSeconds: 600, path: 't' } },
      { clusterTrustBundle: { name: 'b', optional: true, path: 'u' } },
      { clusterTrustBundle: { signerName: 'example.com/s', labelSelector, path: 'v' } },
      {
        podCertificate: {
          signerName: 'example.com/s',
          keyType: 'ED25519',
          maxExpirationSeconds: 3600,
          keyPath: 'w',
          certificateChainPath: 'x',
          userAnnotations: { 'example.com/a': 'b' },
        },
      },
      { podCertificate: { signerName: 'example.com/s', keyType: 'ED25519', credentialBundlePath: 'y' } },
    ],
    defaultMode: 0o400,
  },
  portworxVolume: { volumeID: 'v', fsType: 'ext4', readOnly: true },
  scaleIO: {
    gateway: 'g',
    system: 's',
    secretRef: localRef,
    sslEnabled: true,
    protectionDomain: 'd',
    storagePool: 'p',
    storageMode: 'ThinProvisioned',
    volumeName: 'v',
    fsType: 'xfs',
    readOnly: true,
  },
  storageos: { volumeName: 'v', volumeNamespace: 'n', fsType: 'ext4', readOnly: true, secretRef: localRef },
  csi: { driver: 'd.example.com', readOnly: true, fsType: 'ext4', volumeAttributes: { a: 'b' }, nodePublishSecretRef: localRef },
  ephemeral: {
    volumeClaimTemplate: { metadata: { labels: { a: 'b' } }, spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'c', resources: { requests: { storage: '1Gi' } } } },
  },
  image: { reference: 'registry.example/i', pullPolicy: 'IfNotPresent' },
};

const container: Json = {
  name: 'c',
  image: 'busybox:1',
  command: ['a'],
  args: ['b'],
  workingDir: '/w',
  ports: [{ name: 'web', containerPort: 80, hostPort: 8080, protocol: 'TCP', hostIP: '127.0.0.1' }],
  envFrom: [{ prefix: 'P_', configMapRef: { name: 'm', optional: true } }, { secretRef: { name: 's', optional: true } }],
  env: [
    { name: 'A', value: 'v' },
    { name: 'B', valueFrom: { fieldRef } },
    { name: 'C', valueFrom: { resourceFieldRef } },
    { name: 'D', valueFrom: { configMapKeyRef: { name: 'm', key: 'k', optional: true } } },
    { name: 'E', valueFrom: { secretKeyRef: { name: 's', key: 'k', optional: true } } },
    { name: 'F', valueFrom: { fileKeyRef: { volumeName: 'emptydir', path: 'f', key: 'k', optional: true } } },
  ],
  resources: { ...resources, claims: [{ name: 'd', request: 'r' }] },
  resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }],
  restartPolicy: 'Never',
  restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [3] } }],
  volumeMounts: [
    { name: 'hostpath', mountPath: '/h', readOnly: true, recursiveReadOnly: 'IfPossible', subPath: 'p', mountPropagation: 'None' },
    { name: 'emptydir', mountPath: '/e', subPathExpr: '$(A)' },
  ],
  volumeDevices: [{ name: 'persistentvolumeclaim', devicePath: '/dev/x' }],
  livenessProbe: { ...timing, httpGet, terminationGracePeriodSeconds: 5 },
  readinessProbe: { ...timing, tcpSocket: { port: 80, host: 'h' } },
  startupProbe: { ...timing, grpc: { port: 80, service: 's' } },
  lifecycle: { postStart: { exec: { command: ['a'] } }, preStop: { sleep: { seconds: 1 } }, stopSignal: 'SIGUSR1' },
  terminationMessagePath: '/t',
  terminationMessagePolicy: 'FallbackToLogsOnError',
  imagePullPolicy: 'Always',
  securityContext: {
    capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] },
    privileged: false,
    seLinuxOptions,
    runAsUser: 1,
    runAsGroup: 1,
    runAsNonRoot: true,
    readOnlyRootFilesystem: true,
    allowPrivilegeEscalation: true,
    procMount: 'Default',
    ...profiles,
  },
  stdin: true,
  stdinOnce: true,
  tty: true,
};

const status: Json = {
  observedGeneration: 1,
  phase: 'Running',
  conditions: [{ ...condition, observedGeneration: 1, lastProbeTime: time }],
  message: 'm',
  reason: 'r',
  nominatedNodeName: 'n2',
  hostIP: '192.0.2.1',
  hostIPs: [{ ip: '192.0.2.1' }],
  podIP: '10.0.0.1',
  podIPs: [{ ip: '10.0.0.1' }],
  startTime: time,
  initContainerStatuses: [statusOf('i', { terminated: { exitCode: 1, signal: 9, reason: 'R', message: 'm', startedAt: time, finishedAt: time, containerID: 'containerd://a' } })],
  containerStatuses: [statusOf('c', { running: { startedAt: time } })],
  ephemeralContainerStatuses: [statusOf('e', { waiting: { reason: 'R', message: 'm' } })],
  qosClass: 'Guaranteed',
  resize: 'InProgress',
  resourceClaimStatuses: [{ name: 'd', resourceClaimName: 'x' }],
  extendedResourceClaimStatus: { requestMappings: [{ containerName: 'c', resourceName: 'example.com/gpu', requestName: 'r' }], resourceClaimName: 'x' },
  allocatedResources: { cpu: '1' },
  resources,
  nodeAllocatableResourceClaimStatuses: [{ resourceClaimName: 'x', containers: ['c'], resources: { cpu: '1' } }],
};

function statusOf(name: string, state: Json): Json {
  return {
    name,
    state,
    lastState: { terminated: { exitCode: 1, finishedAt: time } },
    ready: true,
    restartCount: 1,
    image: 'busybox:1',
    imageID: 'sha256:a',
    containerID: 'containerd://a',
    started: true,
    allocatedResources: { cpu: '1' },
    resources: { ...resources, claims: [{ name: 'd', request: 'r' }] },
    volumeMounts: [{ name: 'hostpath', mountPath: '/h', readOnly: true, recursiveReadOnly: 'Disabled', volumeStatus: { image: { imageRef: 'registry.example/i@sha256:a' } } }],
    user: { linux: { uid: 1, gid: 1, supplementalGroups: [1] } },
    allocatedResourcesStatus: [{ name: 'claim:d', resources: [{ resourceID: 'x', health: 'Healthy', message: 'm' }] }],
    stopSignal: 'SIGUSR1',
  };
}

const first: Json = {
  metadata: { ...metadata('full') },
  spec: {
    volumes: Object.entries(volumes).map(([name, source]) => ({ name: name.toLowerCase(), [name]: source })),
    initContainers: [{ ...container, name: 'i', ports: [], restartPolicy: 'Always', restartPolicyRules: undefined, livenessProbe: { ...timing, exec: { command: ['a'] } } }],
    containers: [container],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 5,
    activeDeadlineSeconds: 600,
    dnsPolicy: 'None',
    dnsConfig: { nameservers: ['192.0.2.1'], searches: ['example.com'], options: [{ name: 'ndots', value: '2' }] },
    nodeSelector: { a: 'b' },
    serviceAccountName: 'default',
    automountServiceAccountToken: false,
    shareProcessNamespace: true,
    securityContext: {
      seLinuxOptions,
      runAsUser: 1,
      runAsGroup: 1,
      runAsNonRoot: true,
      supplementalGroups: [2],
      supplementalGroupsPolicy: 'Merge',
      fsGroup: 3,
      sysctls: [{ name: 'kernel.shm_rmid_forced', value: '0' }],
      fsGroupChangePolicy: 'OnRootMismatch',
      seLinuxChangePolicy: 'MountOption',
      ...profiles,
    },
    imagePullSecrets: [localRef],
    hostname: 'h',
    subdomain: 'd',
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: nodeSelector,
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: nodeSelector.nodeSelectorTerms[0] }],
      },
      podAffinity,
      podAntiAffinity: podAffinity,
    },
    schedulerName: 'somebody',
    tolerations: [toleration],
    hostAliases: [{ ip: '192.0.2.1', hostnames: ['h'] }],
    priorityClassName: 'system-node-critical',
    priority: 2_000_001_000,
    preemptionPolicy: 'PreemptLowerPriority',
    readinessGates: [{ conditionType: 'example.com/g' }],
    runtimeClassName: 'full',
    overhead: { cpu: '10m' },
    enableServiceLinks: false,
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'topology.kubernetes.io/zone',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector,
        minDomains: 2,
        nodeAffinityPolicy: 'Honor',
        nodeTaintsPolicy: 'Honor',
        matchLabelKeys: ['m'],
      },
    ],
    setHostnameAsFQDN: true,
    os: { name: 'linux' },
    hostUsers: true,
    schedulingGates: [{ name: 'example.com/g' }],
    resourceClaims: [
      { name: 'd', resourceClaimName: 'full' },
      { name: 'f', resourceClaimTemplateName: 'full' },
    ],
    resources: { limits: { cpu: '2', memory: '2Gi' }, requests: { cpu: '2', memory: '2Gi' } },
    schedulingGroup: { podGroupName: 'g' },
  },
  status,
};

/** Fields that exclude some of the first. */
const second: Json = {
  metadata: metadata('host'),
  spec: {
    volumes: [
      { name: 'f', flocker: { datasetUUID: 'u' } },
      { name: 'g', fc: { wwids: ['w'] } },
    ],
    containers: [{ name: 'c', image: 'busybox:1', lifecycle: { preStop: { httpGet }, postStart: { tcpSocket: { port: 80, host: 'h' } } } }],
    hostNetwork: true,
    hostPID: true,
    hostIPC: true,
    nodeName: 'n',
    serviceAccount: 'default',
  },
};

const named: Json = { metadata: metadata('named'), spec: { containers: [{ name: 'c', image: 'busybox:1' }], hostnameOverride: 'other' } };

const windows: Json = {
  metadata: metadata('windows'),
  spec: {
    os: { name: 'windows' },
    hostNetwork: true,
    securityContext: { windowsOptions: { gmsaCredentialSpecName: 'n', gmsaCredentialSpec: 's', runAsUserName: 'u', hostProcess: true } },
    containers: [{ name: 'c', image: 'i', securityContext: { windowsOptions: { hostProcess: true } } }],
  },
};

/** What is added to the first by `ephemeralcontainers`. */
export const ephemeralContainer: Json = {
  ...container,
  name: 'e',
  targetContainerName: 'c',
};

export const fullPods: FullObjects = { plural: 'pods', namespaced: true, objects: [first, second, named, windows] };
