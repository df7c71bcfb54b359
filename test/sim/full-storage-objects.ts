// The fullest objects of storage: volumes with each of their sources, claims, classes, attachments, drivers.
import { condition, type FullObjects, type Json, labelSelector, metadata, nodeSelector, reference, secretRef, time } from './full-objects.js';

/** Every source of a PersistentVolume but CSI's, which is with the first of them. */
const sources: Readonly<Record<string, Json>> = {
  gcePersistentDisk: { pdName: 'd', fsType: 'ext4', partition: 1, readOnly: true },
  awsElasticBlockStore: { volumeID: 'v', fsType: 'ext4', partition: 1, readOnly: true },
  hostPath: { path: '/x', type: 'Directory' },
  glusterfs: { endpoints: 'e', path: 'p', readOnly: true, endpointsNamespace: 'default' },
  nfs: { server: 's', path: '/p', readOnly: true },
  rbd: { monitors: ['m'], image: 'i', fsType: 'ext4', pool: 'p', user: 'u', keyring: 'k', secretRef, readOnly: true },
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
    secretRef,
    initiatorName: 'iqn.2026-01.com.example:i',
  },
  cinder: { volumeID: 'v', fsType: 'ext4', readOnly: true, secretRef },
  cephfs: { monitors: ['m'], path: '/p', user: 'u', secretFile: '/f', secretRef, readOnly: true },
  fc: { targetWWNs: ['w'], lun: 1, fsType: 'ext4', readOnly: true, wwids: ['x'] },
  flocker: { datasetName: 'd', datasetUUID: 'u' },
  flexVolume: { driver: 'example.com/d', fsType: 'ext4', secretRef, readOnly: true, options: { a: 'b' } },
  azureFile: { secretName: 's', shareName: 'h', readOnly: true, secretNamespace: 'default' },
  vsphereVolume: { volumePath: 'p', fsType: 'ext4', storagePolicyName: 'n', storagePolicyID: 'i' },
  quobyte: { registry: 'r:1', volume: 'v', readOnly: true, user: 'u', group: 'g', tenant: 't' },
  azureDisk: { diskName: 'd', diskURI: 'https://d', cachingMode: 'None', fsType: 'ext4', readOnly: true, kind: 'Managed' },
  photonPersistentDisk: { pdID: 'p', fsType: 'ext4' },
  portworxVolume: { volumeID: 'v', fsType: 'ext4', readOnly: true },
  scaleIO: {
    gateway: 'g',
    system: 's',
    secretRef,
    sslEnabled: true,
    protectionDomain: 'd',
    storagePool: 'p',
    storageMode: 'ThinProvisioned',
    volumeName: 'v',
    fsType: 'xfs',
    readOnly: true,
  },
  local: { path: '/x', fsType: 'ext4' },
  storageos: { volumeName: 'v', volumeNamespace: 'n', fsType: 'ext4', readOnly: true, secretRef: reference },
};

function volume(name: string, source: Json): Json {
  const nodeAffinity = { required: nodeSelector };
  return {
    metadata: metadata(name),
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem', nodeAffinity, ...source },
  };
}

export const fullStorageObjects: readonly FullObjects[] = [
  {
    plural: 'persistentvolumes',
    namespaced: false,
    objects: [
      {
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
      ...Object.entries(sources).map(([name, source]) => volume(name.toLowerCase(), { [name]: source })),
    ],
  },
  {
    plural: 'persistentvolumeclaims',
    namespaced: true,
    objects: [
      {
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
    ],
  },
  {
    plural: 'csidrivers',
    namespaced: false,
    objects: [
      {
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
    ],
  },
  {
    plural: 'csinodes',
    namespaced: false,
    objects: [{ metadata: metadata('full'), spec: { drivers: [{ name: 'd.example.com', nodeID: 'n', topologyKeys: ['a'], allocatable: { count: 3 } }] } }],
  },
  {
    plural: 'volumeattachments',
    namespaced: false,
    objects: [
      {
        metadata: metadata('full'),
        spec: { attacher: 'd.example.com', nodeName: 'n', source: { persistentVolumeName: 'full' } },
        status: {
          attached: true,
          attachmentMetadata: { a: 'b' },
          attachError: { time, message: 'm', errorCode: 8 },
          detachError: { time, message: 'm', errorCode: 8 },
        },
      },
      { metadata: metadata('inline'), spec: { attacher: 'd.example.com', nodeName: 'n', source: { inlineVolumeSpec: volume('x', { local: { path: '/x' } }).spec } } },
    ],
  },
  {
    plural: 'storageclasses',
    namespaced: false,
    objects: [
      {
        metadata: metadata('full'),
        provisioner: 'd.example.com',
        parameters: { a: 'b' },
        reclaimPolicy: 'Retain',
        mountOptions: ['ro'],
        allowVolumeExpansion: true,
        volumeBindingMode: 'WaitForFirstConsumer',
        allowedTopologies: [{ matchLabelExpressions: [{ key: 'topology.kubernetes.io/zone', values: ['z'] }] }],
      },
    ],
  },
];
