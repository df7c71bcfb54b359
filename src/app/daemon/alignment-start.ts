// The initial state of the resource managers: the configuration, the machine, and the state files of the previous agent. If these
// are inconsistent, the agent refuses to start, and an administrator must resolve it.
import { type AlignmentPolicies, type AlignmentSettings, startAlignment } from '../../domain/agent/resource-managers/alignment-state.js';
import { nodeReservation } from '../../domain/cgroups/node-allocatable.js';
import { type ContainerName, cpuCheckpointName, readCpuCheckpoint } from '../../domain/checkpoints/cpu-checkpoint.js';
import { memoryCheckpointName } from '../../domain/checkpoints/memory-checkpoint.js';
import type { LoadedConfiguration } from '../../domain/configuration/load-configuration.js';
import type { StartupValues } from '../../domain/configuration/startup-checks.js';
import { milliQuantityOf, quantityOf, quantityText } from '../../domain/values/quantity.js';
import type { Call } from '../../ports/operation.js';
import type { MachineTopology } from '../../ports/outbound/machine.js';
import type { OutboundPorts } from '../../ports/outbound/outbound-ports.js';
import { StartRefusal } from '../../ports/start-refusal.js';
import { micros } from './kubelet-settings.js';

type Ports = Pick<OutboundPorts, 'machine' | 'stateFiles' | 'runtime'>;

/** @throws StartRefusal */
export async function alignmentSettings(loaded: LoadedConfiguration, startup: StartupValues, ports: Ports, call: Call): Promise<AlignmentSettings> {
  const [machine, cpu, memory] = await Promise.all([
    ports.machine.topology(null, call),
    ports.stateFiles.read({ name: cpuCheckpointName }, call),
    ports.stateFiles.read({ name: memoryCheckpointName }, call),
  ]);
  const containers = cpu === null ? new Map() : await namedContainers(cpu, ports, call);
  const settings = { ...policiesOf(loaded, startup, machine), machine, stateDirectory: loaded.options.rootDir, stateFiles: { cpu, memory }, containers };
  const start = startAlignment(settings);
  if (!start.ok) throw new StartRefusal(`failed to run Kubelet: ${start.error}`);
  return settings;
}

/** The oldest form of the file names containers by their ids: only for it the runtime is asked for their pods. */
async function namedContainers(text: string, { runtime }: Ports, call: Call): Promise<ReadonlyMap<string, ContainerName>> {
  if (readCpuCheckpoint(text, new Map()).ok) return new Map();
  const { pods } = await runtime.listPods({ uid: null }, call);
  return new Map(pods.flatMap(({ uid, containers }) => containers.map(({ id, name }) => [id, { podUid: uid, containerName: name }] as const)));
}

function policiesOf({ configuration: c, features }: LoadedConfiguration, startup: StartupValues, machine: MachineTopology): AlignmentPolicies {
  const cpus = machine.cores.reduce((sum, { threads }) => sum + threads.length, 0);
  const memoryBytes = machine.numaNodes.reduce((sum, node) => sum + node.memoryBytes, 0);
  const capacity = new Map([
    ['cpu', milliQuantityOf(cpus * 1000)],
    ['memory', quantityOf(memoryBytes, 'BinarySI')],
  ]);
  const reservation = nodeReservation(capacity, startup);
  return {
    cpuManagerPolicy: c.cpuManagerPolicy,
    cpuManagerPolicyOptions: c.cpuManagerPolicyOptions,
    cpuOptionGates: { alpha: features.cpuAlphaOptions, beta: features.cpuBetaOptions },
    cpuManagerReconcilePeriod: micros(c.cpuManagerReconcilePeriod),
    liftsQuota: features.disablesQuotaOfExclusiveCpus,
    memoryManagerPolicy: c.memoryManagerPolicy,
    topologyManagerPolicy: c.topologyManagerPolicy,
    topologyManagerScope: c.topologyManagerScope,
    topologyManagerPolicyOptions: c.topologyManagerPolicyOptions,
    reservedSystemCpus: startup.reservedSystemCpus,
    reservation: Object.fromEntries([...reservation].map(([name, amount]) => [name, quantityText(amount)])),
    reservedMemory: c.reservedMemory,
  };
}
