// Which volumes are measured by a project quota instead of a walk.
// It requires a user namespace: a process in the host's namespace could move its files to another project.
import type { Pod } from '../../ports/model/pod.js';
import type { NodeFacts } from '../containers/node-facts.js';
import type { VolumeSpec } from './volume-spec.js';

/** An emptyDir of the default medium. A volume found on disk counts as one, since its spec is unknown. */
export function isOnDisk(spec: VolumeSpec): boolean {
  return spec.kind === 'inline' && spec.volume.emptyDir !== undefined && (spec.volume.emptyDir.medium ?? '') === '';
}

export function hasProjectQuota(pod: Pod, spec: VolumeSpec, { projectQuotas }: Pick<NodeFacts, 'projectQuotas'>): boolean {
  return projectQuotas && pod.spec.hostUsers === false && isOnDisk(spec);
}
