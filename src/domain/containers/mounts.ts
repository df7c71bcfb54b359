// A container's mounts: devices' first, volumes in the order of the spec, the hosts file, the termination message file.
// Invariant: a pod can't choose paths of the node beyond the volume it names: a subPath neither leaves its volume nor is absolute.
import type { Container } from '../../ports/model/container.js';
import type { ImageSpec, MountPropagation, RuntimeMount } from '../../ports/model/container-config.js';
import type { Pod } from '../../ports/model/pod.js';
import type { IdMapping } from '../../ports/model/sandbox-config.js';
import type { VolumeMount } from '../../ports/model/volume.js';
import { goQuote } from '../values/go-text.js';
import { podEtcHostsFile } from '../values/pod-directories.js';
import { joinPath } from '../values/slash-paths.js';
import { type EnvVariable, expandSubPath } from './env-expansion.js';
import { podGetsHostsFile } from './hosts-file.js';
import type { Resolved } from './namespaces.js';

const hostsPath = '/etc/hosts';

/** A volume of the pod that is ready for its containers. */
export interface MountedVolume {
  readonly hostPath: string;
  /** The volume itself can't be written to. */
  readonly readOnly?: boolean;
  /** The kubelet manages its ownership and labels. */
  readonly managed?: boolean;
  readonly selinuxRelabel?: boolean;
  /** The name of its directory, and of that of its sub paths; absent: the volume's name in the pod. */
  readonly directoryName?: string;
  /** A mount option has labelled it, so that no file needs to be. */
  readonly alreadyLabeledByMountOption?: boolean;
}

export interface MountInputs {
  readonly volumes: Readonly<Record<string, MountedVolume>>;
  /** Volumes that are images, which the runtime mounts itself. */
  readonly imageVolumes: Readonly<Record<string, ImageSpec>>;
  /** The secured paths of subPaths by volume mount index, if different from the plain one. */
  readonly subPathMounts: Readonly<Record<number, string>>;
  /** Why a subPath could not be made safe, by volume mount index. */
  readonly subPathFailures?: Readonly<Record<number, string>>;
  readonly deviceMounts: readonly RuntimeMount[];
  readonly podIps: readonly string[];
  /** `''`: none was made. */
  readonly terminationFile: string;
  readonly recursiveReadOnlySupported: boolean;
  readonly selinuxEnabled: boolean;
  readonly rootDirectory: string;
}

export function containerMounts(pod: Pod, container: Container, env: readonly EnvVariable[], inputs: MountInputs): Resolved<readonly RuntimeMount[]> {
  const mounts: RuntimeMount[] = [...inputs.deviceMounts];
  for (const [i, mount] of (container.volumeMounts ?? []).entries()) {
    const made = volumeMount(container, mount, i, env, inputs);
    if (!made.ok) return made;
    mounts.push(made.value);
  }
  const ownHosts = container.volumeMounts?.some((mount) => mount.mountPath === hostsPath) === true;
  if (!ownHosts && podGetsHostsFile(pod, inputs.podIps)) {
    mounts.push({ containerPath: hostsPath, hostPath: podEtcHostsFile(inputs.rootDirectory, pod.metadata.uid ?? ''), ...relabel(inputs.selinuxEnabled) });
  }
  const terminationPath = container.terminationMessagePath ?? '';
  if (terminationPath !== '' && inputs.terminationFile !== '') {
    mounts.push({ containerPath: absolute(terminationPath), hostPath: inputs.terminationFile, ...relabel(inputs.selinuxEnabled) });
  }
  return { ok: true, value: mounts };
}

/** Maps the owners of files for a pod with a user namespace of its own. */
export function withIdMappings(mounts: readonly RuntimeMount[], ids: readonly IdMapping[] | undefined): readonly RuntimeMount[] {
  return ids === undefined ? mounts : mounts.map((mount) => ({ ...mount, uidMappings: ids, gidMappings: ids }));
}

function volumeMount(container: Container, mount: VolumeMount, index: number, env: readonly EnvVariable[], inputs: MountInputs): Resolved<RuntimeMount> {
  const volume = Object.hasOwn(inputs.volumes, mount.name) ? inputs.volumes[mount.name] : undefined;
  if (volume === undefined) return refused(`cannot find volume ${goQuote(mount.name)} to mount into container ${goQuote(container.name)}`);
  const subPath = subPathOf(mount, env);
  if (!subPath.ok) return subPath;
  const failure = inputs.subPathFailures?.[index];
  if (failure !== undefined) return refused(failure);
  const propagation = propagationOf(mount.mountPropagation);
  if (!propagation.ok) return propagation;
  const recursive = recursiveReadOnly(mount, inputs.recursiveReadOnlySupported);
  if (!recursive.ok) return refused(`failed to resolve recursive read-only mode: ${recursive.message}`);
  const image = Object.hasOwn(inputs.imageVolumes, mount.name) ? inputs.imageVolumes[mount.name] : undefined;
  const label = inputs.selinuxEnabled && volume.managed === true && volume.selinuxRelabel === true && volume.alreadyLabeledByMountOption !== true;
  // The runtime uses it for image volumes only; it is set for all once the pod has one.
  const passesSubPath = subPath.value !== '' && Object.keys(inputs.imageVolumes).length > 0;
  return {
    ok: true,
    value: {
      containerPath: absolute(mount.mountPath),
      hostPath: image !== undefined ? '' : (inputs.subPathMounts[index] ?? (subPath.value === '' ? volume.hostPath : joinPath(volume.hostPath, subPath.value))),
      readonly: mount.readOnly === true || volume.readOnly === true,
      ...relabel(label),
      propagation: propagation.value,
      recursiveReadOnly: recursive.value,
      ...(image === undefined ? {} : { image }),
      ...(passesSubPath ? { imageSubPath: subPath.value } : {}),
    },
  };
}

/** The path inside the volume; `''` for all of it. */
export function subPathOf(mount: VolumeMount, env: readonly EnvVariable[]): Resolved<string> {
  let subPath = mount.subPath ?? '';
  if ((mount.subPathExpr ?? '') !== '') {
    const expanded = expandSubPath(mount.subPathExpr!, env);
    if (!expanded.ok) return expanded;
    subPath = expanded.subPath;
  }
  if (subPath.startsWith('/')) return refused(`error SubPath \`${subPath}\` must not be an absolute path`);
  if (subPath.split('/').includes('..')) return refused(`unable to provision SubPath \`${subPath}\`: must not contain '..'`);
  return { ok: true, value: subPath };
}

function propagationOf(mode: string | undefined): Resolved<MountPropagation> {
  switch (mode) {
    case undefined:
    case 'None':
      return { ok: true, value: 'PROPAGATION_PRIVATE' };
    case 'HostToContainer':
      return { ok: true, value: 'PROPAGATION_HOST_TO_CONTAINER' };
    case 'Bidirectional':
      return { ok: true, value: 'PROPAGATION_BIDIRECTIONAL' };
    default:
      return refused(`invalid MountPropagation mode: ${goQuote(mode)}`);
  }
}

/** Whether mounts below the volume are read-only too (KEP-3857). `IfPossible` forgives only a runtime that can't do it. */
function recursiveReadOnly(mount: VolumeMount, supported: boolean): Resolved<boolean> {
  const mode = mount.recursiveReadOnly;
  if (mode === undefined || mode === 'Disabled') return { ok: true, value: false };
  if (mode !== 'IfPossible' && mode !== 'Enabled') return refused(`unknown recursive read-only mode ${goQuote(mode)}`);
  const asks = `volume ${goQuote(mount.name)} requested recursive read-only mode, but it is not`;
  if (mount.readOnly !== true) return refused(`${asks} read-only`);
  if (mount.mountPropagation !== undefined && mount.mountPropagation !== 'None') return refused(`${asks} compatible with propagation ${goQuote(mount.mountPropagation)}`);
  if (mode === 'Enabled' && !supported) return refused(`${asks} supported by the runtime`);
  return { ok: true, value: supported };
}

function relabel(yes: boolean): { readonly selinuxRelabel?: true } {
  return yes ? { selinuxRelabel: true } : {};
}

function absolute(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}

function refused(message: string): Resolved<never> {
  return { ok: false, message };
}
