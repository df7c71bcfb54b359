// Pods that are kept from ending: an event says why within half a minute of the end of their grace period, the tries are bounded, and it ends when it can.
import t, { type Test } from 'tap';
import { type FaultRule, type Observation, SimCluster } from '../../src/sim/index.js';
import { ApiWorld } from './api-world.js';
import { plainPod } from './busy-node.js';
import { minute, podOf, second } from './sim-pods.js';
import { SwarmObjects } from './swarm-objects.js';

const destroy = 'podCgroups.destroy';
/** When and what the agent asked. */
interface Asked {
  readonly op: string;
  readonly at: number;
  readonly name: string;
}

class Kept {
  readonly asked: Asked[] = [];
  readonly cluster: SimCluster;
  readonly world: ApiWorld;

  constructor(t: Test) {
    const look = (_memory: unknown, what: Observation): void => {
      if (what.kind !== 'command') return;
      const { op, request } = what.command;
      this.asked.push({ op, at: this.cluster.now, name: JSON.stringify((request as { readonly name?: unknown } | null)?.name ?? '') });
    };
    this.cluster = new SimCluster({ seed: 3, nodes: ['n0'], apiserver: {}, node: {}, checkers: [{ name: 'recorder', fresh: () => null, look }], runtimeSendsEvents: true });
    this.world = new ApiWorld(this.cluster, t);
    new SwarmObjects(this.cluster);
    this.cluster.run(5 * second);
    this.world.createPod(plainPod('web'), 'n0');
    this.cluster.node().put('static.yaml', podOf('static', { grace: 1 }));
    this.world.untilReady('web', 'static-n0');
  }

  breaks(...rules: readonly FaultRule[]): void {
    this.cluster.node().setFaults(rules);
  }

  events(name: string): { readonly reason: string; readonly message: string; readonly count: number }[] {
    type Shown = { readonly involvedObject: { readonly name: string }; readonly type: string; readonly reason: string; readonly message: string; readonly count?: number };
    return ([...(this.cluster.apiserver?.store.all('events') ?? [])] as unknown as Shown[]).flatMap(({ involvedObject, type, reason, message, count = 1 }) =>
      involvedObject.name === name && type === 'Warning' && reason === 'FailedKillPod' ? [{ reason, message, count }] : [],
    );
  }
}

const fails = (operation: string): FaultRule => ({ operation, trigger: {}, action: { kind: 'error', moment: 'before', error: 'internal', message: 'disk on fire' } });
const hangs = (operation: string): FaultRule => ({ operation, trigger: {}, action: { kind: 'hang', moment: 'before' } });

const rows: readonly [string, readonly FaultRule[], RegExp][] = [
  ['the cgroup', [fails(destroy)], /^error killing pod: failed to destroy the pod cgroup: disk on fire$/],
  ['the cgroup, without an answer', [hangs(destroy)], /^error killing pod: the pod cgroup is not removed$/],
  ['a volume', [fails('podVolumes.tearDown')], /^error killing pod: volumes are not unmounted: \[.*"(disk|settings)" \(disk on fire\).*\]$/],
  ['a volume, without an answer', [hangs('podVolumes.tearDown')], /^error killing pod: volumes are not unmounted: \[.*"(disk|settings)".*\]$/],
  ['the list of volumes', [fails('podVolumes.list')], /^error killing pod: .*disk on fire/],
  ['the list of volumes, without an answer', [hangs('podVolumes.list')], /^error killing pod: volumes are not unmounted: \[.*\]$/],
  ['the containers', [fails('containers.stop'), fails('sandboxes.stop')], /^error killing pod: \[?failed to "KillContainer".*disk on fire/],
  ['the containers, without an answer', [hangs('containers.stop')], /^error killing pod: the container runtime has not stopped the containers \[c\]$/],
  ['the sandbox, without an answer', [hangs('sandboxes.stop')], /^error killing pod: the container runtime has not stopped the pod sandbox$/],
  ['the status', [fails('runtime.inspectPod')], /disk on fire|^error killing pod: the container runtime has not reported the status of the pod$/],
];

t.test('what keeps a pod from ending is in an event within half a minute', async (t) => {
  for (const [what, rules, message] of rows) {
    const kept = new Kept(t);
    kept.breaks(...rules);
    kept.world.remove('web');
    // A second of grace.
    kept.cluster.run(31 * second);
    t.not(kept.world.get('web'), null, `${what}: it is there`);
    const events = kept.events('web');
    t.ok(
      events.some((event) => message.test(event.message)),
      `${what}: ${JSON.stringify(events)}`,
    );
    kept.cluster.run(29 * minute);
    t.ok(kept.events('web').length <= 3, `${what}: repeated events are counted: ${JSON.stringify(kept.events('web'))}`);
    // What hangs is given up after its time limit.
    kept.breaks();
    kept.world.untilGone('web', 8 * minute);
  }
});

t.test('a pod that ends in time says nothing of the kind', async (t) => {
  const kept = new Kept(t);
  kept.world.create('slow', { grace: 50 });
  kept.world.untilReady('slow');
  kept.world.remove('web');
  kept.world.remove('slow');
  kept.world.untilGone('web');
  kept.cluster.run(5 * minute);
  t.strictSame([...kept.events('web'), ...kept.events('slow')], []);
});

t.test('a cgroup that can not be removed: tries and events of half an hour', async (t) => {
  const ends: Readonly<Record<string, (kept: Kept) => string>> = {
    'a pod that is deleted': (kept) => removed(kept, null),
    'a pod that is deleted by force': (kept) => removed(kept, 0),
    'a static pod that is removed': (kept) => {
      kept.cluster.node().remove('static.yaml');
      return 'static-n0';
    },
  };
  for (const [what, end] of Object.entries(ends)) {
    const kept = new Kept(t);
    kept.breaks(fails(destroy));
    kept.asked.length = 0;
    const name = end(kept);
    kept.cluster.run(30 * minute);
    const tries = kept.asked.filter(({ op }) => op === destroy);
    t.ok(tries.length >= 20 && tries.length <= 180, `${what}: ${tries.length} tries`);
    const writes = kept.asked.filter(({ op }) => op === 'apiWriter.create' || op === 'apiWriter.patch').length;
    t.ok(writes <= 60, `${what}: ${writes} writes to the API`);
    t.ok(kept.events(name).length <= 1, what);
    kept.breaks();
    kept.cluster.run(3 * minute);
    const left = [...kept.cluster.node().host.state.cgroups].filter((cgroup) => /pod[0-9a-f-]{30}/.test(cgroup));
    t.equal(left.length, 1, `${what}: it is removed in the end: ${left.join()}`);
  }
});

function removed(kept: Kept, gracePeriodSeconds: number | null): string {
  kept.world.remove('web', gracePeriodSeconds);
  return 'web';
}
