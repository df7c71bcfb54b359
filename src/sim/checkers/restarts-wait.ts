// Crash-loop back-off: from the second restart on a container waits 10 s after its end, twice as long after each further one, up to the maximum. The
// intervals are those of the monotonic clock: setting the wall clock neither ends nor prolongs them. A restarted agent begins to count again, and a
// back-off that was not used for twice the maximum is forgotten. A sync that itself kills a container, for a probe or a change, starts the next one
// at once: as in the Go kubelet, it counts from the end before that one.
import { containerLabels } from '../../domain/values/container-labels.js';
import type { Micros } from '../../ports/micros.js';
import type { CheckedNode, Checker } from './checker.js';

interface Restarts {
  /** Starts that followed on an end, without a pause that lets them be forgotten. */
  count: number;
  /** The earliest moment at which the agent may have counted the last one: it counts before it asks for the image. */
  lastAt: Micros;
}

/** Ends are known to the second. */
const slack: Micros = 1_100_000;
const initial: Micros = 10_000_000;
const longest: Micros = 300_000_000;

interface Memory {
  readonly restarts: Map<string, Restarts>;
  /** Containers that this agent stopped, and when: it may have taken one for running that had ended. */
  readonly stopped: Map<string, Micros>;
}

export const restartsWait: Checker<Memory> = {
  name: 'restarts-wait',
  fresh: () => ({ restarts: new Map(), stopped: new Map() }),
  look({ restarts, stopped }, what, node, report) {
    if (what.kind === 'started') {
      restarts.clear();
      stopped.clear();
    }
    if (what.kind !== 'command') return;
    if (what.command.op === 'containers.stop') stopped.set(what.command.request.containerId, node.now);
    if (what.command.op === 'containers.remove') stopped.delete(what.command.request.containerId);
    if (what.command.op !== 'containers.create') return;
    const { sandboxId, config, sandboxConfig } = what.command.request;
    const { name } = config.metadata;
    const { uid } = sandboxConfig.metadata;
    const endedAt = newestEnd(node, uid, name, stopped);
    if (endedAt === null) return;
    // A container with another image or other resources is another one.
    const key = JSON.stringify([uid, name, sandboxId, config.image, node.agent.pods.pods.get(uid)?.spec.containers, node.agent.pods.pods.get(uid)?.spec.initContainers]);
    const max = node.agent.settings.maxContainerRestartPeriod ?? longest;
    const before = restarts.get(key) ?? null;
    const isForgotten = before === null || node.now - before.lastAt > 2 * max;
    const delay = isForgotten ? 0 : Math.min(Math.min(initial, max) * 2 ** (before.count - 1), max);
    if (!isForgotten) {
      if (node.now - endedAt < delay - slack) report(`container ${name} of pod ${uid} starts again ${(node.now - endedAt) / 1e6} s after its end, and not after ${delay / 1e6} s`);
    }
    restarts.set(key, { count: isForgotten ? 1 : before.count + 1, lastAt: Math.min(node.now, endedAt + delay) });
  },
};

/** When the last of its name ended that was not killed by the same sync; null: none is there that has. */
function newestEnd({ runtime, now }: CheckedNode, uid: string, name: string, stopped: ReadonlyMap<string, Micros>): Micros | null {
  let newest: Micros | null = null;
  for (const { id, podUid, config, state, finishedAt } of runtime.containers.values()) {
    const stoppedAt = stopped.get(id);
    if (stoppedAt !== undefined && finishedAt !== null && now - Math.max(finishedAt, stoppedAt) < slack) continue;
    if (podUid !== uid || config.labels[containerLabels.containerName] !== name || state !== 'exited' || finishedAt === null) continue;
    newest = Math.max(newest ?? 0, finishedAt);
  }
  return newest;
}
