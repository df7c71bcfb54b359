// Bugs of resource managers, one for each checker of theirs.
import type { KubeletMachine, KubeletState, SimCluster } from '../../../src/sim/index.js';
import { podOf, second } from '../sim-pods.js';
import { isReplyTo, planted } from './planted-machine.js';

/** Whole CPUs of its own for each container. */
export const ownCpus = (cpus: number) => {
  const list = { cpu: String(cpus), memory: '64Mi' };
  return { resources: { requests: list, limits: list } };
};

/** Takes CPUs for free that it gave away. */
function forgetsGivenCpus(): (state: KubeletState) => KubeletMachine {
  return planted({
    after({ agent: { alignment } }, _turn, input) {
      if (alignment?.cpu.policy == null || !isReplyTo(input, 'containers.start')) return;
      alignment.cpu.sharedPool = alignment.cpu.policy.topology.all;
    },
  });
}

function runTwoOnTheirOwn(cluster: SimCluster): void {
  for (const uid of ['a', 'b']) {
    cluster.node().put(`${uid}.yaml`, podOf(uid, { uid, spec: { containers: [{ name: 'c', image: 'busybox', ...ownCpus(1) }] } }));
    cluster.run(20 * second);
  }
}

/** Gives an init container CPUs of its own, even if it has ended. */
function keepsForInitContainers(): (state: KubeletState) => KubeletMachine {
  return planted({
    after({ agent: { alignment } }) {
      for (const ofPod of alignment?.cpu.assignments.values() ?? []) ofPod.set('i', [1, 2]);
    },
  });
}

function runAfterAnInitContainer(cluster: SimCluster): void {
  const container = (name: string) => ({ name, image: 'busybox', ...ownCpus(1) });
  cluster.node().put('a.yaml', podOf('a', { uid: 'a', init: { i: 'run=1s' }, spec: { initContainers: [container('i')], containers: [container('c')] } }));
  cluster.run(20 * second);
}

export const plantedAlignmentBugs = [
  { name: 'gives a CPU twice', checker: 'exclusive-cpus-are-disjoint', agent: forgetsGivenCpus, play: runTwoOnTheirOwn },
  { name: 'keeps CPUs for what is over', checker: 'booked-by-what-may-run', agent: keepsForInitContainers, play: runAfterAnInitContainer },
] as const;
