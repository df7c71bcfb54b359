// All pods that run in the runtime now, including unknown ones: names and images.
import type { RunningPod } from '../../adapters/http-server/index.js';
import type { ListedPod } from '../../ports/model/runtime-listing.js';
import type { Call, PortOf } from '../../ports/operation.js';
import type { RuntimeStateOperations } from '../../ports/outbound/container-runtime.js';

type Runtime = Pick<PortOf<RuntimeStateOperations>, 'listPods' | 'inspectPod'>;

/** Inspections at a time: one after the other, those of a full node take a second. */
const inspectionsMax = 16;

/** Pods with a ready sandbox or a running container. */
export async function runningPods(runtime: Runtime, signal: AbortSignal): Promise<readonly RunningPod[]> {
  const call = { signal, timeoutMicros: null };
  const { pods } = await runtime.listPods({ uid: null }, call);
  const listed = pods.filter((pod) => hasRunning(pod) || pod.sandboxes.some(({ state }) => state === 'ready'));
  const found: RunningPod[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < listed.length; at = next++) found[at] = await runningPod(runtime, listed[at] as ListedPod, call);
  };
  await Promise.all(Array.from({ length: inspectionsMax }, worker));
  return found;
}

async function runningPod(runtime: Runtime, pod: ListedPod, call: Call): Promise<RunningPod> {
  const { uid, name, namespace } = pod;
  const status = hasRunning(pod) ? await runtime.inspectPod({ uid }, call) : null;
  const running = (status?.containers ?? []).filter(({ state }) => state === 'running');
  return { uid, name, namespace, containers: running.map((container) => ({ name: container.name, image: container.image })) };
}

function hasRunning({ containers }: ListedPod): boolean {
  return containers.some(({ state }) => state === 'running');
}
