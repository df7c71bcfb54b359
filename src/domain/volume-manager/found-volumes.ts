// Volumes of earlier agents: looked up once at the start, before any volume of the node is reported, and once
// more for each pod that ends. A found volume may be mounted or not; it is `uncertain` until it is set up again, or torn down.
//
//   start -> survey -> done; a failure is retried after a second
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { PortFailure } from '../../ports/port-error.js';
import { tryFailed, trySucceeded } from '../backoff/retry-pauses.js';
import type { ReplyFor } from '../kernel/machine.js';
import { csiPlugin } from '../volumes/csi-volume.js';
import { problemOfCsiData, reconstructCsiVolume } from '../volumes/csi-volume-data.js';
import { uniqueVolumeName, volumePluginFor } from '../volumes/volume-plugins.js';
import { unescapeName, type VolumeSpec } from '../volumes/volume-spec.js';
import type { FoundVolume, VolumeContext } from './volume-kind.js';
import { kindOf } from './volume-kinds.js';
import { holdVolume, surveyMachine, type VolumeManager } from './volume-manager-state.js';

export const surveyAddress = { machine: surveyMachine, key: '' } as const;

export function beginSurvey(manager: VolumeManager, { turn }: VolumeContext): void {
  if (manager.survey !== 'none') return;
  manager.survey = 'asked';
  turn.ask('volumeMounts.survey', surveyAddress, 'survey', null);
}

export function surveyReplied(manager: VolumeManager, { op, outcome }: ReplyFor<AgentOperations, 'volumeMounts.survey'>, { turn }: VolumeContext): void {
  if (!outcome.ok) {
    surveyFailed(manager, op, outcome.error, turn);
    return;
  }
  trySucceeded(manager.surveyPauses, op);
  manager.survey = 'over';
  for (const { uid, volumes } of outcome.value) {
    for (const { plugin, volume, data, isDevice } of volumes) {
      const found = { uid, plugin: unescapeName(plugin), name: volume, data, isDevice };
      logDamaged(found, turn);
      adoptVolume(manager, found);
    }
  }
  // After the pods' own volumes, so that these count as in use.
  turn.ask('csiFiles.staged', surveyAddress, 'staged', null);
}

function surveyFailed(manager: VolumeManager, op: string, { message }: PortFailure, turn: VolumeContext['turn']): void {
  turn.log('error', 'Cannot get volumes from disk', { err: message });
  manager.survey = 'none';
  turn.wakeAt(surveyAddress, tryFailed(manager.surveyPauses, op, turn.now));
}

/** A staged volume may have lost its last pod before it was unstaged. */
export function stagedReplied(manager: VolumeManager, { op, outcome }: ReplyFor<AgentOperations, 'csiFiles.staged'>, { turn }: VolumeContext): void {
  if (!outcome.ok) {
    surveyFailed(manager, op, outcome.error, turn);
    return;
  }
  trySucceeded(manager.surveyPauses, op);
  const staged = outcome.value;
  for (const { data, isDevice } of staged) {
    const known = reconstructCsiVolume(data, '', isDevice ? 'Block' : 'Filesystem');
    // As with the reference, it stays staged: nothing says by which driver it could be unstaged.
    if (!known.ok) turn.log('warn', 'A staged CSI volume cannot be recognized by its vol_data.json and stays staged', { err: known.message });
    const spec = known.ok && known.volume.spec.kind === 'persistent' ? known.volume.spec : null;
    const plugin = spec === null ? null : volumePluginFor(spec);
    const name = spec === null || plugin === null ? null : uniqueVolumeName(plugin, spec, '');
    if (spec === null || plugin === null || name?.ok !== true || manager.actual.has(name.value)) continue;
    manager.actual.set(name.value, {
      name: name.value,
      plugin: plugin.name,
      spec,
      attachable: false,
      attached: 'uncertain',
      devicePath: '',
      device: 'uncertain',
      label: known.ok ? known.volume.seLinuxMountContext : '',
      size: null,
      pods: new Map(),
    });
    manager.dirty.add(name.value);
  }
}

/** Why the volume can't be reconstructed from its data file; null: it can, or it has none. */
export function damageOf({ plugin, name, data }: FoundVolume): string | null {
  return plugin !== csiPlugin || data === null ? null : problemOfCsiData(data, name);
}

/** The volume's data file is there and says nothing: it is torn down like one without a file, and the log names it. */
export function logDamaged(found: FoundVolume, turn: VolumeContext['turn']): void {
  const problem = damageOf(found);
  if (problem === null) return;
  const { uid, name } = found;
  turn.log('warn', 'The vol_data.json of a CSI volume says nothing, the volume is torn down without its driver', { podUID: uid, volume: name, err: problem });
}

/** null: no kind here knows it. */
export function reconstructedSpec(found: FoundVolume): VolumeSpec | null {
  const known = kindOf(found.plugin);
  return (found.isDevice ? known?.reconstructDevice?.(found) : known?.reconstruct(found)) ?? null;
}

/** A volume found on disk counts as possibly mounted. False: no kind supports it. Known volumes stay unchanged. */
export function adoptVolume(manager: VolumeManager, found: FoundVolume): boolean {
  const spec = reconstructedSpec(found);
  const plugin = spec === null ? null : volumePluginFor(spec);
  if (spec === null || plugin === null) return false;
  const name = uniqueVolumeName(plugin, spec, found.uid);
  if (!name.ok) return false;
  let actual = manager.actual.get(name.value);
  if (actual === undefined) {
    const label = kindOf(plugin.name)?.reconstructLabel?.(found) ?? '';
    const device = (kindOf(plugin.name)?.mountDevice ?? null) === null ? 'none' : 'uncertain';
    actual = { name: name.value, plugin: plugin.name, spec, attachable: false, attached: 'uncertain', devicePath: '', device, label, size: null, pods: new Map() };
    manager.actual.set(name.value, actual);
  }
  if (!actual.pods.has(found.uid)) actual.pods.set(found.uid, { uid: found.uid, spec, state: 'uncertain', remountRequired: false, reconstructed: true, hasLabels: null });
  holdVolume(manager, found.uid, name.value);
  manager.dirty.add(name.value);
  return true;
}

/** The Node's attached volumes have changed: they may include found ones, and desired ones may wait for them. */
export function nodeSeen(manager: VolumeManager, { node }: VolumeContext): void {
  for (const { name, attachable } of manager.desired.values()) if (attachable && manager.actual.get(name)?.attached !== 'yes') manager.dirty.add(name);
  for (const { name, devicePath } of node?.status?.volumesAttached ?? []) {
    const actual = manager.actual.get(name);
    if (actual?.attached !== 'uncertain') continue;
    actual.attachable = true;
    actual.attached = 'yes';
    if (actual.devicePath === '') actual.devicePath = devicePath;
  }
}
