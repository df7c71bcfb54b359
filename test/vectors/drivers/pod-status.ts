// pod-status: the whole PodStatus from runtime facts and the status before.

import { isPastActiveDeadline } from '../../../src/domain/status/deadline.js';
import { apiPodStatus } from '../../../src/domain/status/pod-status.js';
import { epochMicros, instantOf } from '../../../src/domain/values/instant.js';
import { parseRfc3339 } from '../../../src/domain/values/time.js';
import type { Instant } from '../../../src/ports/instant.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { PodCondition, PodStatus } from '../../../src/ports/model/pod-status.js';
import type {
  ContainerRuntimeState,
  NetworkMode,
  PodRuntimeStatus,
  RuntimeContainerResources,
  RuntimeContainerUser,
  SandboxState,
} from '../../../src/ports/model/runtime-status.js';
import { differences, isObject, type Json } from '../compare.js';
import type { VectorDriver } from '../driver.js';

type ProbeResults = Readonly<Record<string, 'success' | 'failure' | 'unknown'>>;

interface Input {
  readonly pod: Pod;
  readonly cachedStatus?: PodStatus;
  readonly runtimeStatus: {
    readonly ips: readonly string[] | null;
    readonly sandboxes: readonly { readonly id: string; readonly attempt: number; readonly state: SandboxState; readonly network: NetworkMode; readonly ip?: string }[] | null;
    readonly containers: readonly RuntimeContainer[] | null;
  };
  readonly podIsTerminal: boolean;
  readonly startFailures: Readonly<Record<string, { readonly reason: string; readonly message: string }>> | null;
  readonly readinessResults: ProbeResults | null;
  readonly startupResults: ProbeResults | null;
  readonly probeWorkersRunning: boolean;
  readonly runtimeSupportsRecursiveReadOnly: boolean;
  readonly nodeAddresses: readonly { readonly type: string; readonly address: string }[];
  readonly nodeIPs: readonly string[] | null;
  readonly kubeletStartTime: string;
  readonly now: string;
  readonly resizeConditions?: readonly PodCondition[];
  readonly podCgroup?: { readonly cpuShares?: number; readonly cpuQuota?: number; readonly cpuPeriod?: number; readonly memoryLimit?: number };
}

interface RuntimeContainer {
  readonly id: string;
  readonly sandboxId: string;
  readonly name: string;
  readonly state: ContainerRuntimeState;
  readonly createdAt: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly exitCode?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly restartCount?: number;
  readonly image: string;
  readonly imageRef: string;
  readonly resources?: Partial<RuntimeContainerResources>;
  readonly user?: { readonly uid?: number; readonly gid?: number; readonly supplementalGroups?: RuntimeContainerUser['supplementalGroups'] };
}

export const driver: VectorDriver = {
  run(input: Input) {
    const containers = [...(input.pod.spec.initContainers ?? []), ...input.pod.spec.containers];
    const status = apiPodStatus({
      pod: input.pod,
      cachedStatus: input.cachedStatus ?? null,
      runtime: runtimeStatus(input),
      runtimeType: 'containerd',
      runtimeSupportsRecursiveReadOnly: input.runtimeSupportsRecursiveReadOnly,
      containerStopSignals: false,
      podIsTerminal: input.podIsTerminal,
      startFailures: new Map(Object.entries(input.startFailures ?? {})),
      probes: {
        readiness: new Map(Object.entries(input.readinessResults ?? {})),
        startup: new Map(Object.entries(input.startupResults ?? {})),
        hasWorker: (name, kind) => {
          const container = containers.find((candidate) => candidate.name === name);
          return input.probeWorkersRunning && (kind === 'readiness' ? container?.readinessProbe : container?.startupProbe) !== undefined;
        },
        kubeletStartedAt: time(input.kubeletStartTime),
      },
      node: { addresses: input.nodeAddresses, configuredIps: input.nodeIPs ?? [] },
      resizeConditions: input.resizeConditions ?? [],
      podCgroup: {
        cpuShares: input.podCgroup?.cpuShares ?? null,
        cpuQuotaMicros: input.podCgroup?.cpuQuota ?? null,
        cpuPeriodMicros: input.podCgroup?.cpuPeriod ?? null,
        memoryLimitBytes: input.podCgroup?.memoryLimit ?? null,
      },
      isPastDeadline: isPastActiveDeadline(input.pod, startOf(input), epochMicros(time(input.now))),
    });
    return { status };
  },
  compare(got: Json, want) {
    return differences(withoutEmptyResources(got), withoutEmptyResources(want));
  },
};

function runtimeStatus({ pod, runtimeStatus: { ips, sandboxes, containers } }: Input): PodRuntimeStatus {
  return {
    uid: pod.metadata.uid ?? '',
    name: pod.metadata.name,
    namespace: pod.metadata.namespace ?? '',
    ips: ips ?? [],
    sandboxes: (sandboxes ?? []).map(({ id, attempt, state, network, ip }) => ({
      id,
      attempt,
      state,
      networkMode: network,
      hasNetwork: ip !== undefined,
      ip: ip ?? null,
      createdAt: instantOf(0),
    })),
    containers: (containers ?? []).map((container) => ({
      id: container.id,
      sandboxId: container.sandboxId,
      name: container.name,
      state: container.state,
      createdAt: time(container.createdAt),
      startedAt: optionalTime(container.startedAt),
      finishedAt: optionalTime(container.finishedAt),
      exitCode: container.exitCode ?? 0,
      reason: container.reason ?? '',
      message: container.message ?? '',
      restartCount: container.restartCount ?? 0,
      hash: '',
      image: container.image,
      imageRef: container.imageRef,
      imageId: '',
      resources: container.resources === undefined ? null : { cpuRequest: null, cpuLimit: null, memoryRequest: null, memoryLimit: null, ...container.resources },
      user: container.user === undefined ? null : { uid: container.user.uid ?? 0, gid: container.user.gid ?? 0, supplementalGroups: container.user.supplementalGroups ?? [] },
    })),
    observedAt: 0,
  };
}

function startOf({ pod, cachedStatus }: Input): number | null {
  const { startTime } = cachedStatus ?? pod.status ?? {};
  return startTime === undefined ? null : epochMicros(time(startTime));
}

function time(text: string): Instant {
  const micros = parseRfc3339(text);
  if (micros === null) throw new Error(`not a time: ${text}`);
  return micros;
}

function optionalTime(text: string | undefined): Instant | null {
  return text === undefined ? null : time(text);
}

/** Empty `resources`, `allocatedResources`, `requests` and `limits` are the same as none. */
function withoutEmptyResources(value: Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => withoutEmptyResources(item));
  if (!isObject(value)) return value;
  const entries = Object.entries(value as Record<string, Json>).map(([name, member]): [string, Json] => [name, withoutEmptyResources(member)]);
  const names = new Set(['resources', 'allocatedResources', 'requests', 'limits']);
  return Object.fromEntries(entries.filter(([name, member]) => !(names.has(name) && isObject(member) && Object.keys(member).length === 0)));
}
