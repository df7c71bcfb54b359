// Recovery from failed predicates: who is killed, and which failures are left.
import { type PredicateFailure, type PredicateName, recoverFromFailures, rejectionOf } from '../../../src/domain/admission/predicates.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly pod: Pod;
  readonly pods: readonly Pod[];
  readonly insufficient?: readonly { readonly resource: string; readonly requested: number; readonly used: number; readonly capacity: number }[];
  readonly otherReasons?: readonly PredicateName[];
}

export const driver: VectorDriver = {
  run({ pod, pods, insufficient = [], otherReasons = [] }: Input) {
    const failures: PredicateFailure[] = [
      ...insufficient.map(({ resource, requested, used, capacity }) => ({
        kind: 'shortage' as const,
        shortage: { resource, requested: BigInt(requested), used: BigInt(used), capacity: BigInt(capacity) },
      })),
      ...otherReasons.map((name) => ({ kind: 'predicate' as const, name })),
    ];
    const recovered = recoverFromFailures(pod, pods, failures);
    if (!recovered.ok) return { error: recovered.error };
    return { victims: recovered.victims.map(({ metadata }) => metadata.name), remainingReasons: recovered.remaining.map((failure) => rejectionOf(failure).reason) };
  },
};
