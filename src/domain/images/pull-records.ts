// Which pods may use an image that is already on the node (KEP-2535): records of the credentials it was pulled with.
// Invariant: access requires a policy that allows it, an image that every pod may use, or credentials equal to those of a successful pull.

import type { Instant } from '../../ports/instant.js';
import type { Timestamp } from '../../ports/model/object-meta.js';
import { credentialHash } from '../values/credential-hash.js';
import { hexOfBytes } from '../values/hex.js';
import { normalizeImageName } from '../values/image-name.js';
import { instantAfter } from '../values/instant.js';
import { sha256 } from '../values/sha256.js';
import { formatRfc3339, microsPerSecond, parseRfc3339 } from '../values/time.js';
import { utf8Encode } from '../values/utf8.js';
import type { CredentialSource, TrackedCredentials } from './keyring.js';

const apiVersion = 'kubelet.config.k8s.io/v1beta1';
/** More would let one image's record grow with every secret of a cluster. */
const maxSecretsPerImage = 100;

export interface RecordedSecret {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly credentialHash: string;
}
export interface RecordedServiceAccount {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}
export interface ImagePullCredentials {
  readonly kubernetesSecrets?: readonly RecordedSecret[];
  readonly kubernetesServiceAccounts?: readonly RecordedServiceAccount[];
  /** Every pod of the node may use the image. */
  readonly nodePodsAccessible?: boolean;
}
/** As on disk, one file an image reference of the runtime. */
export interface ImagePulledRecord {
  readonly kind: 'ImagePulledRecord';
  readonly apiVersion: string;
  readonly lastUpdatedTime: Timestamp;
  readonly imageRef: string;
  /** By the image's full name without tag and digest. */
  readonly credentialMapping?: Readonly<Record<string, ImagePullCredentials>>;
}
/** As on disk, one file per image of a started pull. */
export interface ImagePullIntent {
  readonly kind: 'ImagePullIntent';
  readonly apiVersion: string;
  readonly image: string;
}

export type VerificationPolicy =
  | { readonly kind: 'NeverVerify' | 'NeverVerifyPreloadedImages' | 'AlwaysVerify' }
  /** Names without tag and digest, or prefixes that end in `/*`. */
  | { readonly kind: 'NeverVerifyAllowlistedImages'; readonly allowlist: readonly string[] };

/** The node's records of a present image. */
export interface PresentImage {
  /** As in the pod's spec. */
  readonly image: string;
  /** The runtime's reference. */
  readonly imageRef: string;
  readonly record: ImagePulledRecord | null;
  /** A pull of `image` was started and its outcome not recorded. */
  readonly hasIntent: boolean;
}

export type PullVerdict =
  /** `update` is the record to write, where the pod's secret has moved or was renewed; null when it stays. */
  | { readonly mustPull: false; readonly why: 'credentialPolicyAllowed' | 'credentialRecordFound'; readonly update: ImagePulledRecord | null }
  | { readonly mustPull: true; readonly why: 'mustAuthenticate' };

const mustAuthenticate: PullVerdict = { mustPull: true, why: 'mustAuthenticate' };

/** The file of an intent (keyed by image) or a record (keyed by image reference). */
export function pullRecordFileName(key: string): string {
  return `sha256-${hexOfBytes(sha256(utf8Encode(key)))}`;
}

export function newImagePullIntent(image: string): ImagePullIntent {
  return { kind: 'ImagePullIntent', apiVersion, image };
}

/** Whether a pod with these credentials has to pull an image that is already there, to prove that it may have it. */
export function mustPullToVerify(present: PresentImage, credentials: readonly TrackedCredentials[], policy: VerificationPolicy, wall: Instant): PullVerdict {
  const name = normalizeImageName(present.image);
  // A text that is no name was refused before; it gets no access here either.
  if (!name.ok) return mustAuthenticate;
  if (!requiresVerification(policy, present, name.repository)) return { mustPull: false, why: 'credentialPolicyAllowed', update: null };
  const mapping = present.record?.credentialMapping ?? {};
  const recorded = Object.hasOwn(mapping, name.repository) ? mapping[name.repository] : undefined;
  if (present.record === null || recorded === undefined) return mustAuthenticate;
  if (recorded.nodePodsAccessible === true) return { mustPull: false, why: 'credentialRecordFound', update: null };
  const matched = matchCredentials(recorded, credentials);
  if (matched === null) return mustAuthenticate;
  const update = matched === recorded ? null : withMapping(present.record, present.imageRef, name.repository, matched, wall);
  return { mustPull: false, why: 'credentialRecordFound', update };
}

/** The record after a successful pull. @param used null when the pull was anonymous */
export function recordOfPull(record: ImagePulledRecord | null, image: string, imageRef: string, used: TrackedCredentials | null, wall: Instant): ImagePulledRecord | null {
  const name = normalizeImageName(image);
  if (!name.ok) return null;
  const mapping = record?.credentialMapping ?? {};
  const recorded = Object.hasOwn(mapping, name.repository) ? mapping[name.repository]! : {};
  return withMapping(record, imageRef, name.repository, addCredentials(recorded, used), wall);
}

/** For an intent found at the start: the image may have come with any credentials, so every pod needs proof. */
export function recordOfInterruptedPull(record: ImagePulledRecord | null, imageRef: string, wall: Instant): ImagePulledRecord {
  return record ?? { kind: 'ImagePulledRecord', apiVersion, lastUpdatedTime: formatRfc3339(wall), imageRef, credentialMapping: {} };
}

/** Whether a record may be removed after an image collection that began at `since`: its image is gone, and it isn't newer than the collection. */
export function isPullRecordGarbage(record: ImagePulledRecord, remainingImageRefs: ReadonlySet<string>, since: Instant): boolean {
  const updated = parseRfc3339(record.lastUpdatedTime);
  // Records have whole seconds: one of the second when the collection began may be newer.
  return !remainingImageRefs.has(record.imageRef) && (updated === null || instantAfter(updated, microsPerSecond) <= since);
}

function requiresVerification(policy: VerificationPolicy, present: PresentImage, repository: string): boolean {
  switch (policy.kind) {
    case 'NeverVerify':
      return false;
    case 'NeverVerifyPreloadedImages':
      return present.record !== null || present.hasIntent;
    case 'NeverVerifyAllowlistedImages':
      return !policy.allowlist.some((entry) => (entry.endsWith('/*') ? repository.startsWith(entry.slice(0, -1)) : repository === entry));
    default:
      return true;
  }
}

/** The updated record; the same object if unchanged, null without a match. */
function matchCredentials(recorded: ImagePullCredentials, credentials: readonly TrackedCredentials[]): ImagePullCredentials | null {
  const secrets = recorded.kubernetesSecrets ?? [];
  const accounts = recorded.kubernetesServiceAccounts ?? [];
  for (const tracked of credentials) {
    const { source } = tracked;
    if (source.kind === 'node') continue;
    if (source.kind === 'service-account') {
      if (accounts.some((account) => sameObject(account, source))) return recorded;
      continue;
    }
    const hash = credentialHash(tracked.credentials);
    const sameCoordinates = secrets.find((secret) => sameObject(secret, source));
    const sameHash = secrets.some((secret) => secret.credentialHash !== '' && secret.credentialHash === hash);
    if (sameHash && sameCoordinates?.credentialHash === hash) return recorded;
    if (sameHash || (sameCoordinates !== undefined && secrets.length < maxSecretsPerImage)) {
      return secrets.length < maxSecretsPerImage ? { ...recorded, kubernetesSecrets: withSecret(secrets, source, hash) } : recorded;
    }
  }
  return null;
}

function addCredentials(recorded: ImagePullCredentials, used: TrackedCredentials | null): ImagePullCredentials {
  if (recorded.nodePodsAccessible === true || used === null || used.source.kind === 'node') return { nodePodsAccessible: true };
  if (used.source.kind === 'secret') return { ...recorded, kubernetesSecrets: withSecret(recorded.kubernetesSecrets ?? [], used.source, credentialHash(used.credentials)) };
  const { uid, namespace, name } = used.source;
  const accounts = (recorded.kubernetesServiceAccounts ?? []).filter((account) => !sameObject(account, { uid, namespace, name }));
  return { ...recorded, kubernetesServiceAccounts: [...accounts, { uid, namespace, name }] };
}

/** Replaces the secret's older hash, or appends it. */
function withSecret(secrets: readonly RecordedSecret[], source: Exclude<CredentialSource, { kind: 'node' }>, hash: string): readonly RecordedSecret[] {
  const { uid, namespace, name } = source;
  const entry = { uid, namespace, name, credentialHash: hash };
  const at = secrets.findIndex((secret) => sameObject(secret, source));
  return at < 0 ? [...secrets, entry] : secrets.map((secret, i) => (i === at ? entry : secret));
}

function withMapping(record: ImagePulledRecord | null, imageRef: string, repository: string, credentials: ImagePullCredentials, wall: Instant): ImagePulledRecord {
  const credentialMapping = { ...record?.credentialMapping, [repository]: credentials };
  return { ...record, kind: 'ImagePulledRecord', apiVersion, lastUpdatedTime: formatRfc3339(wall), imageRef, credentialMapping };
}

function sameObject(a: RecordedServiceAccount, b: RecordedServiceAccount): boolean {
  return a.uid === b.uid && a.namespace === b.namespace && a.name === b.name;
}
