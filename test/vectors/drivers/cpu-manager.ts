// Starts of the CPU manager, and its life: admissions, removals, restarts, and its updates of the runtime.
import { cpuHintProvider } from '../../../src/domain/cpu-manager/cpu-hint-provider.js';
import {
  allocatableExclusiveCpus,
  type CpuManager,
  type CpuManagerConfig,
  type CpuManagerStart,
  collectStaleCpus,
  cpuStateFile,
  startCpuManager,
} from '../../../src/domain/cpu-manager/cpu-manager.js';
import { cpuReconcileItems, noteCpuUpdate } from '../../../src/domain/cpu-manager/reconcile-cpus.js';
import { formatCpuSet, parseCpuSet } from '../../../src/domain/values/cpu-set.js';
import { mustParseQuantity } from '../../../src/domain/values/quantity.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { ContainerStatus, PodStatus } from '../../../src/ports/model/pod-status.js';
import { AlignmentWorld, type TopologyInput } from '../alignment-world.js';
import type { VectorDriver } from '../driver.js';

interface StatusInput {
  readonly name: string;
  readonly containerID?: string;
  readonly state?: string;
}
interface Step {
  readonly op: string;
  readonly pod?: Pod;
  readonly uid?: string;
  readonly statuses?: Readonly<Record<string, readonly StatusInput[]>>;
  readonly runtimeFailsFor?: readonly string[];
}
interface Input extends TopologyInput {
  readonly kind: 'start' | 'sequence';
  readonly policy: string;
  readonly policyOptions?: Readonly<Record<string, string>>;
  readonly machine: { readonly cores: readonly { readonly numaNode: number; readonly socket: number; readonly uncoreCache?: number; readonly threads: readonly number[] }[] };
  readonly cpuReservation?: string;
  readonly reservedCPUs?: string;
  readonly stateFile?: string;
  readonly containerIDs?: Readonly<Record<string, { readonly podUID: string; readonly container: string }>>;
  readonly steps?: readonly Step[];
}

function configOf(input: Input, stateFile: string | null): CpuManagerConfig {
  const reserved = parseCpuSet(input.reservedCPUs ?? '');
  if (!reserved.ok) throw new Error(reserved.error);
  return {
    policy: input.policy,
    policyOptions: input.policyOptions ?? {},
    gates: { alpha: true, beta: true },
    topologyManagerPolicy: input.topologyManagerPolicy ?? 'none',
    cores: input.machine.cores.map((core) => ({ ...core, uncoreCache: core.uncoreCache ?? null })),
    cpuReservation: input.cpuReservation === undefined ? null : mustParseQuantity(input.cpuReservation),
    reservedCpus: reserved.value,
    stateDirectory: '<dir>',
    stateFile,
    containers: new Map(Object.entries(input.containerIDs ?? {}).map(([id, { podUID, container }]) => [id, { podUid: podUID, containerName: container }])),
  };
}

function stateOf(manager: CpuManager) {
  const assignments = Object.fromEntries(
    [...manager.assignments].map(([uid, containers]) => [uid, Object.fromEntries([...containers].map(([name, cpus]) => [name, formatCpuSet(cpus)]))]),
  );
  return { assignments, defaultCPUSet: formatCpuSet(manager.sharedPool) };
}

function apiStatus(pod: Pod, statuses: readonly StatusInput[]): PodStatus {
  const converted = ({ name, containerID, state = '' }: StatusInput): ContainerStatus => ({
    ...{ name, ready: false, restartCount: 0, image: '', imageID: '' },
    ...(containerID === undefined ? {} : { containerID }),
    state: state === 'running' ? { running: {} } : state === 'terminated' ? { terminated: { exitCode: 0 } } : state === 'waiting' ? { waiting: {} } : {},
  });
  const isInit = ({ name }: StatusInput): boolean => (pod.spec.initContainers ?? []).some((init) => init.name === name);
  return { initContainerStatuses: statuses.filter(isInit).map(converted), containerStatuses: statuses.filter((status) => !isInit(status)).map(converted) };
}

class Node {
  readonly #input: Input;
  readonly #world: AlignmentWorld;
  manager: CpuManager;

  constructor(input: Input) {
    this.#input = input;
    this.#world = new AlignmentWorld(input, [...new Set(input.machine.cores.map(({ numaNode }) => numaNode))]);
    const start = this.#start(input.stateFile ?? null);
    if (!start.ok) throw new Error(start.error);
    this.manager = start.manager;
  }

  #start(stateFile: string | null): CpuManagerStart {
    return startCpuManager(configOf(this.#input, stateFile));
  }

  #decide(pod: Pod) {
    return this.#world.decide(pod, [cpuHintProvider(this.manager, this.#world.active(pod))]);
  }

  #reconcile(step: Step) {
    collectStaleCpus(this.manager, this.#world.active());
    const statusOf = (uid: string): PodStatus | null => {
      const statuses = step.statuses?.[uid];
      return statuses === undefined ? null : apiStatus(this.#world.pods.get(uid)!, statuses);
    };
    const updates: unknown[] = [];
    const succeeded: unknown[] = [];
    const failed: unknown[] = [];
    for (const item of cpuReconcileItems(this.manager, [...this.#world.pods.values()], statusOf)) {
      const pod = item.pod.metadata.name;
      if (item.kind === 'unknown') {
        failed.push(item.containerName === null ? { pod } : { pod, container: item.containerName });
        continue;
      }
      const done = { pod, container: item.containerName, containerID: item.containerId };
      if (item.kind === 'update' && step.runtimeFailsFor?.includes(item.containerId) === true) {
        failed.push(done);
        continue;
      }
      if (item.kind === 'update') {
        updates.push({ containerID: item.containerId, cpusetCpus: formatCpuSet(item.cpus) });
        noteCpuUpdate(this.manager, item.pod.metadata.uid ?? '', item.containerName, item.cpus);
      }
      succeeded.push(done);
    }
    return { updates, succeeded, failed };
  }

  run(step: Step): object {
    const world = this.#world;
    switch (step.op) {
      case 'admitPod': {
        const pod = step.pod!;
        world.pods.set(pod.metadata.uid!, pod);
        const result = this.#decide(pod);
        if (!result.admit) world.pods.delete(pod.metadata.uid!);
        return result;
      }
      case 'readmitPod': {
        const pod = world.pods.get(step.uid!);
        if (pod === undefined) return {};
        const result = this.#decide(pod);
        if (!result.admit) world.pods.delete(step.uid!);
        return result;
      }
      case 'removePod':
        world.pods.delete(step.uid!);
        return {};
      case 'collectStale':
        collectStaleCpus(this.manager, world.active());
        return {};
      case 'sourcesReady':
        world.sourcesReady = true;
        return {};
      case 'restart': {
        const start = this.#start(cpuStateFile(this.manager));
        if (!start.ok) return { error: start.error };
        this.manager = start.manager;
        world.restart();
        return {};
      }
      case 'reconcile':
        return this.#reconcile(step);
      default:
        throw new Error(`unknown step ${step.op}`);
    }
  }
}

export const driver: VectorDriver = {
  run(input: Input) {
    if (input.kind === 'start') {
      const start = startCpuManager(configOf(input, input.stateFile ?? null));
      if (!start.ok) return { error: start.error };
      return { ...stateOf(start.manager), stateFile: cpuStateFile(start.manager), allocatableCPUs: formatCpuSet(allocatableExclusiveCpus(start.manager)) };
    }
    const node = new Node(input);
    const steps: object[] = [];
    for (const step of input.steps ?? []) {
      const result = node.run(step);
      steps.push('error' in result ? result : { ...result, ...stateOf(node.manager) });
      if ('error' in result) break;
    }
    return { steps, stateFile: cpuStateFile(node.manager) };
  },
};
