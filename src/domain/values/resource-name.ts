// Classes of resource names: Kubernetes' own, huge page sizes, or extended (a vendor's).
// Invariant: a name is Kubernetes' own or extended, never both.
import { qualifiedNameProblems } from './dns-names.js';

export const hugePagesPrefix = 'hugepages-';
const quotaPrefix = 'requests.';
const attachableVolumesPrefix = 'attachable-volumes-';
const deviceClassPrefix = 'deviceclass.resource.kubernetes.io/';

export function isHugePageResource(name: string): boolean {
  return name.startsWith(hugePagesPrefix);
}

/** Kubernetes' own, standard or not: no prefix, or one of kubernetes.io. */
export function isNativeResource(name: string): boolean {
  return !name.includes('/') || isPrefixedNative(name);
}

/** A vendor's, such as a device plugin's. `requests.` in front is how quotas name them, so no name begins with it. */
export function isExtendedResource(name: string): boolean {
  return !isNativeResource(name) && !name.startsWith(quotaPrefix) && qualifiedNameProblems(`${quotaPrefix}${name}`).length === 0;
}

/** Extended, or of a device class behind claims (KEP-5004). */
export function isClaimedExtendedResource(name: string): boolean {
  return name.startsWith(deviceClassPrefix) || isExtendedResource(name);
}

/** Counted per node besides cpu, memory and ephemeral-storage; any other name is ignored when a pod is placed. */
export function isScalarResource(name: string): boolean {
  return isExtendedResource(name) || isHugePageResource(name) || isPrefixedNative(name) || name.startsWith(attachableVolumesPrefix);
}

function isPrefixedNative(name: string): boolean {
  return name.includes('kubernetes.io/');
}
