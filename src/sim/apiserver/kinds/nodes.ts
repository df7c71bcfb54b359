// Nodes: a node is created with its status, and afterwards its spec and its status have different writers.
import type { KindRules } from './kind-rules.js';

export const nodeRules: KindRules = {
  /** The status that a kubelet registers with counts. */
  begin() {},
  change(draft, old, { subresource }) {
    if (subresource === 'status') draft.spec = old.spec;
    else draft.status = old.status;
    for (const part of ['spec', 'status'] as const) if (draft[part] === undefined) delete draft[part];
  },
};
