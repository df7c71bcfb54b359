// Pods while the apiserver is unreachable, forgetful, overloaded, or its watches break; and agents that are killed meanwhile. Nothing restarts,
// nothing is lost, and after recovery the API shows the current state.

import t from 'tap';
import { epochMicros, instantOf } from '../../src/domain/values/instant.js';
import { parseRfc3339 } from '../../src/domain/values/time.js';
import type { FaultRule } from '../../src/sim/index.js';
import { scene } from './api-scene.js';
import type { ApiWorld } from './api-world.js';
import { minute, podOf, second } from './sim-pods.js';

t.setTimeout(900_000);

/** What an agent may ask for a second and at once: far below the 50 and 100 that its client lets through. */
const [modest, burst] = [3, 30];

/** Pods of every kind of life: `runs` at rest, `starts`, `ends`, `terminates`. */
function lives(world: ApiWorld): void {
  world.create('runs');
  world.create('job', { policy: 'Never', containers: { c: 'run=200s' } });
  world.create('crashes', { containers: { c: 'run=20s,exit=1' } });
  world.create('terminates', { grace: 60, containers: { c: 'ignore-term' } });
  world.untilReady('runs', 'terminates');
  world.remove('terminates');
  world.create('starts');
}

/** What has to be true a while after all is well again. */
function isAsWanted(world: ApiWorld, t: { ok: (holds: boolean, what: string) => void; equal: (a: unknown, b: unknown, what: string) => void }, ids: readonly string[]): void {
  world.until('what started is ready', () => world.isReady('starts'), 3 * minute);
  world.until('the job has succeeded', () => world.status('job').phase === 'Succeeded', 5 * minute);
  world.until('what terminated is gone', () => world.get('terminates') === null, 3 * minute);
  t.ok(world.isReady('runs'), 'what ran is ready');
  t.ok(
    ids.every((id) => world.node.runtime.state.containers.get(id)?.state === 'running'),
    'and was not restarted',
  );
  const crashing = world.get('crashes');
  const restarts = world.node.statusOf(crashing?.metadata.uid ?? '')?.containerStatuses?.[0]?.restartCount;
  world.until(
    'restarts are told',
    () => world.status('crashes').containerStatuses?.[0]?.restartCount === world.node.statusOf(crashing?.metadata.uid ?? '')?.containerStatuses?.[0]?.restartCount,
    minute,
  );
  t.ok((restarts ?? 0) >= 2, `${restarts} restarts`);
}

function idsOf(world: ApiWorld, name: string): string[] {
  return world.node.containers(world.get(name)?.metadata.uid).map(({ id }) => id);
}

scene('the apiserver is away for ten minutes', (world, t) => {
  lives(world);
  const ids = idsOf(world, 'runs');
  world.away();
  isModest(t, world, 10 * minute);
  t.equal(world.node.status('starts')?.phase, 'Running', 'what was known runs');
  t.equal(world.running(world.get('terminates')?.metadata.uid), 0, 'what was to end has ended');
  world.back();
  isAsWanted(world, t, ids);
});

/** Time passes, and not more is asked for than a server in trouble can bear; in `each` something happens every second. */
function isModest(t: { ok: (holds: boolean, what: string) => void }, world: ApiWorld, micros: number, sustained = modest, each: (second: number) => void = () => {}): void {
  const counts: number[] = [];
  for (let i = 0; i < micros / second; i++) {
    const before = requests(world);
    each(i);
    world.run(second);
    counts.push(requests(world) - before);
  }
  const total = counts.reduce((sum, count) => sum + count, 0);
  // Of any stretch of time, not only of the whole: a bucket that is filled again with what may be asked for.
  let level = 0;
  const worst = counts.reduce((most, count) => {
    level = Math.max(0, level - sustained) + count;
    return Math.max(most, level);
  }, 0);
  t.ok(worst <= burst, `${total} requests in ${counts.length} s, ${Math.max(...counts)} in the busiest second, ${worst} at the fullest`);
}

function requests(world: ApiWorld): number {
  return [...world.node.model.performed].reduce((sum, [op, count]) => sum + (op.startsWith('api') ? count : 0), 0);
}

scene('watches break each second for ten minutes', (world, t) => {
  lives(world);
  const ids = idsOf(world, 'runs');
  // Each of its watches restarts each second.
  isModest(t, world, 10 * minute, 2 * modest, (i) => {
    world.cutWatches();
    if (i === 200) world.create('meanwhile');
    if (i === 400) world.remove('meanwhile');
  });
  t.equal(world.get('meanwhile'), null, 'what came and went meanwhile is gone');
  isAsWanted(world, t, ids);
});

function always(operation: string, error: 'unavailable' | 'resource-exhausted' | 'unauthenticated', moment: 'before' | 'after', trigger: FaultRule['trigger'] = {}): FaultRule {
  return { operation, trigger, action: { kind: 'error', moment, error, message: error } };
}

scene('every write is done and none is answered', (world, t) => {
  world.node.setFaults([always('apiWriter.*', 'unavailable', 'after')]);
  lives(world);
  const ids = idsOf(world, 'runs');
  isModest(t, world, 5 * minute);
  isAsWanted(world, t, ids);
});

scene('a storm of refusals: too many requests', (world, t) => {
  lives(world);
  const ids = idsOf(world, 'runs');
  world.node.setFaults([always('apiWriter.*', 'resource-exhausted', 'before', { probability: 0.9 }), always('apiReader.*', 'resource-exhausted', 'before', { probability: 0.9 })]);
  world.cutWatches();
  isModest(t, world, 10 * minute);
  world.node.setFaults([]);
  isAsWanted(world, t, ids);
});

scene('the credentials have ended, for ten minutes', (world, t) => {
  lives(world);
  const ids = idsOf(world, 'runs');
  world.node.setFaults([always('apiWriter.*', 'unauthenticated', 'before'), always('apiReader.*', 'unauthenticated', 'before')]);
  world.cutWatches();
  isModest(t, world, 10 * minute);
  t.equal(world.running(world.get('terminates')?.metadata.uid), 0, 'what was to end has ended');
  world.create('meanwhile');
  world.run(minute);
  t.notOk(world.isReady('meanwhile'), 'nobody tells of what is new');
  world.node.setFaults([]);
  world.untilReady('meanwhile');
  isAsWanted(world, t, ids);
});

scene('the agent is killed, and pods are made, changed and deleted before the next one comes', (world, t) => {
  lives(world);
  world.create('forced');
  world.create('graceful', { grace: 10, containers: { c: 'ignore-term' } });
  world.untilReady('forced', 'graceful');
  const ids = idsOf(world, 'runs');
  const gone = [world.get('forced')?.metadata.uid, world.get('graceful')?.metadata.uid];
  world.node.kill();
  world.remove('forced', 0);
  world.remove('graceful');
  world.create('new');
  world.patch('runs', { metadata: { labels: { changed: 'yes' } } });
  world.run(minute);
  world.node.start();
  world.untilReady('new');
  world.untilGone('graceful');
  world.until('nothing of them runs', () => gone.every((uid) => world.running(uid) === 0), minute);
  isAsWanted(world, t, ids);
});

scene('an agent that begins without the API kills nothing, and goes on when it comes', (world, t) => {
  for (const name of ['a', 'b']) world.create(name);
  world.untilReady('a', 'b');
  const ids = world.node.containers().map(({ id }) => id);
  world.node.kill();
  world.remove('b', 0);
  world.away();
  world.node.start();
  world.run(10 * minute);
  t.ok(
    ids.every((id) => world.node.runtime.state.containers.get(id)?.state === 'running'),
    'all of it runs on',
  );
  world.back();
  world.until('what was deleted meanwhile has ended', () => world.node.containers().filter(({ state }) => state === 'running').length === 1, 3 * minute);
  t.ok(world.isReady('a'));
});

scene('an agent that is killed every ten seconds tells no step back', (world, t) => {
  lives(world);
  const ids = idsOf(world, 'runs');
  for (let i = 0; i < 12; i++) {
    world.run(10 * second);
    world.node.start();
  }
  isAsWanted(world, t, ids);
});

scene('KB036: while the API still shows the container before as started, the next one waits for its own start-up, also over a restart of the agent', (world, t) => {
  const probe = { httpGet: { port: 8080 }, periodSeconds: 1 };
  const pod = podOf('a', { containers: { c: 'run=60s,exit=1,healthy=20s' } });
  const containers = pod.spec.containers.map((container) => ({ ...container, startupProbe: { ...probe, failureThreshold: 60 }, livenessProbe: probe }));
  world.createPod({ ...pod, spec: { ...pod.spec, containers } }, world.node.name);
  const shown = () => world.status('a').containerStatuses?.[0];
  world.until('it has started', () => shown()?.started === true);
  const uid = world.get('a')?.metadata.uid ?? '';
  const own = () => world.node.statusOf(uid)?.containerStatuses?.[0];
  world.node.setFaults([always('apiWriter.*', 'unavailable', 'before')]);
  const first = own()?.containerID;
  world.until('the next one runs', () => own()?.state?.running !== undefined && own()?.containerID !== first);
  t.match(shown(), { started: true, containerID: first }, 'the API shows the one before');
  for (let i = 0; i < 18; i++) {
    t.match(own(), { started: false, ready: false, restartCount: 1 }, `${i} s after its start`);
    if (i === 5) {
      t.match(shown(), { started: true, containerID: first }, 'still');
      world.node.kill();
      world.node.start();
      world.until('the agent knows it', () => own() !== undefined, second);
    }
    world.run(second);
  }
  world.until('it has started', () => own()?.started === true && own()?.ready === true, 20 * second);
  t.equal(own()?.restartCount, 1);
  world.node.setFaults([]);
  world.until('the API says so', () => shown()?.started === true && shown()?.restartCount === 1);
  const early = world.seen.flatMap(({ at, pod: { status } }) => {
    const { started, state } = status?.containerStatuses?.[0] ?? {};
    return started === true && state?.running !== undefined && at < epochMicros(parseRfc3339(state.running.startedAt ?? '') ?? instantOf(0)) + 18 * second
      ? [state.running.startedAt]
      : [];
  });
  t.strictSame(early, [], 'no watcher ever saw one started before its time');
  t.notOk(world.node.events('a').some(({ record }) => record.message.includes('liveness')));
});
