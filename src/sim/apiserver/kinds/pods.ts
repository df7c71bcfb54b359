// Pods: the domain's defaults and validation (as for manifests), and the apiserver's own rules for pods.

import type { PodDraft } from '../../../domain/pod-sources/draft.js';
import { applyPodDefaults } from '../../../domain/pod-sources/pod-defaults.js';
import { forbidden as forbiddenField, type Problems } from '../../../domain/pod-sources/validation/field-problem.js';
import { validatePod } from '../../../domain/pod-sources/validation/validate-pod.js';
import { computeQosClass } from '../../../domain/qos/qos-class.js';
import type { Pod } from '../../../ports/model/pod.js';
import type { JsonDraft } from '../api-request.js';
import type { StoredObject } from '../object-store.js';
import { sameJson } from '../same-json.js';
import type { KindRules, ObjectDraft } from './kind-rules.js';
import { checkEphemeral, checkResize, keepAllButEphemeral, keepAllButResources } from './pod-parts.js';
import { checkStatusChange } from './pod-status-rules.js';

const updatableFields = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',');

function asPod(object: StoredObject | ObjectDraft): Pod {
  return object as unknown as Pod;
}

export const podRules: KindRules = {
  complete(draft, { subresource }) {
    if (subresource === 'status') return;
    draft.spec ??= {};
    applyPodDefaults(draft as unknown as PodDraft);
    for (const { ephemeral } of ((draft.spec as JsonDraft).volumes ?? []) as { readonly ephemeral?: { readonly volumeClaimTemplate?: { readonly spec?: JsonDraft } } }[]) {
      const claim = ephemeral?.volumeClaimTemplate?.spec;
      if (claim !== undefined) claim.volumeMode ??= 'Filesystem';
    }
  },

  begin(draft) {
    draft.status = { phase: 'Pending', qosClass: computeQosClass(asPod(draft)) };
  },

  check(problems, object, { subresource }) {
    // The spec is the old one.
    if (subresource === 'status') return;
    // Ephemeral containers are refused only in a new pod, which has no version yet.
    const isNew = object.metadata.resourceVersion === undefined;
    const counts = (field: string): boolean => !field.startsWith('metadata.') && (isNew || field !== 'spec.ephemeralContainers');
    problems.push(...validatePod(asPod(object)).filter(({ field }) => counts(field)));
  },

  change(draft, old, { subresource }) {
    if (subresource === 'status') {
      draft.spec = old.spec;
      // Old kubelets corrupt them.
      if (old.metadata.ownerReferences === undefined) delete draft.metadata.ownerReferences;
      else draft.metadata.ownerReferences = old.metadata.ownerReferences;
      const status = (draft.status ?? {}) as { qosClass?: string; podIP?: string; podIPs?: readonly { readonly ip: string }[] };
      // The field of old kubelets counts where both are given.
      if ((status.podIP ?? '') !== '' && status.podIPs?.[0]?.ip !== status.podIP) status.podIPs = [{ ip: status.podIP as string }];
      status.qosClass = (old.status as { qosClass?: string } | undefined)?.qosClass ?? computeQosClass(asPod(old));
      draft.status = status;
      return;
    }
    if (subresource === 'resize') keepAllButResources(draft, old);
    else if (subresource === 'ephemeralcontainers') keepAllButEphemeral(draft, old);
    else draft.status = old.status;
  },

  checkChange(problems, object, old, { subresource }) {
    if (subresource === 'status') checkStatusChange(problems, asPod(object), asPod(old));
    else if (subresource === 'resize') checkResize(problems, object, old);
    else if (subresource === 'ephemeralcontainers') checkEphemeral(problems, object, old);
    else checkSpecChange(problems, object, old);
  },

  deletionGrace(object, asked) {
    const pod = asPod(object);
    const grace = asked ?? pod.spec.terminationGracePeriodSeconds ?? 30;
    if ((pod.spec.nodeName ?? '') === '' || pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') return 0;
    return grace < 0 ? 1 : grace;
  },
};

/** Nothing but images, the deadline and more tolerations may change. */
function checkSpecChange(problems: Problems, object: ObjectDraft, old: StoredObject): void {
  const [before, after] = [asPod(old), asPod(object)];
  for (const toleration of before.spec.tolerations ?? []) {
    if (!(after.spec.tolerations ?? []).some((other) => sameJson({ ...other, tolerationSeconds: 0 }, { ...toleration, tolerationSeconds: 0 }))) {
      forbiddenField(problems, 'spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds');
      return;
    }
  }
  if (!sameJson(fixedPart(before), fixedPart(after))) {
    forbiddenField(problems, 'spec', `pod updates may not change fields other than ${updatableFields}`);
  }
}

function fixedPart({ spec }: Pod): unknown {
  const withoutImage = (containers: Pod['spec']['containers'] | undefined) => containers?.map((container) => ({ ...container, image: '' }));
  return {
    ...spec,
    containers: withoutImage(spec.containers),
    initContainers: withoutImage(spec.initContainers),
    activeDeadlineSeconds: undefined,
    tolerations: undefined,
    terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds === 1 ? undefined : spec.terminationGracePeriodSeconds,
    schedulingGates: undefined,
  };
}
