// Finds the containers that requests name, and opens their logs and sessions (spec/config-and-api.md, 10.5 and 12).
// Invariant: a name from outside is only ever compared; paths and ids come from the agent's pods and from the runtime.

import { join } from 'node:path';
import { containerOfLogs } from '../../domain/logs/log-container.js';
import { containerLogDirectory } from '../../domain/values/log-paths.js';
import { newestAttemptFirst } from '../../domain/values/newest-first.js';
import type { ContainerAddress, Found, LogFile, NodeContainerOperations } from '../../ports/inbound/node-containers.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import type { Call, PortOf } from '../../ports/operation.js';
import type { ContainerOperations, ExecResult, RuntimeStateOperations } from '../../ports/outbound/container-runtime.js';
import type { RuntimeStreamingOperations, StreamingSession } from '../../ports/outbound/runtime-streaming.js';
import { PortError } from '../../ports/port-error.js';

export interface NodeContainerParts {
  /** With the agent's own statuses. */
  readonly pod: (namespace: string, name: string) => Pod | null;
  /** UIDs that the API may know a pod by: its own, and its mirror's. */
  readonly uidsOf: (pod: Pod) => readonly string[];
  readonly runtime: Pick<PortOf<RuntimeStateOperations>, 'inspectPod'>;
  readonly containers: Pick<PortOf<ContainerOperations>, 'execSync'>;
  readonly streaming: PortOf<RuntimeStreamingOperations>;
  readonly podLogsDirectory: string;
}

type Request<Name extends keyof NodeContainerOperations> = NodeContainerOperations[Name]['request'];
type Refused = Extract<Found<never>, { kind: 'refused' }>;

const noPod: Refused = { kind: 'refused', status: 404, message: 'pod does not exist' };

export class NodeContainers implements PortOf<NodeContainerOperations> {
  constructor(private readonly parts: NodeContainerParts) {}

  async logs({ namespace, podName, containerName, previous }: Request<'logs'>, call: Call): Promise<Found<LogFile>> {
    const pod = this.parts.pod(namespace, podName);
    if (pod === null) return noPod;
    const chosen = containerOfLogs(podName, pod.status ?? {}, containerName, previous);
    if (chosen.kind === 'refused') return refused(400, chosen.message);
    const id = chosen.containerId.replace(/^[^/]*:\/\//, '');
    return this.attempt(async () => {
      const status = await this.parts.runtime.inspectPod({ uid: pod.metadata.uid ?? '' }, call);
      const container = status?.containers.find((one) => one.id === id);
      if (container === undefined) return refused(400, `unable to retrieve container logs for ${chosen.containerId}`);
      const directory = containerLogDirectory(this.parts.podLogsDirectory, namespace, podName, pod.metadata.uid ?? '', containerName);
      const path = join(directory, `${container.restartCount}.log`);
      return { kind: 'found', value: { path, containerId: id } };
    });
  }

  async exec({ containerName, command, stdin, stdout, stderr, tty, ...address }: Request<'exec'>, call: Call): Promise<Found<StreamingSession>> {
    const pod = this.parts.pod(address.namespace, address.podName);
    if (pod === null) return noPod;
    return this.attempt(async () => {
      const containerId = await this.running(pod, { ...address, containerName }, call);
      if (containerId === null) return refused(500, `container not found (${JSON.stringify(containerName)})`);
      return { kind: 'found', value: await this.parts.streaming.exec({ containerId, command, stdin, stdout, stderr, tty }, call) };
    });
  }

  /** The container's configuration decides whether there is a terminal. */
  async attach({ containerName, stdin, stdout, stderr, ...address }: Request<'attach'>, call: Call): Promise<Found<StreamingSession>> {
    const pod = this.parts.pod(address.namespace, address.podName);
    if (pod === null) return noPod;
    return this.attempt(async () => {
      const containerId = await this.running(pod, { ...address, containerName }, call);
      if (containerId === null) return refused(500, `container ${containerName} not found in pod ${fullName(pod)}`);
      const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
      const tty = [...containers, ...initContainers, ...ephemeralContainers].find(({ name }) => name === containerName)?.tty === true;
      return { kind: 'found', value: await this.parts.streaming.attach({ containerId, stdin, stdout, stderr: stderr && !tty, tty }, call) };
    });
  }

  async portForward({ namespace, podName, podUid, ports }: Request<'portForward'>, call: Call): Promise<Found<StreamingSession>> {
    const pod = this.parts.pod(namespace, podName);
    if (pod === null) return noPod;
    if (podUid !== null && !this.parts.uidsOf(pod).includes(podUid)) return refused(404, 'pod not found');
    return this.attempt(async () => {
      const sandboxId = readySandbox(await this.parts.runtime.inspectPod({ uid: pod.metadata.uid ?? '' }, call));
      if (sandboxId === null) return refused(500, `pod not found (${JSON.stringify(fullName(pod))})`);
      return { kind: 'found', value: await this.parts.streaming.portForward({ sandboxId, ports }, call) };
    });
  }

  async run({ containerName, command, ...address }: Request<'run'>, call: Call): Promise<Found<ExecResult>> {
    const pod = this.parts.pod(address.namespace, address.podName);
    if (pod === null) return noPod;
    return this.attempt(async () => {
      const containerId = await this.running(pod, { ...address, containerName }, call);
      if (containerId === null) return refused(500, `container not found (${JSON.stringify(containerName)})`);
      return { kind: 'found', value: await this.parts.containers.execSync({ containerId, command, timeoutSeconds: 0 }, { ...call, timeoutMicros: null }) };
    });
  }

  /** By name only: ignores a uid in the path of a command, as the Go kubelet does. */
  private async running(pod: Pod, { containerName }: Pick<ContainerAddress, 'containerName'>, call: Call): Promise<string | null> {
    const status = await this.parts.runtime.inspectPod({ uid: pod.metadata.uid ?? '' }, call);
    return status?.containers.find(({ name, state }) => name === containerName && state === 'running')?.id ?? null;
  }

  private async attempt<Value>(work: () => Promise<Found<Value>>): Promise<Found<Value>> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof PortError)) throw error;
      return refused(error.kind === 'not-found' ? 404 : error.kind === 'resource-exhausted' ? 429 : 500, error.message);
    }
  }
}

function refused(status: number, message: string): Refused {
  return { kind: 'refused', status, message };
}

function fullName({ metadata }: Pod): string {
  return `${metadata.name}_${metadata.namespace ?? ''}`;
}

function readySandbox(status: PodRuntimeStatus | null): string | null {
  const ready = (status?.sandboxes ?? []).filter(({ state }) => state === 'ready').sort(newestAttemptFirst);
  return ready[0]?.id ?? null;
}
