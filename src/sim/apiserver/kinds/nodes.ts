// Nodes: a node is created with its status, and afterwards its spec and its status have different writers.
import type { Taint } from '../../../ports/model/node.js';
import type { JsonDraft } from '../api-request.js';
import type { KindRules, ObjectDraft } from './kind-rules.js';

const notReady: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

/** Fields of a removed feature: no server keeps them. */
function dropDynamicConfiguration({ spec, status }: ObjectDraft): void {
  delete (spec as JsonDraft | undefined)?.configSource;
  delete (status as JsonDraft | undefined)?.config;
}

/** The field of old clients counts where both are given. */
function completeAddresses(draft: ObjectDraft): void {
  const { podCIDR, podCIDRs = [] } = (draft.spec ?? {}) as { readonly podCIDR?: string; readonly podCIDRs?: readonly string[] };
  if (podCIDR !== undefined && podCIDR !== '' && podCIDRs[0] !== podCIDR) draft.spec = { ...(draft.spec as JsonDraft), podCIDRs: [podCIDR] };
}

export const nodeRules: KindRules = {
  /** The status that a kubelet registers with counts. */
  begin(draft) {
    // Nothing is scheduled to a node before the control plane has seen that it is ready.
    const spec = (draft.spec ?? {}) as { taints?: Taint[] };
    const taints = spec.taints ?? [];
    if (!taints.some(({ key, effect }) => key === notReady.key && effect === notReady.effect)) spec.taints = [...taints, { ...notReady }];
    draft.spec = spec;
  },
  complete(draft) {
    dropDynamicConfiguration(draft);
    const status = draft.status as JsonDraft | undefined;
    if (status?.capacity !== undefined && status.allocatable === undefined) draft.status = { ...status, allocatable: status.capacity };
    completeAddresses(draft);
  },
  change(draft, old, { subresource }) {
    if (subresource === 'status') draft.spec = old.spec;
    else draft.status = old.status;
    for (const part of ['spec', 'status'] as const) if (draft[part] === undefined) delete draft[part];
  },
};
