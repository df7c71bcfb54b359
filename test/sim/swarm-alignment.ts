// Machines of a swarm with resource managers, pods that request exclusive CPUs, and the invariants of both after the faults end.
import { exclusiveCpuCount } from '../../src/domain/cpu-manager/static-policy.js';
import { parseCpuSet } from '../../src/domain/values/cpu-set.js';
import type { Container } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { bookedBefore } from '../../src/sim/checkers/booked-by-what-may-run.js';
import type { SimClusterNode, SimClusterOptions } from '../../src/sim/index.js';
import type { Dice } from './dice.js';

export const alignmentOperations = ['stateFiles.write', 'containers.updateResources'] as const;

/** More CPUs than all pods of a swarm want, however they are spread: a pod that is refused never comes back. */
export function alignedCluster(dice: Dice): Pick<SimClusterOptions, 'machine' | 'alignment'> {
  const machine = dice.of([
    { sockets: 2, numaNodes: 2, cores: 16, threads: 2 },
    { sockets: 2, numaNodes: 1, cores: 48 },
    { sockets: 1, numaNodes: 1, cores: 64, threads: 2 },
  ]);
  const withMemory = dice.chance(0.5);
  const memory = withMemory ? { memoryManagerPolicy: 'Static', reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }] } : {};
  const topologyManagerPolicy = dice.of(['none', 'best-effort']);
  const topologyManagerScope = dice.of(['container', 'pod']);
  const reservation = { cpu: '2', memory: '1Gi' };
  return { machine, alignment: { cpuManagerPolicy: 'static', reservation, topologyManagerPolicy, topologyManagerScope, ...memory } };
}

/** The same pod, each of whose containers has one or two CPUs of its own; or as it was. */
export function withOwnCpus(pod: Pod, dice: Dice): Pod {
  if (!dice.chance(0.4)) return pod;
  const owning = (container: Container): Container => {
    const list = { cpu: String(dice.between(1, 2)), memory: '32Mi' };
    return { ...container, resources: { requests: list, limits: list } };
  };
  const { containers, initContainers } = pod.spec;
  return { ...pod, spec: { ...pod.spec, containers: containers.map(owning), ...(initContainers === undefined ? {} : { initContainers: initContainers.map(owning) }) } };
}

/** Where containers run on other CPUs than they should. */
export function misplaced({ name, agent, runtime }: SimClusterNode): string[] {
  if (agent.alignment === null) return [];
  const running = [...runtime.state.containers.values()].filter(({ state }) => state === 'running');
  const placed = running.flatMap(({ podUid, config, resources }) => {
    const pod = agent.pods.pods.get(podUid);
    const container = [...(pod?.spec.initContainers ?? []), ...(pod?.spec.containers ?? [])].find((one) => one.name === config.metadata.name);
    const cpus = parseCpuSet(resources?.cpusetCpus ?? '');
    if (pod === undefined || container === undefined || !cpus.ok) return [];
    return [{ what: `${podUid}/${container.name}`, wants: exclusiveCpuCount(pod, container), cpus: cpus.value }];
  });
  const owners = placed.filter(({ wants }) => wants > 0);
  const few = owners.filter(({ wants, cpus }) => cpus.length !== wants).map(({ what, wants, cpus }) => `${what} has CPUs ${cpus.join()}, should have ${wants}`);
  const taken = placed.flatMap(({ what, cpus }) =>
    owners.filter((owner) => owner.what !== what && owner.cpus.some((cpu) => cpus.includes(cpu))).map((owner) => `${what} runs on CPUs of ${owner.what}`),
  );
  const last = running.filter(({ podUid, config }) => agent.pods.pods.get(podUid)?.spec.containers.some((one) => one.name === config.metadata.name));
  const booked = last.flatMap(({ podUid, config }) => bookedBefore({ agent }, podUid, config.metadata.name));
  return [...few, ...taken, ...booked].map((problem) => `${name}: ${problem}`);
}

/** Managers' leftovers of removed pods. */
export function alignmentLeftovers({ alignment }: SimClusterNode['agent']): Record<string, number> {
  if (alignment === null) return {};
  const { cpu, memory, topology, waiting, reconcile } = alignment;
  return {
    'CPUs of pods': cpu.assignments.size + cpu.lastUpdates.size,
    'memory of pods': memory.assignments.size,
    'hints of pods': topology.hints.size,
    'pods that wait for a state file': waiting.size,
    'containers to be told': reconcile.updating.size + reconcile.waiting.size,
  };
}
