// Field reports about nodes of a cluster: KB077 (finalizers), KB078 (the last status of a pod while the API is unreachable), and a first list
// from a cache behind the server's newest state.
import t from 'tap';
import { scene } from './api-scene.js';
import type { ApiWorld } from './api-world.js';
import { minute, second } from './sim-pods.js';

t.setTimeout(600_000);

function containersOf(world: ApiWorld, name: string): readonly string[] {
  return world.node.containers(world.get(name)?.metadata.uid).map(({ id }) => id);
}

scene('KB077: a finalizer holds the object, not the containers', (world, t) => {
  world.create('held', { grace: 30, containers: { c: 'term=5s,term-exit=3' } });
  world.untilReady('held');
  const uid = world.get('held')?.metadata.uid;
  world.patch('held', { metadata: { finalizers: ['example.com/hold'] } });
  world.remove('held');
  world.run(40 * second);
  t.equal(world.running(uid), 0, 'its container has ended');
  const left = world.get('held');
  t.strictSame(left?.metadata.finalizers, ['example.com/hold'], 'the agent takes no finalizer away');
  t.equal(left?.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 3, 'how it ended is told');
  t.ok(['Failed', 'Succeeded'].includes(left?.status?.phase ?? ''), 'and that it is over');
  t.equal(left?.metadata.deletionGracePeriodSeconds, 0, 'its deletion was asked for');
  world.run(20 * second);
  world.patch('held', { metadata: { finalizers: null } });
  world.untilGone('held');
  t.equal(world.running(uid), 0);
});

scene('KB078: the last status is told when the API is back, once, also by a new agent', (world, t) => {
  for (const name of ['ends', 'ends-too']) world.create(name, { policy: 'Never', containers: { c: 'run=60s,exit=7,reason=Error,message=the end' } });
  world.untilReady('ends', 'ends-too');
  const ids = ['ends', 'ends-too'].map((name) => containersOf(world, name));
  const refused = (code: number, times?: number) =>
    ({ operation: 'patch.pods/status', trigger: times === undefined ? {} : { times }, action: { kind: 'error', code, message: 'planned', retryAfterSeconds: null } }) as const;
  world.cluster.apiserver.setFaults([refused(503)], world.cluster.now);
  world.run(3 * minute);
  t.equal(world.status('ends').phase, 'Running', 'nobody has heard of it');
  world.node.kill();
  world.node.start();
  world.run(2 * minute);
  world.cluster.apiserver.setFaults([refused(409, 2)], world.cluster.now);
  world.until('both ends are told', () => ['ends', 'ends-too'].every((name) => world.status(name).phase === 'Failed'), 5 * minute);
  world.run(2 * minute);
  for (const [i, name] of ['ends', 'ends-too'].entries()) {
    t.match(world.status(name).containerStatuses?.[0]?.state?.terminated, { exitCode: 7, reason: 'Error', message: 'the end' }, 'with its exit code and reason');
    t.strictSame(containersOf(world, name), ids[i], 'and it was not run again');
    const uid = world.get(name)?.metadata.uid ?? '';
    t.strictSame(world.phases(uid).filter((phase) => phase === 'Failed').length, 1, 'told once');
  }
});

scene('a new agent is given a list from before its pods: none of them ends', (world, t) => {
  world.create('old');
  world.untilReady('old');
  world.node.kill();
  world.create('filler');
  world.node.start();
  world.untilReady('filler');
  const ids = ['old', 'filler'].flatMap((name) => containersOf(world, name));
  world.node.kill();
  const late = [
    { operation: 'list.pods', trigger: {}, action: { kind: 'stale', versions: 10_000 } },
    // A stale cache reports what it lacks only once it has caught up.
    { operation: 'watch.pods', trigger: {}, action: { kind: 'silent' } },
  ] as const;
  world.cluster.apiserver.setFaults(late, world.cluster.now);
  world.node.start();
  world.run(2 * minute);
  t.strictSame(
    ids.map((id) => world.node.runtime.state.containers.get(id)?.state),
    ids.map(() => 'running'),
    'nobody deleted them',
  );
  t.ok(world.isReady('old') && world.isReady('filler'));
});
