// The columns of `kubectl get` for each kind: those of the real server's tables, computed from the objects.
import type { Micros } from '../../../ports/micros.js';
import type { Node } from '../../../ports/model/node.js';
import type { StoredObject } from '../object-store.js';
import { podCells, widePodCells } from './pod-cells.js';
import { age, type Column } from './table-cell.js';

const none = '<none>';
const unset = '<unset>';

/** A field by its path; `instead` if it is absent. */
function field(name: string, path: string, instead: string | number = none, wide?: true): Column {
  const cell = (object: StoredObject): string | number => {
    const value = at(object, path);
    return typeof value === 'string' || typeof value === 'number' ? value : typeof value === 'boolean' ? String(value) : instead;
  };
  return { name, cell, ...(wide === undefined ? {} : { wide }) };
}

function count(name: string, ...paths: readonly string[]): Column {
  return { name, cell: (object) => paths.reduce((sum, path) => sum + Object.keys((at(object, path) ?? {}) as object).length, 0) };
}

function listed(name: string, path: string, wide?: true): Column {
  const cell = (object: StoredObject): string => {
    const value = at(object, path);
    return Array.isArray(value) && value.length > 0 ? value.join(',') : none;
  };
  return { name, cell, ...(wide === undefined ? {} : { wide }) };
}

function at(object: unknown, path: string): unknown {
  let value = object;
  for (const part of path.split('.')) value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[part] : undefined;
  return value;
}

const nameColumn: Column = { name: 'Name', cell: ({ metadata }) => metadata.name };
const ageColumn: Column = { name: 'Age', cell: ({ metadata }, now) => age(metadata.creationTimestamp, now) };

function nodeStatus(object: StoredObject): string {
  const { spec, status } = object as unknown as Node;
  const ready = (status?.conditions ?? []).find(({ type }) => type === 'Ready');
  const word = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return spec?.unschedulable === true ? `${word},SchedulingDisabled` : word;
}

function nodeRoles({ metadata }: StoredObject): string {
  const prefix = 'node-role.kubernetes.io/';
  const roles = Object.keys(metadata.labels ?? {})
    .filter((label) => label.startsWith(prefix))
    .map((label) => label.slice(prefix.length));
  return roles.length === 0 ? none : roles.sort().join(',');
}

function address(type: string): (object: StoredObject) => string {
  return (object) => ((object as unknown as Node).status?.addresses ?? []).find((one) => one.type === type)?.address ?? none;
}

const nodeInfo = (name: string, part: string, wide?: true) => field(name, `status.nodeInfo.${part}`, '<unknown>', wide);

function servicePorts(object: StoredObject): string {
  const ports = (at(object, 'spec.ports') ?? []) as readonly { readonly port: number; readonly nodePort?: number; readonly protocol?: string }[];
  return ports.length === 0 ? none : ports.map(({ port, nodePort, protocol }) => `${port}${nodePort === undefined ? '' : `:${nodePort}`}/${protocol ?? 'TCP'}`).join(',');
}

function selectorText(object: StoredObject): string {
  const selector = Object.entries((at(object, 'spec.selector') ?? {}) as object);
  return selector.length === 0 ? none : selector.map(([key, value]) => `${key}=${value}`).join(',');
}

function requestCondition(object: StoredObject): string {
  const conditions = ((at(object, 'status.conditions') ?? []) as readonly { readonly type: string }[]).map(({ type }) => type);
  const issued = at(object, 'status.certificate') === undefined ? [] : ['Issued'];
  return conditions.length === 0 ? 'Pending' : [...conditions, ...issued].join(',');
}

function eventSeen(object: StoredObject, now: Micros): string {
  return age(at(object, 'lastTimestamp') ?? at(object, 'eventTime') ?? object.metadata.creationTimestamp, now);
}

function involved(object: StoredObject): string {
  return `${String(at(object, 'involvedObject.kind') ?? '').toLowerCase()}/${String(at(object, 'involvedObject.name') ?? '')}`;
}

/** By collection; others have name and age. */
export const columnsByResource: Readonly<Record<string, readonly Column[]>> = {
  pods: [nameColumn, ...podCells, ageColumn, ...widePodCells],
  nodes: [
    nameColumn,
    { name: 'Status', cell: nodeStatus },
    { name: 'Roles', cell: nodeRoles },
    ageColumn,
    nodeInfo('Version', 'kubeletVersion'),
    { name: 'Internal-IP', wide: true, cell: address('InternalIP') },
    { name: 'External-IP', wide: true, cell: address('ExternalIP') },
    nodeInfo('OS-Image', 'osImage', true),
    nodeInfo('Kernel-Version', 'kernelVersion', true),
    nodeInfo('Container-Runtime', 'containerRuntimeVersion', true),
  ],
  namespaces: [nameColumn, field('Status', 'status.phase'), ageColumn],
  configmaps: [nameColumn, count('Data', 'data', 'binaryData'), ageColumn],
  secrets: [nameColumn, field('Type', 'type'), count('Data', 'data'), ageColumn],
  serviceaccounts: [nameColumn, count('Secrets', 'secrets'), ageColumn],
  services: [
    nameColumn,
    field('Type', 'spec.type'),
    field('Cluster-IP', 'spec.clusterIP'),
    listed('External-IP', 'spec.externalIPs'),
    { name: 'Port(s)', cell: servicePorts },
    ageColumn,
    { name: 'Selector', wide: true, cell: selectorText },
  ],
  events: [{ name: 'Last Seen', cell: eventSeen }, field('Type', 'type'), field('Reason', 'reason'), { name: 'Object', cell: involved }, field('Message', 'message')],
  'leases.coordination.k8s.io': [nameColumn, field('Holder', 'spec.holderIdentity', ''), ageColumn],
  persistentvolumes: [
    nameColumn,
    field('Capacity', 'spec.capacity.storage'),
    listed('Access Modes', 'spec.accessModes'),
    field('Reclaim Policy', 'spec.persistentVolumeReclaimPolicy'),
    field('Status', 'status.phase'),
    field('Claim', 'spec.claimRef.name', ''),
    field('StorageClass', 'spec.storageClassName', ''),
    field('VolumeAttributesClass', 'spec.volumeAttributesClassName', unset),
    field('Reason', 'status.reason', ''),
    ageColumn,
  ],
  persistentvolumeclaims: [
    nameColumn,
    field('Status', 'status.phase'),
    field('Volume', 'spec.volumeName', ''),
    field('Capacity', 'status.capacity.storage', ''),
    listed('Access Modes', 'status.accessModes'),
    field('StorageClass', 'spec.storageClassName', ''),
    field('VolumeAttributesClass', 'spec.volumeAttributesClassName', unset),
    ageColumn,
  ],
  'storageclasses.storage.k8s.io': [
    nameColumn,
    field('Provisioner', 'provisioner'),
    field('ReclaimPolicy', 'reclaimPolicy'),
    field('VolumeBindingMode', 'volumeBindingMode'),
    ageColumn,
  ],
  'csidrivers.storage.k8s.io': [
    nameColumn,
    field('AttachRequired', 'spec.attachRequired'),
    field('PodInfoOnMount', 'spec.podInfoOnMount'),
    listed('Modes', 'spec.volumeLifecycleModes'),
    ageColumn,
  ],
  'csinodes.storage.k8s.io': [nameColumn, count('Drivers', 'spec.drivers'), ageColumn],
  'volumeattachments.storage.k8s.io': [
    nameColumn,
    field('Attacher', 'spec.attacher'),
    field('PV', 'spec.source.persistentVolumeName', ''),
    field('Node', 'spec.nodeName'),
    field('Attached', 'status.attached', 'false'),
    ageColumn,
  ],
  'runtimeclasses.node.k8s.io': [nameColumn, field('Handler', 'handler'), ageColumn],
  'priorityclasses.scheduling.k8s.io': [
    nameColumn,
    field('Value', 'value', 0),
    field('Global-Default', 'globalDefault', 'false'),
    ageColumn,
    field('PreemptionPolicy', 'preemptionPolicy'),
  ],
  'certificatesigningrequests.certificates.k8s.io': [
    nameColumn,
    ageColumn,
    field('SignerName', 'spec.signerName'),
    field('Requestor', 'spec.username', ''),
    { name: 'RequestedDuration', cell: (object) => (at(object, 'spec.expirationSeconds') === undefined ? none : `${String(at(object, 'spec.expirationSeconds'))}s`) },
    { name: 'Condition', cell: requestCondition },
  ],
};

export const plainColumns: readonly Column[] = [nameColumn, { name: 'Created At', cell: ({ metadata }) => metadata.creationTimestamp ?? '' }];
