// Project quotas of a swarm's nodes: each volume that may have a project has one of its own, and in the end no project exists.
import { measuredVolumes } from '../../src/domain/volume-manager/measured-volumes.js';
import type { SimClusterNode } from '../../src/sim/index.js';

const struckBy = ({ model }: SimClusterNode, operation: string) => [...model.struck.keys()].some((key) => key.startsWith(`${operation} `));

/** A volume whose assignment fails is none the worse, and is not tried again. */
export function uncounted(node: SimClusterNode): string[] {
  if (struckBy(node, 'projectQuotas.assign')) return [];
  const { agent, host } = node;
  const places = [...agent.volumes.pods.keys()].flatMap((uid) => measuredVolumes(agent.volumes, uid, agent.nodeFacts).flatMap(({ quota }) => quota ?? []));
  return places.flatMap(({ uid, plugin, volume }) => (host.state.projectQuotas.projects.has(`${uid}/${plugin}/${volume}`) ? [] : [`nobody counts what ${uid} has in ${volume}`]));
}

/** A project that could not be freed is found with the next one that is made. */
export function projectsLeft(node: SimClusterNode): number {
  return struckBy(node, 'projectQuotas.clear') ? 0 : node.host.state.projectQuotas.projects.size;
}
