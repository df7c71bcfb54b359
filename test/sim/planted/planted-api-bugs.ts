// Bugs that a kubelet could have in what it writes about pods, one for each checker of that.
import type { KubeletMachine, KubeletState, SimCluster } from '../../../src/sim/index.js';
import { ApiWorld, podResource } from '../api-world.js';
import { minute, second } from '../sim-pods.js';
import { plantAddress, planted } from './planted-machine.js';

type Write = { readonly name: string; readonly uid: string };

const pod = ({ name }: Write) => ({ resource: podResource, namespace: 'default', name, client: 'main' }) as const;

/** Takes the first pod of the API that it sees running for its own. */
function once(write: (to: Write, turn: Parameters<KubeletMachine['step']>[2]) => void): () => (state: KubeletState) => KubeletMachine {
  return () => {
    let done = false;
    return planted({
      after({ agent }, turn) {
        for (const { metadata, status } of agent.pods.pods.values()) {
          if (done || status?.phase !== 'Running') continue;
          done = true;
          write({ name: metadata.name, uid: metadata.uid ?? '' }, turn);
        }
      },
    });
  };
}

function runOne(cluster: SimCluster): void {
  const world = new ApiWorld(cluster, { ok: () => true });
  world.create('theirs', {}, 'another-node');
  world.create('ours');
  cluster.run(20 * second);
  cluster.run(minute);
}

export const plantedApiBugs = [
  {
    name: 'writes to a pod of another node',
    checker: 'api-writes-own-pods',
    agent: once((ours, turn) => {
      const request = { ...pod({ ...ours, name: 'theirs' }), subresource: 'status', patch: 'merge-patch', body: { status: { message: 'x' } } } as const;
      turn.ask('apiWriter.patch', plantAddress, 'write', request);
    }),
    play: runOne,
  },
  {
    name: 'writes that a pod began later than it did',
    checker: 'api-status-goes-forward',
    agent: once((ours, turn) => {
      const body = { metadata: { uid: ours.uid }, status: { startTime: '2033-01-01T00:00:00Z' } };
      turn.ask('apiWriter.patch', plantAddress, 'write', { ...pod(ours), subresource: 'status', patch: 'merge-patch', body });
    }),
    play: runOne,
  },
  {
    name: 'deletes a pod that runs',
    checker: 'api-pod-outlives-containers',
    agent: once((ours, turn) => turn.ask('apiWriter.delete', plantAddress, 'write', { ...pod(ours), gracePeriodSeconds: 0, uid: ours.uid })),
    play: runOne,
  },
];
