// The type of an API object, by the collection that it was requested from. The port reads each answer by the schema of that collection
// (`values/api-schema`) and refuses a field of another type, so that the fields of an answered object have the types of the API.
import type { ApiObject } from '../../ports/model/api-object.js';
import type { Secret } from '../../ports/model/config-objects.js';
import type { Lease } from '../../ports/model/lease.js';
import type { Node } from '../../ports/model/node.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ResourceClaim } from '../../ports/model/resource-claim.js';
import type { PersistentVolume, PersistentVolumeClaim, VolumeAttachment } from '../../ports/model/storage.js';
import type { Outcome } from '../../ports/port-error.js';

export interface CsiNodeObject extends ApiObject {
  readonly spec?: { readonly drivers?: readonly CsiNodeDriver[] | null };
}
export interface CsiNodeDriver {
  readonly name: string;
  readonly nodeID: string;
  readonly topologyKeys?: readonly string[] | null;
  readonly allocatable?: { readonly count?: number };
}

export interface TokenResponse extends ApiObject {
  readonly spec?: { readonly expirationSeconds?: number };
  readonly status?: { readonly token?: string; readonly expirationTimestamp?: string };
}

/** By the plural name of the collection. */
interface ObjectTypes {
  readonly csinodes: CsiNodeObject;
  readonly leases: Lease;
  readonly nodes: Node;
  readonly persistentvolumeclaims: PersistentVolumeClaim;
  readonly persistentvolumes: PersistentVolume;
  readonly pods: Pod;
  readonly resourceclaims: ResourceClaim;
  readonly secrets: Secret;
  /** The subresource `token` of a service account. */
  readonly tokenrequests: TokenResponse;
  readonly volumeattachments: VolumeAttachment;
}

/** @param _collection that the object was requested from */
export function typedObject<Collection extends keyof ObjectTypes>(_collection: Collection, object: ApiObject): ObjectTypes[Collection] {
  return object as ObjectTypes[Collection];
}

/** The object of an answer; null: the request failed. */
export function answeredObject<Collection extends keyof ObjectTypes>(collection: Collection, outcome: Outcome<ApiObject>): ObjectTypes[Collection] | null {
  return outcome.ok ? typedObject(collection, outcome.value) : null;
}
