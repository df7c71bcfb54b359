// Bugs of claims for devices: a container starts without them, or they are taken down under it.
import type { KubeletMachine, KubeletState, SimCluster } from '../../../src/sim/index.js';
import { ApiWorld } from '../api-world.js';
import { minute, podOf, second } from '../sim-pods.js';
import { SwarmClaims } from '../swarm-claims.js';
import type { PlantedBug } from './planted-bugs.js';
import { isReplyTo, plantAddress, planted } from './planted-machine.js';

function runOne(cluster: SimCluster): void {
  const claims = new SwarmClaims(cluster);
  const { name } = cluster.node();
  cluster.run(10 * second);
  new ApiWorld(cluster, { ok: () => true }).createPod(claims.claiming(podOf('a'), name, ['shared']), name);
  claims.schedule();
  for (const plugin of cluster.node().host.state.plugins.values()) plugin.failures.push({ call: 'prepare', kind: 'internal', message: 'planned failure' });
  cluster.run(minute);
}

/** Takes a driver's failure for success. */
function believesAnyAnswer(): (state: KubeletState) => KubeletMachine {
  return planted({
    input(input, { agent }) {
      if (!isReplyTo(input, 'draPlugin.prepare') || input.outcome.ok) return input;
      const claims = [...(agent.dra?.claims.values() ?? [])].map(({ uid }) => [uid, { devices: [], error: '' }] as const);
      return { ...input, outcome: { ok: true, value: { claims: new Map(claims) } } };
    },
  });
}

function unpreparesWhatRuns(): (state: KubeletState) => KubeletMachine {
  return planted({
    after({ agent }, turn, input) {
      if (!isReplyTo(input, 'containers.start')) return;
      const [plugin] = agent.plugins.draPlugins;
      const claims = [...(agent.dra?.claims.values() ?? [])].map(({ namespace, name, uid }) => ({ namespace, name, uid }));
      turn.ask('draPlugin.unprepare', plantAddress, 'claims', { endpoint: plugin?.endpoint ?? '', claims });
    },
  });
}

export const plantedClaimBugs: readonly PlantedBug[] = [
  { name: 'starts a container before its claims are prepared', checker: 'claims-outlive-containers', agent: believesAnyAnswer, play: runOne },
  { name: 'has claims unprepared under a container', checker: 'claims-outlive-containers', agent: unpreparesWhatRuns, play: runOne },
];
