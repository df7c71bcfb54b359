// Namespaces of a pod's sandbox and containers: their own, or the node's.
// Invariant: sandbox and containers of a pod get the same, apart from the pid namespace that a debugging container joins.
import type { Pod } from '../../ports/model/pod.js';
import type { NamespaceMode, NamespaceOptions, UserNamespaceOptions } from '../../ports/model/sandbox-config.js';
import { goQuote } from '../values/go-text.js';
import type { RuntimeHandlerFacts } from './node-facts.js';

/** The host ids that the pod's ids 0.. are mapped to. */
export interface UserNamespaceMapping {
  readonly hostId: number;
  readonly length: number;
}

export type Resolved<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string };

/** The runtime handler of the pod's RuntimeClass; `''` is the runtime's default. */
export function runtimeHandlerOf(pod: Pod, runtimeClasses: Readonly<Record<string, string>>): Resolved<string> {
  const name = pod.spec.runtimeClassName ?? '';
  if (name === '') return { ok: true, value: '' };
  if (!Object.hasOwn(runtimeClasses, name)) return { ok: false, message: `runtimeclass.node.k8s.io ${goQuote(name)} not found` };
  return { ok: true, value: runtimeClasses[name]! };
}

/** @param mapping the pod's allocated mapping; used only if the pod has a user namespace */
export function namespaceOptions(
  pod: Pod,
  handler: string,
  handlers: readonly RuntimeHandlerFacts[],
  mapping: UserNamespaceMapping | null,
): Resolved<NamespaceOptions & { readonly pid: NamespaceMode }> {
  const userns = userNamespaceOptions(pod, handler, handlers, mapping);
  if (!userns.ok) return userns;
  return {
    ok: true,
    value: {
      network: pod.spec.hostNetwork === true ? 'NODE' : 'POD',
      ipc: pod.spec.hostIPC === true ? 'NODE' : 'POD',
      pid: pod.spec.hostPID === true ? 'NODE' : pod.spec.shareProcessNamespace === true ? 'POD' : 'CONTAINER',
      usernsOptions: userns.value,
    },
  };
}

export function supportsUserNamespaces(handler: string, handlers: readonly RuntimeHandlerFacts[]): boolean {
  return handlers.some((candidate) => candidate.name === handler && candidate.userNamespaces);
}

function userNamespaceOptions(pod: Pod, handler: string, handlers: readonly RuntimeHandlerFacts[], mapping: UserNamespaceMapping | null): Resolved<UserNamespaceOptions> {
  if (pod.spec.hostUsers !== false) return { ok: true, value: { mode: 'NODE' } };
  if (!supportsUserNamespaces(handler, handlers)) {
    const who = handler === '' ? 'runtime' : `RuntimeClass handler ${goQuote(handler)}`;
    const isUnknown = handlers.length > 0 && !handlers.some(({ name }) => name === handler);
    const cause = isUnknown ? `: the handler ${goQuote(handler)} is not known` : '';
    return { ok: false, message: `can't set \`spec.hostUsers: false\`, ${who} does not support user namespaces${cause}` };
  }
  if (mapping === null) return { ok: false, message: 'no user namespace is allocated to the pod' };
  const ids = [{ hostId: mapping.hostId, containerId: 0, length: mapping.length }];
  return { ok: true, value: { mode: 'POD', uids: ids, gids: ids } };
}
