// Plays a scenario on one node, with and without events of the runtime, each twice with the same seed:
// no checker may find a violation, and the second run must equal the first.
import t from 'tap';
import type { PodStatus } from '../../src/ports/model/pod-status.js';
import { kubeletMachine, SimCluster, type SimClusterNode, type SimClusterOptions } from '../../src/sim/index.js';

/** A loaded machine may be many times slower; what takes longer than this hangs. */
const timeout = 300_000;
t.setTimeout(2 * timeout);

/** What a scenario asserts with. */
type Checks = Parameters<Parameters<typeof t.test>[0]>[0];

export class Stage {
  readonly cluster: SimCluster;
  /** The last status of each pod, by uid, also of those that are gone. */
  readonly last = new Map<string, PodStatus>();
  /** Distinct waiting texts of each container, in the order in which they were met: `<uid>/<container>` -> texts. */
  readonly waits = new Map<string, string[]>();

  constructor(
    readonly t: Checks,
    options: SimClusterOptions,
  ) {
    this.cluster = new SimCluster({ hash: true, agent: (state) => kubeletMachine(state, true), ...options, observe: (_node, _input, { agent }) => this.note(agent.statuses) });
  }

  get node(): SimClusterNode {
    return this.cluster.node();
  }

  run(micros: number): void {
    this.cluster.run(micros);
  }

  /** Fails the test if the condition never holds. Returns how long it took. */
  until(what: string, holds: () => boolean, atMost: number): number {
    const { now } = this.cluster;
    const held = this.cluster.runUntil(holds, atMost);
    this.t.ok(held, what);
    return this.cluster.now - now;
  }

  untilPhase(name: string, phase: string, atMost: number): number {
    return this.until(`${name} is ${phase}`, () => this.node.status(name)?.phase === phase, atMost);
  }

  untilGone(uid: string, atMost: number): number {
    return this.until(
      `nothing is left of ${uid}`,
      () => this.node.containers(uid).length + this.node.sandboxes(uid).length === 0 && !this.node.agent.workers.records.has(uid),
      atMost,
    );
  }

  running(uid: string): string[] {
    return this.node
      .containers(uid)
      .filter(({ state }) => state === 'running')
      .map(({ id }) => id);
  }

  /** Reasons of a pod's events, one a line of the story. */
  reasons(name: string): string[] {
    return this.node.events(name).map(({ record }) => record.reason);
  }

  private note(statuses: ReadonlyMap<string, { readonly status: PodStatus }>): void {
    for (const [uid, { status }] of statuses) {
      if (this.last.get(uid) === status) continue;
      this.last.set(uid, status);
      for (const { name, state } of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]) {
        const text = state?.waiting === undefined ? null : `${state.waiting.reason ?? ''} ${state.waiting.message ?? ''}`.trim();
        const known = this.waits.get(`${uid}/${name}`) ?? [];
        if (text !== null && known.at(-1) !== text) this.waits.set(`${uid}/${name}`, [...known, text]);
      }
    }
  }
}

export function scenario(name: string, options: Partial<SimClusterOptions>, play: (stage: Stage) => void): void {
  t.test(name, { timeout }, async (t) => {
    for (const runtimeSendsEvents of [false, true]) {
      const hashes = [1, 2].map(() => {
        const stage = new Stage(t, { seed: 11, runtimeSendsEvents, ...options });
        play(stage);
        t.strictSame(stage.cluster.violations, [], 'no checker found anything');
        return stage.cluster.hash;
      });
      t.equal(hashes[0], hashes[1], `the same run twice${runtimeSendsEvents ? ', told of changes' : ''}`);
    }
  });
}
