// The SELinux label for mounting a pod's volume, so that its files needn't be relabelled one by one: that of the files which the containers
// that mount it may use. Only on hosts with SELinux.
// Invariant: all containers that mount the volume agree on the label; a label that only the runtime will choose doesn't count.
import type { Container, SELinuxOptions } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { goQuote } from '../values/go-text.js';
import { byCodeUnits } from '../values/text-order.js';
import type { VolumeSpec } from './volume-spec.js';

/** `several`: containers disagree. `bad`: the host's own label is none. */
export type FileLabel = { readonly kind: 'label'; readonly label: string } | { readonly kind: 'several' | 'bad'; readonly message: string };

const exclusive = 'ReadWriteOncePod';

/** @param hostLabel the label of containers' files on this host (`system_u:object_r:container_file_t:s0`); '': unknown */
export function podFileLabel(pod: Pod, volumeName: string, hostLabel: string): FileLabel {
  const labels = new Set<string>();
  for (const options of optionsOf(pod, volumeName)) {
    const label = fileLabel(options, hostLabel);
    if (label === null) return { kind: 'bad', message: `failed to construct SELinux label from context ${goQuote(optionsText(options))}: invalid Label` };
    labels.add(label);
  }
  const sorted = [...labels].sort(byCodeUnits);
  if (sorted.length > 1) return { kind: 'several', message: `multiple SELinux labels found: ${sorted.join(',')}` };
  // The pod wants each file labelled by itself.
  const isRecursive = pod.spec.securityContext?.seLinuxChangePolicy === 'Recursive';
  return { kind: 'label', label: isRecursive ? '' : (sorted[0] ?? '') };
}

/** Whether a volume of such access modes may be mounted with a label. @param allModes the gate SELinuxMount */
export function mayBeMountedWithLabel(spec: VolumeSpec, allModes: boolean): boolean {
  if (spec.kind === 'inline') return false;
  const { accessModes = [] } = spec.persistentVolume.spec;
  return allModes || (accessModes.length === 1 && accessModes[0] === exclusive);
}

const accessModeNames: readonly (readonly [mode: string, short: string])[] = [
  ['ReadWriteMany', 'RWX'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteOnce', 'RWO'],
  [exclusive, 'RWOP'],
];

/** In the form of metrics: the widest mode that the volume allows. */
export function accessModeName(spec: VolumeSpec): string {
  if (spec.kind === 'inline') return 'inline';
  const { accessModes = [] } = spec.persistentVolume.spec;
  return accessModeNames.find(([mode]) => accessModes.includes(mode))?.[1] ?? '';
}

/** Of the containers that mount the volume and have options; the pod's options are the default. */
function optionsOf({ spec }: Pod, volumeName: string): SELinuxOptions[] {
  const { initContainers = [], containers, ephemeralContainers = [], securityContext } = spec;
  const all: readonly Pick<Container, 'volumeMounts' | 'securityContext'>[] = [...initContainers, ...containers, ...ephemeralContainers];
  return all.flatMap((container) => {
    const options = container.securityContext?.seLinuxOptions ?? securityContext?.seLinuxOptions;
    return options !== undefined && container.volumeMounts?.some(({ name }) => name === volumeName) === true ? [options] : [];
  });
}

/** User and level are those of the process, role and type those of files. null: the host's label has fewer parts than a label. */
function fileLabel({ user = '', role = '', type = '', level = '' }: SELinuxOptions, hostLabel: string): string | null {
  if (user + role + type + level === '' || hostLabel === '') return '';
  const [hostUser = '', hostRole, hostType, ...hostLevels] = hostLabel.split(':');
  if (hostRole === undefined || hostType === undefined) return null;
  // If processes have levels, the runtime selects one for each container without a level.
  if (level === '' && hostLevels.length > 0) return '';
  return [user === '' ? hostUser : user, hostRole, hostType, ...(level === '' ? [] : [level])].join(':');
}

/** In Go's format. */
function optionsText({ user = '', role = '', type = '', level = '' }: SELinuxOptions): string {
  return `&SELinuxOptions{User:${user},Role:${role},Type:${type},Level:${level},}`;
}
