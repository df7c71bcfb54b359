// A container runtime as a model: answers the domain's runtime ports synchronously from plain data, on the caller's time.
// The world runs it on virtual time, the mock CRI server in real time.
//
// Invariants: a request takes effect at once, its answer comes later (as from a real runtime, whose work is done before the
// caller gets the answer); names are reserved by (pod, attempt); stop and remove of absent objects succeed; a container ends exactly once;
// the same seed and the same requests at the same times give the same answers.
import { assert, unreachable } from '../../domain/kernel/assert.js';
import { TimeHeap } from '../../domain/kernel/time-heap.js';
import type { Micros } from '../../ports/micros.js';
import type { Flattened } from '../../ports/operation.js';
import type { ContainerOperations, ImageOperations, RuntimeStateOperations, SandboxOperations } from '../../ports/outbound/container-runtime.js';
import { type Answer, answered } from './answers.js';
import { ContainerLife } from './container-life.js';
import { ImageStore } from './image-store.js';
import { defaultLatencies, type SimLatencies, type SimRuntimeOptions } from './runtime-options.js';
import { emptyRuntimeState, type SimRuntimeEvent, type SimRuntimeState } from './runtime-state.js';
import { RuntimeView } from './runtime-view.js';
import { SandboxLife } from './sandbox-life.js';
import { type ProbingOperationName, type ProbingPort, Workloads } from './workloads.js';

export interface RuntimePorts {
  readonly runtime: RuntimeStateOperations;
  readonly sandboxes: SandboxOperations;
  readonly containers: ContainerOperations;
  readonly images: ImageOperations;
}
export type RuntimeOperations = Flattened<RuntimePorts>;
export type RuntimeOperationName = keyof RuntimeOperations;

type RequestOf<Name extends RuntimeOperationName> = RuntimeOperations[Name]['request'];
type ReplyOf<Name extends RuntimeOperationName> = RuntimeOperations[Name]['reply'];

export class SimContainerRuntime {
  readonly latencies: SimLatencies;
  readonly images: ImageStore;
  readonly containers: ContainerLife;
  readonly sandboxes: SandboxLife;
  private readonly workloads: Workloads;
  private readonly view: RuntimeView;
  private readonly endings = new TimeHeap<string>();

  /** Continues from `state` if one is given (a copy of another runtime's); `observe` receives every change as it is made. */
  constructor(
    readonly options: SimRuntimeOptions,
    readonly state: SimRuntimeState = emptyRuntimeState(),
    observe: (event: SimRuntimeEvent) => void = () => {},
  ) {
    this.latencies = { ...defaultLatencies, ...options.latencies };
    this.view = new RuntimeView(state);
    this.images = new ImageStore(state, options, this.latencies);
    const parts = { state, options, latencies: this.latencies, view: this.view, images: this.images, observe };
    this.containers = new ContainerLife(parts, (container) => {
      if (container.endsAt !== null) this.endings.push(container.endsAt, container.id);
    });
    this.sandboxes = new SandboxLife(parts, this.containers);
    this.workloads = new Workloads(parts);
    if (state.lastNow === 0) this.images.fill();
    for (const { id, endsAt, state: is } of state.containers.values()) if (is === 'running' && endsAt !== null) this.endings.push(endsAt, id);
  }

  /** Answers one request. Time never runs backwards. */
  handle<Name extends RuntimeOperationName>(op: Name, request: RequestOf<Name>, now: Micros): Answer<ReplyOf<Name>> {
    this.settle(now);
    return this.answer({ op, request } as AnyRequest, now) as Answer<ReplyOf<Name>>;
  }

  /** The answer of the workload behind an address; independent of the runtime, which may be down. */
  probe<Name extends ProbingOperationName>(op: Name, request: ProbingPort[Name]['request'], now: Micros): Answer<ProbingPort[Name]['reply']> {
    this.settle(now);
    return this.workloads.probe({ op, request } as Parameters<Workloads['probe']>[0]) as Answer<ProbingPort[Name]['reply']>;
  }

  /** When something happens by itself next; null: nothing will. */
  nextAt(): Micros | null {
    if (this.state.changedPods.size > 0) return this.state.lastNow;
    this.dropStaleEndings();
    const next = Math.min(this.endings.firstAt, this.images.nextAt());
    return next === Number.POSITIVE_INFINITY ? null : next;
  }

  /** Runs due events. Returns the pods that changed by themselves since the last time, sorted by uid. */
  advance(now: Micros): readonly string[] {
    this.settle(now);
    if (this.state.changedPods.size === 0) return nothing;
    const changed = [...this.state.changedPods].sort();
    this.state.changedPods.clear();
    return changed;
  }

  /** An external SIGKILL: the process ends without a stop request. */
  killContainer(id: string, now: Micros): void {
    this.settle(now);
    const container = this.state.containers.get(id);
    if (container?.state !== 'running') return;
    this.containers.kill(container, now);
    if (container.podUid !== '') this.state.changedPods.add(container.podUid);
  }

  /** Another client of the runtime removes the container. */
  forgetContainer(id: string, now: Micros): void {
    this.settle(now);
    const podUid = this.state.containers.get(id)?.podUid ?? '';
    this.containers.remove({ containerId: id }, now);
    if (podUid !== '') this.state.changedPods.add(podUid);
  }

  /** The sandbox dies by itself, and with it what runs inside. */
  killSandbox(id: string, now: Micros): void {
    this.settle(now);
    const sandbox = this.state.sandboxes.get(id);
    if (sandbox === undefined) return;
    this.sandboxes.down(sandbox, now);
    this.state.changedPods.add(sandbox.config.metadata.uid);
  }

  private settle(now: Micros): void {
    assert(now >= this.state.lastNow, `time went back from ${this.state.lastNow} to ${now}`);
    this.state.lastNow = now;
    this.images.settle(now);
    for (;;) {
      this.dropStaleEndings();
      if (this.endings.firstAt > now) return;
      const due = this.endings.pop();
      const container = due === null ? undefined : this.state.containers.get(due.value);
      if (due === null || container === undefined) return;
      this.containers.end(container, due.at);
      if (container.podUid !== '') this.state.changedPods.add(container.podUid);
    }
  }

  /** Drops entries of containers that ended earlier, or are down or removed. */
  private dropStaleEndings(): void {
    for (let first = this.endings.peek(); first !== null; first = this.endings.peek()) {
      const container = this.state.containers.get(first.value);
      if (container?.state === 'running' && container.endsAt === first.at) return;
      this.endings.pop();
    }
  }

  private answer(asked: AnyRequest, now: Micros): Answer<unknown> {
    const { look } = this.latencies;
    switch (asked.op) {
      case 'runtime.version':
        return answered({ runtimeName: this.options.runtimeName ?? 'sim', runtimeVersion: '1.0.0', runtimeApiVersion: 'v1' }, look);
      case 'runtime.status':
        return answered(this.health(), look);
      case 'runtime.updateConfig':
        this.state.podCidr = asked.request.podCidr;
        return answered(null, look);
      case 'runtime.listPods':
        return answered(this.view.list(asked.request.uid, now), look);
      case 'runtime.inspectPod':
        return answered(this.view.inspect(asked.request.uid, now), look);
      case 'sandboxes.run':
        return this.sandboxes.run(asked.request, now);
      case 'sandboxes.stop':
        return this.sandboxes.stop(asked.request, now);
      case 'sandboxes.remove':
        return this.sandboxes.remove(asked.request, now);
      case 'sandboxes.updateResources':
        return this.sandboxes.updateResources(asked.request);
      case 'containers.create':
        return this.containers.create(asked.request, now);
      case 'containers.start':
        return this.containers.start(asked.request, now);
      case 'containers.stop':
        return this.containers.stop(asked.request, now);
      case 'containers.remove':
        return this.containers.remove(asked.request, now);
      case 'containers.updateResources':
        return this.containers.updateResources(asked.request);
      case 'containers.execSync':
        return this.workloads.execSync(asked.request, now);
      case 'containers.reopenLog':
        return this.containers.reopenLog(asked.request, now);
      case 'containers.checkpoint':
        return this.containers.checkpoint(asked.request);
      case 'images.status':
        return answered(this.images.find(asked.request.image.image), look);
      case 'images.pull':
        return this.images.pull(asked.request, now);
      case 'images.list':
        return answered([...this.state.images.values()], look);
      case 'images.remove':
        this.images.remove(asked.request.image.image);
        return answered(null, this.latencies.remove);
      case 'images.fsInfo':
        return answered(this.images.fsInfo(), look);
      default:
        return unreachable(asked);
    }
  }

  private health(): RuntimeStateOperations['status']['reply'] {
    const { runtimeHandlers = [], recursiveReadOnlyMounts = true, userNamespaces = true, supplementalGroupsPolicy = true, reportsHandlers = true } = this.options;
    const names = reportsHandlers ? ['', ...runtimeHandlers] : [];
    const handlers = names.map((name) => ({ name, recursiveReadOnlyMounts, userNamespaces }));
    return { runtimeReady: this.state.runtimeReady, networkReady: this.state.networkReady, handlers, supplementalGroupsPolicy };
  }
}

const nothing: readonly string[] = [];

type AnyRequest = { [Name in RuntimeOperationName]: { readonly op: Name; readonly request: RequestOf<Name> } }[RuntimeOperationName];
