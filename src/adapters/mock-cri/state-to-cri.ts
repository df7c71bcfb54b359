// The simulated runtime's state in the CRI's messages: lists, statuses, images, events.
import { posix } from 'node:path';
import type { Micros } from '../../ports/micros.js';
import type { RuntimeImage } from '../../ports/outbound/container-runtime.js';
import type { SimContainer, SimRuntimeEvent, SimRuntimeState, SimSandbox } from '../../sim/index.js';
import { containerConfigToCri, criProtocol, imageSpecToCri, resourcesToCri, sandboxConfigToCri } from '../cri/index.js';

const { ContainerEventType, ContainerState, PodSandboxState } = criProtocol;

export function nanosOf(micros: Micros | null): bigint {
  return micros === null ? 0n : BigInt(micros) * 1_000n;
}

export function sandboxState(sandbox: SimSandbox): criProtocol.PodSandboxState {
  return sandbox.state === 'ready' ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY;
}

export function containerState({ state }: SimContainer): criProtocol.ContainerState {
  switch (state) {
    case 'created':
      return ContainerState.CONTAINER_CREATED;
    case 'running':
      return ContainerState.CONTAINER_RUNNING;
    case 'exited':
      return ContainerState.CONTAINER_EXITED;
    case 'unknown':
      return ContainerState.CONTAINER_UNKNOWN;
  }
}

export function listedSandbox(sandbox: SimSandbox): criProtocol.PodSandbox {
  const { id, config, createdAt, runtimeHandler } = sandbox;
  return {
    id,
    metadata: config.metadata,
    state: sandboxState(sandbox),
    createdAt: nanosOf(createdAt),
    labels: config.labels,
    annotations: config.annotations,
    runtimeHandler,
  };
}

export function listedContainer(container: SimContainer): criProtocol.Container {
  const { id, sandboxId, config, imageId, imageRef, createdAt } = container;
  return {
    id,
    podSandboxId: sandboxId,
    metadata: config.metadata,
    image: imageSpecToCri(config.image),
    imageRef,
    state: containerState(container),
    createdAt: nanosOf(createdAt),
    labels: config.labels,
    annotations: config.annotations,
    imageId,
  };
}

/** The usage of every running container: the simulated runtime has no real load. */
const usedCores = 0.01;
const usedMemoryBytes = 16n * 1024n * 1024n;
const writtenBytes = 32n * 1024n;

export function containerStats({ id, config, startedAt }: SimContainer, now: Micros, mountpoint: string): criProtocol.ContainerStats {
  const timestamp = nanosOf(now);
  const value = (amount: bigint) => ({ value: amount });
  const { labels, annotations, metadata } = config;
  return {
    attributes: { id, metadata, labels, annotations },
    cpu: { timestamp, usageCoreNanoSeconds: value(BigInt(Math.round(Math.max(0, now - (startedAt ?? now)) * 1_000 * usedCores))), usageNanoCores: undefined, psi: undefined },
    memory: {
      timestamp,
      workingSetBytes: value(usedMemoryBytes),
      availableBytes: undefined,
      usageBytes: value(usedMemoryBytes),
      rssBytes: value(usedMemoryBytes),
      pageFaults: undefined,
      majorPageFaults: undefined,
      psi: undefined,
    },
    writableLayer: { timestamp, fsId: { mountpoint }, usedBytes: value(writtenBytes), inodesUsed: value(8n) },
    swap: { timestamp, swapAvailableBytes: undefined, swapUsageBytes: value(0n) },
    io: undefined,
  };
}

export function sandboxStatus(sandbox: SimSandbox): criProtocol.PodSandboxStatus {
  const { id, config, createdAt, ip, runtimeHandler } = sandbox;
  const options = sandboxConfigToCri(config).linux?.securityContext?.namespaceOptions;
  return {
    id,
    metadata: config.metadata,
    state: sandboxState(sandbox),
    createdAt: nanosOf(createdAt),
    network: { ip: sandbox.state === 'ready' ? ip : '', additionalIps: [] },
    linux: { namespaces: { options } },
    labels: config.labels,
    annotations: config.annotations,
    runtimeHandler,
  };
}

/** The path of a container's log; '' if the sandbox or the container has none. */
export function logPathOf(container: SimContainer, state: SimRuntimeState): string {
  const directory = state.sandboxes.get(container.sandboxId)?.config.logDirectory ?? '';
  return directory === '' || container.config.logPath === '' ? '' : posix.join(directory, container.config.logPath);
}

/** `message` is the runtime's own; it doesn't contain the termination file. */
export function containerStatus(container: SimContainer, state: SimRuntimeState, message: string): criProtocol.ContainerStatus {
  const { id, config, imageId, imageRef, createdAt, startedAt, finishedAt, resources } = container;
  const ending = container.state === 'exited' ? container.ending : null;
  const image = state.images.get(imageId)?.repoTags[0] ?? config.image.image;
  return {
    id,
    metadata: config.metadata,
    state: containerState(container),
    createdAt: nanosOf(createdAt),
    startedAt: nanosOf(startedAt),
    finishedAt: nanosOf(finishedAt),
    exitCode: ending?.exitCode ?? 0,
    image: imageSpecToCri({ ...config.image, image }),
    imageRef,
    reason: ending?.reason ?? '',
    message: ending === null ? '' : message,
    labels: config.labels,
    annotations: config.annotations,
    mounts: containerConfigToCri(config).mounts,
    logPath: logPathOf(container, state),
    resources: resources === null ? undefined : { linux: resourcesToCri(resources), windows: undefined },
    imageId,
    user: undefined,
    stopSignal: containerConfigToCri(config).stopSignal,
  };
}

export function imageToCri(image: RuntimeImage): criProtocol.Image {
  return {
    id: image.id,
    repoTags: [...image.repoTags],
    repoDigests: [...image.repoDigests],
    size: BigInt(image.sizeBytes),
    uid: image.uid === null ? undefined : { value: BigInt(image.uid) },
    username: image.username,
    spec: imageSpecToCri({ image: image.id }),
    pinned: image.pinned,
  };
}

/** null: the CRI has no event for it. */
export function eventType(kind: SimRuntimeEvent['kind']): criProtocol.ContainerEventType | null {
  switch (kind) {
    case 'created':
      return ContainerEventType.CONTAINER_CREATED_EVENT;
    case 'started':
      return ContainerEventType.CONTAINER_STARTED_EVENT;
    case 'stopped':
      return ContainerEventType.CONTAINER_STOPPED_EVENT;
    case 'deleted':
      return ContainerEventType.CONTAINER_DELETED_EVENT;
    case 'logReopened':
      return null;
  }
}
