// One seed of the swarm: first faults everywhere, and no checker may find a violation; then no faults, and the world must
// reach the desired state; then nothing is desired, and nothing may be left.
import { isTerminalPhase } from '../../src/domain/status/phase.js';
import type { PodPhase } from '../../src/ports/model/pod-status.js';
import { type KubeletMachine, type KubeletState, kubeletMachine, SimCluster, type SimClusterNode, type SimClusterOptions } from '../../src/sim/index.js';
import { Dice } from './dice.js';
import { type Deadly, endsByPod, isPlanted } from './planted/deadly-pod.js';
import { minute, second } from './sim-pods.js';
import { alignmentLeftovers, misplaced, withOwnCpus } from './swarm-alignment.js';
import { SwarmApi } from './swarm-api.js';
import { claimLeftovers } from './swarm-claims.js';
import type { SwarmCoverage } from './swarm-coverage.js';
import { type SwarmOptions, swarmOptions } from './swarm-options.js';
import { envFileName, envFileVolume, type SwarmPod, swarmPod, withProbesAndHooks } from './swarm-pods.js';
import { projectsLeft, uncounted } from './swarm-quotas.js';

/** Within this the wanted state has to be there: the longest back-off with its spread, and a long-running container before it. */
const convergence = 20 * minute;
const lookEvery = 2 * second;

export interface SwarmResult {
  readonly options: SwarmOptions;
  /** What went wrong; empty: nothing. */
  readonly problems: readonly string[];
  readonly steps: number;
  readonly hash: string;
}

/** @param hash keep the hash of the run, to compare it with another one */
/** Each step asserts that its parts have settled. */
function checked(state: KubeletState): KubeletMachine {
  return kubeletMachine(state, true);
}

export function runSeed(seed: number, coverage: SwarmCoverage, hash = false, agent: SimClusterOptions['agent'] | null = null): SwarmResult {
  const options = swarmOptions(seed);
  const swarm = new Swarm(seed, agent === null ? options : { ...options, cluster: { ...options.cluster, agent } }, coverage, hash);
  const problems: string[] = [];
  const phase = (name: string, play: () => readonly string[]): void => {
    if (problems.length > 0) return;
    try {
      problems.push(...play().map((problem) => `${name}: ${problem}`));
    } catch (error) {
      problems.push(`${name}: ${error instanceof Error ? error.stack : String(error)}`);
    }
  };
  phase('safety', () => swarm.safety());
  phase('liveness', () => swarm.liveness());
  phase('end', () => swarm.end());
  coverage.addFaults(swarm.cluster);
  return { options, problems, steps: swarm.cluster.world.steps, hash: swarm.cluster.hash };
}

const envFile = new TextEncoder().encode("WRITTEN='by the pod'\n");

class Swarm {
  readonly cluster: SimCluster;
  private readonly dice: Dice;
  private readonly deadly: Deadly;
  /** Node and file -> what is wanted there. */
  private readonly wanted = new Map<string, SwarmPod>();
  private readonly down = new Set<string>();
  /** null: the nodes are on their own. */
  private readonly api: SwarmApi | null;
  private version = 0;

  constructor(
    seed: number,
    private readonly options: SwarmOptions,
    private readonly coverage: SwarmCoverage,
    hash: boolean,
  ) {
    this.deadly = { operation: null, uids: new Set(), struck: 0 };
    const plant = options.deadly === null ? { agent: checked } : { agent: endsByPod(this.deadly), survives: isPlanted };
    this.cluster = new SimCluster({ ...plant, ...options.cluster, hash, observe: (_node, input, state) => coverage.stepped(input, state.agent) });
    this.dice = new Dice(seed, 'actions');
    this.api = options.inCluster ? new SwarmApi(this.cluster, options) : null;
  }

  safety(): string[] {
    const { dice, cluster, options } = this;
    for (let i = 0; i < options.actions; i++) {
      cluster.run(dice.below(options.pause));
      if (i % 3 === 0) this.writeEnvFiles();
      this.act(cluster.node(dice.of(cluster.nodeNames)));
      if (options.deadly !== null && i % 5 === 0) this.poison(options.deadly);
      if (cluster.violations.length > 0) break;
    }
    cluster.run(minute);
    return this.violations();
  }

  liveness(): string[] {
    this.calm();
    const { cluster } = this;
    const until = cluster.now + convergence;
    let differences: string[];
    // Checked occasionally: a check costs as much as many steps of an agent.
    do {
      this.writeEnvFiles();
      cluster.run(lookEvery);
      differences = this.differences();
    } while (differences.length > 0 && cluster.now < until);
    const held = differences.length === 0;
    if (held) for (const { pod } of [...this.wanted.values(), ...(this.api?.wanted.values() ?? [])]) this.coverage.arrived(pod);
    return [...this.violations(), ...(held ? [] : differences.map((difference) => `after ${convergence / minute} min ${difference}`))];
  }

  end(): string[] {
    const { cluster } = this;
    for (const key of this.wanted.keys()) this.nodeOf(key).remove(fileOf(key));
    this.wanted.clear();
    this.api?.removeAll();
    cluster.run(15 * minute);
    return [...this.violations(), ...(this.api?.leftovers() ?? []), ...cluster.nodeNames.flatMap((name) => leftovers(cluster.node(name)).map((left) => `${name}: ${left} left`))];
  }

  /** From now on a pod that is there ends the agent. */
  private poison(operation: string): void {
    const known = this.cluster.nodeNames.flatMap((name) => [...this.cluster.node(name).agent.pods.pods.keys()]);
    if (known.length === 0 || this.deadly.uids.size >= 2) return;
    this.deadly.operation = operation;
    this.deadly.uids.add(new Dice(this.deadly.uids.size, known.join()).of(known));
  }

  /** Each pod ends each node's agent twice, and then once for each change and pause of its own. */
  private ends(): string[] {
    const { struck, uids } = this.deadly;
    const most = uids.size * this.cluster.nodeNames.length * 2 + this.options.actions;
    return struck > most ? [`the agent was ended ${struck} times by ${uids.size} pods, at most ${most} times were expected`] : [];
  }

  /** Nothing goes wrong from now on. */
  private calm(): void {
    this.deadly.operation = null;
    for (const name of this.cluster.nodeNames) {
      const node = this.cluster.node(name);
      node.setFaults([]);
      node.setNetworkReady(true);
      // A repair removes the records.
      const isMended = node.host.state.endedSteps.splice(0).length > 0;
      if (this.down.delete(name) || isMended) node.start();
    }
    this.api?.calm(this.coverage);
  }

  /** What the pods' processes write into their volumes. */
  private writeEnvFiles(): void {
    for (const name of this.cluster.nodeNames) {
      for (const { volumes } of this.cluster.node(name).host.state.podDirectories.values()) {
        const nodes = volumes.get(`kubernetes.io~empty-dir/${envFileVolume}`)?.nodes;
        if (nodes !== undefined && !nodes.has(envFileName)) nodes.set(envFileName, { kind: 'file', bytes: envFile, mode: 0o644, uid: 0, gid: 0 });
      }
    }
  }

  private act(node: SimClusterNode): void {
    const { dice, options } = this;
    // The host's clock is set, or the host slept.
    if (dice.chance(0.05)) node.stepWall(dice.of([-120 * minute, 120 * minute, -second, second, 60 * minute]));
    const roll = dice.next();
    if (this.down.has(node.name)) {
      if (dice.chance(0.5)) {
        node.start();
        this.down.delete(node.name);
      } else this.change(node);
    } else if (roll < options.kills) {
      this.coverage.killed(node.agent);
      node.kill();
      if (dice.chance(0.5)) node.start();
      else this.down.add(node.name);
    } else if (roll < options.kills + options.outages) {
      if (dice.chance(0.5)) node.runtimeDown(dice.between(1, 40) * second);
      else node.setNetworkReady(dice.chance(0.5));
    } else if (roll < options.kills + options.outages + options.deaths) this.kill(node);
    else if (roll < options.kills + options.outages + options.deaths + options.shutdowns) this.shutDown(node);
    else this.change(node);
  }

  /** Init says that the node goes down: it does, and comes back, or it doesn't. Either way a fresh agent follows, since only that runs static pods again that were ended. */
  private shutDown(node: SimClusterNode): void {
    const { dice, cluster } = this;
    node.announceShutdown(true);
    cluster.run(dice.below(30 * second));
    if (dice.chance(0.5)) {
      node.announceShutdown(false);
      cluster.run(dice.below(5 * second));
    }
    this.coverage.killed(node.agent);
    node.kill();
    if (node.host.state.shutdown.shuttingDown) for (const { id, state } of node.sandboxes()) if (state === 'ready') node.runtime.killSandbox(id, cluster.now);
    Object.assign(node.host.state.shutdown, { shuttingDown: false, isLocked: false });
    node.start();
  }

  /** A process or a sandbox dies by itself, or another client removes an ended one. */
  private kill(node: SimClusterNode): void {
    const { dice, cluster } = this;
    const ended = node.containers().filter(({ state }) => state === 'exited');
    if (ended.length > 0 && dice.chance(0.3)) node.runtime.forgetContainer(dice.of(ended).id, cluster.now);
    const running = node.containers().filter(({ state }) => state === 'running');
    const sandboxes = node.sandboxes().filter(({ state }) => state === 'ready');
    if (dice.chance(0.7) && running.length > 0) node.runtime.killContainer(dice.of(running).id, cluster.now);
    else if (sandboxes.length > 0) node.runtime.killSandbox(dice.of(sandboxes).id, cluster.now);
    cluster.world.refresh(node.name);
  }

  private change(node: SimClusterNode): void {
    if (this.api !== null && this.dice.chance(0.6)) this.api.act(node, this.dice);
    else this.changeManifest(node);
  }

  private changeManifest(node: SimClusterNode): void {
    const { dice } = this;
    const file = dice.below(this.options.files);
    const key = `${node.name}/p${file}.yaml`;
    const roll = dice.next();
    const known = this.wanted.get(key);
    if (known !== undefined && roll < 0.3) {
      node.remove(fileOf(key));
      this.wanted.delete(key);
    } else if (known !== undefined && roll < 0.5) {
      // Away and back, unchanged.
      node.remove(fileOf(key));
      this.cluster.run(dice.below(3 * second));
      node.put(fileOf(key), known.pod);
    } else {
      const plain = swarmPod(dice, file, this.version++);
      const probed = this.options.probed ? withProbesAndHooks(plain, file) : plain;
      const pod = this.options.aligned ? { ...probed, pod: withOwnCpus(probed.pod, new Dice(file, `CPUs of ${probed.pod.metadata.uid ?? ''}`)) } : probed;
      node.put(fileOf(key), pod.pod);
      this.wanted.set(key, pod);
    }
  }

  private nodeOf(key: string): SimClusterNode {
    return this.cluster.node(key.slice(0, key.indexOf('/')));
  }

  private violations(): string[] {
    const found = this.cluster.violations.map(({ checker, node, at, message }) => `${checker} on ${node} after ${at / second - 1_800_000_000} s: ${message}`);
    return [...found, ...this.ends(), ...(this.api?.problems() ?? [])];
  }

  private differences(): string[] {
    const found: string[] = [];
    const uids = new Set<string>();
    for (const [key, { pod, expected }] of this.wanted) {
      const node = this.nodeOf(key);
      const known = node.pod(pod.metadata.name);
      const uid = known?.metadata.uid ?? '';
      uids.add(`${node.name}/${uid}`);
      const status = node.statusOf(uid);
      const problem = known === null ? 'is not known' : difference(node, uid, pod, status?.phase, expected);
      if (problem !== null) found.push(`${key} (${uid}) ${problem}`);
    }
    for (const [name, { pod, expected, uid, node: nodeName }] of this.api?.wanted ?? []) {
      const node = this.cluster.node(nodeName);
      uids.add(`${nodeName}/${uid}`);
      const problem = difference(node, uid, pod, node.statusOf(uid)?.phase, expected);
      if (problem !== null) found.push(`${name} (${uid}) ${problem}`);
    }
    found.push(...(this.api?.differences() ?? []), ...this.cluster.nodeNames.flatMap((name) => misplaced(this.cluster.node(name))));
    for (const name of this.cluster.nodeNames) {
      const node = this.cluster.node(name);
      found.push(...uncounted(node).map((problem) => `${name}: ${problem}`));
      for (const { podUid, id, state } of node.containers())
        if (state === 'running' && !uids.has(`${name}/${podUid}`)) found.push(`${name}: container ${id} of ${podUid} runs, nobody wants it`);
      for (const { config, state } of node.sandboxes()) {
        const { uid } = config.metadata;
        if (state === 'ready' && !uids.has(`${name}/${uid}`)) found.push(`${name}: a sandbox of ${uid} is ready, nobody wants it`);
      }
    }
    return found;
  }
}

function difference(node: SimClusterNode, uid: string, pod: SwarmPod['pod'], phase: PodPhase | undefined, expected: SwarmPod['expected']): string | null {
  // Ephemeral ones are not expected.
  const names = new Set([...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(({ name }) => name));
  const running = node.containers(uid).filter(({ config, state }) => state === 'running' && names.has(config.metadata.name)).length;
  const sidecars = (pod.spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always').length;
  // A pod that is never restarted gets no second sandbox once a container was made in the first: what had not run by then never will.
  const cutShort = pod.spec.restartPolicy === 'Never' && node.containers(uid).length > 0 && node.sandboxes(uid).every(({ state }) => state === 'notReady');
  switch (expected) {
    case 'ends':
      if (phase === 'Pending' && cutShort) return null;
      if (phase === undefined || !isTerminalPhase(phase)) return `is ${phase}, should have ended`;
      return running === 0 ? null : `has ended, and ${running} containers run`;
    case 'crashes':
      return phase === 'Running' && running >= 1 ? null : `is ${phase} and ${running} containers run, should crash on and on`;
    case 'runs': {
      if ((phase === 'Running' || phase === 'Pending') && cutShort) return null;
      const all = pod.spec.containers.length + sidecars;
      return phase === 'Running' && running === all ? null : `is ${phase}, ${running} of ${all} containers run`;
    }
  }
}

/** A node's leftovers of removed pods. */
function leftovers(node: SimClusterNode): string[] {
  const { agent, host, runtime } = node;
  const counts: Record<string, number> = {
    containers: runtime.state.containers.size,
    sandboxes: runtime.state.sandboxes.size,
    workers: agent.workers.records.size,
    'started static pods': agent.workers.startedStaticPods.size,
    'waiting static pods': agent.workers.waitingStaticPods.size,
    statuses: agent.statuses.size,
    'cache entries': agent.cache.entries.size,
    runs: agent.runs.size,
    'probed pods': agent.probes.pods.size,
    'probe results': agent.probes.results.liveness.size + agent.probes.results.readiness.size + agent.probes.results.startup.size,
    'start failures': agent.startFailures.size,
    'pods that are waited for': agent.awaitingStatus.size,
    'inherited pods': agent.inherited.size,
    ...alignmentLeftovers(agent),
    ...claimLeftovers(node),
    'mounts of volumes': host.state.volumeMounts.size,
    'project quotas': projectsLeft(node),
    'maps of devices': host.state.blockMaps.size,
    'files of CSI volumes': host.state.csiFiles.size,
    volumes: agent.volumes.desired.size + agent.volumes.actual.size,
    'operations on volumes': agent.volumes.operations.size,
    'pods with volumes': agent.volumes.pods.size + agent.volumes.releases.size + agent.volumes.held.size,
    'pod directories': host.state.podDirectories.size,
    'log directories': host.state.logs.size,
    'pod cgroups': [...host.state.cgroups].filter((path) => /\/pod[^/]*$/.test(path)).length,
  };
  return Object.entries(counts).flatMap(([what, count]) => (count === 0 ? [] : [`${count} ${what}`]));
}

function fileOf(key: string): string {
  return key.slice(key.indexOf('/') + 1);
}
