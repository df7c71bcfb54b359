// An event that concerns all pods of a node is processed for a few pods a step, so that it delays no other work of the agent: counts the
// pods for which a step sends a command.
import t from 'tap';
import type { KubeletOperations, KubeletState } from '../../src/domain/agent/kubelet.js';
import type { Turn } from '../../src/domain/kernel/machine.js';
import { kubeletMachine, SimCluster } from '../../src/sim/index.js';
import { ApiWorld } from './api-world.js';
import { minute, podOf, second } from './sim-pods.js';

t.setTimeout(300_000);

const count = 60;
/** Those that wait, and the one that the step was for. */
const most = 9;
/** The limit of status writes a step. */
const mostStatuses = 16;

/** A turn that notes for which pods and volumes something is asked. */
function noting(turn: Turn<KubeletOperations>, pods: Set<string>, volumes: Set<string>): Turn<KubeletOperations> {
  return new Proxy(turn, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== 'ask') return value.bind(target);
      return (...args: Parameters<typeof turn.ask>) => {
        const { machine, key } = args[1];
        if (machine === 'pod') pods.add(key);
        if (machine === 'volume') volumes.add(key);
        return Reflect.apply(value, target, args);
      };
    },
  });
}

class Crowd {
  steps: { readonly pods: number; readonly volumes: number; readonly statuses: number }[] = [];
  readonly world: ApiWorld;

  constructor(tap: { ok(holds: boolean, what: string): unknown }, runtimeSendsEvents: boolean) {
    const agent = (state: KubeletState) => {
      const machine = kubeletMachine(state);
      return {
        step: (...[current, input, turn]: Parameters<typeof machine.step>): void => {
          const [pods, volumes] = [new Set<string>(), new Set<string>()];
          const queued = current.agent.api?.statusWrites.queue ?? new Set<string>();
          let statuses = 0;
          queued.delete = (uid) => {
            statuses++;
            return Set.prototype.delete.call(queued, uid);
          };
          machine.step(current, input, noting(turn, pods, volumes));
          this.steps.push({ pods: pods.size, volumes: volumes.size, statuses });
        },
      };
    };
    const latencies = { runSandbox: 1_000, createContainer: 1_000, startContainer: 1_000, pull: 200_000 };
    const cluster = new SimCluster({ seed: 1, apiserver: {}, node: { maxPods: 200 }, runtimeSendsEvents, checkers: [], agent, runtime: { latencies } });
    this.world = new ApiWorld(cluster, tap);
    this.world.run(5 * second);
  }

  /** Pods that all show the config map of the authority, and have one image. */
  create(): void {
    for (let i = 0; i < count; i++) {
      const pod = podOf(`p${i}`);
      this.world.createPod({ ...pod, spec: { ...pod.spec, automountServiceAccountToken: true } }, this.world.node.name);
    }
  }

  running(): number {
    return this.world.node.containers().filter(({ state }) => state === 'running').length;
  }

  untilAllRun(): void {
    this.world.until('all of them run', () => this.running() === count && this.world.pods.every(({ metadata }) => this.world.isReady(metadata.name)), 20 * minute);
  }

  rootCa(body: object): void {
    this.world.ask('patch', { resource: { group: '', version: 'v1', plural: 'configmaps' }, name: 'kube-root-ca.crt', body });
  }

  /** The most pods, and volumes, that a step since the last call asked anything for; how many asks of volumes there were. */
  take(): { readonly pods: number; readonly volumes: number; readonly volumeAsks: number; readonly statuses: number } {
    const steps = this.steps;
    this.steps = [];
    return {
      pods: Math.max(...steps.map(({ pods }) => pods)),
      volumes: Math.max(...steps.map(({ volumes }) => volumes)),
      statuses: Math.max(...steps.map(({ statuses }) => statuses)),
      volumeAsks: steps.reduce((sum, { volumes }) => sum + volumes, 0),
    };
  }
}

for (const tells of [true, false]) {
  t.test(tells ? 'with a runtime that tells of changes' : 'with a runtime that is listed each second', async (t) => {
    const crowd = new Crowd(t, tells);
    const { world } = crowd;
    const isPaced = (what: string): void => {
      const { pods, volumes, statuses } = crowd.take();
      t.ok(statuses <= mostStatuses, `${what}: ${statuses} statuses are looked at in a step`);
      t.ok(pods <= most && volumes <= most, `${what}: ${pods} pods and ${volumes} volumes in a step`);
    };
    crowd.create();
    crowd.untilAllRun();
    isPaced('all are created at once, and wait for one image and one config map');
    world.node.kill();
    world.node.start();
    world.run(2 * minute);
    crowd.untilAllRun();
    isPaced('the agent starts anew beside them');
    crowd.rootCa({ metadata: { labels: { shown: 'nowhere' } } });
    world.run(20 * second);
    t.equal(crowd.take().volumeAsks, 0, 'what nobody shows of a config map concerns no pod');
    crowd.rootCa({ data: { 'ca.crt': 'another' } });
    world.run(20 * second);
    const { pods, volumes, volumeAsks } = crowd.take();
    t.ok(pods <= most && volumes <= most, `the config map's data is changed: ${pods} pods and ${volumes} volumes in a step`);
    t.ok(volumeAsks >= count, 'and every pod shows it anew');
    for (const { metadata } of world.pods) world.remove(metadata.name, 1);
    world.until('all of them are gone', () => world.pods.length === 0, 20 * minute);
    isPaced('all are deleted at once');
  });
}
