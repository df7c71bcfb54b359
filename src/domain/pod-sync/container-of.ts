// A pod's container of any kind by its name.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';

export function containerOf(pod: Pod, name: string): Container | null {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  return [...containers, ...initContainers, ...ephemeralContainers].find((container) => container.name === name) ?? null;
}
