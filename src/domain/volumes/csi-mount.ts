// Staging and publishing a CSI volume: the requests to the driver, from the API's objects, and the meaning of a driver's error.
// Invariant: no request is sent before all its inputs are known, and a data file is on disk before the driver is called.

import type { Secret } from '../../ports/model/config-objects.js';
import type { Timestamp } from '../../ports/model/object-meta.js';
import type { Pod } from '../../ports/model/pod.js';
import type { CSIDriver, CSIPersistentVolumeSource, SecretReference, VolumeAttachment } from '../../ports/model/storage.js';
import type { Volume } from '../../ports/model/volume.js';
import type { PortErrorKind } from '../../ports/port-error.js';
import { assert } from '../kernel/assert.js';
import { bytesOf } from '../values/base64.js';
import { goQuote } from '../values/go-text.js';
import { byCodeUnits } from '../values/text-order.js';
import { utf8Decode } from '../values/utf8.js';
import type { TokenRequest } from './api-data-volume.js';
import { csiAttachmentName, csiBlockPaths, csiDeviceMountPath, csiPlugin, csiStagingDataFile, csiTargetPath, csiVolumeDataFile, csiVolumeHandle } from './csi-volume.js';
import type { CsiStagingData, CsiVolumeData } from './csi-volume-data.js';
import type { Named } from './device-names.js';
import type { Lookup } from './object-payload.js';
import { isBlockVolume, specName, type VolumeSpec } from './volume-spec.js';

/** `transient`: nothing has happened, try again. `uncertain`: it may be mounted. `final`: it isn't. */
export type CsiFailure = { readonly kind: 'failed'; readonly certainty: 'transient' | 'uncertain' | 'final'; readonly message: string };

export interface CsiVolumeCapability {
  readonly accessMode: string;
  readonly fsType: string;
  readonly mountFlags: readonly string[];
  /** `''`: the driver isn't to care. */
  readonly volumeMountGroup: string;
  readonly isBlock: boolean;
}
export interface CsiStageRequest {
  readonly volumeId: string;
  readonly publishContext: Readonly<Record<string, string>>;
  readonly stagingTargetPath: string;
  readonly volumeCapability: CsiVolumeCapability;
  readonly secrets: Readonly<Record<string, string>>;
  readonly volumeContext: Readonly<Record<string, string>>;
}
export interface CsiPublishRequest extends CsiStageRequest {
  readonly targetPath: string;
  readonly readonly: boolean;
}
export interface CsiCall<Request, Data> {
  readonly kind: 'call';
  readonly dataFile: string;
  readonly data: Data;
  readonly request: Request;
}

export interface CsiToken {
  readonly token: string;
  readonly expirationTimestamp: Timestamp;
}

export interface CsiMountFacts {
  readonly rootDirectory: string;
  readonly nodeName: string;
  readonly spec: VolumeSpec;
  readonly pod: Pod;
  /** Null where the driver has no such object. */
  readonly driver: CSIDriver | null;
  /** Capabilities of the driver's node service, in CSI's names: `STAGE_UNSTAGE_VOLUME` and so on. */
  readonly capabilities: readonly string[];
  readonly attachment: Lookup<VolumeAttachment>;
  /** By `<namespace>/<name>`. */
  readonly secrets: ReadonlyMap<string, Lookup<Secret>>;
  /** Answers to `csiTokenRequests`, in its order. */
  readonly tokens: readonly ({ readonly ok: true; readonly token: CsiToken } | { readonly ok: false; readonly message: string })[];
  readonly fsGroup: number | null;
  /** The label of the pod's files, where the volume may be mounted with it; `''` elsewhere. */
  readonly seLinuxLabel: string;
}

type Source = CSIPersistentVolumeSource | NonNullable<Volume['csi']>;
type Texts = Readonly<Record<string, string>>;
type Got<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: CsiFailure };

const podInfoPrefix = 'csi.storage.k8s.io';
/** CSI's answers after which the driver may still be at work (CSI specification, error scheme of NodePublishVolume). */
const uncertainKinds: readonly PortErrorKind[] = ['cancelled', 'deadline-exceeded', 'unavailable', 'resource-exhausted', 'aborted'];

/** Null: this volume is not staged. A file system waits for its attachment here even where the driver stages nothing. */
export function planCsiStage(facts: CsiMountFacts): CsiCall<CsiStageRequest, CsiStagingData> | CsiFailure | null {
  const { spec, rootDirectory } = facts;
  if (spec.kind !== 'persistent' || (!isStaged(facts) && isBlockVolume(spec))) return null;
  if (!isStaged(facts)) {
    const context = publishContext(facts);
    return context.ok ? null : context.failure;
  }
  const path = csiStagingPath(rootDirectory, spec);
  if (!path.ok) return { kind: 'failed', certainty: 'final', message: path.message };
  const context = publishContext(facts);
  if (!context.ok) return context.failure;
  const source = sourceOf(spec) as CSIPersistentVolumeSource;
  const secrets = secretTexts(facts, source.nodeStageSecretRef, 'NodeStageSecretRef');
  if (!secrets.ok) return secrets.failure;
  return {
    kind: 'call',
    dataFile: csiStagingDataFile(path.value),
    data: { volumeHandle: source.volumeHandle, driverName: source.driver, ...seLinuxContext(facts) },
    request: {
      volumeId: source.volumeHandle,
      publishContext: context.value,
      stagingTargetPath: path.value,
      volumeCapability: capabilityOf(facts),
      secrets: secrets.value,
      volumeContext: source.volumeAttributes ?? {},
    },
  };
}

export function planCsiPublish(facts: CsiMountFacts): CsiCall<CsiPublishRequest, CsiVolumeData> | CsiFailure {
  const { spec, pod, rootDirectory, nodeName } = facts;
  const source = sourceOf(spec);
  const volumeLifecycleMode = spec.kind === 'inline' ? 'Ephemeral' : 'Persistent';
  const unsupported = lifecycleModeProblem(facts.driver, volumeLifecycleMode, source.driver);
  if (unsupported !== null) return transient(`${csiPlugin}: mounter.SetupAt failed to check volume lifecycle mode: ${unsupported}`);
  if (!isBlockVolume(spec) && facts.driver !== null && (facts.driver.spec.fsGroupPolicy ?? '') === '') {
    return transient(`${csiPlugin}: mounter.SetupAt failed to check fsGroup policy: expected valid fsGroupPolicy, received nil value or empty string`);
  }
  const context = spec.kind === 'persistent' ? publishContext(facts) : { ok: true as const, value: {} };
  if (!context.ok) return context.failure;
  const secrets = secretTexts(facts, withNamespace(source.nodePublishSecretRef, spec, pod), 'NodePublishSecretRef');
  if (!secrets.ok) return secrets.failure;
  const tokens = isBlockVolume(spec) ? { ok: true as const, value: {} } : tokenTexts(facts);
  if (!tokens.ok) return tokens.failure;
  const inSecrets = facts.driver?.spec.serviceAccountTokenInSecrets === true;
  const podUid = pod.metadata.uid ?? '';
  const isBlock = isBlockVolume(spec);
  const volumeHandle = csiVolumeHandle(spec, podUid) ?? '';
  const staging = isStaged(facts) ? csiStagingPath(rootDirectory, spec) : null;
  const attachmentID = csiAttachmentName(volumeHandle, source.driver, nodeName);
  return {
    kind: 'call',
    dataFile: csiVolumeDataFile(rootDirectory, podUid, spec),
    data: { specVolID: specName(spec), volumeHandle, driverName: source.driver, nodeName, volumeLifecycleMode, attachmentID, ...seLinuxContext(facts) },
    request: {
      volumeId: volumeHandle,
      publishContext: context.value,
      stagingTargetPath: staging?.ok === true ? staging.value : '',
      targetPath: isBlock ? csiBlockPaths(rootDirectory, podUid, spec).publishPath : csiTargetPath(rootDirectory, podUid, spec),
      volumeCapability: capabilityOf(facts),
      readonly: isCsiReadOnly(spec),
      secrets: inSecrets ? { ...secrets.value, ...tokens.value } : secrets.value,
      // Drivers get the pod's info only for file systems.
      volumeContext: isBlock ? (source.volumeAttributes ?? {}) : { ...source.volumeAttributes, ...podInfo(facts), ...(inSecrets ? {} : tokens.value) },
    },
  };
}

/** The effect of a failed stage, publish or expand call on the volume. After a final one the call's data file is removed. */
export function csiCallFailed(kind: PortErrorKind, message: string): CsiFailure {
  return { kind: 'failed', certainty: uncertainKinds.includes(kind) ? 'uncertain' : 'final', message };
}

/** Tokens that the driver wants of the pod's service account. */
export function csiTokenRequests(driver: CSIDriver | null, pod: Pod): readonly TokenRequest[] {
  const { name, namespace = '', uid = '' } = pod.metadata;
  return (driver?.spec.tokenRequests ?? []).map(({ audience, expirationSeconds = null }) => ({
    namespace,
    serviceAccountName: pod.spec.serviceAccountName ?? '',
    audiences: audience === '' ? [] : [audience],
    expirationSeconds,
    podName: name,
    podUid: uid,
  }));
}

/** The claim's flag, or an inline volume's own; that of a persistent volume's source is the driver's and the controller's matter. */
export function isCsiReadOnly(spec: VolumeSpec): boolean {
  return spec.kind === 'inline' ? spec.volume.csi?.readOnly === true : spec.readOnly;
}

/** Whether the kubelet gives the files of a published volume to the pod's fsGroup itself. */
export function appliesFsGroup({ spec, driver, fsGroup, capabilities }: CsiMountFacts): boolean {
  const policy = driver?.spec.fsGroupPolicy ?? 'ReadWriteOnceWithFSType';
  if (capabilities.includes('VOLUME_MOUNT_GROUP') || fsGroup === null || policy === 'None' || isCsiReadOnly(spec)) return false;
  if (policy === 'File') return true;
  if ((sourceOf(spec).fsType ?? '') === '') return false;
  // Files that are shared between nodes can't belong to one pod's group.
  const modes = spec.kind === 'inline' ? ['ReadWriteOnce'] : (spec.persistentVolume.spec.accessModes ?? []);
  return modes.includes('ReadWriteOnce') || modes.includes('ReadWriteOncePod');
}

function isStaged({ spec, capabilities }: CsiMountFacts): boolean {
  return spec.kind === 'persistent' && capabilities.includes('STAGE_UNSTAGE_VOLUME');
}

/** The staging path of the driver. */
function csiStagingPath(rootDirectory: string, spec: VolumeSpec): Named {
  return isBlockVolume(spec) ? { ok: true, value: csiBlockPaths(rootDirectory, '', spec).stagingPath } : csiDeviceMountPath(rootDirectory, spec);
}

function sourceOf(spec: VolumeSpec): Source {
  const source = spec.kind === 'inline' ? spec.volume.csi : spec.persistentVolume.spec.csi;
  assert(source !== undefined, 'only CSI volumes are mounted by a CSI driver');
  return source;
}

/** The attach controller's data from the driver. Without a CSIDriver object the driver requires attaching. */
function publishContext({ spec, driver, nodeName, attachment }: CsiMountFacts): Got<Texts> {
  if (driver !== null && driver.spec.attachRequired === false) return { ok: true, value: {} };
  if (attachment.kind === 'found') return { ok: true, value: attachment.object.status?.attachmentMetadata ?? {} };
  if (attachment.kind === 'failed') return { ok: false, failure: transient(attachment.message) };
  const source = sourceOf(spec) as CSIPersistentVolumeSource;
  const name = csiAttachmentName(source.volumeHandle, source.driver, nodeName);
  return { ok: false, failure: transient(`volumeattachments.storage.k8s.io ${goQuote(name)} not found`) };
}

function withNamespace(reference: SecretReference | undefined, spec: VolumeSpec, pod: Pod): SecretReference | undefined {
  if (reference === undefined || spec.kind === 'persistent' || (reference.namespace ?? '') !== '') return reference;
  return { ...reference, namespace: pod.metadata.namespace ?? '' };
}

function secretTexts({ secrets }: CsiMountFacts, reference: SecretReference | undefined, field: string): Got<Texts> {
  if (reference === undefined) return { ok: true, value: {} };
  const { name = '', namespace = '' } = reference;
  const lookup = secrets.get(`${namespace}/${name}`) ?? { kind: 'absent' };
  if (lookup.kind === 'found') {
    return { ok: true, value: Object.fromEntries(Object.entries(lookup.object.data ?? {}).map(([key, value]) => [key, utf8Decode(bytesOf(value))])) };
  }
  const cause = lookup.kind === 'absent' ? `secrets ${goQuote(name)} not found` : lookup.message;
  const search = `${csiPlugin}: failed to find the secret ${name} in the namespace ${namespace} with error: ${cause}`;
  return { ok: false, failure: transient(`fetching ${field} ${namespace}/${name} failed: ${search}`) };
}

function lifecycleModeProblem(driver: CSIDriver | null, mode: 'Persistent' | 'Ephemeral', driverName: string): string | null {
  const problem = `volume mode ${goQuote(mode)} not supported by driver ${driverName}`;
  if (driver === null) return mode === 'Persistent' ? null : `${problem} (no CSIDriver object)`;
  const modes = driver.spec.volumeLifecycleModes ?? [];
  return modes.includes(mode) ? null : `${problem} (only supports [${modes.map(goQuote).join(' ')}])`;
}

function podInfo({ driver, pod, spec }: CsiMountFacts): Texts {
  if (driver?.spec.podInfoOnMount !== true) return {};
  const { name, namespace = '', uid = '' } = pod.metadata;
  return {
    [`${podInfoPrefix}/pod.name`]: name,
    [`${podInfoPrefix}/pod.namespace`]: namespace,
    [`${podInfoPrefix}/pod.uid`]: uid,
    [`${podInfoPrefix}/serviceAccount.name`]: pod.spec.serviceAccountName ?? '',
    [`${podInfoPrefix}/ephemeral`]: String(spec.kind === 'inline'),
  };
}

/** All tokens as one text, by audience. */
function tokenTexts({ driver, tokens }: CsiMountFacts): Got<Texts> {
  const requests = driver?.spec.tokenRequests ?? [];
  if (requests.length === 0) return { ok: true, value: {} };
  const byAudience = new Map<string, CsiToken>();
  for (const [i, { audience }] of requests.entries()) {
    const answer = tokens[i];
    assert(answer !== undefined, 'each token request has an answer');
    if (!answer.ok) return { ok: false, failure: transient(`${csiPlugin}: mounter.SetUpAt failed to get service account token attributes: ${answer.message}`) };
    byAudience.set(audience, answer.token);
  }
  const members = [...byAudience]
    .sort(([a], [b]) => byCodeUnits(a, b))
    .map(([audience, { token, expirationTimestamp }]) => {
      return `${JSON.stringify(audience)}:${JSON.stringify({ token, expirationTimestamp })}`;
    });
  return { ok: true, value: { [`${podInfoPrefix}/serviceAccount.tokens`]: `{${members.join(',')}}` } };
}

function capabilityOf(facts: Pick<CsiMountFacts, 'spec' | 'capabilities' | 'fsGroup' | 'driver' | 'seLinuxLabel'>): CsiVolumeCapability {
  const { spec, capabilities, fsGroup } = facts;
  const mode = spec.kind === 'inline' ? undefined : spec.persistentVolume.spec.accessModes?.[0];
  const options = spec.kind === 'inline' ? [] : (spec.persistentVolume.spec.mountOptions ?? []);
  const accessMode = csiAccessMode(mode ?? 'ReadWriteOnce', capabilities.includes('SINGLE_NODE_MULTI_WRITER'));
  if (isBlockVolume(spec)) return { accessMode, fsType: '', mountFlags: [], volumeMountGroup: '', isBlock: true };
  const label = labelOf(facts);
  return {
    accessMode,
    fsType: sourceOf(spec).fsType ?? '',
    mountFlags: label === '' ? options : [...options, `context=${goQuote(label)}`],
    volumeMountGroup: fsGroup !== null && capabilities.includes('VOLUME_MOUNT_GROUP') ? String(fsGroup) : '',
    isBlock: false,
  };
}

/** The capability of an existing volume, for the driver. */
export function csiNodeCapability(spec: VolumeSpec, capabilities: readonly string[]): CsiVolumeCapability {
  return capabilityOf({ spec, capabilities, fsGroup: null, driver: null, seLinuxLabel: '' });
}

/** @param supportsSingleWriters whether the driver knows CSI's newer single node modes */
function csiAccessMode(mode: string, supportsSingleWriters: boolean): string {
  switch (mode) {
    case 'ReadWriteOnce':
      return supportsSingleWriters ? 'SINGLE_NODE_MULTI_WRITER' : 'SINGLE_NODE_WRITER';
    case 'ReadWriteOncePod':
      return supportsSingleWriters ? 'SINGLE_NODE_SINGLE_WRITER' : 'SINGLE_NODE_WRITER';
    case 'ReadOnlyMany':
      return 'MULTI_NODE_READER_ONLY';
    case 'ReadWriteMany':
      return 'MULTI_NODE_MULTI_WRITER';
    default:
      return 'UNKNOWN';
  }
}

function labelOf({ driver, seLinuxLabel }: Pick<CsiMountFacts, 'driver' | 'seLinuxLabel'>): string {
  return driver?.spec.seLinuxMount === true ? seLinuxLabel : '';
}

function seLinuxContext(facts: CsiMountFacts): { readonly seLinuxMountContext?: string } {
  const label = labelOf(facts);
  return label === '' ? {} : { seLinuxMountContext: label };
}

function transient(message: string): CsiFailure {
  return { kind: 'failed', certainty: 'transient', message };
}
