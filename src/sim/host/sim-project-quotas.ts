// Project quotas of the host's one file system, as a model: by directory which project it has, with what a scenario says that pods use.
import { unreachable } from '../../domain/kernel/assert.js';
import { firstProjectId, type ProjectQuotaOperations, type QuotaAssignment, type QuotaPlace } from '../../ports/outbound/project-quotas.js';
import type { SimHostState } from './host-state.js';
import { checkName, HostRefusal } from './refusal.js';

export type ProjectQuotaRequest = {
  readonly [Name in keyof ProjectQuotaOperations]: { readonly op: `projectQuotas.${Name}`; readonly request: ProjectQuotaOperations[Name]['request'] };
}[keyof ProjectQuotaOperations];

export function isProjectQuotaRequest(asked: { readonly op: string }): asked is ProjectQuotaRequest {
  return asked.op.startsWith('projectQuotas.');
}

export class SimProjectQuotas {
  constructor(private readonly state: SimHostState) {}

  answer({ op, request }: ProjectQuotaRequest): unknown {
    for (const name of [request.uid, request.plugin, request.volume]) checkName(name);
    switch (op) {
      case 'projectQuotas.assign':
        return this.assign(request);
      case 'projectQuotas.clear':
        return this.clear(request);
      case 'projectQuotas.usage':
        return this.usage(request);
      default:
        return unreachable(op);
    }
  }

  private assign(place: QuotaPlace): QuotaAssignment {
    const { isSupported, projects } = this.state.projectQuotas;
    if (this.state.podDirectories.get(place.uid)?.volumes.has(keyOf(place)) !== true) throw new HostRefusal('not-found', `the pod ${place.uid} has no volume ${keyOf(place)}`);
    if (!isSupported) return { kind: 'unsupported', reason: 'the simulated file system has no project quotas' };
    // As the real one does when it has a reason to look: volumes that are gone.
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

  private clear(place: QuotaPlace): null {
    this.state.projectQuotas.projects.delete(recordOf(place));
    return null;
  }

  private usage(place: QuotaPlace): ProjectQuotaOperations['usage']['reply'] {
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
