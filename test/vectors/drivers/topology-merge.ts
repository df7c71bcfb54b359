// Merging hints, building the manager, and admission of a pod with providers that answer from a table.
import { mergeHints } from '../../../src/domain/topology-manager/merge-hints.js';
import { beginAdmission, continueAdmission, type HintProvider } from '../../../src/domain/topology-manager/pod-admission.js';
import type { ProviderHints, TopologyHint } from '../../../src/domain/topology-manager/topology-hint.js';
import { newTopologyManager, storedHint, type TopologyManager } from '../../../src/domain/topology-manager/topology-manager.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { VectorDriver } from '../driver.js';

type Hints = Readonly<Record<string, readonly TopologyHint[] | null>>;
interface Provider {
  readonly name: string;
  readonly containerHints?: Readonly<Record<string, Hints>>;
  readonly podHints?: Hints;
  readonly allocateErrors?: Readonly<Record<string, { readonly message: string; readonly reason?: string }>>;
}
interface Input {
  readonly kind: 'merge' | 'manager' | 'admit';
  readonly policy: string;
  readonly policyOptions?: Readonly<Record<string, string>>;
  readonly scope?: string;
  readonly numaNodes: readonly { readonly id: number; readonly distances?: readonly number[] }[];
  readonly providers?: readonly (Hints | null)[];
  readonly pod?: { readonly initContainers: readonly string[]; readonly containers: readonly string[] };
  readonly hintProviders?: readonly Provider[];
}

const hintMap = (hints: Hints | null | undefined): ProviderHints | null => (hints === null || hints === undefined ? null : new Map(Object.entries(hints)));

function managerOf(input: Input) {
  const { policy, policyOptions = {}, scope = 'container', numaNodes } = input;
  return newTopologyManager({ policy, policyOptions, scope, numaNodes: numaNodes.map(({ id, distances }) => ({ id, distances: distances ?? null })) });
}

function admit(manager: TopologyManager, input: Input) {
  const names = input.pod ?? { initContainers: [], containers: [] };
  const named = (name: string) => ({ name, image: '' });
  const pod: Pod = { metadata: { name: 'pod', uid: 'uid' }, spec: { initContainers: names.initContainers.map(named), containers: names.containers.map(named) } };
  const allocateCalls: string[] = [];
  const providers = (input.hintProviders ?? []).map(
    (provider): HintProvider => ({
      name: provider.name,
      containerHints: (_pod, container) => hintMap(provider.containerHints?.[container.name]),
      podHints: () => hintMap(provider.podHints),
      allocate: (_pod, container) => {
        const error = provider.allocateErrors?.[container.name];
        if (error !== undefined) return { kind: 'failed', message: error.message, reason: error.reason ?? null };
        allocateCalls.push(`${container.name}/${provider.name}`);
        return { kind: 'allocated' };
      },
    }),
  );
  const answer = continueAdmission(manager, beginAdmission(pod), pod, providers);
  const storedHints = Object.fromEntries([...names.initContainers, ...names.containers].map((name) => [name, storedHint(manager, 'uid', name)]));
  const refusal = answer.kind === 'refused' ? answer : { reason: '', message: '' };
  return { admit: answer.kind === 'admitted', reason: refusal.reason, message: refusal.message, storedHints, allocateCalls };
}

export const driver: VectorDriver = {
  run(input: Input) {
    const result = managerOf(input);
    if (!result.ok) return { error: result.error };
    if (input.kind === 'manager') return { policy: result.manager.policy, scope: result.manager.scope };
    return input.kind === 'merge' ? mergeHints(result.manager, (input.providers ?? []).map(hintMap)) : admit(result.manager, input);
  },
};
