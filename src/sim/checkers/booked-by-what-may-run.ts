// Reserved resources belong to containers that may still run: once a container after an init container starts, the init container has ended and
// holds nothing of its own.
import { isRestartableInit } from '../../domain/status/restart-rules.js';
import type { Container } from '../../ports/model/container.js';
import type { CheckedNode, Checker } from './checker.js';

export const bookedByWhatMayRun: Checker<null> = {
  name: 'booked-by-what-may-run',
  fresh: () => null,
  look(_memory, what, node, report) {
    if (what.kind !== 'runtime' || what.event.kind !== 'started') return;
    const { podUid, config } = node.runtime.containers.get(what.event.containerId) ?? {};
    if (podUid === undefined || config === undefined) return;
    for (const booked of bookedBefore(node, podUid, config.metadata.name)) report(`${config.metadata.name} of pod ${podUid} starts, and ${booked}`);
  },
};

/** Resources that ended init containers still hold when the container starts. */
export function bookedBefore({ agent }: Pick<CheckedNode, 'agent'>, uid: string, started: string): readonly string[] {
  const { alignment } = agent;
  const pod = agent.pods.pods.get(uid);
  if (alignment === null || pod === undefined) return [];
  const { initContainers = [], containers } = pod.spec;
  const all: readonly Container[] = [...initContainers, ...containers];
  const at = initContainers.findIndex(({ name }) => name === started);
  const over = initContainers.slice(0, at < 0 ? initContainers.length : at).filter((init) => !isRestartableInit(init));
  const cpus = alignment.cpu.assignments.get(uid);
  const memory = alignment.memory.assignments.get(uid);
  const lasting = new Set(all.filter((container) => !over.includes(container)).flatMap(({ name }) => cpus?.get(name) ?? []));
  return over.flatMap(({ name }) => [
    ...(cpus?.get(name)?.some((cpu) => !lasting.has(cpu)) === true ? [`CPUs ${cpus.get(name)?.join()} are booked for ${name}, which is over`] : []),
    ...(memory?.has(name) === true ? [`memory is booked for ${name}, which is over`] : []),
  ]);
}
