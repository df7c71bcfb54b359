// Checks that prevent a mount before any change on the node, in the order of the reference.
import { matchesNodeSelectorTerm } from '../values/node-affinity.js';
import { volumePluginFor } from '../volumes/volume-plugins.js';
import { isBlockVolume, type VolumeSpec } from '../volumes/volume-spec.js';
import type { VolumeContext, VolumeFailure } from './volume-kind.js';
import type { ActualVolume, VolumeOperation } from './volume-manager-state.js';

const mountOptionsAnnotation = 'volume.beta.kubernetes.io/mount-options';
const exclusive = 'ReadWriteOncePod';

/** Null: it may be mounted. */
export function mountRefusal(actual: ActualVolume, { spec, uid }: VolumeOperation, context: VolumeContext): VolumeFailure | null {
  if (spec.kind === 'inline') return null;
  const plugin = volumePluginFor(spec);
  const isBlock = isBlockVolume(spec);
  const doing = isBlock ? 'MapVolume' : 'MountVolume';
  if (plugin === null) return refused(`${doing}.${isBlock ? 'FindMapperPluginBySpec' : 'FindPluginBySpec'} failed`, 'no volume plugin matched');
  const terms = spec.persistentVolume.spec.nodeAffinity?.required?.nodeSelectorTerms;
  const labels = context.node?.metadata.labels ?? {};
  if (terms !== undefined && !terms.some((term) => matchesNodeSelectorTerm(term, context.nodeName, labels))) {
    return refused(`${doing}.NodeAffinity check failed`, 'no matching NodeSelectorTerms');
  }
  if (!isBlock && !plugin.supportsMountOptions && mountOptionsOf(spec).length > 0) {
    return refused('MountVolume.MountOptionSupport check failed', 'mount options are not supported for this volume type');
  }
  const { accessModes = [] } = spec.persistentVolume.spec;
  const others = [...actual.pods.keys()].some((other) => other !== uid);
  if (accessModes.length === 1 && accessModes[0] === exclusive && others) {
    return refused(isBlock ? 'MapVolume.SetUpDevice failed' : 'MountVolume.SetUp failed', 'volume uses the ReadWriteOncePod access mode and is already in use by another pod');
  }
  return null;
}

/** Those of the persistent volume; the annotation of old wins. */
export function mountOptionsOf(spec: VolumeSpec): readonly string[] {
  if (spec.kind === 'inline') return [];
  const { metadata, spec: volume } = spec.persistentVolume;
  const annotated = metadata.annotations?.[mountOptionsAnnotation];
  return annotated === undefined ? (volume.mountOptions ?? []) : annotated.split(',').filter((option) => option !== '');
}

function refused(prefix: string, message: string): VolumeFailure {
  return { prefix, message, severity: 'final' };
}
