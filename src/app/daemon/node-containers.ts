// Serves requests for containers: asks the runtime, lets the domain choose, and opens what was chosen.
import { containerToAttach, containerToRunIn, logFileOf, noPod, podHasUid, requestedLogs, runtimeRefusal, sandboxToForward } from '../../domain/containers/requested-container.js';
import type { Found, LogFile, NodeContainerOperations } from '../../ports/inbound/node-containers.js';
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

export class NodeContainers implements PortOf<NodeContainerOperations> {
  constructor(private readonly parts: NodeContainerParts) {}

  async logs({ namespace, podName, containerName, previous }: Request<'logs'>, call: Call): Promise<Found<LogFile>> {
    const pod = this.parts.pod(namespace, podName);
    if (pod === null) return noPod;
    const id = requestedLogs(pod, containerName, previous);
    if (id.kind === 'refused') return id;
    return attempt(async () => logFileOf(pod, containerName, id.value, await this.status(pod, call), this.parts.podLogsDirectory));
  }

  async exec({ containerName, command, stdin, stdout, stderr, tty, namespace, podName }: Request<'exec'>, call: Call): Promise<Found<StreamingSession>> {
    const { streaming } = this.parts;
    return this.withRunning(namespace, podName, containerName, call, (containerId) => streaming.exec({ containerId, command, stdin, stdout, stderr, tty }, call));
  }

  async attach({ containerName, stdin, stdout, stderr, namespace, podName }: Request<'attach'>, call: Call): Promise<Found<StreamingSession>> {
    const pod = this.parts.pod(namespace, podName);
    if (pod === null) return noPod;
    return attempt(async () => {
      const found = containerToAttach(pod, containerName, await this.status(pod, call));
      if (found.kind === 'refused') return found;
      const { containerId, tty } = found.value;
      return { kind: 'found', value: await this.parts.streaming.attach({ containerId, stdin, stdout, stderr: stderr && !tty, tty }, call) };
    });
  }

  async portForward({ namespace, podName, podUid, ports }: Request<'portForward'>, call: Call): Promise<Found<StreamingSession>> {
    const pod = this.parts.pod(namespace, podName);
    if (pod === null) return noPod;
    const otherPod = podHasUid(this.parts.uidsOf(pod), podUid);
    if (otherPod !== null) return otherPod;
    return attempt(async () => {
      const sandbox = sandboxToForward(pod, await this.status(pod, call));
      if (sandbox.kind === 'refused') return sandbox;
      return { kind: 'found', value: await this.parts.streaming.portForward({ sandboxId: sandbox.value, ports }, call) };
    });
  }

  async run({ containerName, command, namespace, podName }: Request<'run'>, call: Call): Promise<Found<ExecResult>> {
    const { containers } = this.parts;
    return this.withRunning(namespace, podName, containerName, call, (containerId) =>
      containers.execSync({ containerId, command, timeoutSeconds: 0 }, { ...call, timeoutMicros: null }),
    );
  }

  private async withRunning<Value>(namespace: string, podName: string, containerName: string, call: Call, work: (containerId: string) => Promise<Value>): Promise<Found<Value>> {
    const pod = this.parts.pod(namespace, podName);
    if (pod === null) return noPod;
    return attempt(async () => {
      const found = containerToRunIn(containerName, await this.status(pod, call));
      return found.kind === 'refused' ? found : { kind: 'found', value: await work(found.value) };
    });
  }

  private status(pod: Pod, call: Call): Promise<PodRuntimeStatus | null> {
    return this.parts.runtime.inspectPod({ uid: pod.metadata.uid ?? '' }, call);
  }
}

async function attempt<Value>(work: () => Promise<Found<Value>>): Promise<Found<Value>> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof PortError)) throw error;
    return runtimeRefusal(error);
  }
}
