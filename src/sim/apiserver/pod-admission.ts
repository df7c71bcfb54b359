// The server's admission of new pods: sets service account and token, priority, tolerations, and a runtime class's overhead.

import type { PodDraft, VolumeDraft } from '../../domain/pod-sources/draft.js';
import { isMirrorPod } from '../../domain/values/pod-kind.js';
import type { Pod } from '../../ports/model/pod.js';
import { forbidden } from './api-status.js';
import type { IdSource } from './id-source.js';
import type { ObjectDraft, WriteContext } from './kinds/kind-rules.js';
import { objectKey, type StoredObject } from './object-store.js';

const tokenMountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
const tokenVolumePrefix = 'kube-api-access-';
/** An hour and seven seconds: distinguishes a token of this volume from an explicitly requested one. */
const tokenExpirationSeconds = 3607;
const defaultTolerationSeconds = 300;
const systemPriorities: Readonly<Record<string, number>> = { 'system-cluster-critical': 2_000_000_000, 'system-node-critical': 2_000_001_000 };

export function admitPod(draft: ObjectDraft, context: WriteContext, ids: IdSource): void {
  draft.spec ??= {};
  const pod = draft as unknown as PodDraft;
  if (!isMirrorPod(pod as Pod)) admitServiceAccount(pod, context, ids);
  admitPriority(pod, context);
  admitRuntimeClass(pod, context);
  for (const key of ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']) tolerate(pod, key);
}

function refuse(pod: PodDraft, { type }: WriteContext, why: string) {
  return forbidden(type, pod.metadata.name ?? '', why);
}

function admitServiceAccount(pod: PodDraft, context: WriteContext, ids: IdSource): void {
  const { spec } = pod;
  const name = spec.serviceAccountName ?? spec.serviceAccount ?? 'default';
  spec.serviceAccountName = name;
  const namespace = pod.metadata.namespace ?? '';
  const account = context.store.get('serviceaccounts', objectKey(namespace, name));
  if (account === null) throw refuse(pod, context, `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`);
  const secrets = account.imagePullSecrets as { name?: string }[] | undefined;
  if (secrets !== undefined && (spec.imagePullSecrets ?? []).length === 0) spec.imagePullSecrets = secrets.map((secret) => ({ ...secret }));
  if (spec.automountServiceAccountToken ?? (account.automountServiceAccountToken as boolean | undefined) ?? true) mountToken(pod, ids);
}

function mountToken({ spec }: PodDraft, ids: IdSource): void {
  // Required fields are checked after admission.
  let volume = spec.volumes?.find(({ name }: { readonly name?: string }) => name?.startsWith(tokenVolumePrefix) === true)?.name;
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    if ((container.volumeMounts ?? []).some(({ mountPath }) => mountPath === tokenMountPath)) continue;
    if (volume === undefined) {
      volume = `${tokenVolumePrefix}${ids.suffix()}`;
      spec.volumes = [...(spec.volumes ?? []), tokenVolume(volume)];
    }
    container.volumeMounts = [...(container.volumeMounts ?? []), { name: volume, readOnly: true, mountPath: tokenMountPath }];
  }
}

function tokenVolume(name: string): VolumeDraft {
  const sources = [
    { serviceAccountToken: { expirationSeconds: tokenExpirationSeconds, path: 'token' } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    { downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] } },
  ];
  return { name, projected: { sources, defaultMode: 0o644 } } as VolumeDraft;
}

function admitPriority(pod: PodDraft, context: WriteContext): void {
  const { spec } = pod;
  const found = priorityOf(pod, context);
  if (spec.priority !== undefined && spec.priority !== found.value) {
    const computed = `priority admission controller computed ${found.value} from the given PriorityClass name`;
    throw refuse(pod, context, `the integer value of priority (${spec.priority}) must not be provided in pod spec; ${computed}`);
  }
  spec.priority = found.value;
  spec.preemptionPolicy ??= found.policy;
}

function priorityOf(pod: PodDraft, context: WriteContext): { readonly value: number; readonly policy: string } {
  const { priorityClassName: name } = pod.spec;
  const read = (object: StoredObject) => ({ value: (object.value as number | undefined) ?? 0, policy: (object.preemptionPolicy as string | undefined) ?? 'PreemptLowerPriority' });
  const collection = 'priorityclasses.scheduling.k8s.io';
  if (name === undefined || name === '') {
    const defaults = [...context.store.all(collection)].filter((object) => object.globalDefault === true).map((object) => ({ name: object.metadata.name, ...read(object) }));
    const lowest = defaults.sort((a, b) => a.value - b.value)[0];
    if (lowest !== undefined) pod.spec.priorityClassName = lowest.name;
    return lowest ?? { value: 0, policy: 'PreemptLowerPriority' };
  }
  const system = systemPriorities[name];
  const object = context.store.get(collection, objectKey(null, name));
  if (object !== null) return read(object);
  if (system !== undefined) return { value: system, policy: 'PreemptLowerPriority' };
  throw refuse(pod, context, `no PriorityClass with name ${name} was found`);
}

function admitRuntimeClass(pod: PodDraft, context: WriteContext): void {
  const { runtimeClassName: name } = pod.spec;
  if (name === undefined || name === '') return;
  const found = context.store.get('runtimeclasses.node.k8s.io', objectKey(null, name));
  if (found === null) throw refuse(pod, context, `pod rejected: RuntimeClass "${name}" not found`);
  const overhead = (found.overhead as { readonly podFixed?: Record<string, string> } | undefined)?.podFixed;
  if (overhead !== undefined) pod.spec.overhead = { ...overhead };
}

function tolerate({ spec }: PodDraft, key: string): void {
  const tolerations = spec.tolerations ?? [];
  const isTolerated = tolerations.some((one) => ((one.key ?? '') === '' || one.key === key) && ((one.effect ?? '') === '' || one.effect === 'NoExecute'));
  if (!isTolerated) spec.tolerations = [...tolerations, { key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: defaultTolerationSeconds }];
}
