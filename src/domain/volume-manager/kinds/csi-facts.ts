// Collects the input of a CSI call: the driver, its capabilities and object, the attachment, secrets, tokens.
// Invariant: requests each once per procedure, and changes nothing on disk or at the driver meanwhile.
import type { Micros } from '../../../ports/micros.js';
import type { ApiObject } from '../../../ports/model/api-object.js';
import type { Secret } from '../../../ports/model/config-objects.js';
import type { CSIDriver, SecretReference, VolumeAttachment } from '../../../ports/model/storage.js';
import type { Outcome } from '../../../ports/port-error.js';
import { typedObject } from '../../api-data/typed-object.js';
import { assert } from '../../kernel/assert.js';
import type { CsiDriverRecord } from '../../plugins/plugin-manager-state.js';
import { microsPerSecond } from '../../values/time.js';
import { type CsiMountFacts, csiTokenRequests } from '../../volumes/csi-mount.js';
import { csiAttachmentName, csiDriverName } from '../../volumes/csi-volume.js';
import type { Lookup } from '../../volumes/object-payload.js';
import type { VolumeSpec } from '../../volumes/volume-spec.js';
import { isBlockVolume } from '../../volumes/volume-spec.js';
import { failed, type VolumeReplies, type VolumeScene, type VolumeStep } from '../volume-kind.js';

const apiTimeout = 30 * microsPerSecond;
export const csiTimeout: Micros = 120 * microsPerSecond;
const attachments = { group: 'storage.k8s.io', version: 'v1', plural: 'volumeattachments' };
const secretsOf = { group: '', version: 'v1', plural: 'secrets' };

export interface CsiCollected {
  readonly since: Micros;
  capabilities: readonly string[] | null;
  attachment: Lookup<VolumeAttachment> | null;
  readonly secrets: Map<string, Lookup<Secret>>;
  /** `namespace/name` of the secret that is being read; null: none is. */
  reading: string | null;
}

export function newCollected(since: Micros): CsiCollected {
  return { since, capabilities: null, attachment: null, secrets: new Map(), reading: null };
}

/** A volume that was found on disk without anything that names its driver. */
export function isOfUnknownDriver(spec: VolumeSpec): boolean {
  const name = csiDriverName(spec);
  return name.ok && name.value === '';
}

/** The volume's driver, or the error for a missing one. @param what the caller in the reference's words */
export function driverOf(scene: VolumeScene, what: string): { readonly driver: CsiDriverRecord } | { readonly step: VolumeStep } {
  const name = csiDriverName(scene.spec);
  const driver = name.ok ? scene.context.csi.driver(name.value) : null;
  if (driver !== null) return { driver };
  const text = `kubernetes.io/csi: ${what}: driver name ${name.ok ? name.value : ''} not found in the list of registered CSI drivers`;
  return { step: failed(text, 'transient') };
}

/** The facts, or the next request for them. @param needsTokens and all else that only publishing needs */
export function collect(
  work: CsiCollected,
  scene: VolumeScene,
  driver: CsiDriverRecord,
  stage: 'stage' | 'publish',
): { readonly facts: CsiMountFacts } | { readonly step: VolumeStep } {
  const { context, pod, spec } = scene;
  assert(pod !== null, 'a volume is mounted for a pod');
  const { synced, object } = context.csi.driverObject(driver.name);
  if (!synced) return { step: { kind: 'waiting', until: null } };
  if (work.capabilities === null) return { step: scene.ask('csiNode.capabilities', { endpoint: driver.endpoint }, csiTimeout) };
  if (needsAttachment(scene, object) && work.attachment === null) return { step: askAttachment(scene) };
  const secret = nextSecret(work, scene, stage);
  if (secret !== null) return { step: secret };
  const tokens = stage === 'publish' && !isBlockVolume(spec) ? tokensOf(work, scene, object) : [];
  if (tokens === null) return { step: { kind: 'waiting', until: null } };
  const facts: CsiMountFacts = {
    rootDirectory: context.nodeFacts.rootDirectory,
    nodeName: context.nodeName,
    spec,
    pod,
    driver: object,
    capabilities: work.capabilities,
    attachment: work.attachment ?? { kind: 'absent' },
    secrets: work.secrets,
    tokens,
    fsGroup: pod.spec.securityContext?.fsGroup ?? null,
    seLinuxLabel: scene.seLinuxLabel,
  };
  return { facts };
}

/** Takes the answers to the requests of `collect`. A failure of the driver ends the procedure. */
export const collectReplies = {
  'csiNode.capabilities': (work, outcome) => {
    assert(work.capabilities === null, 'the capabilities of a driver were read twice');
    if (!outcome.ok) return failed(outcome.error.message, 'transient');
    work.capabilities = outcome.value;
    return null;
  },
  'apiReader.get': (work, outcome) => {
    assert(work.reading !== null || work.attachment === null, 'an attachment was read twice');
    if (work.reading === null) work.attachment = lookupOf('volumeattachments', outcome);
    else work.secrets.set(work.reading, lookupOf('secrets', outcome));
    work.reading = null;
    return null;
  },
} satisfies VolumeReplies<CsiCollected>;

export function needsAttachment({ spec, context }: VolumeScene, object: CSIDriver | null): boolean {
  return spec.kind === 'persistent' && context.apiData !== null && object?.spec.attachRequired !== false;
}

export function attachmentNameOf({ spec, context }: VolumeScene): string {
  const csi = spec.kind === 'persistent' ? spec.persistentVolume.spec.csi : undefined;
  return csiAttachmentName(csi?.volumeHandle ?? '', csi?.driver ?? '', context.nodeName);
}

function askAttachment(scene: VolumeScene): VolumeStep {
  return scene.ask('apiReader.get', { client: 'main', resource: attachments, namespace: null, name: attachmentNameOf(scene), resourceVersion: null }, apiTimeout);
}

/** null: all that the call needs are known. */
function nextSecret(work: CsiCollected, scene: VolumeScene, stage: 'stage' | 'publish'): VolumeStep | null {
  const reference = secretReference(scene, stage);
  if (reference === undefined || scene.context.apiData === null) return null;
  const { name = '', namespace = '' } = reference;
  const key = `${namespace}/${name}`;
  if (work.secrets.has(key)) return null;
  work.reading = key;
  return scene.ask('apiReader.get', { client: 'main', resource: secretsOf, namespace, name, resourceVersion: null }, apiTimeout);
}

function secretReference({ spec, pod }: VolumeScene, stage: 'stage' | 'publish'): SecretReference | undefined {
  if (spec.kind === 'persistent') return stage === 'stage' ? spec.persistentVolume.spec.csi?.nodeStageSecretRef : spec.persistentVolume.spec.csi?.nodePublishSecretRef;
  const reference = spec.volume.csi?.nodePublishSecretRef as SecretReference | undefined;
  return reference === undefined ? undefined : { ...reference, namespace: (reference.namespace ?? '') === '' ? (pod?.metadata.namespace ?? '') : (reference.namespace as string) };
}

/** null: some requests are in flight. */
function tokensOf({ since }: CsiCollected, { pod, context }: VolumeScene, object: CSIDriver | null): CsiMountFacts['tokens'] | null {
  assert(pod !== null, 'tokens are a pod’s');
  const { apiData } = context;
  const answers = csiTokenRequests(object, pod).map((request) => apiData?.token(request, since) ?? { kind: 'failed' as const, message: 'there is no apiserver' });
  if (answers.some(({ kind }) => kind === 'pending')) return null;
  return answers.map((answer) => {
    if (answer.kind === 'found') return { ok: true as const, token: { token: answer.token, expirationTimestamp: answer.expirationTimestamp } };
    return { ok: false as const, message: answer.kind === 'failed' ? answer.message : '' };
  });
}

function lookupOf<Collection extends Parameters<typeof typedObject>[0]>(collection: Collection, outcome: Outcome<ApiObject>): Lookup<ReturnType<typeof typedObject<Collection>>> {
  if (outcome.ok) return { kind: 'found', object: typedObject(collection, outcome.value) };
  return outcome.error.kind === 'not-found' ? { kind: 'absent' } : { kind: 'failed', message: outcome.error.message };
}

/** The certainty of a failure before or in a call that an earlier attempt may have completed: whether the mount exists stays unknown. */
export function asItWas(certainty: 'transient' | 'uncertain' | 'final'): 'transient' | 'uncertain' {
  return certainty === 'final' ? 'transient' : certainty;
}
