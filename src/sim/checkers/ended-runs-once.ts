// A container that the API shows as ended, and that may not restart, is never created again. Skips init containers, which run again in a new
// sandbox, and pods whose rules may restart all of their containers.
import { isRestartableAfterExit, podHasRestartAllRule } from '../../domain/status/restart-rules.js';
import type { Pod } from '../../ports/model/pod.js';
import { objectKey } from '../apiserver/object-store.js';
import type { Checker } from './checker.js';

export const endedRunsOnce: Checker<null> = {
  name: 'ended-runs-once',
  fresh: () => null,
  look(_memory, what, { apiserver }, report) {
    if (what.kind !== 'command' || what.command.op !== 'containers.create' || apiserver === null) return;
    const { config, sandboxConfig } = what.command.request;
    const { uid, name, namespace } = sandboxConfig.metadata;
    const pod = apiserver.store.get('pods', objectKey(namespace, name)) as unknown as Pod | null;
    if (pod === null || pod.metadata.uid !== uid || podHasRestartAllRule(pod)) return;
    const exitCode = endOf(pod, config.metadata.name);
    if (exitCode !== null) report(`container ${config.metadata.name} of pod ${uid} is made again, which has ended with ${exitCode}`);
  },
};

/** The exit code of an ended container that may not run again; null: none. */
function endOf(pod: Pod, name: string): number | null {
  const { containerStatuses = [], ephemeralContainerStatuses = [] } = pod.status ?? {};
  const end = [...containerStatuses, ...ephemeralContainerStatuses].find((status) => status.name === name)?.state?.terminated;
  const container = pod.spec.containers.find((candidate) => candidate.name === name);
  if (end === undefined || end === null || (container !== undefined && isRestartableAfterExit(pod, container, end.exitCode))) return null;
  return end.exitCode;
}
