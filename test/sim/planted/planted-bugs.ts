// Possible bugs of a kubelet, one for each checker. A checker that does not find its own is useless.
import { instantOf } from '../../../src/domain/values/instant.js';
import type { SandboxConfig } from '../../../src/ports/model/sandbox-config.js';
import type { KubeletMachine, KubeletState, SimCluster } from '../../../src/sim/index.js';
import { minute, podOf, second } from '../sim-pods.js';
import { plantedAlignmentBugs } from './planted-alignment-bugs.js';
import { plantedApiBugs } from './planted-api-bugs.js';
import { plantedAsideBugs } from './planted-aside-bugs.js';
import { plantedClaimBugs } from './planted-claim-bugs.js';
import { plantedCsiBugs } from './planted-csi-bugs.js';
import { isReplyTo, plantAddress, planted } from './planted-machine.js';
import { plantedTimeBugs } from './planted-time-bugs.js';
import { plantedVolumeBugs } from './planted-volume-bugs.js';

export interface PlantedBug {
  readonly name: string;
  readonly checker: string;
  readonly agent: (() => (state: KubeletState) => KubeletMachine) | null;
  readonly play: (cluster: SimCluster) => void;
}

function runAndRemove(cluster: SimCluster): void {
  cluster.node().put('a.yaml', podOf('a', { uid: 'a' }));
  cluster.run(20 * second);
  cluster.node().remove('a.yaml');
  cluster.run(minute);
}

/** Takes running containers for ended ones. */
function misreadsStates(): (state: KubeletState) => KubeletMachine {
  return planted({
    input(input) {
      if (!isReplyTo(input, 'runtime.inspectPod') || !input.outcome.ok || input.outcome.value === null) return input;
      const containers = input.outcome.value.containers.map((container) =>
        container.state === 'running' ? { ...container, state: 'exited' as const, finishedAt: instantOf(1) } : container,
      );
      return { ...input, outcome: { ok: true, value: { ...input.outcome.value, containers } } };
    },
  });
}

/** Creates a new sandbox for everything that has ended. */
function revivesTheDead(): (state: KubeletState) => KubeletMachine {
  let config: SandboxConfig | null = null;
  return planted({
    after({ agent }, turn) {
      for (const run of agent.runs.values()) config ??= { metadata: { name: 'a', namespace: 'default', uid: run.uid, attempt: 9 }, labels: {}, annotations: {} };
      const ended = [...agent.workers.records.values()].some(({ terminatedAt }) => terminatedAt !== null);
      if (ended && config !== null && !turn.inFlight(plantAddress, 'run')) turn.ask('sandboxes.run', plantAddress, 'run', { config, runtimeHandler: '' });
      if (ended) config = null;
    },
  });
}

function growsGrace(): (state: KubeletState) => KubeletMachine {
  return planted({
    after({ agent }) {
      for (const record of agent.workers.records.values()) if (record.gracePeriodSeconds > 0) record.gracePeriodSeconds++;
    },
  });
}

function takesBackPhases(): (state: KubeletState) => KubeletMachine {
  return planted({
    after({ agent }, _turn, input) {
      if (input.type !== 'wake') return;
      for (const [uid, record] of agent.statuses) if (record.status.phase === 'Succeeded') agent.statuses.set(uid, { ...record, status: { ...record.status, phase: 'Running' } });
    },
  });
}

function removesAnyImage(): (state: KubeletState) => KubeletMachine {
  return planted({
    after(_state, turn, input) {
      if (isReplyTo(input, 'containers.start')) turn.ask('images.remove', plantAddress, 'image', { image: { image: 'docker.io/library/busybox:latest' } });
    },
  });
}

function evictsAnyPod(): (state: KubeletState) => KubeletMachine {
  return planted({
    after({ agent }, turn, input) {
      if (!isReplyTo(input, 'containers.start')) return;
      for (const [uid, { metadata }] of agent.pods.pods)
        turn.emit('events.record', { involvedObject: { kind: 'Pod', uid, name: metadata.name, namespace: 'default' }, type: 'Warning', reason: 'Evicted', message: 'no reason' });
    },
  });
}

function removesLiveSandboxes(): (state: KubeletState) => KubeletMachine {
  let sandboxId = '';
  return planted({
    after(_state, turn, input) {
      if (isReplyTo(input, 'sandboxes.run') && input.outcome.ok) ({ sandboxId } = input.outcome.value);
      if (isReplyTo(input, 'containers.start')) turn.ask('sandboxes.remove', plantAddress, 'sandbox', { sandboxId });
    },
  });
}

function forgetsWhoIsStarted(): (state: KubeletState) => KubeletMachine {
  return planted({ after: ({ agent }) => agent.workers.startedStaticPods.clear() });
}

/** Has ids for one pod alone, and forgets at once who has them. */
function forgetsHostIds(): (state: KubeletState) => KubeletMachine {
  return planted({
    after({ agent }, _turn, input) {
      Object.assign(agent.userNamespaces, { settings: { idsPerPod: 65_536, firstId: 65_536, slots: 1 } });
      if (isReplyTo(input, 'containers.start')) agent.userNamespaces.ranges.clear();
    },
  });
}

/** Hides pods of other uids in the runtime's listings. */
function overlooksOrphans(): (state: KubeletState) => KubeletMachine {
  return planted({
    input(input, { agent }) {
      if (!isReplyTo(input, 'runtime.listPods') || !input.outcome.ok) return input;
      const { value } = input.outcome;
      return { ...input, outcome: { ok: true, value: { ...value, pods: value.pods.filter(({ uid }) => agent.workers.records.has(uid)) } } };
    },
  });
}

function replaceSlowly(cluster: SimCluster): void {
  const slow = { containers: { c: 'ignore-term' }, grace: 20 };
  cluster.node().put('a.yaml', podOf('a', { ...slow, env: '1' }));
  cluster.run(20 * second);
  cluster.node().put('a.yaml', podOf('a', { ...slow, env: '2' }));
  cluster.run(minute);
}

/** Of worlds with an apiserver, and nodes of its cluster that take plugins. */
export const plantedWorld = {
  seed: 1,
  apiserver: {},
  node: {},
  settings: { takesPlugins: true },
  claims: true,
  alignment: { cpuManagerPolicy: 'static', reservation: { cpu: '1' } },
};

export const plantedBugs: readonly PlantedBug[] = [
  ...plantedApiBugs,
  ...plantedTimeBugs,
  ...plantedVolumeBugs,
  ...plantedCsiBugs,
  ...plantedAlignmentBugs,
  ...plantedClaimBugs,
  ...plantedAsideBugs,
  { name: 'takes running containers for ended ones', checker: 'one-live-container', agent: misreadsStates, play: runAndRemove },
  { name: 'revives what has ended', checker: 'terminated-stays-down', agent: revivesTheDead, play: runAndRemove },
  { name: 'grows the grace period', checker: 'grace-only-shrinks', agent: growsGrace, play: runAndRemove },
  {
    name: 'takes back a terminal phase',
    checker: 'terminal-phase-stays',
    agent: takesBackPhases,
    play(cluster) {
      cluster.node().put('a.yaml', podOf('a', { uid: 'a', policy: 'Never', containers: { c: 'run=5s' } }));
      cluster.run(5 * minute);
    },
  },
  { name: 'removes an image in use', checker: 'used-image-stays', agent: removesAnyImage, play: runAndRemove },
  { name: 'evicts whom it wants', checker: 'critical-pods-are-spared', agent: evictsAnyPod, play: runAndRemove },
  { name: 'removes a sandbox under its container', checker: 'sandbox-outlives-containers', agent: removesLiveSandboxes, play: runAndRemove },
  { name: 'forgets which static pod is started', checker: 'static-pods-take-turns', agent: forgetsWhoIsStarted, play: replaceSlowly },
  {
    name: 'forgets which ids pods have',
    checker: 'namespaces-are-disjoint',
    agent: forgetsHostIds,
    play(cluster) {
      cluster.node().put('a.yaml', podOf('a', { uid: 'a', spec: { hostUsers: false } }));
      cluster.run(20 * second);
      cluster.node().put('b.yaml', podOf('b', { uid: 'b', spec: { hostUsers: false } }));
      cluster.run(20 * second);
    },
  },
  {
    name: 'overlooks what runs of an earlier pod of the name',
    checker: 'one-pod-of-a-name',
    agent: overlooksOrphans,
    play(cluster) {
      const node = cluster.node();
      node.put('a.yaml', podOf('a', { env: '1' }));
      cluster.run(20 * second);
      node.kill();
      node.put('a.yaml', podOf('a', { env: '2' }));
      node.start();
      cluster.run(minute);
    },
  },
  {
    name: 'acts after it was stopped',
    checker: 'no-command-after-stop',
    agent: null,
    play(cluster) {
      const node = cluster.node();
      node.put('a.yaml', podOf('a', { uid: 'a' }));
      cluster.run(20 * second);
      const kernel = cluster.world.kernel(node.name);
      node.kill();
      const outside = { now: cluster.now, wall: cluster.world.wallOf(node.name), reply: () => {}, event: () => {} };
      for (const command of kernel.deliver({ type: 'runtimeChanged', uids: ['a'] }, cluster.now, outside.wall).commands) node.model.perform(command, outside);
    },
  },
];
