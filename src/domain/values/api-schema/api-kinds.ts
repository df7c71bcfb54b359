// The struct of the schema by which an apiserver's answer is read, for each collection.
import type { ApiObject, ApiResource, UnusableObject } from '../../../ports/model/api-object.js';
import { isObject, readObject, WrongField } from './read-object.js';

/** `plural.group`, and `/subresource` where it answers with another kind than its object's -> struct. */
const kinds: Readonly<Record<string, string>> = {
  namespaces: 'Namespace',
  nodes: 'Node',
  pods: 'Pod',
  configmaps: 'ConfigMap',
  secrets: 'Secret',
  services: 'Service',
  serviceaccounts: 'ServiceAccount',
  'serviceaccounts/token': 'TokenRequest',
  events: 'Event',
  persistentvolumes: 'PersistentVolume',
  persistentvolumeclaims: 'PersistentVolumeClaim',
  'leases.coordination.k8s.io': 'Lease',
  'runtimeclasses.node.k8s.io': 'RuntimeClass',
  'volumeattachments.storage.k8s.io': 'VolumeAttachment',
  'csidrivers.storage.k8s.io': 'CSIDriver',
  'csinodes.storage.k8s.io': 'CSINode',
  'certificatesigningrequests.certificates.k8s.io': 'CertificateSigningRequest',
  'clustertrustbundles.certificates.k8s.io': 'ClusterTrustBundle',
  'podcertificaterequests.certificates.k8s.io': 'PodCertificateRequest',
  'resourceclaims.resource.k8s.io': 'ResourceClaim',
  'resourceslices.resource.k8s.io': 'ResourceSlice',
  'tokenreviews.authentication.k8s.io': 'TokenReview',
  'subjectaccessreviews.authorization.k8s.io': 'SubjectAccessReview',
};

/** null: objects of that collection are not validated, except for their metadata. */
export function structOfAnswer({ group, plural }: Pick<ApiResource, 'group' | 'plural'>, subresource: string | null): string | null {
  const key = group === '' ? plural : `${plural}.${group}`;
  return (subresource === null ? undefined : kinds[`${key}/${subresource}`]) ?? kinds[key] ?? null;
}

export type ReadAnswer = { readonly ok: true; readonly object: ApiObject } | { readonly ok: false; readonly unusable: UnusableObject };

/** Reads an object of a list or a watch, which has a name. Never throws. */
export function readNamed(value: unknown, struct: string | null): ReadAnswer {
  const read = readAnswer(value, struct);
  return read.ok && (read.object.metadata.name ?? '') === '' ? unusable(value, 'metadata.name: expected a string, found nothing') : read;
}

/** Reads the answer to a request for one object. Never throws. */
export function readAnswer(value: unknown, struct: string | null): ReadAnswer {
  try {
    const object = struct === null ? readUnknown(value) : readObject(value, struct);
    return { ok: true, object: (object.metadata === undefined ? { ...object, metadata: {} } : object) as unknown as ApiObject };
  } catch (error) {
    if (error instanceof WrongField) return unusable(value, error.message);
    throw error;
  }
}

function readUnknown(value: unknown): Record<string, unknown> {
  if (!isObject(value)) throw new WrongField('an object', 'none');
  return { ...value, metadata: isObject(value.metadata) ? readObject(value.metadata, 'ObjectMeta') : {} };
}

function unusable(value: unknown, problem: string): ReadAnswer {
  const { apiVersion, kind, metadata } = isObject(value) ? value : ({} as Record<string, unknown>);
  const { namespace, name, uid, resourceVersion } = isObject(metadata) ? metadata : ({} as Record<string, unknown>);
  const text = (given: unknown): string | null => (typeof given === 'string' && given !== '' ? given : null);
  return {
    ok: false,
    unusable: { apiVersion: text(apiVersion), kind: text(kind), namespace: text(namespace), name: text(name), uid: text(uid), resourceVersion: text(resourceVersion), problem },
  };
}
