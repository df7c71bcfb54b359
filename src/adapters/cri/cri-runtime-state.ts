// CRI reads of the runtime's state: version, status, the cheap list of all pods, and the full inspection of one.

import { containerLabels } from '../../domain/values/container-labels.js';
import type { Micros } from '../../ports/micros.js';
import type { RuntimeListing } from '../../ports/model/runtime-listing.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import type { Call, PortOf } from '../../ports/operation.js';
import type { RuntimeHealth, RuntimeStateOperations, RuntimeVersion } from '../../ports/outbound/container-runtime.js';
import { brokenAnswer, type CriConnection } from './connection.js';
import { type ListContainersRequest, type ListPodSandboxRequest, RuntimeServiceService } from './gen/cri-runtime-v1.js';
import { inspectListedPod } from './inspect-pod.js';
import { type ListMethods, ListStreams } from './list-streams.js';
import { PodListing } from './pod-listing.js';

/** The version of the interface that a kubelet names in its handshake, and that the runtime has to answer with. */
export const criVersion = '0.1.0';

/** List answers are taken as bytes: most of them are not decoded. */
const asBytes = { responseDeserialize: (bytes: Buffer) => bytes };
const listSandboxes: ListMethods<ListPodSandboxRequest> = {
  whole: { ...RuntimeServiceService.listPodSandbox, ...asBytes },
  parts: { ...RuntimeServiceService.streamPodSandboxes, ...asBytes },
};
const listContainers: ListMethods<ListContainersRequest> = {
  whole: { ...RuntimeServiceService.listContainers, ...asBytes },
  parts: { ...RuntimeServiceService.streamContainers, ...asBytes },
};

/** Shares its connection with the roles that create sandboxes and containers. */
export class CriRuntimeState implements PortOf<RuntimeStateOperations> {
  private readonly streams: ListStreams;
  private readonly listing = new PodListing();
  private listingsAsked = 0;
  private newestListing = 0;
  /** The request time of the cached listing, by the monotonic clock. */
  private listedAtMs = Number.NEGATIVE_INFINITY;

  /** `now` is the wall clock; with `streamLists` lists are streamed in parts if the runtime supports it. */
  constructor(
    private readonly connection: CriConnection,
    private readonly now: () => Micros,
    { streamLists = false }: { readonly streamLists?: boolean } = {},
  ) {
    this.streams = new ListStreams(connection, streamLists);
  }

  /** Fails with `internal` if the runtime omits a field, with `failed-precondition` for another version. */
  async version(_request: null, call: Call): Promise<RuntimeVersion> {
    const operation = 'runtime.version';
    const target = { operation, subject: '', deadlineMicros: this.connection.requestTimeoutMicros };
    const answer = await this.connection.unary(RuntimeServiceService.version, { version: criVersion }, call, target);
    const { version, runtimeName, runtimeVersion, runtimeApiVersion } = answer;
    const fields = { Version: version, RuntimeName: runtimeName, RuntimeVersion: runtimeVersion, RuntimeApiVersion: runtimeApiVersion };
    const missing = Object.entries(fields).flatMap(([name, value]) => (value === '' ? [name] : []));
    if (missing.length > 0) throw brokenAnswer(`not all fields are set in VersionResponse (missing ${missing.join(', ')})`, operation, '');
    if (version !== criVersion) throw brokenAnswer('runtime api version is not supported', operation, '');
    return { runtimeName, runtimeVersion, runtimeApiVersion };
  }

  async status(_request: null, call: Call): Promise<RuntimeHealth> {
    const operation = 'runtime.status';
    const target = { operation, subject: '', deadlineMicros: this.connection.requestTimeoutMicros };
    const answer = await this.connection.unary(RuntimeServiceService.status, { verbose: false }, call, target);
    const conditions = answer.status?.conditions ?? [];
    if (conditions.length < 2) throw brokenAnswer('RuntimeReady or NetworkReady condition are not set', operation, '');
    const condition = (type: string) => {
      const found = conditions.find((one) => one.type === type);
      return found === undefined ? null : { status: found.status, reason: found.reason, message: found.message };
    };
    const handlers = answer.runtimeHandlers.map(({ name, features }) => ({
      name,
      recursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
      userNamespaces: features?.userNamespaces ?? false,
    }));
    // Older runtimes lack this field.
    const supplementalGroupsPolicy = answer.features === undefined ? null : answer.features.supplementalGroupsPolicy;
    return { runtimeReady: condition('RuntimeReady'), networkReady: condition('NetworkReady'), handlers, supplementalGroupsPolicy };
  }

  async updateConfig({ podCidr }: { readonly podCidr: string }, call: Call): Promise<null> {
    const target = { operation: 'runtime.updateConfig', subject: podCidr, deadlineMicros: this.connection.requestTimeoutMicros };
    await this.connection.unary(RuntimeServiceService.updateRuntimeConfig, { runtimeConfig: { networkConfig: { podCidr } } }, call, target);
    return null;
  }

  /** `pods` of the full list is the same array as before while nothing changed, and so is every pod that did not. */
  async listPods(request: { readonly uid: string | null }, call: Call): Promise<RuntimeListing> {
    const observedAt = this.now();
    if (request.uid !== null) {
      const { pods, foreign } = await this.listOne('runtime.listPods', request.uid, call);
      return { observedAt, pods, foreign, foreignImages: [] };
    }
    const number = ++this.listingsAsked;
    const askedMs = this.connection.created.clock();
    const [sandboxes, containers] = await this.lists('runtime.listPods', null, call);
    // A list that was overtaken by a later one must not become the base of the next comparison.
    const listing = number > this.newestListing ? this.listing : new PodListing();
    this.decode(listing, sandboxes, containers, 'runtime.listPods');
    if (listing === this.listing) {
      this.newestListing = number;
      this.listedAtMs = askedMs;
    }
    return { observedAt, pods: listing.pods, foreign: listing.foreign, foreignImages: listing.foreignImages };
  }

  /** Right after a full list, which is when a relist looks, the pod's ids are known from it: that saves two of five calls. */
  async inspectPod(request: { readonly uid: string }, call: Call): Promise<PodRuntimeStatus | null> {
    const observedAt = this.now();
    const listed = this.connection.created.isCompleteFor(request.uid, this.listedAtMs)
      ? this.listing.pod(request.uid)
      : (await this.listOne('runtime.inspectPod', request.uid, call)).pod(request.uid);
    return listed === null ? null : inspectListedPod(this.connection, listed, observedAt, call);
  }

  private async listOne(operation: string, uid: string, call: Call): Promise<PodListing> {
    const [sandboxes, containers] = await this.lists(operation, uid, call);
    const listing = new PodListing();
    this.decode(listing, sandboxes, containers, operation);
    return listing;
  }

  private lists(operation: string, uid: string | null, call: Call): Promise<[Buffer, Buffer]> {
    const target = { operation, subject: uid ?? '', deadlineMicros: this.connection.requestTimeoutMicros };
    const labelSelector: Record<string, string> = uid === null ? {} : { [containerLabels.podUid]: uid };
    const sandboxFilter = uid === null ? undefined : { id: '', state: undefined, labelSelector };
    const containerFilter = uid === null ? undefined : { id: '', state: undefined, podSandboxId: '', labelSelector };
    return Promise.all([this.streams.list(listSandboxes, { filter: sandboxFilter }, call, target), this.streams.list(listContainers, { filter: containerFilter }, call, target)]);
  }

  private decode(listing: PodListing, sandboxes: Buffer, containers: Buffer, operation: string): void {
    try {
      listing.update(sandboxes, containers);
    } catch (error) {
      throw brokenAnswer(`list answer can't be read: ${error instanceof Error ? error.message : String(error)}`, operation, '');
    }
  }
}
