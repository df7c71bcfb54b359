// Whether the node supports the pod's requirements besides resources: AppArmor profiles, pod-level resources, features that the node declares.
import type { AppArmorProfile } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { apparmorProfile } from '../containers/security-profiles.js';
import { hasPodLevel } from '../qos/pod-resources.js';
import { byCodeUnits } from '../values/text-order.js';
import { type Admission, admitted, rejected } from './admission-result.js';
import { featuresNeeded } from './needed-features.js';

/** Why a host without it can't enforce profiles. */
export const appArmorDisabled = 'AppArmor is not enabled on the host';

/**
 * Only before the pod has started: a running one keeps its profile.
 * @param hostProblem why the host can't enforce profiles, e.g. `appArmorDisabled`; null if it can
 */
export function admitAppArmor(pod: Pod, hostProblem: string | null): Admission {
  if ((pod.status?.phase ?? 'Pending') !== 'Pending' || hostProblem === null || !asksForAppArmor(pod)) return admitted;
  return rejected('AppArmor', `Cannot enforce AppArmor: ${hostProblem}`);
}

function asksForAppArmor(pod: Pod): boolean {
  if (isEnforced(pod.spec.securityContext?.appArmorProfile)) return true;
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers, ...(pod.spec.ephemeralContainers ?? [])];
  return containers.some((container) => {
    const profile = apparmorProfile(pod, container);
    return !profile.ok || (profile.value !== null && profile.value.profileType !== 'Unconfined');
  });
}

function isEnforced(profile: AppArmorProfile | undefined): boolean {
  return profile !== undefined && profile.type !== 'Unconfined';
}

/** @param isEnabled the feature gate PodLevelResources */
export function admitPodLevelResources(pod: Pod, isEnabled: boolean): Admission {
  if (isEnabled || !(hasPodLevel(pod, 'requests') || hasPodLevel(pod, 'limits'))) return admitted;
  return rejected('PodLevelResourcesNotSupported', 'PodLevelResources feature gate is disabled');
}

/** @param declared the node's features; null: the feature gate NodeDeclaredFeatures is off, and nothing is checked */
export function admitDeclaredFeatures(pod: Pod, declared: readonly string[] | null): Admission {
  const missing = missingFeatures(featuresNeeded(pod), declared);
  return missing === null ? admitted : rejected('PodFeatureUnsupported', missing);
}

/** The message about features that a pod needs and its node does not declare; null: none, or nothing is checked. */
export function missingFeatures(needed: readonly string[], declared: readonly string[] | null): string | null {
  if (declared === null) return null;
  const missing = needed.filter((feature) => !declared.includes(feature)).sort(byCodeUnits);
  return missing.length === 0 ? null : `Pod requires node features that are not available: ${missing.join(', ')}`;
}
