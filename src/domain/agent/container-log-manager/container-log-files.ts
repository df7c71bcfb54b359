// The files of one container instance's log on the node: removed with it, and rotated.
import type { PodRuntimeStatus, RuntimeContainerStatus } from '../../../ports/model/runtime-status.js';
import type { PodLogOperations } from '../../../ports/outbound/pod-files.js';
import { containerLogPath, legacyLogSymlink, podLogDirectory } from '../../values/log-paths.js';
import type { AgentSettings } from '../settings.js';

type PodIdentity = Pick<PodRuntimeStatus, 'namespace' | 'name' | 'uid'>;
type ContainerInstance = Pick<RuntimeContainerStatus, 'id' | 'name' | 'restartCount'>;

/** The path of the log, as in the container's creation. */
export function logPathOf({ podLogsDirectory }: Pick<AgentSettings, 'podLogsDirectory'>, pod: PodIdentity, { name, restartCount }: ContainerInstance): string {
  return `${podLogDirectory(podLogsDirectory, pod.namespace, pod.name, pod.uid)}/${containerLogPath(name, restartCount)}`;
}

/** The log with its rotated files, and its link. */
export function logFilesOf(
  settings: Pick<AgentSettings, 'podLogsDirectory' | 'containerLogLinks'>,
  pod: PodIdentity,
  container: ContainerInstance,
): PodLogOperations['removeContainerLogs']['request'] {
  const link = legacyLogSymlink(container.id, container.name, pod.name, pod.namespace);
  const { containerLogLinks } = settings;
  return { logPaths: [logPathOf(settings, pod, container)], links: containerLogLinks === null ? [] : [`${containerLogLinks}${link.slice(link.lastIndexOf('/'))}`] };
}
