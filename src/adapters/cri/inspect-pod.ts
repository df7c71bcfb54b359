// The full inspection of one pod: the status of each of its sandboxes and containers, in the domain's terms.
// Invariants: objects that the runtime no longer has (NOT_FOUND between the list and the inspection) are omitted; any other failure fails the call. A status
// is taken only from the object that was asked for, and of this pod: the agent stops and removes by these ids.
import { isIP } from 'node:net';
import { annotatedPreStop, containerAnnotations, containerLabels } from '../../domain/values/container-labels.js';
import { goQuote } from '../../domain/values/go-text.js';
import { type Attempted, newestAttemptFirst } from '../../domain/values/newest-first.js';
import { resourcesInStatus } from '../../domain/values/resources-in-status.js';
import type { Micros } from '../../ports/micros.js';
import type { ListedPod } from '../../ports/model/runtime-listing.js';
import type { PodRuntimeStatus, RuntimeContainerStatus, RuntimeContainerUser, SandboxStatus } from '../../ports/model/runtime-status.js';
import type { Call } from '../../ports/operation.js';
import { PortError } from '../../ports/port-error.js';
import { resourcesFromCri, stopSignalFromCri } from './config-from-cri.js';
import { brokenAnswer, type CriConnection } from './connection.js';
import {
  ContainerState,
  type ContainerStatus,
  type LinuxContainerUser,
  NamespaceMode,
  type PodSandboxNetworkStatus,
  PodSandboxState,
  type PodSandboxStatus,
  RuntimeServiceService,
} from './gen/cri-runtime-v1.js';
import { terminationMessageOf } from './termination-message.js';
import { containerStateFromCri, instantOfNanos } from './values-from-cri.js';

const operation = 'runtime.inspectPod';

/** null if all of it is gone meanwhile. */
export async function inspectListedPod(connection: CriConnection, listed: ListedPod, observedAt: Micros, call: Call): Promise<PodRuntimeStatus | null> {
  const { uid } = listed;
  if (listed.sandboxes.some(({ id }) => id === '')) throw brokenAnswer('the list has a sandbox whose Id is not set', operation, uid);
  const unnamed = listed.containers.find(({ id }) => id === '');
  if (unnamed !== undefined) throw brokenAnswer(`the list has a container ${goQuote(unnamed.name)} whose Id is not set`, operation, uid);
  const [sandboxAnswers, containerAnswers] = await Promise.all([
    Promise.all(listed.sandboxes.map(({ id }) => present(sandboxStatus(connection, id, uid, call)))),
    Promise.all(listed.containers.map(({ id, sandboxId }) => present(containerStatus(connection, { id, sandboxId, uid }, call)))),
  ]);
  const found = sandboxAnswers.filter((answer) => answer !== null);
  const containers = containerAnswers
    .filter((answer) => answer !== null)
    .sort((a, b) => newestAttemptFirst(a, b))
    .map(({ status }) => status);
  if (found.length === 0 && containers.length === 0) return null;
  const sandboxes = found.map((answer) => answer.status).sort(newestAttemptFirst);
  const newest = sandboxes[0];
  const network = found.find((answer) => answer.status === newest)?.network;
  const metadata = found[0]?.metadata;
  return {
    uid: listed.uid,
    name: metadata?.name ?? listed.name,
    namespace: metadata?.namespace ?? listed.namespace,
    ips: newest?.state === 'ready' ? addressesOf(network) : [],
    sandboxes,
    containers,
    observedAt,
  };
}

async function present<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof PortError && error.kind === 'not-found') return null;
    throw error;
  }
}

interface SandboxAnswer {
  readonly status: SandboxStatus;
  readonly network: PodSandboxNetworkStatus | undefined;
  readonly metadata: { readonly name: string; readonly namespace: string };
}

async function sandboxStatus(connection: CriConnection, id: string, uid: string, call: Call): Promise<SandboxAnswer> {
  const target = { operation, subject: id, deadlineMicros: connection.requestTimeoutMicros };
  const { status } = await connection.unary(RuntimeServiceService.podSandboxStatus, { podSandboxId: id, verbose: false }, call, target);
  const problem = sandboxProblem(status) ?? foreignProblem(status, id, uid);
  if (status?.metadata === undefined || problem !== null) throw brokenAnswer(problem ?? 'status is not set', operation, id);
  const { network, metadata } = status;
  return { status: sandboxStatusFromCri(status, metadata.attempt), network, metadata };
}

function sandboxProblem(status: PodSandboxStatus | undefined): string | null {
  if (status === undefined) return 'sandbox status is nil';
  if (status.id === '') return 'status.Id is not set';
  const { metadata } = status;
  if (metadata === undefined) return 'status.Metadata is not set';
  if (metadata.name === '' || metadata.namespace === '' || metadata.uid === '')
    return `metadata.Name, metadata.Namespace or metadata.Uid is not in metadata ${JSON.stringify(metadata)}`;
  return status.createdAt === 0n ? 'status.CreatedAt is not set' : null;
}

/** A status of something else than what was asked for. Labels that are absent say nothing. */
function foreignProblem(status: { readonly id: string; readonly labels: Readonly<Record<string, string>> } | undefined, id: string, uid: string): string | null {
  if (status === undefined) return null;
  if (status.id !== id) return 'status.Id is not the one that was asked for';
  const owner = status.labels[containerLabels.podUid] ?? uid;
  return owner === uid ? null : `the list has it for pod ${goQuote(uid)}, and its status for pod ${goQuote(owner)}`;
}

function sandboxStatusFromCri(status: PodSandboxStatus, attempt: number): SandboxStatus {
  return {
    id: status.id,
    attempt,
    state: status.state === PodSandboxState.SANDBOX_READY ? 'ready' : 'notReady',
    networkMode: status.linux?.namespaces?.options?.network === NamespaceMode.NODE ? 'node' : 'pod',
    hasNetwork: status.network !== undefined,
    ip: status.network?.ip ?? null,
    createdAt: instantOfNanos(status.createdAt),
  };
}

/** An empty primary address is omitted (host network); one malformed address makes all of them invalid. */
function addressesOf(network: PodSandboxNetworkStatus | undefined): readonly string[] {
  if (network === undefined) return [];
  const addresses = [...(network.ip === '' ? [] : [network.ip]), ...network.additionalIps.map(({ ip }) => ip)];
  return addresses.every((address) => isIP(address) !== 0) ? addresses : [];
}

interface ContainerAnswer extends Attempted {
  readonly status: RuntimeContainerStatus;
}

async function containerStatus(
  connection: CriConnection,
  { id, sandboxId, uid }: { readonly id: string; readonly sandboxId: string; readonly uid: string },
  call: Call,
): Promise<ContainerAnswer> {
  const target = { operation, subject: id, deadlineMicros: connection.requestTimeoutMicros };
  const { status } = await connection.unary(RuntimeServiceService.containerStatus, { containerId: id, verbose: false }, call, target);
  const problem = containerProblem(status) ?? foreignProblem(status, id, uid);
  if (status === undefined || problem !== null) throw brokenAnswer(problem ?? 'container status is nil', operation, id);
  const taken = await containerStatusFromCri(status, sandboxId);
  return { id, attempt: status.metadata?.attempt ?? 0, createdAt: taken.createdAt, status: taken };
}

function containerProblem(status: ContainerStatus | undefined): string | null {
  if (status === undefined) return 'container status is nil';
  if (status.id === '') return 'status.Id is not set';
  const { metadata } = status;
  if (metadata === undefined) return 'status.Metadata is not set';
  if (metadata.name === '') return `metadata.Name is not in metadata ${JSON.stringify(metadata)}`;
  if (status.createdAt === 0n) return 'status.CreatedAt is not set';
  if (status.image === undefined || status.image.image === '') return 'status.Image is not set';
  return status.imageRef === '' ? 'status.ImageRef is not set' : null;
}

async function containerStatusFromCri(status: ContainerStatus, sandboxId: string): Promise<RuntimeContainerStatus> {
  const exited = status.state === ContainerState.CONTAINER_EXITED;
  return {
    id: status.id,
    sandboxId,
    name: status.labels[containerLabels.containerName] ?? status.metadata?.name ?? '',
    state: containerStateFromCri(status.state),
    createdAt: instantOfNanos(status.createdAt),
    startedAt: status.state === ContainerState.CONTAINER_CREATED ? null : instantOfNanos(status.startedAt),
    finishedAt: exited ? instantOfNanos(status.finishedAt) : null,
    exitCode: exited ? status.exitCode : 0,
    reason: exited ? status.reason : '',
    message: exited ? await terminationMessageOf(terminatedContainer(status)) : '',
    restartCount: decimalOf(status.annotations[containerAnnotations.restartCount]),
    hash: status.annotations[containerAnnotations.hash] ?? '',
    image: status.image?.image ?? '',
    imageRef: status.imageRef,
    imageId: status.imageId,
    resources: status.resources?.linux === undefined ? null : resourcesInStatus(resourcesFromCri(status.resources.linux)),
    user: status.user?.linux === undefined ? null : userFromCri(status.user.linux),
    ...stopSignalFromCri(status.stopSignal),
    ...annotatedPreStop(status.annotations),
  };
}

function terminatedContainer(status: ContainerStatus): Parameters<typeof terminationMessageOf>[0] {
  const { exitCode, reason, message, mounts, logPath, annotations } = status;
  return {
    exitCode,
    reason,
    message,
    mounts,
    logPath,
    terminationMessagePath: annotations[containerAnnotations.terminationMessagePath] ?? '',
    terminationMessagePolicy: annotations[containerAnnotations.terminationMessagePolicy] ?? '',
  };
}

function decimalOf(text: string | undefined): number {
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : 0;
}

function userFromCri({ uid, gid, supplementalGroups }: LinuxContainerUser): RuntimeContainerUser {
  return { uid: Number(uid), gid: Number(gid), supplementalGroups: supplementalGroups.map(Number) };
}
