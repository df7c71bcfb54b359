// Project quotas of the host's one file system, as a model: the project of each directory, with the scenario's usage of pods.
import { firstProjectId, type ProjectQuotaOperations, type QuotaAssignment, type QuotaPlace } from '../../ports/outbound/project-quotas.js';
import type { ModelOf } from './host-ports.js';
import type { SimHostState } from './host-state.js';
import { checkName, HostRefusal } from './refusal.js';

export class SimProjectQuotas implements ModelOf<ProjectQuotaOperations> {
  constructor(private readonly state: SimHostState) {}

  assign(place: QuotaPlace): QuotaAssignment {
    checkPlace(place);
    const { isSupported, projects } = this.state.projectQuotas;
    if (this.state.podDirectories.get(place.uid)?.volumes.has(keyOf(place)) !== true) throw new HostRefusal('not-found', `the pod ${place.uid} has no volume ${keyOf(place)}`);
    if (!isSupported) return { kind: 'unsupported', reason: 'the simulated file system has no project quotas' };
    // As the real one does when needed: frees the projects of removed volumes.
    for (const record of projects.keys()) if (!this.isThere(record)) projects.delete(record);
    const taken = new Set(projects.values());
    let projectId = projects.get(recordOf(place)) ?? firstProjectId;
    if (!projects.has(recordOf(place))) while (taken.has(projectId)) projectId++;
    projects.set(recordOf(place), projectId);
    return { kind: 'assigned', projectId };
  }

  private isThere(record: string): boolean {
    const slash = record.indexOf('/');
    return this.state.podDirectories.get(record.slice(0, slash))?.volumes.has(record.slice(slash + 1)) === true;
  }

  clear(place: QuotaPlace): null {
    checkPlace(place);
    this.state.projectQuotas.projects.delete(recordOf(place));
    return null;
  }

  usage(place: QuotaPlace): ProjectQuotaOperations['usage']['reply'] {
    checkPlace(place);
    const volume = this.state.podDirectories.get(place.uid)?.volumes.get(keyOf(place));
    if (volume === undefined || !this.state.projectQuotas.projects.has(recordOf(place))) return null;
    return { usedBytes: this.state.usage.pods.get(place.uid)?.volumes[place.volume] ?? 0, inodesUsed: volume.nodes.size + 1 };
  }
}

function keyOf({ plugin, volume }: QuotaPlace): string {
  return `${plugin}/${volume}`;
}

function recordOf(place: QuotaPlace): string {
  return `${place.uid}/${keyOf(place)}`;
}

function checkPlace({ uid, plugin, volume }: QuotaPlace): void {
  for (const name of [uid, plugin, volume]) checkName(name);
}
