// API references of a static pod. A pod that must run without an apiserver may not have any (KEP-5440's rule, feature PreventStaticPodAPIReferences).
import type { Container } from '../../ports/model/container.js';
import type { PodSpec } from '../../ports/model/pod.js';
import type { Volume, VolumeProjection } from '../../ports/model/volume.js';

/** The message for the first reference found, null if none. `prevent` is the feature; without it only unsupported references are refused. */
export function apiReferenceProblem(spec: PodSpec, prevent: boolean): string | null {
  if (!prevent) {
    if (projections(spec).some((projection) => projection.clusterTrustBundle !== undefined)) return 'static pods may not use ClusterTrustBundle projected volume sources';
    return (spec.resourceClaims ?? []).length > 0 ? 'static pods may not use ResourceClaims' : null;
  }
  const resource = firstReference(spec);
  return resource === null ? null : `static pods may not reference ${resource}`;
}

function firstReference(spec: PodSpec): string | null {
  if ((spec.serviceAccountName ?? '') !== '') return 'serviceaccounts';
  if (secretNames(spec).some(isNamed)) return 'secrets';
  if (configMapNames(spec).some(isNamed)) return 'configmaps';
  if ((spec.resourceClaims ?? []).length > 0) return 'resourceclaims';
  for (const volume of spec.volumes ?? []) {
    const resource = volumeReference(volume);
    if (resource !== null) return resource;
  }
  return null;
}

function isNamed(name: string | undefined): boolean {
  return name !== undefined && name !== '';
}

function allContainers(spec: PodSpec): readonly Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
}

function projections(spec: PodSpec): readonly VolumeProjection[] {
  return (spec.volumes ?? []).flatMap((volume) => volume.projected?.sources ?? []);
}

const sourcesWithSecretRef = ['cephfs', 'cinder', 'flexVolume', 'rbd', 'scaleIO', 'iscsi', 'storageos'] as const;

/** The names of all Secrets that the pod references; undefined for a reference without a name. */
export function secretNames(spec: PodSpec): (string | undefined)[] {
  const names: (string | undefined)[] = (spec.imagePullSecrets ?? []).map((reference) => reference.name);
  for (const container of allContainers(spec)) {
    for (const source of container.envFrom ?? []) names.push(source.secretRef?.name);
    for (const variable of container.env ?? []) names.push(variable.valueFrom?.secretKeyRef?.name);
  }
  for (const volume of spec.volumes ?? []) {
    names.push(volume.secret?.secretName, volume.csi?.nodePublishSecretRef?.name, (volume.azureFile as { secretName?: string } | undefined)?.secretName);
    for (const source of sourcesWithSecretRef) names.push((volume[source] as { secretRef?: { name?: string } } | undefined)?.secretRef?.name);
  }
  for (const projection of projections(spec)) names.push(projection.secret?.name);
  return names;
}

/** As `secretNames`. */
export function configMapNames(spec: PodSpec): (string | undefined)[] {
  const names: (string | undefined)[] = [];
  for (const container of allContainers(spec)) {
    for (const source of container.envFrom ?? []) names.push(source.configMapRef?.name);
    for (const variable of container.env ?? []) names.push(variable.valueFrom?.configMapKeyRef?.name);
  }
  for (const volume of spec.volumes ?? []) names.push(volume.configMap?.name);
  for (const projection of projections(spec)) names.push(projection.configMap?.name);
  return names;
}

const sourceReferences: readonly (readonly [source: string, resource: string])[] = [
  ['configMap', 'configmaps (via configmap volumes)'],
  ['secret', 'secrets (via secret volumes)'],
  ['csi', 'csidrivers (via CSI volumes)'],
  ['glusterfs', 'endpoints (via glusterFS volumes)'],
  ['persistentVolumeClaim', 'persistentvolumeclaims'],
  ['ephemeral', 'persistentvolumeclaims (via ephemeral volumes)'],
  ['azureFile', 'secrets (via azureFile volumes)'],
];

const projectionReferences: readonly (readonly [source: keyof VolumeProjection, resource: string])[] = [
  ['clusterTrustBundle', 'clustertrustbundles'],
  ['configMap', 'configmaps (via projected volumes)'],
  ['secret', 'secrets (via projected volumes)'],
  ['serviceAccountToken', 'serviceaccounts (via projected volumes)'],
  ['podCertificate', 'podcertificates'],
];

function volumeReference(volume: Volume): string | null {
  for (const [source, resource] of sourceReferences) if (volume[source] !== undefined) return resource;
  for (const projection of volume.projected?.sources ?? []) {
    for (const [source, resource] of projectionReferences) if (projection[source] !== undefined) return resource;
  }
  return null;
}
