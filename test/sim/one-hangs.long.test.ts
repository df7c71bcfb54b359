// One call of an operation is never answered until the caller gives up: its subject waits, nothing else is delayed.
// Each operation of each port, in a working node and in one with a restarted agent.
import t from 'tap';
import { operationNames } from '../../src/ports/outbound/operation-names.js';
import type { SimCluster } from '../../src/sim/index.js';
import { isWholeSweep, sweepOf } from '../support/sweep.js';
import { ApiWorld } from './api-world.js';
import { busyNode, createRich, plainPod, runningContainer } from './busy-node.js';
import { minute, second } from './sim-pods.js';

t.setTimeout(900_000);

const pods = 9;
const latest = 2 * second;
const watched = 2 * minute;
const operations = Object.entries(operationNames).flatMap(([port, names]) => Object.keys(names).map((name) => `${port}.${name}`));

/** Calls without which nothing of the node can be decided, each with the reason. */
const concernsAll: Readonly<Record<string, string>> = {
  'runtime.listPods': 'one answer has all pods',
  'runtime.status': 'until it has answered once nothing is known of the runtime, and nothing is asked of it',
  'stateFiles.write': 'what pods are granted is one file, and no container starts before it is written',
  'stateFiles.read': 'what pods were granted is read at the start, and nothing is admitted before',
  'pullRecords.list': 'who may use an image is read at the start, and no image is used before',
  'registryCredentials.readNodeConfig': 'one file of credentials, which each pull has to look into',
  'apiReader.list': 'one answer has all pods of the node, another one the services that each container is shown',
};

interface Play {
  readonly begin: (cluster: SimCluster) => void;
}

const plays: Readonly<Record<string, Play>> = {
  'a node at work': { begin: () => {} },
  'an agent that begins again': {
    begin: (cluster) => {
      cluster.node().kill();
      cluster.node().start();
    },
  },
};

/** An event of a pod -> how long until it completed; absent: never. */
function play(from: SimCluster, { begin }: Play, operation: string | null, nth: number, until = watched): { readonly took: Map<string, number>; readonly struck: boolean } {
  const cluster = from.fork();
  const world = new ApiWorld(cluster, { ok: () => true });
  const node = cluster.node();
  if (operation !== null) node.setFaults([{ operation, trigger: { nth }, action: { kind: 'hang', moment: 'before' } }]);
  begin(cluster);
  const start = cluster.now;
  const uidOf = (name: string): string => world.get(name)?.metadata.uid ?? '';
  const waiting = new Map<string, () => boolean>();
  for (let i = 0; i < pods; i++) {
    const name = `plain-${i}`;
    const uid = uidOf(name);
    if (i % 3 === 0) {
      world.remove(name);
      waiting.set(`${name} goes`, () => world.get(name) === null);
    } else if (i % 3 === 1) {
      const id = runningContainer(node, uid);
      if (id !== null) node.runtime.killContainer(id, cluster.now);
      cluster.world.refresh(node.name);
      waiting.set(
        `${name} runs again`,
        () => ![null, id].includes(runningContainer(node, uid)) && (world.status(name).containerStatuses?.[0]?.restartCount ?? 0) > 0 && world.isReady(name),
      );
    } else {
      const made = `new-${i}`;
      world.createPod(plainPod(made), node.name);
      waiting.set(`${made} is ready`, () => world.isReady(made));
    }
  }
  // Beside them, pods with volumes of drivers, claims, probes and hooks go and come.
  for (const i of [0, 1, 2]) world.remove(`rich-${i}`);
  for (const i of [3, 4, 5]) createRich(cluster, `rich-new-${i}`, i);
  const took = new Map<string, number>();
  while (waiting.size > 0 && cluster.now < start + until) {
    cluster.run(second / 4);
    for (const [what, holds] of waiting) {
      if (!holds()) continue;
      took.set(what, cluster.now - start);
      waiting.delete(what);
    }
  }
  return { took, struck: [...node.model.struck.keys()].some((key) => operation !== null && key.startsWith(`${operation} `)) };
}

/** Operations of which a call hung. */
const hung = new Set<string>();

for (const runtimeSendsEvents of [false, true]) {
  const from = busyNode(pods, { runtimeSendsEvents });
  for (const [name, how] of Object.entries(plays)) {
    t.test(`${name}, ${runtimeSendsEvents ? 'told of changes' : 'polled'}`, async (t) => {
      const usual = play(from, how, null, 0).took;
      const end = Math.max(...usual.values()) + latest;
      t.equal(usual.size, pods, `without a fault all is done: ${[...usual].join(' ')}`);
      for (const operation of sweepOf(operations.filter((one) => concernsAll[one] === undefined))) {
        for (const nth of runtimeSendsEvents ? [1, 3] : [1]) {
          const { took, struck } = play(from, how, operation, nth, end);
          if (!struck) continue;
          const late = [...usual].flatMap(([what, micros]) => {
            const now = took.get(what);
            return now !== undefined && now <= micros + latest ? [] : [`${what} after ${now === undefined ? 'more' : now / second} s instead of ${micros / second}`];
          });
          hung.add(operation);
          t.ok(late.length <= 1, `${operation}, call ${nth}: ${late.length} late: ${late.join(', ')}`);
        }
      }
    });
  }
}

t.test('what was tried', { skip: isWholeSweep ? false : 'a share of the sweep runs; all of it with CI=1' }, async (t) => {
  for (const port of [
    'runtime',
    'sandboxes',
    'containers',
    'images',
    'podVolumes',
    'volumeMounts',
    'csiNode',
    'csiFiles',
    'draPlugin',
    'pluginSockets',
    'podCgroups',
    'podDirectories',
  ])
    t.ok(
      [...hung].some((operation) => operation.startsWith(`${port}.`)),
      port,
    );
  t.ok(hung.size >= 55, `${hung.size} operations: ${[...hung].sort().join()}; not: ${operations.filter((one) => !hung.has(one)).join()}`);
});
