// Which volumes are measured by a project quota instead of a walk.
// A user namespace is what it takes: a process in the host's own could give its files another project.
import type { Pod } from '../../ports/model/pod.js';
import type { NodeFacts } from '../containers/node-facts.js';
import type { VolumeSpec } from './volume-spec.js';

/** An emptyDir of the default medium. What was found on disk is taken for one: no more is known of it. */
export function isOnDisk(spec: VolumeSpec): boolean {
  return spec.kind === 'inline' && spec.volume.emptyDir !== undefined && (spec.volume.emptyDir.medium ?? '') === '';
}

export function hasProjectQuota(pod: Pod, spec: VolumeSpec, { projectQuotas }: Pick<NodeFacts, 'projectQuotas'>): boolean {
  return projectQuotas && pod.spec.hostUsers === false && isOnDisk(spec);
}
