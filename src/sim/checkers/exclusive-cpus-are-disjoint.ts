// No CPU is exclusive to two running containers. An exclusive container is recognized by its missing quota.
import { parseCpuSet } from '../../domain/values/cpu-set.js';
import type { SimContainer } from '../runtime/runtime-state.js';
import type { Checker } from './checker.js';

export const exclusiveCpusAreDisjoint: Checker<null> = {
  name: 'exclusive-cpus-are-disjoint',
  fresh: () => null,
  look(_memory, what, { runtime }, report) {
    if (what.kind !== 'runtime' || what.event.kind !== 'started') return;
    const started = runtime.containers.get(what.event.containerId);
    if (started?.state !== 'running') return;
    const cpus = new Set(exclusiveCpus(started));
    if (cpus.size === 0) return;
    for (const other of runtime.containers.values()) {
      if (other.id === started.id || other.state !== 'running') continue;
      const shared = exclusiveCpus(other).filter((cpu) => cpus.has(cpu));
      if (shared.length > 0) report(`CPUs ${shared.join()} are given to ${started.name} and to ${other.name}`);
    }
  },
};

/** Empty without exclusive CPUs. */
export function exclusiveCpus({ resources }: SimContainer): readonly number[] {
  if (resources?.cpuQuota !== -1) return [];
  const parsed = parseCpuSet(resources.cpusetCpus ?? '');
  return parsed.ok ? parsed.value : [];
}
