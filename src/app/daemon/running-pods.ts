// All pods that run in the runtime now, including unknown ones: names and images.
import type { RunningPod } from '../../adapters/http-server/index.js';
import type { PortOf } from '../../ports/operation.js';
import type { RuntimeStateOperations } from '../../ports/outbound/container-runtime.js';

/** Pods with a ready sandbox or a running container. */
export async function runningPods(runtime: Pick<PortOf<RuntimeStateOperations>, 'listPods' | 'inspectPod'>, signal: AbortSignal): Promise<readonly RunningPod[]> {
  const call = { signal, timeoutMicros: null };
  const { pods } = await runtime.listPods({ uid: null }, call);
  const found: RunningPod[] = [];
  for (const { uid, name, namespace, containers, sandboxes } of pods) {
    const runs = containers.some(({ state }) => state === 'running');
    if (!runs && !sandboxes.some(({ state }) => state === 'ready')) continue;
    const status = runs ? await runtime.inspectPod({ uid }, call) : null;
    const running = (status?.containers ?? []).filter(({ state }) => state === 'running');
    found.push({ uid, name, namespace, containers: running.map((container) => ({ name: container.name, image: container.image })) });
  }
  return found;
}
