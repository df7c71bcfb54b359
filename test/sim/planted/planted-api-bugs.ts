// Bugs that a kubelet could have in what it writes about pods, one for each checker of that.
import { readPodCache } from '../../../src/domain/pod-cache/pod-cache.js';
import type { KubeletMachine, KubeletState, SimCluster } from '../../../src/sim/index.js';
import { ApiWorld, podResource } from '../api-world.js';
import { minute, podOf, second } from '../sim-pods.js';
import { isReplyTo, plantAddress, planted } from './planted-machine.js';

type Write = { readonly name: string; readonly uid: string };

const podWrite = ({ name }: Write) => ({ resource: podResource, namespace: 'default', name, client: 'main' }) as const;

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

/** Makes a container of every pod once more when it is seen to have ended. */
function runsTwice(): (state: KubeletState) => KubeletMachine {
  let done = false;
  return planted({
    after({ agent }, turn) {
      for (const { metadata, status } of agent.pods.pods.values()) {
        const ended = status?.containerStatuses?.find(({ state }) => state?.terminated !== undefined);
        const seen = readPodCache(agent.cache, metadata.uid ?? '');
        const sandboxId = seen.kind === 'status' ? seen.status.sandboxes[0]?.id : undefined;
        if (done || ended === undefined || sandboxId === undefined) continue;
        done = true;
        const config = { metadata: { name: ended.name, attempt: 9 }, image: { image: 'busybox' }, labels: {}, annotations: {}, logPath: '' };
        const sandboxConfig = { metadata: { name: metadata.name, namespace: 'default', uid: metadata.uid ?? '', attempt: 0 }, labels: {}, annotations: {} };
        turn.ask('containers.create', plantAddress, 'create', { sandboxId, config, sandboxConfig });
      }
    },
  });
}

function endOne(cluster: SimCluster): void {
  new ApiWorld(cluster, { ok: () => true }).create('once', { policy: 'Never', containers: { once: 'run=2s', serve: 'run=forever' } });
  cluster.run(minute);
}

function runOne(cluster: SimCluster): void {
  const world = new ApiWorld(cluster, { ok: () => true });
  world.create('theirs', {}, 'another-node');
  world.create('ours');
  cluster.run(20 * second);
  cluster.run(minute);
}

/** Doesn't try again to make a mirror pod that could not be made. */
function forgetsMirror(): (state: KubeletState) => KubeletMachine {
  return planted({
    after(_state, turn, input) {
      if (isReplyTo(input, 'apiWriter.create') && input.address.machine === 'mirror' && !input.outcome.ok) turn.wakeAt(input.address, null);
    },
  });
}

/** Doesn't go on with a pod whose end has failed. */
function forgetsEnd(): (state: KubeletState) => KubeletMachine {
  return planted({
    after({ agent }, turn) {
      for (const { uid, run, terminatingAt, finished } of agent.workers.records.values())
        if (terminatingAt !== null && run === null && !finished) turn.wakeAt({ machine: 'sync', key: uid }, null);
    },
  });
}

/** For 20 seconds the operation fails. */
function fails(cluster: SimCluster, operation: string): void {
  cluster.node().setFaults([{ operation, trigger: { untilMicros: 20 * second }, action: { kind: 'error', moment: 'before', error: 'internal', message: 'planned' } }]);
}

function makeMirror(cluster: SimCluster): void {
  cluster.run(20 * second);
  fails(cluster, 'apiWriter.create');
  cluster.node().put('static.yaml', podOf('static'));
  cluster.run(minute);
}

function endOneLate(cluster: SimCluster): void {
  const world = new ApiWorld(cluster, { ok: () => true });
  world.create('ends');
  cluster.run(20 * second);
  fails(cluster, 'podCgroups.destroy');
  world.remove('ends', 1);
  cluster.run(minute);
}

export const plantedApiBugs = [
  { name: 'does not try again to make a mirror pod', checker: 'nothing-is-forgotten', agent: forgetsMirror, play: makeMirror },
  { name: 'does not try again to end a pod', checker: 'nothing-is-forgotten', agent: forgetsEnd, play: endOneLate },
  {
    name: 'writes to a pod of another node',
    checker: 'api-writes-own-pods',
    agent: once((ours, turn) => {
      const request = { ...podWrite({ ...ours, name: 'theirs' }), subresource: 'status', patch: 'merge-patch', body: { status: { message: 'x' } } } as const;
      turn.ask('apiWriter.patch', plantAddress, 'write', request);
    }),
    play: runOne,
  },
  {
    name: 'writes that a pod began later than it did',
    checker: 'api-status-goes-forward',
    agent: once((ours, turn) => {
      const body = { metadata: { uid: ours.uid }, status: { startTime: '2033-01-01T00:00:00Z' } };
      turn.ask('apiWriter.patch', plantAddress, 'write', { ...podWrite(ours), subresource: 'status', patch: 'merge-patch', body });
    }),
    play: runOne,
  },
  {
    name: 'deletes a pod that runs',
    checker: 'api-pod-outlives-containers',
    agent: once((ours, turn) => turn.ask('apiWriter.delete', plantAddress, 'write', { ...podWrite(ours), gracePeriodSeconds: 0, uid: ours.uid })),
    play: runOne,
  },
  { name: 'runs twice what runs once', checker: 'ended-runs-once', agent: runsTwice, play: endOne },
];
