// The public API of the world: simulated nodes, each with the project's own agent, on virtual time. A scenario supplies manifests, advances
// time, injects faults and inspects the result; the same seed and the same calls give the same run.
//
//   const cluster = new SimCluster({ seed: 1 });
//   cluster.node().put('web.yaml', pod);
//   cluster.run(30_000_000);
//   cluster.node().status('web')?.phase                       // 'Running'
//   const other = cluster.fork();                             // continues independently from the same moment
//
// Invariants: violations that checkers find are kept in `violations`, never thrown; everything a fork needs is plain data and copied in one piece.

import type { KubeletEvent, KubeletOperations, KubeletState } from '../domain/agent/kubelet.js';
import { canonicalJson, hashText } from '../domain/kernel/canonical.js';
import { Kernel, type KernelData } from '../domain/kernel/kernel.js';
import { clonePlain } from '../domain/kernel/plain-clone.js';
import type { Clocks } from '../domain/values/instant.js';
import type { Micros } from '../ports/micros.js';
import { ApiserverModel } from './apiserver/apiserver-model.js';
import { SimApiserver, type SimApiserverState } from './apiserver/sim-apiserver.js';
import { allCheckers } from './checkers/all-checkers.js';
import type { AnyChecker, CheckedNode, Observation, Violation } from './checkers/checker.js';
import { newNodeData, SimClusterNode, type SimNodeData } from './sim-cluster-node.js';
import { apiserverName, defaultStart, type SimClusterOptions } from './sim-cluster-options.js';
import { World, type WorldData } from './world.js';

const maxViolations = 100;

interface ClusterData {
  readonly world: WorldData<KubeletEvent, KubeletOperations>;
  readonly nodes: readonly SimNodeData[];
  readonly apiserver: SimApiserverState | null;
  /** One a node and checker, in their order. */
  readonly memories: readonly (readonly unknown[])[];
  readonly violations: readonly Violation[];
}

/** A moment of a world, from which any number of worlds can continue. */
export interface SimSnapshot {
  readonly options: SimClusterOptions;
  readonly data: ClusterData;
}

export class SimCluster {
  readonly world: World<KubeletState, KubeletEvent, KubeletOperations>;
  readonly violations: Violation[] = [];
  private readonly server: SimApiserver | null;
  private readonly nodes = new Map<string, SimClusterNode>();
  private readonly memories = new Map<string, readonly unknown[]>();
  private readonly checkers: readonly AnyChecker[];

  constructor(options: SimClusterOptions);
  /** Continues from a snapshot, of which it takes a copy. */
  constructor(options: SimClusterOptions, from: SimSnapshot);
  constructor(
    readonly options: SimClusterOptions,
    from: SimSnapshot | null = null,
  ) {
    this.checkers = options.checkers ?? allCheckers;
    const start = options.start ?? defaultStart;
    const worldOptions = {
      start,
      hash: options.hash === true,
      ...(options.log === undefined ? {} : { log: options.log }),
      observe: (name: string, clocks: Clocks, input: unknown, output: Parameters<SimClusterNode['stepped']>[2]) => this.node(name).stepped(clocks, input, output),
      ...(options.survives === undefined ? {} : { failed: (name: string, error: unknown) => this.hasEnded(name, error) }),
    };
    if (from === null) {
      this.server = this.newServer(start);
      this.world = new World(worldOptions);
      if (this.server !== null) this.world.add(apiserverName, ...idle(this.server, 0));
      for (const name of options.nodes ?? ['node']) {
        const node = this.addNode(newNodeData(name, options, start));
        this.world.add(name, node.newKernel(), node.model);
        this.observe(node, { kind: 'started' });
        this.world.send(name, { type: 'start' });
      }
      return;
    }
    const data = clonePlain(from.data);
    this.violations.push(...data.violations);
    this.server = data.apiserver === null ? null : this.newServer(start, data.apiserver);
    const known = new Map(data.nodes.map((node, i) => [node.name, { node, memories: data.memories[i] ?? [] }]));
    this.world = World.from(data.world, worldOptions, (name, kernel) => {
      if (name === apiserverName && this.server !== null) {
        const [idleKernel, model] = idle(this.server, kernel);
        return { kernel: idleKernel, model };
      }
      const { node, memories } = known.get(name) as { node: SimNodeData; memories: readonly unknown[] };
      const revived = this.addNode(node, memories);
      return { kernel: revived.revivedKernel(kernel), model: revived.model };
    });
  }

  get now(): Micros {
    return this.world.now;
  }

  /** The nodes' shared apiserver; enabled in the options. */
  get apiserver(): SimApiserver {
    if (this.server === null) throw new Error('the world has no apiserver');
    return this.server;
  }

  /** The node of that name; the first one by default. */
  node(name?: string): SimClusterNode {
    const node = name === undefined ? this.nodes.values().next().value : this.nodes.get(name);
    if (node === undefined) throw new Error(`there is no node ${name ?? 'at all'}`);
    return node;
  }

  get nodeNames(): string[] {
    return [...this.nodes.keys()];
  }

  /** Lets this much time pass. */
  run(micros: Micros): void {
    this.world.runUntil(this.now + micros);
  }

  /** Lets time pass until it holds, at most this long. Returns whether it held. */
  runUntil(holds: () => boolean, atMost: Micros): boolean {
    return this.world.runUntilTrue(holds, this.now + atMost);
  }

  /** The hash of every command so far, with its time, for comparing two runs. '' unless enabled in the options. */
  get hash(): string {
    return this.world.hash;
  }

  /** The hash of the complete current state. */
  stateHash(): string {
    return hashText(canonicalJson(this.data()));
  }

  snapshot(): SimSnapshot {
    return { options: this.options, data: clonePlain(this.data()) };
  }

  /** Another world that continues from this moment, independently. */
  fork(): SimCluster {
    return new SimCluster(this.options, { options: this.options, data: this.data() });
  }

  static from(snapshot: SimSnapshot): SimCluster {
    return new SimCluster(snapshot.options, snapshot);
  }

  private hasEnded(name: string, error: unknown): boolean {
    const node = this.node(name);
    // An error without a pod would end the next agent, too, endlessly.
    if (node.agent.subject === null || this.options.survives?.(error) !== true) return false;
    node.endedByError();
    return true;
  }

  private data(): ClusterData {
    const nodes = [...this.nodes.values()];
    const apiserver = this.server?.state ?? null;
    return {
      world: this.world.data(),
      apiserver,
      nodes: nodes.map((node) => node.data()),
      memories: nodes.map(({ name }) => this.memories.get(name) ?? []),
      violations: this.violations,
    };
  }

  private newServer(start: Micros, state?: SimApiserverState): SimApiserver | null {
    const { apiserver, seed } = this.options;
    if (apiserver === undefined) return null;
    const server = new SimApiserver({ ...apiserver, seed }, start, state);
    server.dueSooner = () => this.world.refresh(apiserverName);
    return server;
  }

  private addNode(data: SimNodeData, memories: readonly unknown[] = this.checkers.map((checker) => checker.fresh())): SimClusterNode {
    const node: SimClusterNode = new SimClusterNode(
      data,
      this.options,
      () => this.world,
      (what) => this.observe(node, what),
      this.server,
    );
    this.nodes.set(data.name, node);
    this.memories.set(data.name, memories);
    return node;
  }

  private observe(node: SimClusterNode, what: Observation): void {
    if (this.checkers.length === 0) return;
    const { name } = node;
    const at = this.world.now;
    const view: CheckedNode = {
      name,
      now: at,
      running: this.world.isRunning(name),
      agent: node.state.agent,
      runtime: node.runtime.state,
      host: node.host.state,
      apiserver: this.server,
      attended: () => this.world.kernel(name).attended(),
    };
    const memories = this.memories.get(name) ?? [];
    for (const [i, checker] of this.checkers.entries()) {
      checker.look(memories[i], what, view, (message) => {
        if (this.violations.length < maxViolations) this.violations.push({ checker: checker.name, node: name, at, message });
      });
    }
  }
}

/** The apiserver's part of the world has no agent: a kernel that is never stepped. */
function idle(server: SimApiserver, from: number | KernelData<KubeletOperations>) {
  const kernel = new Kernel<KubeletState, KubeletEvent, KubeletOperations>({ step() {} }, {} as KubeletState, from);
  return [kernel, new ApiserverModel<KubeletEvent, KubeletOperations>(server)] as const;
}
