// Static pods in the API: one mirror pod each, created by the node, kept correct, and removed with the static pod.
import t from 'tap';
import { podFullName } from '../../src/domain/values/pod-references.js';
import { scene } from './api-scene.js';
import type { ApiWorld } from './api-world.js';
import { minute, podOf, second } from './sim-pods.js';

t.setTimeout(600_000);

const hash = 'kubernetes.io/config.hash';
const mirrorOf = 'kubernetes.io/config.mirror';

/** A static pod `web` that runs, with its mirror. */
function web(world: ApiWorld): { readonly uid: string; readonly containers: readonly string[] } {
  world.node.put('web.yaml', podOf('web', { grace: 5 }));
  world.untilReady('web-node');
  const uid = world.node.pod('web')?.metadata.uid ?? '';
  return { uid, containers: world.node.containers(uid).map(({ id }) => id) };
}

scene('a mirror pod is made, owned by the node, and shows the status', (world, t) => {
  const { uid } = web(world);
  const mirror = world.get('web-node');
  const node = world.ask('get', { resource: { group: '', version: 'v1', plural: 'nodes' }, namespace: null, name: 'node' }).body.metadata as { uid: string };
  t.not(mirror?.metadata.uid, uid);
  t.strictSame(mirror?.metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'Node', name: 'node', uid: node.uid, controller: true }]);
  t.match(mirror?.metadata.annotations, { [hash]: uid, [mirrorOf]: uid, 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.seen': /^2027-01-15T08:00:\d\d\.\d{9}Z$/ });
  t.match(mirror?.status, { phase: 'Running', hostIP: '10.1.0.10' });
  t.equal(mirror?.status?.observedGeneration, undefined, 'a static pod has no generations');
  t.equal(world.node.containers().length, 1, 'nothing is started from it');
});

scene('a mirror pod that somebody deletes is made again; the static pod runs on', (world, t) => {
  const { uid, containers } = web(world);
  for (const grace of [null, 0, 30]) {
    const before = world.get('web-node')?.metadata.uid;
    world.remove('web-node', grace);
    world.until('there is another one', () => ![undefined, before].includes(world.get('web-node')?.metadata.uid), 10 * second);
    world.until('and it shows the status', () => world.isReady('web-node'), 2 * second);
  }
  t.strictSame(
    world.node.containers(uid).map(({ id }) => id),
    containers,
  );
  t.equal(world.pods.length, 1);
});

scene('a changed manifest: the mirror shows the old pod until it has ended, then the new one', (world, t) => {
  const { uid } = web(world);
  const old = world.get('web-node');
  world.node.put('web.yaml', podOf('web', { grace: 5, env: '2' }));
  world.until('the mirror is another one', () => ![undefined, old?.metadata.uid].includes(world.get('web-node')?.metadata.uid));
  t.equal(world.running(uid), 0, 'only now, and the old one has ended');
  t.equal(world.get('web-node')?.metadata.annotations?.[mirrorOf], world.node.pod('web')?.metadata.uid);
  world.untilReady('web-node');
});

scene('a removed manifest: the mirror stays while the pod terminates, then it goes', (world, t) => {
  world.node.put('slow.yaml', podOf('slow', { grace: 20, containers: { c: 'ignore-term' } }));
  world.untilReady('slow-node');
  const uid = world.node.pod('slow')?.metadata.uid ?? '';
  world.node.remove('slow.yaml');
  world.run(15 * second);
  t.ok(world.get('slow-node') !== null && world.running(uid) === 1);
  world.untilGone('slow-node', minute);
  t.equal(world.running(uid), 0);
});

scene('a manifest that goes before the answer to its mirror’s creation has come: the mirror goes, too', (world, t) => {
  for (const after of [second, 10 * second, 25 * second]) {
    world.cluster.apiserver.setFaults([{ operation: 'create.pods', trigger: {}, action: { kind: 'latency', micros: 20 * second } }], world.cluster.now, true);
    world.node.put('web.yaml', podOf('web', { grace: 1 }));
    world.run(after);
    world.node.remove('web.yaml');
    world.run(10 * minute);
    t.strictSame(world.pods, [], `removed after ${after / second} s`);
    world.cluster.apiserver.setFaults([], world.cluster.now, true);
  }
});

// The agent's request is in flight while the watch shows its outcome, or another client's: after any end of the request, the pod gets its mirror.
for (const operation of ['delete', 'create'] as const) {
  for (const answer of ['ok', 'not-found', 'aborted', 'already-exists', 'unavailable', 'deadline-exceeded', 'cancelled', 'permission-denied'] as const) {
    for (const latency of [0, 3 * second]) {
      scene(`the watch is ${latency === 0 ? 'slower' : 'faster'} than the answer "${answer}" to our ${operation} of a mirror`, (world, t) => {
        const { uid } = web(world);
        world.cluster.apiserver.setFaults([{ operation: `${operation}.pods`, trigger: {}, action: { kind: 'latency', micros: latency } }], world.cluster.now, true);
        const faults =
          answer === 'ok'
            ? []
            : ([{ operation: `apiWriter.${operation}`, trigger: { times: 1 }, action: { kind: 'error', moment: 'after', error: answer, message: 'as planned' } }] as const);
        if (operation === 'delete') world.node.setFaults(faults);
        world.patch('web-node', { metadata: { annotations: { [hash]: 'x', [mirrorOf]: 'x' } } });
        if (operation === 'create') {
          world.until('it is deleted', () => world.get('web-node') === null, 10 * second);
          world.node.setFaults(faults);
          world.until('another one is made', () => world.get('web-node') !== null, 10 * second);
          world.remove('web-node', 0);
        }
        world.until('the right mirror is there', () => world.get('web-node')?.metadata.annotations?.[mirrorOf] === uid, 20 * second);
        world.cluster.apiserver.setFaults([], world.cluster.now, true);
        world.untilReady('web-node');
        t.equal(world.running(uid), 1);
      });
    }
  }
}

scene('a mirror that is not the right one any more is replaced', (world, t) => {
  const { uid, containers } = web(world);
  const before = world.get('web-node')?.metadata.uid;
  world.node.kill();
  world.patch('web-node', { metadata: { annotations: { [hash]: 'x' } } });
  world.node.put('web.yaml', podOf('web', { grace: 5, env: 'changed meanwhile' }));
  world.node.start();
  world.until('the mirror is another one', () => ![undefined, before].includes(world.get('web-node')?.metadata.uid));
  world.untilReady('web-node');
  t.not(world.node.pod('web')?.metadata.uid, uid);
  t.ok(containers.every((id) => world.node.runtime.state.containers.get(id)?.state !== 'running'));
});

scene('a restart leaves mirrors alone', (world, t) => {
  const { containers } = web(world);
  const before = world.get('web-node');
  const seen = world.seen.length;
  world.node.start();
  world.run(2 * minute);
  t.equal(world.get('web-node')?.metadata.uid, before?.metadata.uid);
  t.strictSame(
    world.seen.slice(seen).map(({ type, pod }) => `${type} ${pod.metadata.name}`),
    [],
    'nothing is written',
  );
  t.strictSame(
    world.node.containers().map(({ id }) => id),
    containers,
  );
});

scene('the mirror of a manifest that went while the agent was away goes when it comes back', (world) => {
  const { uid } = web(world);
  world.node.kill();
  world.node.remove('web.yaml');
  world.node.start();
  world.untilGone('web-node', minute);
  world.until('the pod has ended', () => world.running(uid) === 0);
});

scene('static pods start without the API, and get their mirrors when it comes', (world, t) => {
  world.away();
  world.node.put('web.yaml', podOf('web', { grace: 5 }));
  world.until('it runs', () => world.node.status('web')?.phase === 'Running', minute);
  world.run(5 * minute);
  t.equal(world.get('web-node'), null);
  world.back();
  world.until('its mirror comes', () => world.isReady('web-node'), 90 * second);
});

scene('a static pod that ended while the API was away is shown as ended; one of an earlier manifest is shown no more', (world, t) => {
  world.node.put('job.yaml', podOf('job', { policy: 'Never', containers: { c: 'run=forever' } }));
  world.untilReady('job-node');
  const before = world.get('job-node')?.metadata.uid;
  world.away();
  world.node.put('job.yaml', podOf('job', { policy: 'Never', containers: { c: 'run=2s' } }));
  world.until('the new one has ended', () => world.node.status('job')?.phase === 'Succeeded', minute);
  world.run(minute);
  world.back();
  world.until('the mirror says so', () => world.status('job-node').phase === 'Succeeded', 2 * minute);
  t.not(world.get('job-node')?.metadata.uid, before);
});

scene('writes of mirrors that are done and not answered', (world, t) => {
  const lost = { kind: 'error', moment: 'after', error: 'unavailable', message: 'unexpected EOF' } as const;
  world.node.setFaults([
    { operation: 'apiWriter.create', trigger: { times: 3 }, action: lost },
    { operation: 'apiWriter.delete', trigger: { times: 3 }, action: lost },
  ]);
  const { uid, containers } = web(world);
  world.remove('web-node');
  world.run(5 * second);
  world.untilReady('web-node');
  t.equal(world.get('web-node')?.metadata.annotations?.[mirrorOf], uid);
  t.strictSame(
    world.node.containers(uid).map(({ id }) => id),
    containers,
  );
});

scene('a refused mirror does not keep the static pod from running, and is not asked for in a storm', (world, t) => {
  world.node.setFaults([{ operation: 'apiWriter.create', trigger: {}, action: { kind: 'error', moment: 'before', error: 'permission-denied', message: 'pods is forbidden' } }]);
  world.node.put('web.yaml', podOf('web', { grace: 5 }));
  world.until('it runs', () => world.node.status('web')?.phase === 'Running', minute);
  const before = world.node.model.performed.get('apiWriter.create') ?? 0;
  world.run(10 * minute);
  const tries = (world.node.model.performed.get('apiWriter.create') ?? 0) - before;
  t.ok(tries >= 5 && tries < 200, `${tries} writes in ten minutes, events among them`);
  world.node.setFaults([]);
  world.until('its mirror comes', () => world.isReady('web-node'), 2 * minute);
});

scene('KB006: a static pod that refers to objects of the API is refused, and others are not touched', (world, t) => {
  const env = (valueFrom: object) => [{ name: 'c', image: 'busybox', env: [{ name: 'X', valueFrom }] }];
  world.node.put('account.yaml', podOf('account', { spec: { serviceAccountName: 'robot' } }));
  world.node.put('volume.yaml', podOf('volume', { spec: { volumes: [{ name: 'v', configMap: { name: 'c' } }] } }));
  world.node.put('secret.yaml', podOf('secret', { spec: { containers: env({ secretKeyRef: { name: 's', key: 'k' } }) } }));
  const { uid } = web(world);
  world.run(minute);
  t.strictSame(
    world.pods.map(({ metadata }) => metadata.name),
    ['web-node'],
  );
  t.strictSame([...world.node.agent.pods.pods.keys()], [uid]);
  t.ok(
    world.node.containers().every(({ podUid }) => podUid === uid),
    'no container of them starts',
  );
  t.equal(world.node.agent.workers.startedStaticPods.get(podFullName('web-node', 'default')), uid);
});
