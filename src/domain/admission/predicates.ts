// The kubelet's admission predicates: repeats the scheduler's checks on the node.
// They matter for pods that were bound by hand, for static pods, and if the scheduler used an older version of the node.
// Invariant: refusals come in one order; a pod is admitted despite a shortage only if preemption frees the resources.
import type { Container } from '../../ports/model/container.js';
import type { Node } from '../../ports/model/node.js';
import type { Pod } from '../../ports/model/pod.js';
import { podsToPreempt } from '../preemption/preemption.js';
import type { Labels } from '../values/label-requirement.js';
import { matchesNodeAffinity } from '../values/node-affinity.js';
import { isCriticalPod, isStaticPod } from '../values/pod-kind.js';
import { isClaimedExtendedResource, isExtendedResource } from '../values/resource-name.js';
import { untoleratedTaint } from '../values/tolerations.js';
import { type Rejection, rejected } from './admission-result.js';
import { areHostPortsFree, type UsedHostPorts, usedHostPorts } from './host-ports.js';
import { type Amounts, allocatableAmounts, type Shortage, shortages, usedAmounts } from './node-resources.js';

export interface PredicateInput {
  readonly pod: Pod;
  /** The other active pods, with their allocated resources. */
  readonly otherPods: readonly Pod[];
  /** Those of them that are never killed to make room; absent: none. */
  readonly spared?: ReadonlySet<string>;
  /** null while the agent has none, not even one it built itself. */
  readonly node: Node | null;
  /** The node as the API server has it now; null if unreadable or unchanged; undefined before the read. */
  readonly freshNode?: Node | null;
  /** Devices allocated to this pod, by resource: the node offers at least these, even if their plugin is gone. */
  readonly allocatedDevices?: ReadonlyMap<string, number>;
}

export type PredicateResult =
  /** Once these were killed, in this order; empty for most pods. */
  | {
      readonly kind: 'admitted';
      readonly preempted: readonly Pod[] /** The victims' reason: the first resource that was short. null: none. */;
      readonly lacking: string | null;
    }
  /** The labels may be outdated: read the node from the API server and call again, with `freshNode`. */
  | { readonly kind: 'read-node' }
  | Rejection;

export type PredicateName = 'NodeAffinity' | 'NodeName' | 'NodePorts' | 'TaintToleration';

export type PredicateFailure = { readonly kind: 'shortage'; readonly shortage: Shortage } | { readonly kind: 'predicate'; readonly name: PredicateName };

const osLabel = 'kubernetes.io/os';
const linux = 'linux';

const descriptions: Readonly<Record<PredicateName, string>> = {
  NodeAffinity: "node(s) didn't match Pod's node affinity/selector",
  NodeName: "node(s) didn't match the requested node name",
  NodePorts: "node(s) didn't have free ports for the requested pod ports",
  TaintToleration: "node(s) had taints that the pod didn't tolerate",
};

export function admitByPredicates(input: PredicateInput): PredicateResult {
  const { pod, otherPods, spared, node, freshNode } = input;
  if (node === null) return rejected('InvalidNodeInfo', 'Kubelet cannot get node info.');
  const refusal = unsupportedByNode(pod, node);
  if (refusal !== null) return refusal;
  const others = { used: usedAmounts(otherPods), ports: usedHostPorts(otherPods) };
  let failures = predicateFailures(input, node, nodeLabels(node), others);
  if (failures.length > 0 && failures.every((failure) => failure.kind === 'predicate' && failure.name === 'NodeAffinity')) {
    if (freshNode === undefined) return { kind: 'read-node' };
    if (freshNode !== null) failures = predicateFailures(input, freshNode, freshNode.metadata.labels ?? {}, others);
  }
  if (failures.length === 0) return { kind: 'admitted', preempted: [], lacking: null };
  const victims = spared === undefined ? otherPods : otherPods.filter(({ metadata }) => !spared.has(metadata.uid ?? ''));
  const recovered = recoverFromFailures(pod, victims, failures);
  if (!recovered.ok) return rejected('UnexpectedAdmissionError', `Unexpected error while attempting to recover from admission failure: ${recovered.error}`);
  const first = recovered.remaining[0];
  if (first !== undefined) return rejectionOf(first);
  const short = failures[0];
  return { kind: 'admitted', preempted: recovered.victims, lacking: short?.kind === 'shortage' ? short.shortage.resource : null };
}

export type Recovery = { readonly ok: true; readonly remaining: readonly PredicateFailure[]; readonly victims: readonly Pod[] } | { readonly ok: false; readonly error: string };

/** A shortage does not refuse a critical pod: others are preempted. Any other failure does, and then no pod is killed. */
export function recoverFromFailures(pod: Pod, activePods: readonly Pod[], failures: readonly PredicateFailure[]): Recovery {
  if (!isCriticalPod(pod)) return { ok: true, remaining: failures, victims: [] };
  const others = failures.filter((failure) => failure.kind !== 'shortage');
  if (others.length > 0) return { ok: true, remaining: others, victims: [] };
  const missing = failures.flatMap((failure) => (failure.kind === 'shortage' ? [missingAmount(failure.shortage)] : []));
  const preemption = podsToPreempt(pod, activePods, missing);
  return preemption.ok ? { ok: true, remaining: [], victims: preemption.victims } : preemption;
}

export function rejectionOf(failure: PredicateFailure): Rejection {
  if (failure.kind === 'predicate') return rejected(failure.name, `Predicate ${failure.name} failed: ${descriptions[failure.name]}`);
  const { resource, requested, used, capacity } = failure.shortage;
  return rejected(`OutOf${resource}`, `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`);
}

function missingAmount({ resource, requested, used, capacity }: Shortage): { readonly resource: string; readonly amount: bigint } {
  return { resource, amount: requested - (capacity - used) };
}

/** What no room on the node can help. */
function unsupportedByNode(pod: Pod, node: Node): Rejection | null {
  const wantedOs = pod.metadata.labels?.[osLabel];
  if (wantedOs !== undefined && wantedOs !== linux) {
    return rejected('PodOSSelectorNodeLabelDoesNotMatch', "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label");
  }
  if (pod.spec.os !== undefined && pod.spec.os.name !== linux) return rejected('PodOSNotSupported', "Failed to admit pod as the OS field doesn't match node OS");
  if (pod.spec.securityContext?.supplementalGroupsPolicy === 'Strict' && node.status?.features?.supplementalGroupsPolicy !== true) {
    return rejected('SupplementalGroupsPolicyNotSupported', 'SupplementalGroupsPolicy=Strict is not supported in this node');
  }
  return null;
}

/** The agent's own operating system replaces a missing or wrong label; a node without any label is left as it is. */
function nodeLabels(node: Node): Labels {
  const labels = node.metadata.labels ?? {};
  return Object.keys(labels).length === 0 ? labels : { ...labels, [osLabel]: linux };
}

interface Others {
  readonly used: Amounts;
  readonly ports: UsedHostPorts;
}

function predicateFailures({ pod, allocatedDevices }: PredicateInput, node: Node, labels: Labels, { used, ports }: Others): PredicateFailure[] {
  const allocatable = withDevices(allocatableAmounts(node.status?.allocatable), allocatedDevices);
  const failures: PredicateFailure[] = shortages(withoutForeignResources(pod, allocatable), allocatable, used).map((shortage) => ({ kind: 'shortage', shortage }));
  const fail = (name: PredicateName): void => {
    failures.push({ kind: 'predicate', name });
  };
  if (!matchesNodeAffinity(pod, node.metadata.name, labels)) fail('NodeAffinity');
  if ((pod.spec.nodeName ?? '') !== '' && pod.spec.nodeName !== node.metadata.name) fail('NodeName');
  if (!areHostPortsFree(pod, ports)) fail('NodePorts');
  if (!isStaticPod(pod) && untoleratedTaint(node.spec?.taints ?? [], pod.spec.tolerations ?? [], ['NoExecute']) !== null) fail('TaintToleration');
  return failures;
}

function withDevices(allocatable: Amounts, devices: ReadonlyMap<string, number> | undefined): Amounts {
  if (devices === undefined || devices.size === 0) return allocatable;
  const raised = new Map(allocatable);
  for (const [resource, count] of devices) if ((raised.get(resource) ?? 0n) < BigInt(count)) raised.set(resource, BigInt(count));
  return raised;
}

/** Removes extended resources that the node lacks, which are the cluster's, and those provided by a claim. */
function withoutForeignResources(pod: Pod, allocatable: Amounts): Pod {
  const claimed = new Set((pod.status?.extendedResourceClaimStatus?.requestMappings ?? []).map(({ containerName, resourceName }) => `${containerName} ${resourceName}`));
  const isForeign = (container: Container, name: string): boolean => {
    if (isClaimedExtendedResource(name) && claimed.has(`${container.name} ${name}`)) return true;
    return isExtendedResource(name) && !allocatable.has(name);
  };
  const reduced = (container: Container): Container => {
    const requests = Object.entries(container.resources?.requests ?? {});
    const kept = requests.filter(([name]) => !isForeign(container, name));
    return kept.length === requests.length ? container : { ...container, resources: { ...container.resources, requests: Object.fromEntries(kept) } };
  };
  const { containers, initContainers } = pod.spec;
  return { ...pod, spec: { ...pod.spec, containers: containers.map(reduced), ...(initContainers === undefined ? {} : { initContainers: initContainers.map(reduced) }) } };
}
