// The containers, sandboxes and logs that requests from outside mean (spec/config-and-api.md, 10.5 and 12), and how a request is refused.
// Invariants: a name from outside is only ever compared; paths and ids come from the agent's pods and from the runtime. Messages are the kubelet's.
import type { Found, LogFile } from '../../ports/inbound/node-containers.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import type { PortError } from '../../ports/port-error.js';
import { containerOfLogs } from '../logs/log-container.js';
import { containerLogDirectory } from '../values/log-paths.js';
import { newestAttemptFirst } from '../values/newest-first.js';

type Refused = Extract<Found<never>, { kind: 'refused' }>;

export const noPod: Refused = { kind: 'refused', status: 404, message: 'pod does not exist' };

/** The id of the container whose logs are requested. @param pod with its newest status */
export function requestedLogs(pod: Pod, containerName: string, previous: boolean): Found<string> {
  const chosen = containerOfLogs(pod.metadata.name, pod.status ?? {}, containerName, previous);
  return chosen.kind === 'refused' ? refused(400, chosen.message) : { kind: 'found', value: chosen.containerId };
}

/** @param containerId as the API has it: `<runtime>://<id>` */
export function logFileOf(pod: Pod, containerName: string, containerId: string, status: PodRuntimeStatus | null, podLogsDirectory: string): Found<LogFile> {
  const id = containerId.replace(/^[^/]*:\/\//, '');
  const container = status?.containers.find((one) => one.id === id);
  if (container === undefined) return refused(400, `unable to retrieve container logs for ${containerId}`);
  const { name, namespace = '', uid = '' } = pod.metadata;
  const directory = containerLogDirectory(podLogsDirectory, namespace, name, uid, containerName);
  return { kind: 'found', value: { path: `${directory}/${container.restartCount}.log`, containerId: id } };
}

/** The running container of a command: by name only; a uid in the path of a command is ignored, as by the Go kubelet. */
export function containerToRunIn(containerName: string, status: PodRuntimeStatus | null): Found<string> {
  const id = runningId(containerName, status);
  return id === null ? refused(500, `container not found (${JSON.stringify(containerName)})`) : { kind: 'found', value: id };
}

/** The container to attach to, and whether its configuration gives it a terminal. */
export function containerToAttach(pod: Pod, containerName: string, status: PodRuntimeStatus | null): Found<{ readonly containerId: string; readonly tty: boolean }> {
  const containerId = runningId(containerName, status);
  if (containerId === null) return refused(500, `container ${containerName} not found in pod ${fullName(pod)}`);
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const tty = [...containers, ...initContainers, ...ephemeralContainers].find(({ name }) => name === containerName)?.tty === true;
  return { kind: 'found', value: { containerId, tty } };
}

/** @param uids those that the API may know the pod by: its own, and its mirror's @param podUid null: any */
export function podHasUid(uids: readonly string[], podUid: string | null): Refused | null {
  return podUid === null || uids.includes(podUid) ? null : refused(404, 'pod not found');
}

/** The sandbox whose ports are forwarded. */
export function sandboxToForward(pod: Pod, status: PodRuntimeStatus | null): Found<string> {
  const [ready] = (status?.sandboxes ?? []).filter(({ state }) => state === 'ready').sort(newestAttemptFirst);
  return ready === undefined ? refused(500, `pod not found (${JSON.stringify(fullName(pod))})`) : { kind: 'found', value: ready.id };
}

/** A failure of the runtime as a response. */
export function runtimeRefusal({ kind, message }: PortError): Refused {
  return refused(kind === 'not-found' ? 404 : kind === 'resource-exhausted' ? 429 : 500, message);
}

function runningId(containerName: string, status: PodRuntimeStatus | null): string | null {
  return status?.containers.find(({ name, state }) => name === containerName && state === 'running')?.id ?? null;
}

function refused(status: number, message: string): Refused {
  return { kind: 'refused', status, message };
}

function fullName({ metadata }: Pod): string {
  return `${metadata.name}_${metadata.namespace ?? ''}`;
}
