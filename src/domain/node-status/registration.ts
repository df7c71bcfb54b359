// Registration of the Node object in the API server: creates a new one, updates an existing one.
//
//   call   | ok                           | already exists, forbidden | other failure
//   create | registered                   | get                       | try again later
//   get    | patch, or registered as it is| (a failure)               | try again later
//   patch  | registered                   | (a failure)               | try again later
//
// Invariants: a node that was registered is never created again by this process; of an existing node only the kubelet's own fields are
// changed: neither the user's labels, nor taints, nor anything of the spec.

import type { Micros } from '../../ports/micros.js';
import type { ResourceList } from '../../ports/model/container.js';
import type { Node, NodeStatus, Taint } from '../../ports/model/node.js';
import { doubledPause } from '../backoff/doubled-pause.js';
import { canonicalJson } from '../kernel/canonical.js';
import { compareQuantities, mustParseQuantity } from '../values/quantity.js';
import { isExtendedResource, isHugePageResource } from '../values/resource-name.js';
import { microsPerMillisecond, microsPerSecond } from '../values/time.js';

export interface RegistrationFacts {
  readonly nodeName: string;
  readonly hostname: string;
  /** Go's name of the architecture: `amd64`, `arm64`. */
  readonly architecture: string;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly registerWithTaints: readonly Taint[];
  readonly externalCloudProvider: boolean;
  readonly enableControllerAttachDetach: boolean;
  /** '': none. */
  readonly providerId: string;
}

const attachDetachAnnotation = 'volumes.kubernetes.io/controller-managed-attach-detach';
const uninitializedTaint: Taint = { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' };
/** Labels that the kubelet keeps right; all others are the user's from the moment the node exists. */
const ownLabels: readonly string[] = [
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'node.kubernetes.io/windows-build',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
];
const firstWait: Micros = 100 * microsPerMillisecond;
const longestWait: Micros = 7 * microsPerSecond;

/** How long to wait before try number `n`, from 1; also before the first. */
export function registrationWait(n: number): Micros {
  return doubledPause(firstWait, longestWait, n - 1);
}

/** The API server's answer to a call; `failed` for everything else. */
export type RegistrationReply = 'ok' | 'already-exists' | 'forbidden' | 'failed';
export type RegistrationStep = { readonly kind: 'get' } | { readonly kind: 'patch'; readonly node: Node } | { readonly kind: 'registered' } | { readonly kind: 'retry' };

export type RegistrationCall = 'create' | 'get' | 'patch';

/** What the log says when a call fails, in the Go kubelet's words. */
export const registrationFailures: Readonly<Record<RegistrationCall, string>> = {
  create: 'Unable to register node with API server',
  get: 'Unable to register node with API server, error getting existing node',
  patch: 'Unable to reconcile node with API server,error updating node',
};

export function nodeCreated(reply: RegistrationReply): RegistrationStep {
  if (reply === 'ok') return { kind: 'registered' };
  // A kubelet that may not create nodes may still update its own, created by another client.
  return reply === 'failed' ? { kind: 'retry' } : { kind: 'get' };
}

/** @param existing null: it could not be read */
export function existingNodeRead(existing: Node | null, initial: Node, deviceCheckpointMissing: boolean): RegistrationStep {
  if (existing === null) return { kind: 'retry' };
  const node = reconciledNode(existing, initial, deviceCheckpointMissing);
  return node === null ? { kind: 'registered' } : { kind: 'patch', node };
}

export function existingNodePatched(isOk: boolean): RegistrationStep {
  return { kind: isOk ? 'registered' : 'retry' };
}

/** The node as it is created. @param status the setters' result for an empty status */
export function initialNode(facts: RegistrationFacts, status: NodeStatus): Node {
  const taints = [...facts.registerWithTaints, ...(facts.externalCloudProvider ? [uninitializedTaint] : [])];
  const labels = {
    'kubernetes.io/hostname': facts.hostname,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': facts.architecture,
    'beta.kubernetes.io/os': 'linux',
    'beta.kubernetes.io/arch': facts.architecture,
    ...facts.nodeLabels,
  };
  const annotations = facts.enableControllerAttachDetach ? { annotations: { [attachDetachAnnotation]: 'true' } } : {};
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: facts.nodeName, labels, ...annotations },
    spec: { ...(taints.length === 0 ? {} : { taints }), ...(facts.providerId === '' ? {} : { providerID: facts.providerId }) },
    status,
  };
}

/** An existing node after reconciliation; null: unchanged. @param deviceCheckpointMissing the node was set up again, so its devices are gone until their plugins register */
function reconciledNode(existing: Node, initial: Node, deviceCheckpointMissing: boolean): Node | null {
  const status = existing.status ?? {};
  const resources = withHugePages(withDefaults(status, initial.status ?? {}), initial.status ?? {});
  const { capacity, allocatable } = deviceCheckpointMissing ? withoutDevices(resources) : resources;
  const { labels: oldLabels = {}, annotations: oldAnnotations = {} } = existing.metadata;
  const labels = reconciledLabels(oldLabels, initial.metadata.labels ?? {});
  const annotations = reconciledAnnotations(oldAnnotations, initial.metadata.annotations ?? {});
  const changed =
    canonicalJson([oldLabels, oldAnnotations]) !== canonicalJson([labels, annotations]) ||
    !sameResources(status.capacity, capacity) ||
    !sameResources(status.allocatable, allocatable) ||
    // Zero devices are written again: the Node that was read may be outdated.
    (deviceCheckpointMissing && Object.keys(capacity).some(isExtendedResource));
  return changed ? { ...existing, metadata: { ...existing.metadata, labels, annotations }, status: { ...status, capacity, allocatable } } : null;
}

type Texts = Readonly<Record<string, string>>;
interface Resources {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
}

function reconciledAnnotations(existing: Texts, initial: Texts): Texts {
  const { [attachDetachAnnotation]: _old, ...rest } = existing;
  const wanted = initial[attachDetachAnnotation];
  return wanted === undefined ? rest : { ...rest, [attachDetachAnnotation]: wanted };
}

function reconciledLabels(existing: Texts, initial: Texts): Texts {
  const labels: Record<string, string> = { ...existing };
  for (const key of ownLabels) {
    const value = initial[key];
    if (value === undefined) continue;
    if (value === '') delete labels[key];
    else labels[key] = value;
  }
  return labels;
}

function withDefaults(existing: NodeStatus, initial: NodeStatus): Resources {
  return { capacity: existing.capacity ?? initial.capacity ?? {}, allocatable: existing.allocatable ?? initial.allocatable ?? {} };
}

/** Sizes that the kernel has, and no others. */
function withHugePages({ capacity, allocatable }: Resources, initial: NodeStatus): Resources {
  const wanted = Object.keys(initial.capacity ?? {}).filter(isHugePageResource);
  const merged = (list: ResourceList, source: ResourceList): ResourceList => {
    const others = Object.entries(list).filter(([name]) => !isHugePageResource(name) || wanted.includes(name) || capacity[name] === undefined);
    return { ...Object.fromEntries(others), ...Object.fromEntries(wanted.map((name) => [name, source[name] ?? '0'])) };
  };
  return { capacity: merged(capacity, initial.capacity ?? {}), allocatable: merged(allocatable, initial.allocatable ?? {}) };
}

function withoutDevices({ capacity, allocatable }: Resources): Resources {
  const zeros = Object.fromEntries(
    Object.keys(capacity)
      .filter(isExtendedResource)
      .map((name) => [name, '0']),
  );
  return { capacity: { ...capacity, ...zeros }, allocatable: { ...allocatable, ...zeros } };
}

function sameResources(a: ResourceList = {}, b: ResourceList = {}): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => b[name] !== undefined && compareQuantities(mustParseQuantity(a[name] as string), mustParseQuantity(b[name])) === 0);
}
