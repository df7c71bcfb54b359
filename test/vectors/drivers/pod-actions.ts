import { computePodActions } from '../../../src/domain/pod-sync/pod-actions.js';
import type { ProbeResult } from '../../../src/domain/status/probe-state.js';
import { instantOf } from '../../../src/domain/values/instant.js';
import type { ResourceRequirements } from '../../../src/ports/model/container.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { ContainerRuntimeState, NetworkMode, PodRuntimeStatus, SandboxState } from '../../../src/ports/model/runtime-status.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly pod: Pod;
  readonly runtimeStatus: {
    readonly sandboxes?: readonly { readonly id: string; readonly attempt: number; readonly state: SandboxState; readonly network: NetworkMode; readonly ip?: string }[];
    readonly containers?: readonly {
      readonly id: string;
      readonly name: string;
      readonly state: ContainerRuntimeState;
      readonly exitCode?: number;
      readonly reason?: string;
      readonly hash?: string;
    }[];
  };
  readonly restartAllContainers?: boolean;
  readonly livenessResults?: Readonly<Record<string, ProbeResult>>;
  readonly startupResults?: Readonly<Record<string, ProbeResult>>;
  readonly actuatedResources?: { readonly containers?: Readonly<Record<string, ResourceRequirements>>; readonly pod?: ResourceRequirements };
}

function statusOf({ pod, runtimeStatus }: Input): PodRuntimeStatus {
  return {
    uid: pod.metadata.uid ?? '',
    name: pod.metadata.name,
    namespace: pod.metadata.namespace ?? '',
    ips: [],
    sandboxes: (runtimeStatus.sandboxes ?? []).map(({ id, attempt, state, network, ip }) => ({
      ...{ id, attempt, state, networkMode: network, hasNetwork: ip !== undefined, ip: ip ?? null, createdAt: instantOf(0) },
    })),
    containers: (runtimeStatus.containers ?? []).map(({ id, name, state, exitCode, reason, hash }) => ({
      ...{ id, name, state, exitCode: exitCode ?? 0, reason: reason ?? '', hash: hash ?? '', sandboxId: '', createdAt: instantOf(0), startedAt: null, finishedAt: null },
      ...{ message: '', restartCount: 0, image: '', imageRef: '', imageId: '', resources: null, user: null },
    })),
    observedAt: 0,
  };
}

export const driver: VectorDriver = {
  run(input: Input) {
    const actions = computePodActions({
      pod: input.pod,
      status: statusOf(input),
      restartAllContainers: input.restartAllContainers === true,
      livenessResults: new Map(Object.entries(input.livenessResults ?? {})),
      startupResults: new Map(Object.entries(input.startupResults ?? {})),
      actuated: { containers: new Map(Object.entries(input.actuatedResources?.containers ?? {})), pod: input.actuatedResources?.pod ?? null },
    });
    const { cpu, memory } = actions.containersToUpdate;
    return { ...actions, containersToUpdate: { ...(cpu.length > 0 ? { cpu } : {}), ...(memory.length > 0 ? { memory } : {}) } };
  },
};
