// The node's part in the expansion of a claim: whether it may grow the file system, and the claim's resulting status.
//
// | the claim's status                                             | the node                                           |
// |----------------------------------------------------------------|----------------------------------------------------|
// | no allocated resources (an old controller), smaller            | grows it                                           |
// | NodeResizePending, NodeResizeInProgress                        | grows it, to the allocated size                    |
// | large enough, shared by nodes, and growing isn't ruled out     | grows it here, without a status update             |
// | anything else                                                  | leaves it                                          |
//
// Invariant: a claim's capacity is reported only after the driver has grown the volume.
import type { PersistentVolumeClaim } from '../../ports/model/storage.js';
import { mustParseQuantity, quantityValue } from '../values/quantity.js';
import type { VolumeSpec } from './volume-spec.js';

const notRequired = 'volume.kubernetes.io/node-expansion-not-required';
const allowed: ReadonlySet<string> = new Set(['NodeResizePending', 'NodeResizeInProgress']);
const errorCondition = 'NodeResizeError';
const resizeConditions: ReadonlySet<string> = new Set(['FileSystemResizePending', 'Resizing', 'ControllerResizeError', errorCondition]);

export interface VolumeExpansion {
  /** In the form for the claim. */
  readonly size: string;
  readonly bytes: number;
  /** The claim already has it. */
  readonly isReported: boolean;
  /** The claim knows of allocated resources, and of how far growing is. */
  readonly isRecoverable: boolean;
}

/** Of the persistent volume, in bytes; null: not specified. */
export function volumeBytes(spec: VolumeSpec): number | null {
  return bytesOf(spec.kind === 'persistent' ? spec.persistentVolume.spec.capacity?.storage : undefined);
}

/** The claim's capacity in its status, in bytes. */
export function claimBytes(claim: PersistentVolumeClaim): number | null {
  return bytesOf(claim.status?.capacity?.storage);
}

/** null: the node doesn't expand it. */
export function expansionOf(spec: VolumeSpec, claim: PersistentVolumeClaim): VolumeExpansion | null {
  const wanted = spec.kind === 'persistent' ? spec.persistentVolume.spec.capacity?.storage : undefined;
  const [bytes, has] = [bytesOf(wanted), claimBytes(claim)];
  if (wanted === undefined || bytes === null || has === null) return null;
  const { allocatedResources, allocatedResourceStatuses } = claim.status ?? {};
  const isRecoverable = allocatedResources !== undefined || allocatedResourceStatuses !== undefined;
  const status = allocatedResourceStatuses?.['storage'] ?? '';
  if (allowed.has(status)) {
    const size = allocatedResources?.storage ?? wanted;
    return { size, bytes: bytesOf(size) ?? bytes, isReported: false, isRecoverable: true };
  }
  if (has >= bytes) {
    const isShared = (claim.spec?.accessModes ?? []).includes('ReadWriteMany');
    return status === '' && isShared && claim.metadata.annotations?.[notRequired] === undefined ? { size: wanted, bytes, isReported: true, isRecoverable } : null;
  }
  return isRecoverable ? null : { size: wanted, bytes, isReported: false, isRecoverable: false };
}

/** null: already in the claim. */
export function inProgressPatch(claim: PersistentVolumeClaim): object | null {
  if (claim.status?.allocatedResourceStatuses?.['storage'] === 'NodeResizeInProgress') return null;
  return { ...unchanged(claim), status: { allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } } };
}

export function finishedPatch(claim: PersistentVolumeClaim, { size }: VolumeExpansion): object {
  const gone = (claim.status?.conditions ?? []).filter(({ type }) => resizeConditions.has(type)).map(({ type }) => ({ $patch: 'delete', type }));
  const statuses = claim.status?.allocatedResourceStatuses?.['storage'] === undefined ? {} : { allocatedResourceStatuses: { storage: null } };
  return { ...unchanged(claim), status: { capacity: { storage: size }, ...statuses, ...(gone.length === 0 ? {} : { conditions: gone }) } };
}

/** @param isInfeasible the driver reports that the size is impossible @param at RFC 3339 */
export function failedPatch(claim: PersistentVolumeClaim, message: string, isInfeasible: boolean, at: string): object {
  const condition = { type: errorCondition, status: 'True', lastTransitionTime: at, message: `failed to expand pvc with ${message}` };
  const asked = bytesOf(claim.spec?.resources?.requests?.storage);
  const hasFailed = (claim.status?.conditions ?? []).some(({ type }) => type === errorCondition);
  // The request has changed since the infeasible size: the controller continues with it.
  const isOutdated = hasFailed && asked !== null && asked !== bytesOf(claim.status?.allocatedResources?.storage);
  const statuses = isInfeasible || isOutdated ? { allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } } : {};
  return { status: { conditions: [condition], ...statuses } };
}

/** A concurrent write takes precedence. */
function unchanged({ metadata: { resourceVersion } }: PersistentVolumeClaim): object {
  return resourceVersion === undefined ? {} : { metadata: { resourceVersion } };
}

function bytesOf(size: string | undefined): number | null {
  return size === undefined ? null : Number(quantityValue(mustParseQuantity(size)));
}
