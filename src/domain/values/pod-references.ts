// Names of pods and containers in texts, keys and references of events.
// Invariant: a full name has exactly one `_`, since neither a pod's name nor a namespace may contain one.
import type { Pod } from '../../ports/model/pod.js';
import { goTrimRight } from './go-text.js';
import type { ReadBack } from './log-paths.js';

/** `<name>_<namespace>`: identifies a static pod and its mirror pod, with any uid. */
export function podFullName(name: string, namespace: string): string {
  return `${name}_${namespace}`;
}

export function podFullNameOf(pod: Pod): string {
  return podFullName(pod.metadata.name, pod.metadata.namespace ?? '');
}

export function parsePodFullName(fullName: string): ReadBack<{ readonly name: string; readonly namespace: string }> {
  const [name, namespace, ...more] = fullName.split('_');
  if (name === undefined || name === '' || namespace === undefined || namespace === '' || more.length > 0) {
    return { kind: 'invalid', message: `failed to parse the pod full name ${JSON.stringify(fullName)}` };
  }
  return { kind: 'ok', value: { name, namespace } };
}

/** `<name>_<namespace>(<uid>)`, the form of a pod in messages. */
export function podReferenceText(name: string, namespace: string, uid: string): string {
  return `${name}_${namespace}(${uid})`;
}

export function podReferenceTextOf(pod: Pod): string {
  return podReferenceText(pod.metadata.name, pod.metadata.namespace ?? '', pod.metadata.uid ?? '');
}

export interface TypedContainerId {
  /** The runtime's name, e.g. `containerd`. */
  readonly type: string;
  readonly id: string;
}

/** `<runtime>://<id>`, the form of a container id in the API. */
export function formatContainerId(containerId: TypedContainerId): string {
  return `${containerId.type}://${containerId.id}`;
}

/** Reads the API's form; quotes around it are dropped, since old clients stored the id as JSON text. */
export function parseContainerId(text: string): ReadBack<TypedContainerId> {
  const [type, id, ...more] = goTrimRight(text.replace(/^"+/, ''), '"').split('://');
  if (type === undefined || id === undefined || more.length > 0) return { kind: 'invalid', message: `invalid container ID: ${JSON.stringify(text)}` };
  return { kind: 'ok', value: { type, id } };
}

/** The runtime's own id in the API's form; a text without the runtime's name as it is, '' for no id. */
export function runtimeContainerId(text: string | undefined): string {
  const id = text ?? '';
  const at = id.indexOf('://');
  return at < 0 ? id : id.slice(at + '://'.length);
}

/** `fieldPath` of an event's object reference for a container of the pod; a description for a container that the spec doesn't have. */
export function containerFieldPath(pod: Pod, containerName: string): string {
  const lists = [
    ['spec.containers', pod.spec.containers],
    ['spec.initContainers', pod.spec.initContainers ?? []],
    ['spec.ephemeralContainers', pod.spec.ephemeralContainers ?? []],
  ] as const;
  for (const [path, containers] of lists) {
    const index = containers.findIndex((container) => container.name === containerName);
    if (index >= 0) return containerName === '' ? `${path}[${index}]` : `${path}{${containerName}}`;
  }
  return `implicitly required container ${containerName}`;
}
