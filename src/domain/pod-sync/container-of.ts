// A pod's container by its name, whatever kind it is of.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';

export function containerOf(pod: Pod, name: string): Container | null {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  return [...containers, ...initContainers, ...ephemeralContainers].find((container) => container.name === name) ?? null;
}
