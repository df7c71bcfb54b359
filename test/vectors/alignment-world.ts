// Common parts of the drivers of the alignment managers: the pods of a node, admission through the topology manager, restarts.
import { type ActivePods, activePodsBy } from '../../src/domain/topology-manager/active-pods.js';
import { beginAdmission, continueAdmission, type HintProvider } from '../../src/domain/topology-manager/pod-admission.js';
import { type NumaNode, newTopologyManager, type TopologyManager } from '../../src/domain/topology-manager/topology-manager.js';
import type { Pod } from '../../src/ports/model/pod.js';

export interface TopologyInput {
  readonly topologyManagerPolicy?: string;
  readonly topologyManagerScope?: string;
}

export interface AdmissionResult {
  readonly admit: boolean;
  readonly reason?: string;
  readonly message?: string;
}

export class AlignmentWorld {
  readonly #input: TopologyInput;
  readonly #nodes: readonly NumaNode[];
  /** In order of admission. */
  readonly pods = new Map<string, Pod>();
  sourcesReady = true;
  topology: TopologyManager;

  constructor(input: TopologyInput, nodeIds: readonly number[]) {
    this.#input = input;
    this.#nodes = nodeIds.map((id) => ({ id, distances: null }));
    this.topology = this.#newManager();
  }

  #newManager(): TopologyManager {
    const { topologyManagerPolicy: policy = 'none', topologyManagerScope: scope = 'container' } = this.#input;
    const result = newTopologyManager({ policy, scope, policyOptions: {}, numaNodes: this.#nodes });
    if (!result.ok) throw new Error(result.error);
    return result.manager;
  }

  /** Active pods; `pending` counts as one. */
  active(pending: Pod | null = null): ActivePods {
    return activePodsBy((uid) => this.pods.get(uid) ?? (pending?.metadata.uid === uid ? pending : undefined), this.sourcesReady);
  }

  /** After a restart nothing is known of the pod sources. */
  restart(): void {
    this.topology = this.#newManager();
    this.sourcesReady = false;
  }

  /** `unblock` is called while a provider waits, until it has its answer. */
  decide(pod: Pod, providers: readonly HintProvider[], unblock: () => void = () => undefined): AdmissionResult {
    const admission = beginAdmission(pod);
    for (let turns = 0; turns < 1000; turns++) {
      const answer = continueAdmission(this.topology, admission, pod, providers);
      if (answer.kind === 'admitted') return { admit: true };
      if (answer.kind === 'refused') return { admit: false, reason: answer.reason, message: answer.message };
      unblock();
    }
    throw new Error('an admission does not come to an end');
  }
}
