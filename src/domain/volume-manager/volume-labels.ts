// SELinux labels of volume mounts. A volume has one mount on the node, and so one label for all of its pods.
//
// | a pod that wants the volume                                  | access modes that may have a label | others            |
// |--------------------------------------------------------------|------------------------------------|-------------------|
// | its containers disagree, or have no label                     | an error of the pod                | a warning counted |
// | its label differs from that of other pods that want it        | an error of the pod                | a warning counted |
// | mounted with another label, for pods that have ended          | waits until all of it is unmounted | (never: no label) |
//
// Invariants: on a host without SELinux every label is '' and nothing is counted; a mount for a pod that wants it keeps its label, since a
// pod that may run must not lose it.
import type { Pod } from '../../ports/model/pod.js';
import { goQuote } from '../values/go-text.js';
import { csiDriverName, csiPlugin } from '../volumes/csi-volume.js';
import { accessModeName, mayBeMountedWithLabel, podFileLabel } from '../volumes/selinux-labels.js';
import { specName, type VolumeSpec } from '../volumes/volume-spec.js';
import type { VolumeContext } from './volume-kind.js';
import type { ActualVolume, DesiredVolume, LabelMetric, VolumeLabel, VolumeManager } from './volume-manager-state.js';

export const noLabel: VolumeLabel = { asked: '', mounted: '', isSupported: false };

/** `label` null: the driver's API object isn't known yet. */
export type LabelAnswer = { readonly kind: 'label'; readonly label: VolumeLabel | null } | { readonly kind: 'refused'; readonly message: string };

/** The volume's label for the pod's containers. @param volumeName the volume's name in the pod */
export function labelOf(manager: VolumeManager, pod: Pod, volumeName: string, spec: VolumeSpec, plugin: string, context: VolumeContext): LabelAnswer {
  const { selinuxEnabled, seLinuxFileLabel, seLinuxMount } = context.nodeFacts;
  if (!selinuxEnabled) return { kind: 'label', label: noLabel };
  const driver = plugin === csiPlugin ? csiDriverName(spec) : null;
  const known = driver?.ok === true ? context.csi.driverObject(driver.value) : null;
  if (known?.synced === false) return { kind: 'label', label: null };
  const isSupported = known?.object?.spec.seLinuxMount === true;
  const mayHave = mayBeMountedWithLabel(spec, seLinuxMount);
  const found = podFileLabel(pod, volumeName, seLinuxFileLabel);
  if (found.kind !== 'label') {
    count(manager, { metric: `${found.kind === 'several' ? 'pod_context_mismatch' : 'container'}_${mayHave ? 'errors' : 'warnings'}`, plugin: null }, spec);
    return mayHave ? { kind: 'refused', message: found.message } : { kind: 'label', label: { asked: '', mounted: '', isSupported } };
  }
  const asked = isSupported ? found.label : '';
  return { kind: 'label', label: { asked, mounted: mayHave ? asked : '', isSupported } };
}

/** Sets the volume's label, or compares it with the present one. A text: why the pod can't have the volume. */
export function joinLabel(manager: VolumeManager, desired: DesiredVolume, spec: VolumeSpec, label: VolumeLabel | null, { nodeFacts }: VolumeContext): string | null {
  if (label === null) return null;
  if (desired.label === null) {
    desired.label = label;
    if (label.asked !== '') count(manager, { metric: 'volumes_admitted', plugin: pluginName(desired.plugin, spec) }, spec);
    return null;
  }
  if (!label.isSupported || label.asked === desired.label.asked) return null;
  const mayHave = mayBeMountedWithLabel(spec, nodeFacts.seLinuxMount);
  count(manager, { metric: `volume_context_mismatch_${mayHave ? 'errors' : 'warnings'}`, plugin: pluginName(desired.plugin, spec) }, spec);
  return mayHave ? `conflicting SELinux labels of volume ${specName(spec)}: ${goQuote(desired.label.asked)} and ${goQuote(label.asked)}` : null;
}

/** The drivers' API objects are known: waiting volumes get their labels. */
export function labelsKnown(manager: VolumeManager, desired: DesiredVolume, context: VolumeContext): void {
  if (desired.label !== null) return;
  for (const { uid, spec } of [...desired.pods.values()]) {
    const wanted = manager.pods.get(uid);
    for (const [volumeName, name] of wanted?.names ?? []) {
      if (wanted === undefined || name !== desired.name) continue;
      const answer = labelOf(manager, wanted.pod, volumeName, spec, desired.plugin, context);
      const problem = answer.kind === 'refused' ? answer.message : joinLabel(manager, desired, spec, answer.label, context);
      if (problem === null) continue;
      wanted.errors.set(volumeName, problem);
      wanted.names.delete(volumeName);
      desired.pods.delete(uid);
      context.volumesChanged(uid);
    }
  }
  if (desired.pods.size === 0) manager.desired.delete(desired.name);
}

/** Whether the volume has to be unmounted as a whole before its pods can have it. */
export function hasOtherLabel(actual: ActualVolume | undefined, { label, pods }: DesiredVolume, { nodeFacts }: VolumeContext): boolean {
  if (!nodeFacts.selinuxEnabled || label === null || actual === undefined || actual.label === null || actual.label === label.mounted) return false;
  return actual.pods.size === 0 || [...actual.pods.keys()].some((uid) => !pods.has(uid));
}

/** Reports the wait to the pods that want it. */
export function reportOtherLabel(manager: VolumeManager, { name, pods }: DesiredVolume, context: VolumeContext): void {
  const message = waitingText(name);
  for (const uid of pods.keys()) {
    const wanted = manager.pods.get(uid);
    for (const [volumeName, own] of wanted?.names ?? []) {
      if (own !== name || wanted?.errors.get(volumeName) === message) continue;
      wanted?.errors.set(volumeName, message);
      context.volumesChanged(uid);
    }
  }
}

/** Nothing keeps the volume from its pods any more. */
export function forgetOtherLabel(manager: VolumeManager, { name, pods }: DesiredVolume, { nodeFacts }: VolumeContext): void {
  if (!nodeFacts.selinuxEnabled) return;
  for (const uid of pods.keys()) {
    const wanted = manager.pods.get(uid);
    for (const [volumeName, own] of wanted?.names ?? []) if (own === name && wanted?.errors.get(volumeName) === waitingText(name)) wanted.errors.delete(volumeName);
  }
}

function waitingText(name: string): string {
  return `waiting for unmount of volume ${goQuote(name)}, because it is already mounted to a different pod with a different SELinux label`;
}

function count({ labelCounts }: VolumeManager, what: LabelMetric, spec: VolumeSpec): void {
  const accessMode = accessModeName(spec);
  const key = `${what.metric} ${accessMode} ${what.plugin ?? ''}`;
  labelCounts.set(key, { accessMode, count: (labelCounts.get(key)?.count ?? 0) + 1, ...what });
}

/** In the form of these metrics. */
function pluginName(plugin: string, spec: VolumeSpec): string {
  const driver = plugin === csiPlugin ? csiDriverName(spec) : null;
  return driver?.ok === true ? `${plugin}/${driver.value}` : plugin;
}
