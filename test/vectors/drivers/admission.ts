// Predicates, the gate under pressure and the gate of kernel parameters.

import type { Admission } from '../../../src/domain/admission/admission-result.js';
import { admitByPredicates, type PredicateResult } from '../../../src/domain/admission/predicates.js';
import { admitUnderPressure } from '../../../src/domain/admission/pressure-gate.js';
import { admitSysctls, parseSysctlAllowlist } from '../../../src/domain/admission/sysctl-gate.js';
import type { PressureCondition } from '../../../src/domain/eviction/signals.js';
import type { Node } from '../../../src/ports/model/node.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { VectorDriver } from '../driver.js';

type Input =
  | { readonly op: 'predicates'; readonly node: Node; readonly freshNode?: Node; readonly nodeUnavailable?: boolean; readonly pods: readonly Pod[]; readonly pod: Pod }
  | { readonly op: 'pressure'; readonly nodeConditions: readonly PressureCondition[]; readonly pod: Pod }
  | { readonly op: 'sysctl'; readonly allowedSysctls: readonly string[]; readonly pod: Pod };

function shown(result: Admission | PredicateResult): object {
  if (result.kind === 'rejected') return { admit: false, reason: result.reason, message: result.message };
  const preempted = 'preempted' in result ? result.preempted.map(({ metadata }) => metadata.name) : [];
  return { admit: result.kind === 'admitted', ...(preempted.length === 0 ? {} : { preempted }) };
}

export const driver: VectorDriver = {
  run(input: Input) {
    switch (input.op) {
      case 'pressure':
        return shown(admitUnderPressure(input.pod, input.nodeConditions));
      case 'sysctl': {
        const allowlist = parseSysctlAllowlist(input.allowedSysctls);
        return allowlist.ok ? shown(admitSysctls(input.pod, allowlist.value)) : { error: allowlist.error };
      }
      case 'predicates': {
        const { pod, pods: otherPods, nodeUnavailable, freshNode = null } = input;
        const node = nodeUnavailable === true ? null : input.node;
        const first = admitByPredicates({ pod, otherPods, node });
        return shown(first.kind === 'read-node' ? admitByPredicates({ pod, otherPods, node, freshNode }) : first);
      }
    }
  },
};
