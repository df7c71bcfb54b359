// The result of an admission step. Reasons and messages go into the pod's status: controllers and users match on them.

export interface Rejection {
  readonly kind: 'rejected';
  readonly reason: string;
  readonly message: string;
}

export type Admission = { readonly kind: 'admitted' } | Rejection;

export const admitted: Admission = { kind: 'admitted' };

export function rejected(reason: string, message: string): Rejection {
  return { kind: 'rejected', reason, message };
}

/** Reasons that have a label of their own in `kubelet_admission_rejections_total`. */
const labelledReasons: ReadonlySet<string> = new Set([
  'AppArmor',
  'Evicted',
  'InitContainerRestartPolicyForbidden',
  'InvalidNodeInfo',
  'NodeShutdown',
  'OutOfcpu',
  'OutOfephemeral-storage',
  'OutOfmemory',
  'OutOfpods',
  'PodFeatureUnsupported',
  'PodLevelResourcesNotSupported',
  'PodOSNotSupported',
  'PodOSSelectorNodeLabelDoesNotMatch',
  'SMTAlignmentError',
  'SupplementalGroupsPolicyNotSupported',
  'SysctlForbidden',
  'TopologyAffinityError',
  'UnexpectedAdmissionError',
  'UnexpectedPredicateFailureType',
  'UnknownReason',
  'VolumeAttachmentLimitExceeded',
]);

/** A bounded set of labels, for any number of extended resources. */
export function rejectionMetricLabel(reason: string): string {
  if (labelledReasons.has(reason)) return reason;
  return reason.startsWith('OutOf') ? 'OutOfExtendedResources' : 'Other';
}

/** The message of the status of a pod that was refused. */
export function rejectionStatusMessage({ message }: Rejection): string {
  return `Pod was rejected: ${message}`;
}
