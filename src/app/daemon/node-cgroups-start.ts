// The initial state of the node's own and the reserved cgroups: they are set once, before any pod runs; if the reserved
// limits can't be enforced, the node doesn't start.
import type { NodeCgroupSettings } from '../../domain/agent/cgroups/node-cgroups-state.js';
import type { CgroupDriver } from '../../domain/cgroups/cgroup-name.js';
import { machineFacts, podsCgroupConfig } from '../../domain/cgroups/node-allocatable.js';
import { type ReservedCgroup, reservedCgroups, reservedCgroupValues } from '../../domain/cgroups/reserved-cgroups.js';
import type { LoadedConfiguration } from '../../domain/configuration/load-configuration.js';
import type { StartupValues } from '../../domain/configuration/startup-checks.js';
import { goQuote } from '../../domain/values/go-text.js';
import type { Call, PortOf } from '../../ports/operation.js';
import type { MachineReading } from '../../ports/outbound/machine.js';
import type { PodCgroupOperations } from '../../ports/outbound/pod-files.js';
import { PortError } from '../../ports/port-error.js';
import { StartRefusal } from '../../ports/start-refusal.js';

export interface CgroupHost {
  readonly cgroupVersion: 1 | 2;
  readonly hugePageBytes: readonly number[];
  readonly onlineCpus: string;
}

type RecordEvent = (type: 'Normal' | 'Warning', reason: string, message: string) => Promise<void>;

export function nodeCgroupSettings(loaded: LoadedConfiguration, startup: StartupValues, machine: MachineReading, host: CgroupHost): NodeCgroupSettings {
  const { configuration: c, features } = loaded;
  const facts = machineFacts(machine, null);
  const left = podsCgroupConfig(facts, startup, true);
  const all = c.enforceNodeAllocatable.includes('pods') ? left : podsCgroupConfig(facts, startup, false);
  return {
    pods: { ...all, cpusetCpus: freeCpus(loaded, host) },
    hugePageBytes: host.hugePageBytes.map(BigInt),
    reservedMemoryPercent: features.qosReserved ? (startup.qosReserved.memory ?? null) : null,
    allocatableMemoryBytes: left.memoryBytes ?? 0n,
  };
}

/** Without a CPU manager policy, all CPUs: systemd then knows that the cpuset is intended. */
function freeCpus({ configuration }: LoadedConfiguration, { onlineCpus }: CgroupHost): string | null {
  return configuration.cpuManagerPolicy === 'none' ? onlineCpus : null;
}

/** Enforces the reservations on the system's and Kubernetes' own cgroups. Throws StartRefusal at the first failure. */
export async function enforceReserved(
  loaded: LoadedConfiguration,
  startup: StartupValues,
  driver: CgroupDriver,
  host: CgroupHost,
  podCgroups: Pick<PortOf<PodCgroupOperations>, 'set'>,
  record: RecordEvent,
  call: Call,
): Promise<void> {
  const keepsMemory = host.cgroupVersion === 2 && loaded.features.memoryQos;
  const facts = { cpus: freeCpus(loaded, host), hugePageBytes: host.hugePageBytes.map(BigInt), keepsMemory };
  for (const cgroup of reservedCgroups(loaded.configuration, driver)) {
    const values = reservedCgroupValues(cgroup, startup, facts);
    const problem = values === null ? `${goNames(cgroup)} cgroup is not configured properly` : await failureOf(podCgroups.set({ name: cgroup.name, values }, call));
    if (problem !== null) {
      const message = `Failed to enforce ${title(cgroup)} Reserved ${cgroup.compressible ? 'Compressible ' : ''}Cgroup Limits on ${goQuote(cgroup.path)}: ${problem}`;
      await record('Warning', 'FailedNodeAllocatableEnforcement', message);
      throw new StartRefusal(`failed to run Kubelet: failed to start ContainerManager: ${message}`);
    }
    await record('Normal', 'NodeAllocatableEnforced', `Updated limits on ${cgroup.kind} reserved cgroup ${cgroup.path}`);
  }
}

async function failureOf(work: Promise<unknown>): Promise<string | null> {
  try {
    await work;
    return null;
  } catch (error) {
    if (error instanceof PortError) return error.message;
    throw error;
  }
}

function goNames({ name }: ReservedCgroup): string {
  return `[${name.map(goQuote).join(' ')}]`;
}

function title({ kind }: ReservedCgroup): string {
  return kind === 'system' ? 'System' : 'Kube';
}
