// A bug in how pods are set aside.
import type { KubeletMachine, KubeletState, SimCluster } from '../../../src/sim/index.js';
import { minute, podOf, second } from '../sim-pods.js';
import { plantAddress, planted } from './planted-machine.js';

function looksAtAll(): (state: KubeletState) => KubeletMachine {
  return planted({
    after({ agent }, turn) {
      for (const { uid, phase } of agent.setAside.pods.values())
        if (phase === 'aside' && !turn.inFlight(plantAddress, 'look')) turn.ask('runtime.inspectPod', plantAddress, 'look', { uid });
    },
  });
}

/** As if an agent had been ended twice by the pod. */
function setOneAside(cluster: SimCluster): void {
  const node = cluster.node();
  node.put('a.yaml', podOf('a', { uid: 'a' }));
  cluster.run(20 * second);
  const at = cluster.world.wallOf(node.name);
  for (const file of ['1.json', '2.json'])
    node.host.state.endedSteps.push({ uid: 'a', namespace: 'default', name: 'a', at, sinceBoot: null, version: null, manifestUid: 'a', wasAside: false, file });
  node.start();
  cluster.run(minute);
}

export const plantedAsideBugs = [{ name: 'looks at pods that are aside', checker: 'aside-is-left-alone', agent: looksAtAll, play: setOneAside }] as const;
