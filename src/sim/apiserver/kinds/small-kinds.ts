// Kinds whose own rules are a few lines each.

import { canonicalJson } from '../../../domain/kernel/canonical.js';
import { forbidden, invalid, notSupported, type Problems, required } from '../../../domain/pod-sources/validation/field-problem.js';
import { base64Encode } from '../../../domain/values/base64.js';
import { instantOf } from '../../../domain/values/instant.js';
import { formatRfc3339 } from '../../../domain/values/time.js';
import { utf8Encode } from '../../../domain/values/utf8.js';
import type { JsonDraft } from '../api-request.js';
import type { StoredObject } from '../object-store.js';
import type { KindRules, ObjectDraft } from './kind-rules.js';

/** Most of a Secret or a ConfigMap that is immutable may not change. */
function checkImmutable(problems: Problems, object: ObjectDraft, old: StoredObject, parts: readonly string[]): void {
  if (old.immutable !== true) return;
  if (object.immutable !== true) forbidden(problems, 'immutable', 'field is immutable when `immutable` is set');
  for (const part of parts) if (canonicalJson(object[part] ?? null) !== canonicalJson(old[part] ?? null)) forbidden(problems, part, 'field is immutable when `immutable` is set');
}

const configMapRules: KindRules = {
  checksChangeFirst: true,
  check(problems, object) {
    const data = (object.data ?? {}) as JsonDraft;
    for (const key of Object.keys((object.binaryData ?? {}) as JsonDraft))
      if (Object.hasOwn(data, key)) invalid(problems, `data[${key}]`, key, 'duplicate of key present in binaryData');
    for (const part of ['data', 'binaryData']) checkKeys(problems, part, (object[part] ?? {}) as JsonDraft);
  },
  checkChange(problems, object, old) {
    checkImmutable(problems, object, old, ['data', 'binaryData']);
  },
};

const configKeyProblem = [
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name',",
  "regex used for validation is '[-._a-zA-Z0-9]+')",
].join(' ');

function checkKeys(problems: Problems, field: string, data: JsonDraft): void {
  for (const key of Object.keys(data)) {
    if (!/^[-._a-zA-Z0-9]+$/.test(key) || key === '.' || key === '..') {
      invalid(problems, `${field}[${key}]`, key, configKeyProblem);
    }
  }
}

const secretKeys: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
};

const secretRules: KindRules = {
  checksChangeFirst: true,
  complete(draft) {
    draft.type ??= 'Opaque';
    if (draft.stringData === undefined) return;
    const data = { ...(draft.data as JsonDraft | undefined) };
    for (const [key, value] of Object.entries(draft.stringData as Record<string, string>)) data[key] = base64Encode(utf8Encode(value));
    draft.data = data;
    delete draft.stringData;
  },
  check(problems, object) {
    const data = (object.data ?? {}) as JsonDraft;
    checkKeys(problems, 'data', data);
    for (const key of secretKeys[object.type as string] ?? []) if (data[key] === undefined) required(problems, `data[${key}]`);
  },
  checkChange(problems, object, old) {
    if (object.type !== old.type) invalid(problems, 'type', object.type, 'field is immutable');
    checkImmutable(problems, object, old, ['data']);
  },
};

const serviceRules: KindRules = {
  complete(draft, { store }) {
    const spec = (draft.spec ?? {}) as JsonDraft;
    draft.spec = spec;
    spec.type ??= 'ClusterIP';
    spec.sessionAffinity ??= 'None';
    spec.internalTrafficPolicy ??= 'Cluster';
    for (const port of (spec.ports ?? []) as { protocol?: string; port: number; targetPort?: number | string }[]) {
      port.protocol ??= 'TCP';
      port.targetPort ??= port.port;
    }
    if (spec.clusterIP === 'None' && spec.type !== 'ExternalName') withoutAddress(spec);
    if (spec.type === 'ExternalName' || spec.clusterIP !== undefined) return;
    spec.clusterIP = freeClusterIp(new Set([...store.all('services')].map((service) => (service.spec as { readonly clusterIP?: string }).clusterIP)));
    spec.clusterIPs = [spec.clusterIP];
    spec.ipFamilies ??= ['IPv4'];
    spec.ipFamilyPolicy ??= 'SingleStack';
  },
  begin(draft) {
    draft.status = { loadBalancer: {} };
  },
  check(problems, object) {
    const { type, ports, clusterIP } = object.spec as { readonly type: string; readonly ports?: readonly unknown[]; readonly clusterIP?: string };
    const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
    if (!types.includes(type)) notSupported(problems, 'spec.type', type, types);
    if (type !== 'ExternalName' && clusterIP !== 'None' && (ports ?? []).length === 0) required(problems, 'spec.ports');
  },
  change(draft, old, { subresource }) {
    if (subresource === 'status') draft.spec = old.spec;
    else {
      draft.status = old.status;
      const [spec, before] = [draft.spec as JsonDraft, old.spec as JsonDraft];
      for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy']) if (before[field] !== undefined) spec[field] = before[field];
    }
  },
};

/** Without a selector the endpoints may have addresses of either family. */
function withoutAddress(spec: JsonDraft): void {
  spec.clusterIPs ??= ['None'];
  if (spec.ipFamilies !== undefined) return;
  const isOfAny = Object.keys((spec.selector ?? {}) as JsonDraft).length === 0;
  spec.ipFamilies = isOfAny ? ['IPv4', 'IPv6'] : ['IPv4'];
  spec.ipFamilyPolicy ??= isOfAny ? 'RequireDualStack' : 'SingleStack';
}

/** Services get addresses of 10.96.0.0/16, in order. */
function freeClusterIp(taken: ReadonlySet<string | undefined>): string {
  for (let i = 1; i < 65_535; i++) {
    const address = `10.96.${i >> 8}.${i & 255}`;
    if (!taken.has(address)) return address;
  }
  throw new Error('no service address is left');
}

const leaseRules: KindRules = {
  check(problems, object) {
    const { leaseDurationSeconds: seconds } = (object.spec ?? {}) as { readonly leaseDurationSeconds?: number };
    if (seconds !== undefined && seconds <= 0) invalid(problems, 'spec.leaseDurationSeconds', seconds, 'must be greater than 0');
  },
};

const eventRules: KindRules = {
  check(problems, object) {
    const { namespace = '' } = object.involvedObject as { readonly namespace?: string };
    const own = object.metadata.namespace ?? '';
    if (own !== (namespace === '' ? 'default' : namespace)) invalid(problems, 'involvedObject.namespace', namespace, 'does not match event.namespace');
    // Events of the newer form have more required fields.
    if (object.eventTime === undefined) return;
    for (const field of ['reportingComponent', 'reportingInstance', 'action', 'reason'])
      if ((object[field] ?? '') === '') required(problems, field === 'reportingComponent' ? 'reportingController' : field);
  },
};

const persistentVolumeRules: KindRules = {
  complete(draft) {
    const spec = (draft.spec ?? {}) as JsonDraft;
    draft.spec = spec;
    spec.persistentVolumeReclaimPolicy ??= 'Retain';
    spec.volumeMode ??= 'Filesystem';
    if (spec.hostPath !== undefined) (spec.hostPath as JsonDraft).type ??= '';
  },
  begin(draft, { now }) {
    draft.status = { phase: 'Pending', lastPhaseTransitionTime: formatRfc3339(instantOf(now)) };
  },
  check(problems, object) {
    const { capacity, accessModes } = object.spec as { readonly capacity?: JsonDraft; readonly accessModes?: readonly string[] };
    if ((accessModes ?? []).length === 0) required(problems, 'spec.accessModes');
    if (capacity?.storage === undefined) required(problems, 'spec.capacity');
  },
};

const persistentVolumeClaimRules: KindRules = {
  complete(draft) {
    const spec = (draft.spec ?? {}) as JsonDraft;
    draft.spec = spec;
    spec.volumeMode ??= 'Filesystem';
  },
  begin(draft) {
    draft.status = { phase: 'Pending' };
  },
  check(problems, object) {
    const { accessModes, resources } = object.spec as { readonly accessModes?: readonly string[]; readonly resources?: { readonly requests?: JsonDraft } };
    if ((accessModes ?? []).length === 0) required(problems, 'spec.accessModes', 'at least 1 access mode is required');
    if (resources?.requests?.storage === undefined) required(problems, 'spec.resources[storage]');
  },
};

const storageClassRules: KindRules = {
  complete(draft) {
    draft.reclaimPolicy ??= 'Delete';
    draft.volumeBindingMode ??= 'Immediate';
  },
};

const csiDriverRules: KindRules = {
  complete(draft) {
    const spec = (draft.spec ?? {}) as JsonDraft;
    draft.spec = spec;
    spec.attachRequired ??= true;
    spec.podInfoOnMount ??= false;
    spec.storageCapacity ??= false;
    spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType';
    spec.volumeLifecycleModes ??= ['Persistent'];
    spec.requiresRepublish ??= false;
    spec.seLinuxMount ??= false;
  },
  /** Only its changes are counted. */
  begin({ metadata }) {
    delete metadata.generation;
  },
};

interface ClaimDevices {
  readonly devices?: { readonly requests?: readonly { readonly exactly?: JsonDraft; readonly firstAvailable?: readonly JsonDraft[] }[] };
}

function completeDevices({ devices }: ClaimDevices): void {
  const asked = (devices?.requests ?? []).flatMap(({ exactly, firstAvailable }) => [...(exactly === undefined ? [] : [exactly]), ...(firstAvailable ?? [])]);
  for (const request of asked) {
    request.allocationMode ??= 'ExactCount';
    if (request.allocationMode === 'ExactCount') request.count ??= 1;
  }
}

const resourceClaimRules: KindRules = {
  complete(draft) {
    completeDevices((draft.spec ?? {}) as ClaimDevices);
  },
};

const resourceClaimTemplateRules: KindRules = {
  complete(draft) {
    completeDevices(((draft.spec as JsonDraft | undefined)?.spec ?? {}) as ClaimDevices);
  },
};

const priorityClassRules: KindRules = {
  complete(draft) {
    draft.value ??= 0;
    draft.preemptionPolicy ??= 'PreemptLowerPriority';
  },
};

export const smallKinds: readonly (readonly [string, KindRules])[] = [
  ['configmaps', configMapRules],
  ['secrets', secretRules],
  ['services', serviceRules],
  ['leases.coordination.k8s.io', leaseRules],
  ['events', eventRules],
  ['persistentvolumes', persistentVolumeRules],
  ['persistentvolumeclaims', persistentVolumeClaimRules],
  ['storageclasses.storage.k8s.io', storageClassRules],
  ['csidrivers.storage.k8s.io', csiDriverRules],
  ['resourceclaims.resource.k8s.io', resourceClaimRules],
  ['resourceclaimtemplates.resource.k8s.io', resourceClaimTemplateRules],
  ['priorityclasses.scheduling.k8s.io', priorityClassRules],
];
