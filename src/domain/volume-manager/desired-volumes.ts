// The volumes to mount: those that a container of a wanted pod uses. Claims are read first, directly from the API, since a node may read
// only the two objects that a pod refers to.
//
//   want -> (claim -> its persistent volume ->) desired, or an error of the pod, which the next `want` retries
//   desired, and its plugin can expand volumes -> both are read again at the sync frequency: a node can't watch them
import type { ApiObject } from '../../ports/model/api-object.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PersistentVolume, PersistentVolumeClaim } from '../../ports/model/storage.js';
import type { Volume } from '../../ports/model/volume.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { Outcome } from '../../ports/port-error.js';
import { typedObject } from '../api-data/typed-object.js';
import { assert } from '../kernel/assert.js';
import type { ReplyFor } from '../kernel/machine.js';
import { goQuote } from '../values/go-text.js';
import { microsPerSecond } from '../values/time.js';
import { migrateToCsi } from '../volumes/csi-migration.js';
import { usedVolumes } from '../volumes/node-volumes.js';
import { noPluginMatched, rivalPlugins, uniqueVolumeName, volumePluginFor } from '../volumes/volume-plugins.js';
import { specName, type VolumeSpec } from '../volumes/volume-spec.js';
import type { VolumeContext } from './volume-kind.js';
import { kindOf } from './volume-kinds.js';
import { joinLabel, labelOf } from './volume-labels.js';
import { type ClaimLookup, claimMachine, type PodVolumes, type VolumeManager } from './volume-manager-state.js';

const lookupTimeout = 30 * microsPerSecond;
const protection = 'kubernetes.io/pvc-protection';

/** Adds the pod's volumes. Existing ones are updated from its object. */
export function wantVolumes(manager: VolumeManager, uid: string, pod: Pod, context: VolumeContext): void {
  // Cancels the release of an earlier pod: wanted volumes are not torn down.
  manager.releases.delete(uid);
  manager.limitLooks.delete(uid);
  let wanted = manager.pods.get(uid);
  if (wanted === undefined) {
    wanted = { uid, pod, resolving: new Map(), names: new Map(), errors: new Map() };
    manager.pods.set(uid, wanted);
  }
  wanted.pod = pod;
  wanted.errors.clear();
  for (const volume of usedVolumes(pod)) {
    if (wanted.resolving.has(volume.name)) continue;
    const claim = claimOf(volume, pod);
    if (claim === null) addDesired(manager, wanted, volume.name, { kind: 'inline', volume }, null, context);
    else if (!wanted.names.has(volume.name) || mayGrow(manager, wanted, volume.name)) lookUpClaim(wanted, volume, claim, context);
  }
  showData(manager, uid, context);
}

/** Data of the pod's volumes has changed: they are to show it at once, and what has changed may be what was missing. */
export function refreshVolumes(manager: VolumeManager, uid: string, context: VolumeContext): void {
  for (const name of showData(manager, uid, context)) manager.backoffs.delete(name);
}

/** Volumes of the pod that show data are to show what is so now. What has failed keeps its back-off. @returns their names */
function showData(manager: VolumeManager, uid: string, context: VolumeContext): string[] {
  const shown: string[] = [];
  for (const name of new Set(manager.pods.get(uid)?.names.values())) {
    const desired = manager.desired.get(name);
    const mount = desired?.pods.get(uid);
    if (mount === undefined || !isRemounted(mount.spec, context)) continue;
    const operation = manager.operations.get(name);
    if (operation !== undefined) operation.again = true;
    const actual = manager.actual.get(name)?.pods.get(uid);
    if (actual !== undefined) actual.remountRequired = true;
    manager.dirty.add(name);
    shown.push(name);
  }
  return shown;
}

/** Whether the volume is set up again while it is mounted. */
export function isRemounted(spec: VolumeSpec, context: VolumeContext): boolean {
  const plugin = volumePluginFor(spec);
  return plugin !== null && (plugin.requiresRemount || kindOf(plugin.name)?.requiresRemount?.(spec, context) === true);
}

/** The pod's volumes are wanted no more. */
export function unwantVolumes(manager: VolumeManager, uid: string): void {
  for (const name of manager.pods.get(uid)?.names.values() ?? []) {
    const desired = manager.desired.get(name);
    desired?.pods.delete(uid);
    if (desired?.pods.size === 0) manager.desired.delete(name);
    manager.dirty.add(name);
  }
  manager.pods.delete(uid);
  manager.limitLooks.delete(uid);
}

/** Expandable volumes are checked for a new size, as often as the pod is synced. */
function mayGrow(manager: VolumeManager, { uid, names }: PodVolumes, volumeName: string): boolean {
  const desired = manager.desired.get(names.get(volumeName) ?? '');
  const spec = desired?.pods.get(uid)?.spec;
  return desired !== undefined && spec?.kind === 'persistent' && !spec.readOnly && kindOf(desired.plugin)?.expand !== undefined;
}

function addDesired(manager: VolumeManager, wanted: PodVolumes, volumeName: string, given: VolumeSpec, claim: PersistentVolumeClaim | null, context: VolumeContext): void {
  const { uid, names, errors } = wanted;
  const migration = migrateToCsi(given, wanted.pod.metadata.namespace ?? '');
  if (migration.kind === 'failed') {
    errors.set(volumeName, migration.message);
    return;
  }
  const spec = migration.kind === 'migrated' ? migration.spec : given;
  const plugin = volumePluginFor(spec);
  const kind = plugin === null ? null : kindOf(plugin.name);
  const rivals = rivalPlugins(spec);
  if (rivals !== null) {
    errors.set(volumeName, `failed to get Plugin from volumeSpec for volume ${goQuote(specName(spec))} err=multiple volume plugins matched: ${rivals.join(',')}`);
    return;
  }
  const refusal = plugin === null || kind === null ? notThisKubelets(spec, plugin?.name ?? null) : (kind.refusal?.(spec) ?? null);
  if (plugin === null || refusal !== null) {
    errors.set(volumeName, refusal ?? noPluginMatched);
    return;
  }
  const name = uniqueVolumeName(plugin, spec, uid);
  if (!name.ok) {
    errors.set(volumeName, name.message);
    return;
  }
  const answer = labelOf(manager, wanted.pod, volumeName, spec, plugin.name, context);
  let desired = manager.desired.get(name.value);
  desired ??= { name: name.value, plugin: plugin.name, attachable: kind?.isAttachable?.(spec, context) === true, label: null, pods: new Map() };
  const problem = answer.kind === 'refused' ? answer.message : joinLabel(manager, desired, spec, answer.label, context);
  if (problem !== null) {
    errors.set(volumeName, problem);
    return;
  }
  names.set(volumeName, name.value);
  manager.desired.set(name.value, desired);
  desired.pods.set(uid, { uid, spec, claim });
  manager.dirty.add(name.value);
}

/** The reference's text for an unknown plugin, with the consequence for this kubelet. */
function notThisKubelets(spec: VolumeSpec, plugin: string | null): string {
  const holder: Readonly<Record<string, unknown>> = spec.kind === 'inline' ? spec.volume : spec.persistentVolume.spec;
  const known = new Set(['name', 'accessModes', 'capacity', 'claimRef', 'mountOptions', 'nodeAffinity', 'persistentVolumeReclaimPolicy', 'storageClassName', 'volumeMode']);
  const source = Object.keys(holder).find((key) => !known.has(key) && holder[key] !== undefined && holder[key] !== null) ?? 'no source';
  const what = plugin === null ? noPluginMatched : `this kubelet does not have the plugin ${plugin}`;
  return `failed to get Plugin from volumeSpec for volume ${goQuote(specName(spec))} err=${what} (${source})`;
}

/** The claim that the volume is one of; null: it is the pod's own. */
function claimOf(volume: Volume, pod: Pod): string | null {
  if (volume.persistentVolumeClaim !== undefined) return volume.persistentVolumeClaim.claimName;
  return volume.ephemeral === undefined ? null : `${pod.metadata.name}-${volume.name}`;
}

function lookUpClaim(wanted: PodVolumes, volume: Volume, claimName: string, { turn, apiData }: VolumeContext): void {
  const namespace = wanted.pod.metadata.namespace ?? '';
  if (apiData === null) {
    wanted.errors.set(volume.name, `error processing PVC ${namespace}/${claimName}: not supported due to running kubelet in standalone mode`);
    return;
  }
  wanted.resolving.set(volume.name, { volume, claimName, isEphemeral: volume.ephemeral !== undefined, phase: 'claim', claimUid: '', claim: null, volumeName: '' });
  const resource = { group: '', version: 'v1', plural: 'persistentvolumeclaims' };
  const request = { client: 'main', resource, namespace, name: claimName, resourceVersion: null } as const;
  turn.ask('apiReader.get', { machine: claimMachine, key: `${wanted.uid}/${volume.name}` }, 'get', request, lookupTimeout);
}

/** Takes an answer about a claim or its volume. The pod may be wanted no more. */
export function claimReplied(manager: VolumeManager, key: string, { outcome }: ReplyFor<AgentOperations, 'apiReader.get'>, context: VolumeContext): void {
  const { wanted, volumeName } = lookedUp(manager, key);
  const lookup = wanted?.resolving.get(volumeName);
  if (wanted === undefined || lookup === undefined) {
    context.turn.end({ machine: claimMachine, key });
    return;
  }
  const answer = lookup.phase === 'claim' ? claimFound(wanted, lookup, outcome) : volumeFound(lookup, outcome);
  if (typeof answer === 'string') {
    const name = `${wanted.pod.metadata.namespace ?? ''}/${lookup.claimName}`;
    settle(wanted, lookup, context);
    // Known volumes stay unchanged.
    if (wanted.names.has(volumeName)) {
      planLook(manager, wanted, volumeName, context);
      return;
    }
    wanted.errors.set(lookup.volume.name, isUnwrapped(answer) ? answer : `error processing PVC ${name}: ${answer}`);
    return;
  }
  if ('ask' in answer) {
    const resource = { group: '', version: 'v1', plural: 'persistentvolumes' };
    const request = { client: 'main', resource, namespace: null, name: answer.ask, resourceVersion: null } as const;
    context.turn.ask('apiReader.get', { machine: claimMachine, key }, 'get', request, lookupTimeout);
    return;
  }
  settle(wanted, lookup, context);
  const refused = modeRefusal(wanted.pod, lookup.volume.name, answer.persistentVolume);
  if (refused !== null) wanted.errors.set(lookup.volume.name, refused);
  else addDesired(manager, wanted, lookup.volume.name, persistentSpec(lookup, answer.persistentVolume), lookup.claim, context);
  planLook(manager, wanted, volumeName, context);
}

/** The claim's volume may have grown meanwhile. The pod may be wanted no more. */
export function claimWoken(manager: VolumeManager, key: string, context: VolumeContext): void {
  const { wanted, volumeName } = lookedUp(manager, key);
  const volume = wanted === undefined ? undefined : usedVolumes(wanted.pod).find(({ name }) => name === volumeName);
  const claim = wanted === undefined || volume === undefined ? null : claimOf(volume, wanted.pod);
  if (wanted === undefined || volume === undefined || claim === null || !mayGrow(manager, wanted, volumeName)) context.turn.end({ machine: claimMachine, key });
  else if (!wanted.resolving.has(volumeName)) lookUpClaim(wanted, volume, claim, context);
}

function planLook(manager: VolumeManager, wanted: PodVolumes, volumeName: string, { turn, syncFrequency }: VolumeContext): void {
  if (!mayGrow(manager, wanted, volumeName)) return;
  const key = `${wanted.uid}/${volumeName}`;
  turn.wakeAt({ machine: claimMachine, key }, turn.now + Math.floor(syncFrequency * (1 + 0.5 * turn.random(claimMachine, key))));
}

/** For an address: the pod, if wanted, and the name of its volume. */
function lookedUp(manager: VolumeManager, key: string): { readonly wanted: PodVolumes | undefined; readonly volumeName: string } {
  const slash = key.indexOf('/');
  return { wanted: manager.pods.get(key.slice(0, slash)), volumeName: key.slice(slash + 1) };
}

function settle(wanted: PodVolumes, { volume }: ClaimLookup, context: VolumeContext): void {
  wanted.resolving.delete(volume.name);
  context.turn.end({ machine: claimMachine, key: `${wanted.uid}/${volume.name}` });
  context.volumesChanged(wanted.uid);
}

function persistentSpec({ volume }: ClaimLookup, persistentVolume: PersistentVolume): VolumeSpec {
  return { kind: 'persistent', persistentVolume, readOnly: volume.persistentVolumeClaim?.readOnly === true };
}

/** The error about a foreign ephemeral claim stays unprefixed; all others are about processing the claim. */
function isUnwrapped(message: string): boolean {
  return message.endsWith('(pod is not owner)');
}

function claimFound(wanted: PodVolumes, lookup: ClaimLookup, outcome: Outcome<ApiObject>): string | { readonly ask: string } {
  if (!outcome.ok) return `failed to fetch PVC from API server: ${outcome.error.message}`;
  const claim = typedObject('persistentvolumeclaims', outcome.value);
  const { metadata, spec = {}, status = {} } = claim;
  if (lookup.isEphemeral && !(metadata.ownerReferences ?? []).some(({ controller, uid }) => controller === true && uid === wanted.uid)) {
    const { name, namespace = '' } = wanted.pod.metadata;
    return `PVC ${metadata.namespace ?? ''}/${metadata.name} was not created for pod ${namespace}/${name} (pod is not owner)`;
  }
  if (metadata.deletionTimestamp !== undefined && !(metadata.finalizers ?? []).includes(protection)) return 'PVC is being deleted';
  if (status.phase !== 'Bound') return 'PVC is not bound';
  const volumeName = spec.volumeName ?? '';
  if (volumeName === '') return 'PVC has empty pvc.Spec.VolumeName';
  lookup.phase = 'volume';
  lookup.claim = claim;
  lookup.claimUid = metadata.uid ?? '';
  lookup.volumeName = volumeName;
  return { ask: volumeName };
}

function volumeFound(lookup: ClaimLookup, outcome: Outcome<ApiObject>): string | { readonly persistentVolume: PersistentVolume } {
  if (!outcome.ok) return `failed to fetch PV ${lookup.volumeName} from API server: ${outcome.error.message}`;
  const persistentVolume = typedObject('persistentvolumes', outcome.value);
  const { metadata, spec } = persistentVolume;
  assert(metadata !== undefined && spec !== undefined, 'a persistent volume has metadata and a spec');
  if (spec.claimRef === undefined) return `found PV object ${metadata.name} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`;
  const boundTo = spec.claimRef.uid ?? '';
  if (boundTo !== lookup.claimUid) return `found PV object ${metadata.name} but its pv.Spec.ClaimRef.UID ${boundTo} does not point to claim.UID ${lookup.claimUid}`;
  return { persistentVolume };
}

/** A raw device isn't mounted, and a file system is no device. */
function modeRefusal(pod: Pod, volumeName: string, { spec: { volumeMode = 'Filesystem' } }: PersistentVolume): string | null {
  const { initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
  const all = [...initContainers, ...containers, ...ephemeralContainers];
  const uses = (list: readonly { readonly name: string }[] = []): boolean => list.some(({ name }) => name === volumeName);
  const says = (where: string): string => `volume ${volumeName} has volumeMode ${volumeMode}, but is specified in ${where}`;
  if (volumeMode === 'Block' && all.some(({ volumeMounts }) => uses(volumeMounts))) return says('volumeMounts');
  return volumeMode !== 'Block' && all.some(({ volumeDevices }) => uses(volumeDevices)) ? says('volumeDevices') : null;
}
