// Bugs in what goes by time, one for each of its checkers.
import type { KubeletMachine, KubeletState, SimCluster } from '../../../src/sim/index.js';
import { ApiWorld } from '../api-world.js';
import { minute, podOf, second } from '../sim-pods.js';
import { isReplyTo, plantAddress, planted } from './planted-machine.js';

/** Forgets what it has counted when the wall clock is set. */
function startsOverWithTheWall(): (state: KubeletState) => KubeletMachine {
  let ahead: number | null = null;
  return planted({
    after({ agent }, turn) {
      const now = Number(turn.wall) - turn.now;
      if (ahead !== null && Math.abs(now - ahead) > second) agent.crashLoop.entries.clear();
      ahead = now;
    },
  });
}

function crashWhileTheWallIsSet(cluster: SimCluster): void {
  cluster.node().put('a.yaml', podOf('a', { uid: 'a', containers: { c: 'run=1s,exit=1' } }));
  for (let i = 0; i < 20; i++) {
    cluster.run(5 * second);
    cluster.node().stepWall(i % 2 === 0 ? -120 * minute : 120 * minute);
  }
}

/** Takes the instance with the newest stamp for the newest, and counts from it. */
function countsByStamp(): (state: KubeletState) => KubeletMachine {
  return planted({
    input(input) {
      if (!isReplyTo(input, 'runtime.inspectPod') || !input.outcome.ok || input.outcome.value === null) return input;
      const containers = input.outcome.value.containers.map((container) => ({ ...container, restartCount: 0 }));
      return { ...input, outcome: { ok: true, value: { ...input.outcome.value, containers } } };
    },
  });
}

function crashTwice(cluster: SimCluster): void {
  cluster.node().put('a.yaml', podOf('a', { uid: 'a', containers: { c: 'run=1s,exit=1' } }));
  cluster.run(2 * minute);
}

/** Counts a deadline by the wall clock. */
function endsByTheWall(): (state: KubeletState) => KubeletMachine {
  return planted({
    after({ agent }, turn) {
      for (const [uid, { startTime }] of agent.podStarts) agent.podStarts.set(uid, { startTime, at: Math.floor(Date.parse(startTime) * 1000) - (Number(turn.wall) - turn.now) });
    },
  });
}

function setTheWallBeforeADeadline(cluster: SimCluster): void {
  cluster.node().put('a.yaml', podOf('a', { uid: 'a', containers: { c: 'run=80s' }, spec: { activeDeadlineSeconds: 300 } }));
  cluster.run(60 * second);
  cluster.node().stepWall(120 * minute);
  cluster.run(200 * second);
}

/** Takes nothing over from what an earlier agent has written down. */
function forgetsWhatWasObserved(): (state: KubeletState) => KubeletMachine {
  return planted({
    after({ agent }, _turn, input) {
      if (!('type' in input) || input.type !== 'start') return;
      agent.podStarts.clear();
      agent.cache.moments.clear();
      agent.cache.observedBefore = null;
    },
  });
}

function restartWithTheWall(by: number): (cluster: SimCluster) => void {
  return (cluster) => {
    const world = new ApiWorld(cluster, { ok: () => true });
    cluster.run(20 * second);
    world.create('a', { spec: { activeDeadlineSeconds: 1000 } });
    cluster.run(15 * minute);
    cluster.node().kill();
    cluster.node().stepWall(by);
    cluster.node().start();
    cluster.run(20 * minute);
  };
}

/** Writes the lease with each step. */
function renewsAlways(): (state: KubeletState) => KubeletMachine {
  let count = 0;
  return planted({
    after(_state, turn, input) {
      if (!isReplyTo(input, 'containers.start')) return;
      for (let i = 0; i < 40; i++) {
        const resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };
        const object = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'node', namespace: 'kube-node-lease' } };
        const request = { client: 'heartbeat', resource, namespace: 'kube-node-lease', name: 'node', subresource: null, object } as const;
        turn.ask('apiWriter.update', plantAddress, `lease-${++count}`, request);
      }
    },
  });
}

function runOne(cluster: SimCluster): void {
  new ApiWorld(cluster, { ok: () => true }).create('a');
  cluster.run(minute);
}

/** Never renews its lease again. */
function leavesItsLease(): (state: KubeletState) => KubeletMachine {
  return planted({
    input: (input) => (input.type === 'wake' && input.address.machine === 'lease' ? { type: 'wake', address: { machine: 'sync', key: 'none' } } : input),
  });
}

function runForFiveMinutes(cluster: SimCluster): void {
  new ApiWorld(cluster, { ok: () => true }).create('a');
  cluster.run(5 * minute);
}

export const plantedTimeBugs = [
  { name: 'starts a crash loop over when the clock is set', checker: 'restarts-wait', agent: startsOverWithTheWall, play: crashWhileTheWallIsSet },
  { name: 'counts attempts from the wrong instance', checker: 'attempts-go-up', agent: countsByStamp, play: crashTwice },
  { name: 'ends a pod by the wall clock', checker: 'deadlines-come-when-due', agent: endsByTheWall, play: setTheWallBeforeADeadline },
  { name: 'ends a pod by its timestamp after a restart', checker: 'deadlines-come-when-due', agent: forgetsWhatWasObserved, play: restartWithTheWall(120 * minute) },
  { name: 'keeps a pod by its timestamp after a restart', checker: 'deadlines-come-when-due', agent: forgetsWhatWasObserved, play: restartWithTheWall(-120 * minute) },
  { name: 'renews its lease without a pause', checker: 'lease-renewals-are-paced', agent: renewsAlways, play: runOne },
  { name: 'stops to renew its lease', checker: 'lease-renewals-are-paced', agent: leavesItsLease, play: runForFiveMinutes },
] as const;
